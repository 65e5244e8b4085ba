# ruff: noqa: F811 - pytest takes fixtures by their names
"""If a known cause leaves a crawl without results, the exit code is 5, and the last line names the cause."""

from __future__ import annotations

import http.server
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer
from cli.conftest import room, web  # noqa: F401 - fixtures
from support.answers import answering

SITE = """
from gossamer import Item, Site

site = Site("s", hosts=["{host}"], seeds=lambda args: "{web}/" + args["page"], args={{"page": "1"}})


class Thing(Item):
    number: int


@site.page()
def page(page):
    yield None
    {code}
"""


def put(room: Path, web: str, code: str) -> None:
    (room / "s.py").write_text(SITE.format(web=web, host=web.removeprefix("http://"), code=code))


def test_robots_txt_allows_nothing(room: Path, web: str) -> None:
    code, _, err = gossamer(room, "crawl", f"{web}/secret/", "--scope", "page")
    assert code == 5, err
    assert "robots.txt does not allow the URL" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise ValueError('x')", "the site file cannot parse the page"),
        ("yield Thing(number='many')", "all 1 items were rejected"),
    ],
)
def test_the_site_file_gives_nothing(room: Path, web: str, code: str, why: str) -> None:
    put(room, web, code)
    found, _, err = gossamer(room, "crawl", "s.py")
    assert found == 5, err
    assert why in err.splitlines()[-1]


def test_seeds_follow_from_arguments_and_none_is_nothing(room: Path, web: str) -> None:
    put(room, web, "yield {'url': page.url}")
    code, out, err = gossamer(room, "crawl", "s.py", "-a", "page=7", "-o", "-", "--delay", ".1")
    assert code == 0, err
    assert f'"url":"{web}/7"' in out
    put(room, web, "yield {}")
    (room / "s.py").write_text((room / "s.py").read_text().replace('args["page"]', 'args["pag"]'))
    code, _, err = gossamer(room, "crawl", "s.py")
    assert code == 4
    assert "seeds(args): KeyError" in err


@pytest.mark.parametrize("words", [["-h"], ["help"], ["help", "crawl"], ["crawl", "-h"], ["dead", "-h"]])
def test_help_is_where_people_look_for_it(room: Path, words: list[str]) -> None:
    code, out, _ = gossamer(room, *words)
    assert code == 0
    assert out.startswith("Usage: gossamer")


SITEMAPS = {
    "dtd": (200, "text/xml", b'<!DOCTYPE x [<!ENTITY a "b">]><urlset><url><loc>/1</loc></url></urlset>'),
    "picture": (200, "image/png", b"\x89PNG\r\n" + bytes(50)),
    "binary": (200, "text/xml", bytes(range(256))),
    "page": (200, "text/html", b"<!doctype html><p>Not found"),
    "missing": (404, "text/html", b"none"),
    "nothing": (200, "text/xml", b""),
    "index": (200, "text/xml", b"<sitemapindex><sitemap><loc>/missing</loc></sitemap></sitemapindex>"),
    "closed": (200, "text/xml", b"<urlset></urlset>"),
    "empty": (200, "text/xml", b"<urlset></urlset>"),
}
"""The status, the content type and the body of each sitemap. robots.txt disallows the sitemap `closed`."""


class Sitemaps(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, kind, body = SITEMAPS.get(self.path[1:], (404, "text/plain", b""))
        if self.path == "/robots.txt":
            status, body = 200, b"User-agent: *\nDisallow: /closed\n"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


@pytest.fixture(scope="module")
def sitemaps() -> Iterator[str]:
    with answering(Sitemaps) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("name", "code", "said", "detail"),
    [
        ("dtd", 5, "no page was received", "its DOCTYPE defines entities"),
        ("picture", 5, "no page was received", "it is not a sitemap or feed"),
        ("binary", 5, "no page was received", "it is not a sitemap or feed"),
        ("page", 5, "no page was received", "it is not a sitemap or feed"),
        ("missing", 5, "no page was received", "HTTP 404"),
        ("nothing", 5, "no page was received", "it is empty"),
        ("index", 5, "no page was received", "HTTP 404"),
        ("closed", 5, "robots.txt does not allow the URL", None),
        ("empty", 0, "not one URL was found in the targets: gossamer attempts c shows", None),
    ],
)
def test_a_sitemap_that_cannot_be_read_is_an_error(
    room: Path, sitemaps: str, name: str, code: int, said: str, detail: str | None
) -> None:
    words = (
        "crawl",
        f"sitemap:{sitemaps}/{name}",
        "--name",
        "c",
        "-o",
        "out.jsonl",
        "--delay",
        "0",
        "--json",
    )
    found, out, err = gossamer(room, *words)
    assert (found, said in err) == (code, True), err
    summary = json.loads(out)
    lost = summary["dead"] + sum(summary["skipped"].values())
    assert summary["found"] == lost == (code != 0)
    if detail is not None:
        assert detail in gossamer(room, "dead", "list", "c", "--json")[1]
