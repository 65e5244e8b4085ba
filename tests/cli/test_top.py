"""Tests of `gossamer top` on a terminal: its display and its keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.runs import end_all
from support.screen import TerminalProcess
from web import Web, preset, serve


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=1, pages=300, latency=0.01)) as web:
        yield web


@pytest.fixture(autouse=True)
def nobody_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    TerminalProcess.kill_all()
    end_all(tmp_path / "data")


@pytest.mark.parametrize("columns", [60, 100])
def test_its_keys(web: Web, tmp_path: Path, columns: int) -> None:
    given = ["--name", "shop", "--delay", "0.3", "-o", "o.jsonl", "--data", "data"]
    crawl = TerminalProcess(["crawl", *web.plan.seeds(), *given], tmp_path)
    crawl.shows(r"[1-9]\d* pages, ")
    top = TerminalProcess(["top", "--data", "data"], tmp_path, columns=columns)
    top.shows(r"shop +running")
    rows = top.shows("^q quit   p pause")
    assert max(map(len, rows)) < columns
    top.type("s")
    top.shows("hosts sorted by delay")
    top.type("p")
    top.shows(r"shop: paused")
    top.shows(r"shop +paused")
    crawl.shows("waits +the crawl is paused; continue with")
    top.type("p")
    top.shows("shop: it goes on")
    top.resize(columns + 10)
    top.shows(r"shop +running")
    top.type("q")
    assert top.end() == 0
    assert "\x1b[?1049l" in top.text, "the screen is given back"
    assert "\x1b[?25h" in top.text
    crawl.type("\x03")
    assert crawl.end(2) in (11, 13)
