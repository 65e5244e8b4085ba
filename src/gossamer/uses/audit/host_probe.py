"""Looks at the hosts of a site: their certificates, whether http leads to https, and what they tell crawlers of AI
companies. A finding is a row of the table `host_findings`."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import gossamer
from gossamer.errors import FetchFailed
from gossamer.uses.audit.database import AuditDatabase, host_of
from gossamer.uses.audit.single_requests import request

EXPIRING_DAYS: Final = 14
"""A certificate is renewed some 30 days before its end; half of that is late. Certificates of a shorter life are
late when less than a third of it is left."""
TIMEOUT_S: Final = 15.0
_EXPIRED: Final = (9, 10)
_WRONG_NAME: Final = (62, 64)
"""The codes of OpenSSL for certificates that are not valid at this time, or that have other names."""
_SIGNAL: Final = re.compile(r"^[ \t]*content-signal[ \t]*:[ \t]*(.+)", re.IGNORECASE | re.MULTILINE)
_AGENT: Final = re.compile(r"^[ \t]*user-agent[ \t]*:[ \t]*([^#\r\n]+)", re.IGNORECASE | re.MULTILINE)
_MARKDOWN_LINK: Final = re.compile(r"\]\(\s*https?://|\]\(\s*/")


class HostFinding(NamedTuple):
    """Something about a host. `fact`: the id of the check that reports it."""

    url: str
    fact: str
    detail: str


def probe_hosts(
    database: AuditDatabase,
    start: str,
    options: Mapping[str, Any],
    http_port: int | None,
    pause: float,
    tell: Callable[[str], None],
) -> None:
    """Fills the table `host_findings`. `options`: those of a fetch. `http_port`: where http is served if the site
    is not at the usual port; None: it is not looked for there. `pause`: the seconds between two requests."""
    hosts = sorted(host for (host,) in database.rows("SELECT host FROM hosts"))
    found: list[HostFinding] = []
    tell("certificates and http are checked")
    authorities = options.get("ca_file")
    for host in hosts if start.startswith("https://") else []:
        name, port = _name_and_port(host)
        for one in (name, *_twin(name, port)):
            shown = host if one == name else f"{one}:{port}" if port != 443 else one
            found += [
                HostFinding(f"https://{shown}/", *one) for one in certificate_faults(one, port, authorities)
            ]
        if (http := 80 if port == 443 else http_port) is not None:
            time.sleep(pause)
            found += _without_redirect(name, http, options)
    time.sleep(pause)
    found += _llms_file(start, options)
    for origin, body in database.rows("SELECT origin, body FROM robots_files WHERE length(body) > 0"):
        if detail := ai_rules(bytes(body), f"{origin}/"):
            found.append(HostFinding(f"{origin}/robots.txt", "ai-crawler-rules", detail))
    with database.transaction() as base:
        base.executemany("INSERT OR REPLACE INTO host_findings VALUES (?, ?, ?)", found)


def _name_and_port(host: str) -> tuple[str, int]:
    name, colon, port = host.rpartition(":")
    return (name, int(port)) if colon and port.isdigit() else (host, 443)


def _twin(name: str, port: int) -> list[str]:
    """Returns the host with or without `www.`, if one of them is a registered domain, and it leads to the same
    machine or to a public one."""
    bare = name.removeprefix("www.")
    if gossamer.url.registered_domain(bare) != bare or "." not in bare or _is_address(bare):
        return []
    other = bare if name != bare else f"www.{name}"
    own, its = _addresses(name, port), _addresses(other, port)
    is_reachable = its and all(one in own or ipaddress.ip_address(one).is_global for one in its)
    return [other] if is_reachable else []


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _addresses(name: str, port: int) -> set[str]:
    try:
        return {
            str(one[4][0]).partition("%")[0]
            for one in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        }
    except (OSError, UnicodeError):
        return set()


def certificate_faults(
    name: str, port: int = 443, authorities: Any = None, now: float | None = None
) -> Iterator[tuple[str, str]]:
    """Yields the checks that a certificate fails, with a detail. `authorities`: a file with further certificates
    that are trusted. A host that does not speak TLS fails none: nobody reaches it by https."""
    context = ssl.create_default_context()
    if authorities is not None:
        context.load_verify_locations(str(authorities))
    try:
        certificate = _certificate(name, port, context)
    except ssl.SSLCertVerificationError as error:
        yield _failed(error)
        return
    except (OSError, UnicodeError, ValueError):
        return
    begin, end = (ssl.cert_time_to_seconds(str(certificate[key])) for key in ("notBefore", "notAfter"))
    left = (end - (time.time() if now is None else now)) / 86400
    if left < min(EXPIRING_DAYS, (end - begin) / 86400 / 3):
        yield "certificate-expiring", f"{int(left)} days left, until {certificate['notAfter']}"


def _certificate(name: str, port: int, context: ssl.SSLContext) -> dict[str, Any]:
    with (
        socket.create_connection((name, port), TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=name) as secured,
    ):
        return dict(secured.getpeercert() or {})


def _failed(error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    """Returns the check that a refused certificate fails."""
    detail = str(error.verify_message).strip()[:250]
    if error.verify_code in _EXPIRED:
        return "certificate-expired", detail
    if error.verify_code in _WRONG_NAME:
        return "certificate-name", detail
    return "certificate-untrusted", detail


def _without_redirect(name: str, port: int, options: Mapping[str, Any]) -> Iterator[HostFinding]:
    url = f"http://{name}/" if port == 80 else f"http://{name}:{port}/"
    try:
        page = request(url, options)
    except FetchFailed:
        return  # no http, or nothing that a crawler may ask there
    if not page.url.startswith("https://"):
        where = "" if page.url == url else f" at {page.url}"
        yield HostFinding(
            url, "http-no-redirect", f"it answers {page.status}{where} without a redirect to https"
        )


def _llms_file(start: str, options: Mapping[str, Any]) -> Iterator[HostFinding]:
    url = f"{start.partition('://')[0]}://{host_of(start)}/llms.txt"
    try:
        page = request(url, options)
    except FetchFailed:
        return
    body = page.body[: 1 << 20]
    if page.status == 200 and (detail := llms_summary(body.decode("utf-8", "replace"))):
        yield HostFinding(url, "llms-txt", detail)


def llms_summary(text: str) -> str:
    """Returns what an llms.txt (llmstxt.org) has, or '' if the text is no such file.

    >>> llms_summary("# The shop\\n\\n- [Prices](https://e.example/p.md)")
    'The shop: 1 link'
    """
    if "<html" in text[:2000].lower() or not text.strip():
        return ""
    links = len(_MARKDOWN_LINK.findall(text))
    first = next(line.strip() for line in text.splitlines() if line.strip())
    title = (
        first[2:].strip()[:100] if first.startswith("# ") else "no title (its first line must begin with #)"
    )
    return f"{title}: {links} link{'' if links == 1 else 's'}"


def ai_rules(body: bytes, root: str) -> str:
    """Returns what a robots.txt says to crawlers of AI companies, or '' if it names none of them.

    >>> ai_rules(b"User-agent: GPTBot\\nDisallow: /\\nUser-agent: CCBot\\nAllow: /", "https://e.example/")
    'forbidden: GPTBot; allowed: CCBot'
    """
    text = body.decode("utf-8", "replace")
    named = {one.strip().lower() for one in _AGENT.findall(text)}
    rules = gossamer.politeness.robots.Robots(body)
    agents = [one for one in _ai_crawlers() if one.lower() in named]
    shut = [one for one in agents if not rules.allows(one, root)]
    parts = {"forbidden": shut, "allowed": [one for one in agents if one not in shut]}
    told = [f"{word}: {', '.join(names)}" for word, names in parts.items() if names]
    told += [f"Content-Signal: {one.strip()}" for one in dict.fromkeys(_SIGNAL.findall(text))]
    return "; ".join(told)


@cache
def _ai_crawlers() -> tuple[str, ...]:
    text = files("gossamer.uses.audit").joinpath("ai_crawlers.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))
