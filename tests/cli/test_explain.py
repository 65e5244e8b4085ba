"""Tests of `explain` on real crawls: each skip reason and each state of a URL is reported with the line,
pattern or limit that decided."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from e2e.runs import begin, end_all
from gossamer.cli.commands import run

LONG = "/" + "x" * 2100
HERE = (
    "/ok?b=1&a=2",
    "/ok?a=2&b=1&utm_source=x",
    "/loop",
    "/private/x",
    "/image",
    "/away",
    "/one",
    "/a.zip",
    LONG,
    "http://10.1.2.3/",
    "ftp://files.example/a",
    "http://joe:secret@127.0.0.1:1/",
    "http://127.0.0.1:1/",
)
QUIET = '<a rel="nofollow" href="/quiet">'
ROBOTS = b"# ours\nUser-agent: *\nDisallow: /private/\n"


class Answers(http.server.BaseHTTPRequestHandler):
    """A small web of three hosts: 127.0.0.1 serves one page of each kind, only links lead to 127.0.0.2,
    and 127.0.0.3 belongs to a site file."""

    asked, hold = threading.Event(), threading.Event()

    def do_GET(self) -> None:
        path, host = self.path, self.headers["host"]
        elsewhere = [f"http://{host.replace('0.1:', '0.2:')}/{n}" for n in range(9)]
        pages = {"/": [*HERE, *elsewhere, "/late", "/held", "/next"], "/one": ["/two"], "/two": ["/three"]}
        if path == "/held":
            self.asked.set()
            self.hold.wait()
        if path == "/robots.txt":
            return self.answer(200, "text/plain", ROBOTS)
        if path == "/image":
            return self.answer(200, "image/png", b"\x89PNG\r\n\x1a\n" + bytes(100))
        if path == "/away":
            return self.answer(302, "text/html", b"", ("location", "file:///etc/passwd"))
        if path == "/loop":
            return self.answer(302, "text/html", b"", ("location", "/loop?again=1"))
        if path.startswith("/loop?"):
            return self.answer(302, "text/html", b"", ("location", "/loop"))
        links = "".join(f'<a href="{link}">x</a>' for link in pages.get(path, ())) + QUIET
        return self.answer(
            503 if path == "/late" else 200, "text/html", f"<title>{path}</title>{links}".encode()
        )

    def answer(self, status: int, kind: str, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("content-type", kind), ("content-length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Crawled(NamedTuple):
    """The data folder of the crawls, and the port of their web server."""

    data: str
    port: int


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Run two crawls. `lawless` is finished, and its site has robots=False. `c` is still running, because
    the server holds back one page."""
    folder = tmp_path_factory.mktemp("explain")
    Answers.asked.clear()  # tests of other files may have run since the last crawl
    Answers.hold.clear()
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port, data = server.server_port, str(folder / "data")
    site = folder / "lawless.py"
    site.write_text(f"""from gossamer import Site
site = Site("lawless", seeds=["http://127.0.0.3:{port}/private/x"], robots=False)
""")
    usual = ["--data", data, "--delay", "0", "--allow-private", "127.0.0.0/8", "--quiet"]
    try:
        done = begin(["crawl", str(site), "--name", "lawless", *usual])
        done.communicate(timeout=60)
        assert done.returncode == 0
        begin(
            [
                "crawl",
                f"http://127.0.0.1:{port}/",
                "--name",
                "c",
                *usual,
                "--scope",
                "any",
                "--depth",
                "2",
                "--retries",
                "1h",
                "--host-pages",
                "5",
                "--exclude",
                r"\.zip$",
                "-o",
                str(folder / "out.jsonl"),
            ]
        )
        wait_until_quiet(data)
        yield Crawled(data, port)
    finally:
        Answers.hold.set()
        end_all(Path(data))
        server.shutdown()
        server.server_close()


def wait_until_quiet(data: str) -> None:
    """Wait until only the held-back page and the URLs queued behind it are unsettled."""
    assert Answers.asked.wait(60)
    log, deadline = Path(data) / "c" / "attempts.jsonl", time.monotonic() + 60
    while not all(f'{end}"' in log.read_text() for end in ("/late", "/4")):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def explained(capsys: pytest.CaptureFixture[str], crawled: Crawled, url: str, *words: str) -> dict[str, Any]:
    address = url if ":" in url else f"http://127.0.0.1:{crawled.port}{url}"
    address = address.replace(":PORT", f":{crawled.port}")
    assert run(["explain", address, "--data", crawled.data, "--json", *(words or ("--crawl", "c"))]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("url", "now", "why", "gate", "rule"),
    [
        ("/ok?b=1&a=2", "done", "status 200", "robots.txt", "no line matches it"),
        ("/ok?a=2&b=1&utm_source=x", "done", "status 200", "seen before", "first found as http://127.0.0.1:"),
        ("/late", "retrying", "after 1 failures, due in", "robots.txt", "no line"),
        ("/loop", "done (redirected)", "status 302", "robots.txt", "no line"),
        ("/loop?again=1", "dead", "redirect-loop: it leads back to", "robots.txt", "no line"),
        ("/held", "leased", "token", "robots.txt", "no line"),
        ("/next", "pending", "at priority 0", "robots.txt", "no line"),
        ("/two", "pending", "at priority 0", "depth", "--depth is 2"),
        (
            "/private/x",
            "done (skipped: robots)",
            "line 3: Disallow: /private/",
            "robots.txt",
            "Disallow: /private/",
        ),
        (
            "/private/y",
            "skipped (robots)",
            "line 3: Disallow: /private/",
            "robots.txt",
            "line 3: Disallow: /private/",
        ),
        ("/image", "done (skipped: content-type)", "not one of text/", "content type", "not one of text/"),
        (
            "/away",
            "done (skipped: filter)",
            "redirects to a URL that is not http(s)",
            "redirect",
            "not http(s)",
        ),
        ("/a.zip", "skipped (filter)", r"--exclude \.zip$", "exclude", r"--exclude \.zip$"),
        (LONG, "skipped (trap)", "at most 2083", "length", "2123 characters"),
        ("/a/b/a/b/a/b/a/b/a/b/a/b", "skipped (trap)", "repeat", "trap", "repeat"),
        ("mailto:x@y.example", "skipped (scope)", "neither http nor https", "form", "mailto: is neither"),
        ("/quiet", "skipped (nofollow)", "has nofollow on", "link", "has nofollow on"),
        ("/three", "skipped (depth)", "--depth is 2", "depth", "3 links from a seed"),
        ("http://10.1.2.3/", "done (skipped: private)", "10.0.0.0/8", "address", "10.0.0.0/8"),
        ("ftp://files.example/a", "skipped (scope)", "neither http nor https", "form", "ftp: is neither"),
        (
            "http://127.0.0.2:PORT/8",
            "parked",
            "over its host's page budget",
            "budget",
            "cap 5 (--host-pages)",
        ),
        ("http://127.0.0.2:PORT/1", "done", "status 200", "budget", "5 pages taken"),
        ("http://127.0.0.1:1/", "skipped (filter)", "--allow-port 1 ", "port", "--allow-port 1 "),
        (
            "http://joe:secret@127.0.0.1:1/",
            "skipped (filter)",
            "user name",
            "credentials",
            "user name or password",
        ),
        (
            "/nobody",
            "unknown",
            "no fetched page links to it",
            "seen before",
            "no page has linked to its canonical form",
        ),
        (
            "http://127.0.0.3:PORT/private/x",
            "done",
            "status 200",
            "robots.txt",
            "site lawless says robots=False",
        ),
        (
            "http://other.example/",
            "skipped (scope)",
            "not in 127.0.0.3",
            "scope",
            "--scope host: other.example is not in",
        ),
    ],
)
def test_each_place_and_each_reason(
    crawled: Crawled, capsys: pytest.CaptureFixture[str], url: str, now: str, why: str, gate: str, rule: str
) -> None:
    words = {
        "/quiet": [
            "--crawl",
            "c",
            "--from",
            f"http://127.0.0.1:{crawled.port}/nobody",
            "-s",
            "allow_private=127.0.0.0/8",
        ],
        "/three": ["--crawl", "c", "--depth", "3"],
        "http://127.0.0.3:PORT/private/x": ["--crawl", "lawless"],
        "http://other.example/": ["--crawl", "lawless"],
    }.get(url, [])
    found = explained(capsys, crawled, url, *words)
    assert found["now"] == now, found
    assert why in found["why"], found
    assert rule in next((one["rule"] for one in found["gates"] if one["gate"] == gate), ""), found
    assert "secret" not in json.dumps(found)


def test_the_table_for_people(crawled: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--data", crawled.data, "--crawl", "c"]
    assert run(["explain", f"http://127.0.0.1:{crawled.port}/late", *words]) == 0
    out = capsys.readouterr().out
    assert "robots.txt" in out
    assert "http-5xx" in out
    assert run(["explain", "http://[", *words]) == 2
    assert "is not a URL" in capsys.readouterr().err
