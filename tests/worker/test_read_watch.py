"""Page functions that take too long are ended, and nothing else is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim
from gossamer.sites import load
from gossamer.worker import read_watch
from gossamer.worker.read_watch import ReadWatch, hurry
from gossamer.worker.reader import PageReceivers
from worker.test_page_process import URL, reader

SITE = """
import random, time
from gossamer import Site

site = Site("shop", hosts=["www.example.com"])

@site.page(".*")
def p(page):
    what = page.css("title::text").get()
    while what == "spins":
        pass
    while what == "catches once":
        try:
            while True:
                pass
        except BaseException:
            what = ""
    if what in ("nearly", "slow"):
        end = time.thread_time() + (0.3 if what == "slow" else random.uniform(0.01, 0.09))
        while time.thread_time() < end:
            pass
    yield {"what": what}
"""


class Watched:
    """A reader of the site above, whose pages may take `seconds`."""

    def __init__(self, folder: Path, seconds: float) -> None:
        path, self.stop = folder / "shop.py", asyncio.Event()
        path.write_text(SITE)
        self.reader = reader()
        self.reader.sites = load(path)
        self.reader.__init__(  # type: ignore[misc] # the same reader, with the site
            self.reader.sites,
            self.reader.link_intake,
            self.reader.key,
            self.reader.settings,
            PageReceivers(self.reader.keep),
        )
        self.read("quick")  # imports what the first page needs, without a limit of time
        self.reader.open("c", folder, None, {}, ReadWatch(seconds, [path], self.stop))

    def read(self, title: str) -> Any:
        page = Page(
            URL, 200, [("content-type", "text/html")], f"<title>{title}</title>".encode(), 0.0, 0.0, 0
        )
        return self.reader.read(Claim(0, 1, "www.example.com", Request(URL)), page, None)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(read_watch, "TICK_S", 0.01)
    made: list[Watched] = []

    def make(seconds: float) -> Watched:
        made.append(Watched(tmp_path, seconds))
        return made[-1]

    yield make
    for one in made:
        one.reader.close()


@pytest.mark.parametrize("title", ["spins", "catches once"])
def test_a_function_that_never_ends_is_ended_and_the_next_page_is_read(watched: Any, title: str) -> None:
    one = watched(0.2)
    read = one.read(title)
    assert (read.error, read.rows, read.items) == ("too-slow", [], 0)
    assert read.why.startswith("shop.py:")
    assert "in p was still running after 0.2 s" in read.why
    assert one.read("quick").items == 1


def test_while_the_crawl_stops_a_page_is_requeued_instead(watched: Any) -> None:
    one = watched(60.0)
    threading.Timer(0.05, hurry, (one.stop, 0.01)).start()
    with pytest.raises(asyncio.CancelledError):
        one.read("spins")


def test_the_stop_of_another_crawl_ends_nothing(watched: Any) -> None:
    one = watched(0.2)
    hurry(asyncio.Event(), 0.0)
    assert one.read("spins").error == "too-slow"


def test_a_function_in_a_debugger_is_not_ended(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_watch, "queued_seconds", lambda _: 0.0)  # a busy machine would hide a slow read
    one = watched(0.02)
    spins: dict[str, Any] = {"__name__": "bdb", "read": one.read}
    exec("def debug(): return read('slow')", spins)  # noqa: S102 - a frame of a module with this name
    assert spins["debug"]().items == 1
    assert one.read("slow").error == "too-slow"


def test_time_without_a_processor_is_not_counted(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may import modules, and on a busy machine each import waits for a processor."""
    monkeypatch.setattr(read_watch, "queued_seconds", lambda _: time.monotonic())
    one = watched(0.02)
    assert {one.read("nearly").error for _ in range(20)} == {None}


def test_no_exception_reaches_the_code_after_a_page_that_nearly_takes_too_long(watched: Any) -> None:
    one = watched(0.02)
    errors, end = [], time.thread_time() + 2.0
    while time.thread_time() < end:
        errors.append(one.read("nearly").error)
        for _ in range(1000):  # an exception that comes too late would be raised here
            pass
    assert None in errors
    assert "too-slow" in errors
