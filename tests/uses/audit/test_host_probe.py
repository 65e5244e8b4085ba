"""Certificates from real handshakes, http without https, and the rules of a site for AI crawlers."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gossamer.uses.audit.checks import hosts
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.host_probe import _twin, ai_rules, certificate_faults, llms_summary
from gossamer.uses.audit.model import AuditSummary
from uses.audit.audited_site import NAME, OTHER, TIMES, Answer, AuditedSite, serving

NOW = datetime.datetime.now(datetime.UTC)


def make_certificate(folder: Path, begin: float, end: float, *names: str) -> Path:
    """Creates a folder with a self-signed certificate. `begin` and `end` are its validity in days from
    now."""
    folder.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "audited")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + datetime.timedelta(days=begin))
        .not_valid_after(NOW + datetime.timedelta(days=end))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    own = built.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "own.pem").write_bytes(own)
    (folder / "both.pem").write_bytes(secret + own)
    return folder


@contextmanager
def handshaking(keys: Path) -> Iterator[int]:
    """A server that only completes TLS handshakes. Yields its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "both.pem")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    plain, _ = server.accept()
                    try:
                        with context.wrap_socket(plain, server_side=True) as secured:
                            secured.recv(1)
                    except OSError:
                        plain.close()
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("begin", "end", "names", "trusted", "fault"),
    [
        (-60, 30, ["localhost"], True, ""),
        (-1, 5, ["localhost"], True, ""),  # a short-lived certificate
        (-60, 20, ["localhost", "www.e.example"], True, ""),
        (-60, 13, ["localhost"], True, "certificate-expiring"),
        (-60, 0.5, ["localhost"], True, "certificate-expiring"),
        (-5, 1, ["localhost"], True, "certificate-expiring"),
        (-60, -1, ["localhost"], True, "certificate-expired"),
        (-400, -200, ["localhost"], True, "certificate-expired"),
        (2, 60, ["localhost"], True, "certificate-expired"),
        (-60, 30, ["www.localhost"], True, "certificate-name"),
        (-60, 30, ["e.example"], True, "certificate-name"),
        (-60, 5, ["e.example", "*.localhost"], True, "certificate-name"),
        (-60, 30, ["localhost"], False, "certificate-untrusted"),
        (-60, 300, ["localhost", "e.example"], False, "certificate-untrusted"),
        (-1, 30, ["localhost"], False, "certificate-untrusted"),
    ],
)
def test_certificates(
    tmp_path: Path, begin: float, end: float, names: list[str], trusted: bool, fault: str
) -> None:
    keys = make_certificate(tmp_path / "keys", begin, end, *names)
    with handshaking(keys) as port:
        options = {"ca_file": str(keys / "own.pem")} if trusted else {}
        found = list(certificate_faults(f"localhost:{port}", options))
    assert [name for name, _ in found] == ([fault] if fault else [])
    assert all(detail for _, detail in found)


def test_hosts_without_tls_have_no_certificate() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        thread = threading.Thread(target=lambda: server.accept()[0].close())
        thread.start()
        assert list(certificate_faults(f"localhost:{port}", {})) == []
        thread.join()
    assert list(certificate_faults(f"localhost:{port}", {})) == []


def test_certificates_of_private_hosts_are_read_only_if_the_user_named_them(tmp_path: Path) -> None:
    with handshaking(make_certificate(tmp_path / "keys", -60, 30, "e.example")) as port:
        host = f"localhost:{port}"
        assert list(certificate_faults(host, {}, typed=False)) == []
        assert len(list(certificate_faults(host, {"allow_private": "127.0.0.0/8"}, typed=False))) == 1
        assert len(list(certificate_faults(host, {}))) == 1


ROBOTS = (
    "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n",
    "User-agent: *\nContent-Signal: search=yes, ai-train=no\nDisallow:\n",
    "User-agent: claudebot\nDisallow: /private\n",
)
LLMS = ("# The house\n- [Notes](https://e.example/n.md)\n", "Only a text without a title\n", "# Empty\n")


@pytest.mark.parametrize("n", range(TIMES))
def test_faults_of_hosts_are_found(n: int, tmp_path: Path, run_audit: Callable[..., AuditSummary]) -> None:
    keys = make_certificate(tmp_path / "keys-of-site", -80, (1.5, 5, 12)[n], NAME, OTHER)

    def made(base: str, other: str, plain: str = "") -> AuditedSite:
        site = AuditedSite(base, other, plain)
        site.add("/page.html", body='<a href="/list-b.html">The second list of all</a>')
        site.finish(robots="Disallow: /none")
        site.answers["/robots.txt"].body += ROBOTS[n].encode()
        site.answers["/llms.txt"] = Answer(LLMS[n].encode(), kind="text/plain")
        return site

    with serving(made, keys) as site:
        done = run_audit(
            site.url("/"),
            http_port=int(site.plain.rpartition(":")[2]),
            crawl={"ca_file": str(keys / "own.pem")},
        )
    ours = {check.id for check in hosts.CHECKS}
    found = {one.id: one for one in done.checks if one.count and one.id in ours}
    assert found.keys() == {"http-no-redirect", "certificate-expiring", "ai-crawler-rules", "llms-txt"}
    assert (done.infos, found["llms-txt"].severity) == (2, "info")
    with AuditDatabase(tmp_path / "audit.db") as base:
        urls = dict(base.rows("SELECT check_id, url FROM findings"))
    assert urls["http-no-redirect"] == f"{site.plain}/"
    assert urls["certificate-expiring"] == site.url("/")


def test_the_twin_of_a_domain() -> None:
    assert _twin("e.com") == ["www.e.com"]
    assert _twin("www.e.co.uk:8443") == ["e.co.uk:8443"]
    assert _twin("a.e.com") == _twin("localhost") == _twin("127.0.0.1:8000") == []


def test_hosts_are_not_asked_through_a_proxy() -> None:
    from gossamer.uses.audit.run import AuditOptions, unasked_reason

    assert unasked_reason(AuditOptions(database="x", crawl={"proxies": ["http://p.example:1"]}))
    assert not unasked_reason(AuditOptions(database="x"))


def test_rules_for_ai_crawlers() -> None:
    root = "https://e.example/"
    assert ai_rules(ROBOTS[0].encode(), root) == "forbidden: CCBot, GPTBot"
    assert ai_rules(ROBOTS[1].encode(), root) == "Content-Signal: search=yes, ai-train=no"
    assert ai_rules(ROBOTS[2].encode(), root) == "allowed: ClaudeBot"
    assert ai_rules(b"User-agent: *\nDisallow: /\n", root) == ""


def test_an_answer_that_is_no_llms_txt_says_nothing() -> None:
    assert llms_summary("<!doctype html><HTML><p>Not found") == ""
    assert llms_summary(" \n") == ""
    assert llms_summary(LLMS[1]).startswith("no title")
