# ruff: noqa: F811 - pytest takes fixtures by their names
"""The exception `raise gossamer.Stop("why")` ends a crawl in good order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from support.answers import answering

SITE = """
import gossamer


def old(item, page):
    if item["n"] == {step}:
        raise gossamer.Stop("seen before")


site = gossamer.Site("news", seeds=["{web}/0"], pace="1ms", steps=[old])


@site.page()
def article(page):
    n = int(page.url.rpartition("/")[2])
    yield {{"n": n}}
    if n == {function}:
        raise gossamer.Stop("old enough")
    yield f"/{{n + 1}}"
"""
PAGES = 30
COSTLY = 26_000
"""The number of elements of a page that is parsed in another process."""


class News(BaseHTTPRequestHandler):
    costly = ""

    def do_GET(self) -> None:
        body = b"<b>n</b>" * (COSTLY if self.path == self.costly else 1)
        self.send_response(404 if self.path == "/robots.txt" or int(self.path[1:]) > PAGES else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def web() -> Iterator[str]:
    with answering(News) as port:
        yield f"http://127.0.0.1:{port}"


def numbers(room: Path) -> list[int]:
    return sorted(json.loads(line)["n"] for line in (room / "items.jsonl").read_text().splitlines())


def crawl(room: Path, *words: str) -> tuple[int, dict[str, object], str]:
    code, out, err = gossamer(room, "crawl", "news.py", "-o", "items.jsonl", "--json", *words)
    return code, json.loads(out), err


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_function_ends_the_crawl(room: Path, web: str, processes: str) -> None:
    (room / "news.py").write_text(SITE.format(web=web, step=-1, function=5))
    code, summary, err = crawl(room, "--processes", processes)
    assert (code, summary["state"], summary["reason"]) == (0, "stopped", "site news: old enough"), err
    assert numbers(room) == list(range(6))
    assert "stopping: site news: old enough" in err


def test_a_step_ends_the_crawl(room: Path, web: str) -> None:
    (room / "news.py").write_text(SITE.format(web=web, step=7, function=-1))
    code, summary, _ = crawl(room)
    assert (code, summary["state"], summary["reason"]) == (0, "stopped", "site news: seen before")
    assert numbers(room)[:8] == list(range(8)), "the item of the step is stored"
    assert len(numbers(room)) < PAGES


def test_a_crawl_that_was_ended_continues(room: Path, web: str) -> None:
    (room / "news.py").write_text(SITE.format(web=web, step=7, function=-1))
    crawl(room)
    (room / "news.py").write_text(SITE.format(web=web, step=-1, function=-1))
    code, summary, err = crawl(room)
    assert (code, summary["state"]) == (0, "finished"), err
    assert numbers(room) == list(range(PAGES + 1))


def test_in_a_page_that_another_process_reads(room: Path, web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(News, "costly", "/5")
    site = SITE.format(web=web, step=-1, function=5).replace('"old enough"', "str(os.getpid())")
    (room / "news.py").write_text(f"import os\n{site}\n\nprint('loaded by', os.getpid())\n")
    code, summary, err = crawl(room)
    assert code == 0, err
    pids = re.findall(r"loaded by (\d+)", err)
    assert str(summary["reason"]).removeprefix("site news: ") in pids[1:], (err, summary["errors"])
