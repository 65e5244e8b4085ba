"""Server-side request forgery: in a whole crawl, no content of a page leads the crawler to an internal
host (security row 1)."""

from __future__ import annotations

import http.server
import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import fork_server
from support.answers import answering

FORMS = [
    "127.0.0.1",
    "127.0.0.2",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST.",
    "a.localhost",
    "127.0.0.1.",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "user:pw@127.0.0.1",
    "169.254.169.254",
    "10.0.0.1",
    "[fd00:ec2::254]",
    "[fe80::1]",
]


class Victim:
    """Listens on all addresses of this machine, and counts the connections."""

    def __init__(self) -> None:
        self.met = 0
        self.socket = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port: int = self.socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.met += 1
            connection.close()


@pytest.fixture
def victim() -> Iterator[Victim]:
    found = Victim()
    yield found
    found.socket.close()


@pytest.fixture
def attacker(victim: Victim) -> Iterator[str]:
    """Serve a site that contains each internal address in every form that a crawler might follow."""
    places = [f"{scheme}://{form}:{victim.port}/" for form in FORMS for scheme in ("http", "https")]
    front = "".join(
        f"<a href='{one}'>a</a><iframe src='{one}'></iframe><link rel=next href='{one}'><area href='{one}'>"
        for one in places
    )
    front += "".join(f"<a href='/to/{n}'>r</a><a href='/meta/{n}'>m</a>" for n in range(len(places)))
    front += f"<a href='http:\\\\127.0.0.1:{victim.port}\\'>b</a><a href='//127.0.0.1:{victim.port}\\@example.com/'>b</a>"
    urls = "".join(f"<url><loc>{one}</loc></url>" for one in places)
    index = "".join(f"<sitemap><loc>{one}s.xml</loc></sitemap>" for one in places)
    robots = "".join(f"Sitemap: {one}s.xml\n" for one in places)

    class Site(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            kind, _, number = self.path.strip("/").partition("/")
            body, media, status = front, "text/html", 200
            if self.path == "/robots.txt":
                body, media = (
                    f"User-agent: *\nDisallow:\nSitemap: /index.xml\nSitemap: /urls.xml\n{robots}",
                    "text/plain",
                )
            elif self.path.endswith(".xml"):
                body, media = (
                    (f"<urlset>{urls}</urlset>", f"<sitemapindex>{index}</sitemapindex>")[
                        kind == "index.xml"
                    ],
                    "text/xml",
                )
            elif kind == "meta":
                body = f"<meta http-equiv=refresh content='0;url={places[int(number)]}'>"
            elif kind == "to":
                status = (301, 302, 303, 307, 308)[int(number) % 5]
            data = body.encode()
            self.send_response(status)
            if kind == "to":
                self.send_header("Location", places[int(number)].encode().decode("latin-1"))
            self.send_header("Content-Type", f"{media}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with answering(Site) as port:
        yield f"http://127.0.0.1:{port}/"


def test_no_word_of_a_site_leads_inside(tmp_path: Path, attacker: str, victim: Victim) -> None:
    words = [
        "crawl",
        attacker,
        "--scope",
        "any",
        "--allow-port",
        str(victim.port),
        "--sitemaps",
        "--delay",
        "0",
        "--per-host",
        "4",
        "--retries",
        "none",
    ]
    run = fork_server.run(
        [
            sys.executable,
            "-m",
            "gossamer",
            *words,
            "--json",
            "--quiet",
            "-o",
            "out.jsonl",
            "--processes",
            "1",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout)
    assert summary["pages"] > len(FORMS), "the site itself was crawled: it was typed"
    assert summary["skipped"]["private"] >= 20
    assert victim.met == 0


def test_nor_does_a_robots_txt(tmp_path: Path, victim: Victim) -> None:
    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{victim.port}/robots.txt")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with answering(Site) as port:
        words = [
            "crawl",
            f"http://127.0.0.1:{port}/",
            "--allow-port",
            str(victim.port),
            "--retries",
            "none",
            "--quiet",
        ]
        fork_server.run(
            [sys.executable, "-m", "gossamer", *words],
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert victim.met == 0
