"""Own searches with the browser. Each result contains its distance from the top of the rendered page."""

from __future__ import annotations

import http.server
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.parsing.ranks import Result
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.keywords import read_keywords
from gossamer.uses.ranks.page_rows import read_pages
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.run import RankRunOptions, run
from parsing.ranks.ranks_pages import SITES, google, organic, organics, questions, text_ad
from support.answers import answering

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None and os.environ.get("CI") != "true", reason="needs chromium"
)
STYLE = b"""<style>* { margin: 0; padding: 0; font-size: 10px; line-height: 20px } form, #tvcap, [role=navigation], #sfooter, h1 { display: none }
#rso .MjjYud { height: 100px; overflow: hidden } #picture { display: block } .away { display: none }</style></head>"""
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="300"/>'
PAGE = google(
    '<img id="picture" src="/picture.svg">'
    + organics(1, 1)
    + '<div style="display: contents">'
    + organics(2, 2)
    + "</div>"
    + questions()
    + organics(3, 9)
    + organic(SITES[9], "Result 10").replace('class="MjjYud"', 'class="MjjYud away"'),
    before=f'<div id="tads">{text_ad("https://ad.example/", "Buy shoes")}</div>',
).replace(b"</head>", STYLE)


@pytest.fixture
def engine() -> Iterator[str]:
    """A search engine on loopback whose headers forbid scripts created from text."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_picture = self.path.endswith(".svg")
            body = PICTURE.encode() if is_picture else PAGE
            self.send_response(200)
            self.send_header("Content-Type", "image/svg+xml" if is_picture else "text/html; charset=utf-8")
            self.send_header(
                "Content-Security-Policy", "script-src 'self'; require-trusted-types-for 'script'"
            )
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with answering(Handler) as port:
        yield f"http://127.0.0.1:{port}"


def searched(folder: Path, address: str, device: str, ladder: str) -> tuple[Result, ...]:
    """Returns the results of page 1 of an own search."""
    (folder / "k.csv").write_text(f"keyword,domain,device\nshoes,site1.example,{device}\n")
    options = RankRunOptions(
        history=str(folder / "ranks.db"),
        depth=Depth("basic", 10),
        own=True,
        hosts={"google": address},
        crawl={
            "data": str(folder / "data"),
            "delay": "0.05",
            "allow_private": "127.0.0.0/8",
            "ladder": ladder,
        },
    )
    done = run(read_keywords([str(folder / "k.csv")]).keywords, options, lambda _: None, lambda _: None)
    assert done.done == 1
    with RankHistory(options.history) as history:
        (pages,) = read_pages(history.database, done.run).values()
    return tuple(pages[0].results)


def test_results_have_the_place_that_the_browser_shows(tmp_path: Path, engine: str) -> None:
    found = searched(tmp_path, engine, "desktop", "browser")
    ranked = {one.rank: one.pixel for one in found if one.rank}
    assert ranked == {1: 300.0, 2: 400.0, **{rank: 100.0 * (rank + 3) for rank in range(3, 10)}, 10: None}
    asked = [(one.position, one.pixel) for one in found if one.type == "people_also_ask"]
    assert asked == [(asked[0][0], 500.0)] * 2
    assert [one.pixel for one in found if one.type == "ad"] == [None]


@pytest.mark.parametrize(("device", "ladder"), [("mobile", "browser"), ("desktop", "plain")])
def test_a_page_that_was_not_measured_has_no_pixels(
    tmp_path: Path, engine: str, device: str, ladder: str
) -> None:
    found = searched(tmp_path, engine, device, ladder)
    assert [one.rank for one in found if one.rank] == list(range(1, 11))
    assert {one.pixel for one in found} == {None}
