# ruff: noqa: F811 - pytest takes fixtures by their names
"""Log records of site files are printed with time, level, site and URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from support.answers import answering

SITE = """
import logging

from gossamer import Site

log = logging.getLogger(__name__)
log.info("loaded")
logging.getLogger("elsewhere").info("not of a page")


def step(item, page):
    logging.getLogger("a.library").info("step of %s", item["url"][-1])
    return item


site = Site("shop", seeds=["{web}/1"], pace="10ms", steps=[step])


@site.page()
def product(page):
    log.debug("details")
    log.info("one\\nproduct")
    log.warning("odd")
    yield {{"url": page.url}}
"""


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<h1>one</h1>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def web(room: Path) -> Iterator[str]:
    with answering(Shop) as port:
        url = f"http://127.0.0.1:{port}"
        (room / "shop.py").write_text(SITE.format(web=url))
        yield url


def lines(err: str) -> list[str]:
    """Returns the printed records without their time."""
    found = [
        re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ((?:debug|info|warning) .*)", line)
        for line in err.splitlines()
    ]
    return [one[1] for one in found if one]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_crawl_prints_info_with_site_and_url(room: Path, web: str, processes: str) -> None:
    code, _, err = gossamer(room, "crawl", "shop.py", "-o", "a.jsonl", "--processes", processes)
    assert code == 0, err
    shown = lines(err)
    assert [line for line in shown if f" shop {web}/1: " in line] == [
        f"info shop {web}/1: one",
        f"warning shop {web}/1: odd",
        f"info shop {web}/1: step of 1",
    ]
    assert any(re.fullmatch(r"info shop -: loaded", line) for line in shown)
    assert "not of a page" not in err
    assert "details" not in err


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        (("--log-level", "debug"), {"debug", "info", "warning"}),
        (("--log-level", "warning"), {"warning"}),
        (("-s", "log_level=error"), set()),
        (("--quiet",), set()),
        (("--quiet", "--log-level", "warning"), {"warning"}),
    ],
)
def test_levels(room: Path, web: str, words: tuple[str, ...], levels: set[str]) -> None:
    code, _, err = gossamer(room, "crawl", "shop.py", "-o", "a.jsonl", *words)
    assert code == 0, err
    assert {line.split()[0] for line in lines(err)} == levels


def test_a_wrong_level_is_refused(room: Path, web: str) -> None:
    code, _, err = gossamer(room, "crawl", "shop.py", "--log-level", "loud")
    assert code == 2
    assert "debug, info, warning" in err


def test_try_prints_them_too(room: Path, web: str) -> None:
    code, out, err = gossamer(room, "try", f"{web}/1", "--site", "shop.py")
    assert code == 0, err
    assert f"warning shop {web}/1: odd" in lines(err)
    assert "odd" not in out
