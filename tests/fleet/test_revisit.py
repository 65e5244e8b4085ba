"""Tests of `--revisit` in a fleet. The table of known pages is in the store, one process decides which pages
to revisit, and another process takes over when it dies."""

from __future__ import annotations

import asyncio
import http.server
import itertools
import struct
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from gossamer.app.open_store import open_url
from gossamer.app.page_table_storage import SharedTableStorage
from gossamer.recrawl.page_table import PageState, line_of
from gossamer.recrawl.revisit_rules import rules_of
from support.answers import answering
from support.cluster import cluster
from support.fleet_workers import Fleet, Server, Worker, until

PAGES = 24
MIN_AGE = 2.0
DECIDES = "this process decides"
HOW = ("--revisit", "auto", "--revisit-budget", "20/s", "--min-age", f"{MIN_AGE:g}s", "--delay", "0")


class News:
    """A site whose pages may change. Records the time and the status of each answer."""

    def __init__(self) -> None:
        self.pages = {f"/{n}": f"<title>Page {n}</title><p>It says {n}" for n in range(PAGES - 1)}
        self.pages["/"] = "<title>Home</title>" + "".join(f"<a href=/{n}>{n}</a>" for n in range(PAGES - 1))
        self.answers: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
        self.order: list[str] = []
        self.url = ""

    def least(self) -> int:
        """Returns the smallest number of answers that any page has given."""
        return min(len(self.answers[path]) for path in self.pages)

    def total(self) -> int:
        return sum(len(self.answers[path]) for path in self.pages)


@contextmanager
def serving() -> Iterator[News]:
    made = News()

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            page = made.pages.get(self.path)
            tag = f'"{hash(page)}"'
            status = 404 if page is None else 304 if self.headers.get("if-none-match") == tag else 200
            body = b"" if status == 304 else (page or "").encode()
            self.send_response(status)
            self.send_header("ETag", tag)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            made.answers[self.path].append((time.monotonic(), status))
            made.order.append(self.path)

        def log_message(self, *_: object) -> None:
            pass

    with answering(Answers) as port:
        made.url = f"http://127.0.0.1:{port}/"
        yield made


def visits_go_on(news: News, more: int = 3, seconds: float = 120) -> None:
    """Waits until each page has been visited `more` further times."""
    before = news.least()
    until(f"{more} more visits of each page", lambda: news.least() >= before + more, seconds)


def goes_on(news: News) -> None:
    """Waits until there are more visits."""
    before = len(news.order)
    until("more visits", lambda: len(news.order) >= before + 5)


def begun(fleet: Fleet, news: News, *more: str) -> str:
    words = ("submit", news.url, "-o", "out/", "--allow-private", "127.0.0.0/8", "--quiet", *HOW, *more)
    return fleet.run(*words).strip()


def decider(workers: list[Worker]) -> Worker:
    """Returns the worker whose process decided last. Log lines begin with their time, so the largest line is
    the latest."""
    return max(
        workers,
        key=lambda one: max((line for line in one.said().splitlines() if DECIDES in line), default=""),
    )


async def read_table(url: str, crawl: str) -> list[PageState]:
    """Returns the known pages of a stopped crawl, including all reported outcomes."""
    rules = rules_of("auto", "1/s", None, 1.0, ())
    assert rules is not None

    async def do(call: Any, *args: Any) -> Any:
        return call(*args)

    store = await open_url(url, embedded=False)
    try:
        home = SharedTableStorage(store, crawl)
        pages = await home.open(rules, do)
        while await home.take_visits(pages, round(time.time()), do):
            pass
        return pages.table.select("")
    finally:
        await store.close()


def seen(fleet: Fleet, crawl: str) -> list[PageState]:
    return asyncio.run(read_table(fleet.store, crawl))


def test_a_fleet_visits_its_pages_again_and_every_outcome_counts_once(fleet: Fleet, server: Server) -> None:
    with serving() as news:
        workers = [fleet.worker(name, "--data", name) for name in ("a", "b")]
        fleet.ready(2)
        name = begun(fleet, news)
        until("each page four times", lambda: news.least() >= 4)
        assert len(fleet.rows()) == PAGES, "nothing changed, so no row is written twice"
        assert {status for _, status in news.answers["/3"][1:]} == {304}, "the requests are conditional"
        news.pages["/3"] += " and more"
        until("the change", lambda: len(fleet.rows()) == PAGES + 1)
        assert [row["url"] for row in fleet.rows()].count(news.url + "3") == 2
        assert sum(DECIDES in one.said() for one in workers) == 1
        until("the report", lambda: fleet.json("status", name, "--freshness")["pages"] == PAGES)
        assert fleet.json("status", name, "--freshness")["budget"] == 20 * 86_400
        fleet.run("stop", name)
        assert fleet.ended(name)["state"] == "stopped"
        quiet = news.total()
        pages = seen(fleet, name)
        assert news.total() == quiet
    assert len(pages) == PAGES
    assert {line_of(one).url: one.visits + 1 for one in pages} == {
        f"{news.url.rstrip('/')}{path}": len(found)
        for path, found in news.answers.items()
        if path in news.pages
    }
    assert sum(one.changed for one in pages) == 1
    for path in news.pages:
        times = [at for at, _ in news.answers[path]]
        gaps = [after - before for before, after in itertools.pairwise(times)]
        assert min(gaps) > MIN_AGE - 1.6, "times are rounded to seconds"


def test_another_process_takes_over_when_the_deciding_one_dies(fleet: Fleet, server: Server) -> None:
    with serving() as news:
        workers = [fleet.worker(name, "--data", name) for name in ("a", "b")]
        fleet.ready(2)
        name = begun(fleet, news, "--importance", "inlinks")
        for round_ in range(2):
            visits_go_on(news)
            dead = decider(workers)
            dead.kill()
            workers.remove(dead)
            until("another decides", lambda: any(DECIDES in one.said() for one in workers))
            workers.append(fleet.worker(f"c{round_}", "--data", f"c{round_}"))
        visits_go_on(news)
        server.kill()
        server.start()
        visits_go_on(news)
        fleet.run("stop", name)
        summary = fleet.ended(name, 120)
        pages = seen(fleet, name)
    with redis.Redis.from_url(fleet.store.replace("valkey://", "redis://")) as client:
        (counts,) = client.scan_iter(f"*{name}:vl")
        inlinks = [n for chunk in client.hvals(counts) for _, n in struct.iter_unpack("<qH", chunk)]
    assert summary["state"] == "stopped"
    assert len(pages) == PAGES, "no page is lost"
    assert inlinks == [1] * (PAGES - 1), "the start page links to each of the others"
    counted = sum(one.visits + 1 for one in pages)
    assert counted <= news.total(), "no outcome counts twice"
    assert news.total() - counted <= 3 * PAGES, (
        "only visits that were killed before their outcome do not count"
    )
    assert not [line for one in fleet.workers for line in one.said().splitlines() if "Traceback" in line]


def test_signals_pause_and_cleaning(fleet: Fleet) -> None:
    with serving() as news:
        fleet.worker("a")
        fleet.ready(1)
        name = begun(fleet, news, "--revisit-budget", "1/s")
        until("all pages", lambda: news.least() >= 1)
        until("visits again", lambda: len(news.order) > PAGES + 3)
        target = next(path for path in news.order[-PAGES:] if len(news.answers[path]) == 1 and path != "/")
        fleet.run("changed", name, news.url.rstrip("/") + target)
        at = len(news.order)
        until("the reported page", lambda: len(news.answers[target]) == 2)
        assert len(news.order) - at < PAGES // 2, "it is visited before pages that are due later"
        fleet.run("pause", name)
        until("it pauses", lambda: fleet.status(name)["state"] == "paused")
        fleet.run("resume", name)
        goes_on(news)
        fleet.run("stop", name)
        fleet.ended(name)
        assert begun(fleet, news) == name
        goes_on(news)
        assert fleet.json("status", name, "--freshness")["pages"] == PAGES, "it goes on with what it knew"
        fleet.run("cancel", name)
        fleet.ended(name)
    fleet.run("clean", "--crawl", name, "--older", "0s")
    with redis.Redis.from_url(fleet.store.replace("valkey://", "redis://")) as client:
        assert not list(client.scan_iter(f"*{name}*"))


def test_a_window_that_the_budget_cannot_keep_is_refused(fleet: Fleet) -> None:
    (fleet.folder / "urls.txt").write_text("".join(f"https://a.example/{n}\n" for n in range(50)))
    words = ("submit", "urls.txt", "--name", "c", "--revisit", "24h", "--revisit-budget")
    assert "50 pages need" in fleet.run(*words, "10/d", code=2)
    assert "give --revisit-budget" in fleet.run(*words, "10/d", code=2)


def test_pages_of_earlier_runs_are_taken_over_or_refused(fleet: Fleet) -> None:
    with serving() as news:
        fleet.worker("a")
        fleet.ready(1)
        words = ("submit", news.url, "--allow-private", "127.0.0.0/8", "--quiet", "--delay", "0")
        for name, more in (("plain", ()), ("noted", ("--known", "seen/"))):
            fleet.run(*words, "--name", name, *more)
            assert fleet.ended(name)["state"] == "finished"
        assert "it knows none of them" in fleet.run(*words, "--name", "plain", *HOW, code=2)
        news.answers.clear()
        fleet.run(*words, "--name", "noted", *HOW, "--known", "seen/", "--time-limit", "20s")
        until("each page again", lambda: news.least() >= 1)
        assert {found[0][1] for path, found in news.answers.items() if path in news.pages} == {304}
        assert fleet.ended("noted")["state"] == "limited"
        fleet.run(*words, "--name", "noted", *HOW, "--time-limit", "20s")
        visits_go_on(news, 1)
        fleet.run("stop", "noted")
        fleet.ended("noted")


def test_the_table_is_on_a_cluster(tmp_path: Path) -> None:
    with (
        serving() as news,
        cluster() as store,
        Server(tmp_path / "broker") as broker,
        Fleet(tmp_path, store.url, [broker.url(0)]) as fleet,
    ):
        fleet.worker("a")
        fleet.ready(1)
        name = begun(fleet, news)
        until("each page four times", lambda: news.least() >= 4, 120)
        fleet.run("stop", name)
        fleet.ended(name)
        pages = seen(fleet, name)
    assert sum(one.visits + 1 for one in pages) == news.total()
