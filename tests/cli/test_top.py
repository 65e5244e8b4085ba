"""Tests of `gossamer top` on a terminal: its display and its keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer
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


def crawled(folder: Path, name: str, *words: str) -> None:
    code, _, err = gossamer(folder, "crawl", *words, "--name", name, "--data", "data", "-o", f"{name}.jsonl")
    assert code in (0, 5, 9), err


def state_of(folder: Path, name: str) -> dict[str, Any]:
    code, out, err = gossamer(folder, "status", name, "--data", "data", "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_it_opens_filters_requeues_and_undoes(web: Web, tmp_path: Path) -> None:
    crawled(tmp_path, "shop", *web.plan.seeds(), "--limit", "5", "--delay", "0.001")
    crawled(tmp_path, "lost", "http://127.0.0.1:1/a", "--retries", "none")
    assert state_of(tmp_path, "lost")["dead"] == 1
    top = TerminalProcess(["top", "--data", "data"], tmp_path, columns=110)
    top.shows(r"^  shop +limited")
    top.type("R")
    top.shows("choose a crawl with j and k first")
    top.type("/")
    top.shows("^/$")
    top.type("los\x7fst")
    top.shows("^/lost")
    top.type("\r")
    top.until(lambda screen: not any("shop" in line for line in screen.visible()))
    top.shows("only lost; g shows all")
    top.type("j")
    top.shows(r"^> lost +finished")
    top.type("\r")
    top.shows(r"dead +1")
    top.type("R")
    top.shows("requeue 1 dead letter of lost\\? y/n")
    top.type("n")
    top.shows("nothing was changed")
    assert state_of(tmp_path, "lost")["dead"] == 1
    top.type("R")
    top.shows("y/n")
    top.type("y")
    top.shows("lost: 1 dead letters queued again; run the crawl's command")
    top.shows(r"pending +1")
    assert state_of(tmp_path, "lost")["pending"] == 1
    top.type("u")
    top.shows("lost: 1 URLs are dead letters again")
    assert state_of(tmp_path, "lost")["dead"] == 1
    top.type("u")
    top.shows("has no change of dead letters to undo")
    top.type("\x1b")
    top.shows(r"^. lost +finished")
    top.type("g")
    top.shows(r"^  shop +limited")
    top.type("?")
    top.shows("requeue the dead letters of the crawl")
    top.type(" ")
    top.shows(r"^  shop +limited")
    top.type("q")
    assert top.end() == 0
    code, out, _ = gossamer(tmp_path, "actions", "--data", "data", "--json")
    assert code == 0
    assert [json.loads(line)["operation"] for line in out.splitlines()] == ["dead undo", "dead requeue"]


def test_it_opens_a_host_and_finishes_a_crawl(web: Web, tmp_path: Path) -> None:
    given = ["--name", "shop", "--delay", "0.3", "-o", "o.jsonl", "--data", "data"]
    crawl = TerminalProcess(["crawl", *web.plan.seeds(), *given], tmp_path)
    crawl.shows(r"[1-9]\d* pages, ")
    top = TerminalProcess(["top", "--data", "data"], tmp_path, columns=110)
    host = web.plan.seeds()[0].split("/")[2]
    top.shows(rf"^  {host} ")
    top.type("\x1b[A")  # the last row
    top.shows(rf"^> {host} ")
    top.type("o")
    top.shows(rf"^  host +{host}")
    top.shows("robots")
    top.type("g")
    top.shows(r"^  shop +running")
    top.type("\x1b[B")
    top.shows(r"^> shop +running")
    top.type("f")
    top.shows("finish shop now, without further retries\\? y/n")
    top.type("y")
    top.shows("shop: it retries nothing more")
    top.type("q")
    assert top.end() == 0
    crawl.type("\x03")
    assert crawl.end(2) in (11, 13)
