"""Tests of `gossamer add`: URLs are added to finished, running, paused and cancelled crawls, also across
kills. Request ids appear in all outputs."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import begin, gossamer
from gossamer.app import runner
from gossamer.app.job import Job, Setup
from gossamer.app.open_store import open_existing_store
from gossamer.app.url_adding import AddOptions, add_urls, added_targets
from gossamer.config.settings import Settings
from gossamer.store import keys
from gossamer.store.store import Store
from support.fleet_workers import until
from support.shelf import Shelf, serving_shelf

ADDED_AT, ADDED = 1_700_000_000.5, "2023-11-14T22:13:20.500Z"


@pytest.fixture
def web() -> Iterator[str]:
    with serving_shelf() as url:
        yield url


class Room:
    """A folder with one crawl, `c`."""

    def __init__(self, folder: Path, web: str) -> None:
        self.folder, self.web = folder, web

    def crawl(self, *more: str, target: str = "", code: int = 0) -> dict[str, Any]:
        words = ["crawl", target or f"{self.web}/", "--name", "c", "--delay", "0", "--json", *more]
        found, out, err = gossamer(self.folder, *words, *([] if "-o" in more else ["-o", "out.jsonl"]))
        assert found == code, err
        return self.balanced(json.loads(out.splitlines()[-1]))

    def add(self, *words: str, code: int = 0, text: str = "") -> dict[str, Any]:
        found, out, err = gossamer(self.folder, "add", "c", *words, "--json", text=text)
        assert found == code, err
        return dict(json.loads(out))

    def status(self) -> dict[str, Any]:
        code, out, err = gossamer(self.folder, "status", "c", "--json")
        assert code == 0, err
        return self.balanced(json.loads(out))

    def rows(self, name: str = "out.jsonl") -> dict[str, dict[str, Any]]:
        lines = (self.folder / name).read_text().splitlines()
        return {row["requested_url"].removeprefix(self.web): row for row in map(json.loads, lines)}

    def attempts(self) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in (self.folder / ".gossamer/c/attempts.jsonl").read_text().splitlines()
        ]

    @staticmethod
    def balanced(one: dict[str, Any]) -> dict[str, Any]:
        parts = ("pages", "redirected", "failed", "dead", "pending")
        assert one["found"] == sum(one[part] for part in parts) + sum(one["skipped"].values())
        return one


@pytest.fixture
def room(tmp_path: Path, web: str) -> Room:
    return Room(tmp_path, web)


def test_a_finished_crawl_goes_on_with_the_same_command(room: Room) -> None:
    assert room.crawl()["pages"] == 3
    added = room.add(f"{room.web}/p/7", f"{room.web}/p/1", "http://elsewhere.example/", "--id", "42")
    assert (added["added"], added["duplicates"], added["refused"]) == (1, 1, {"scope": 1})
    assert added["refused_urls"] == [["http://elsewhere.example/", "scope"]]
    assert (added["state"], added["running"]) == ("stopped", False)
    assert room.status()["pending"] == 1
    assert room.add(f"{room.web}/p/7")["duplicates"] == 1
    summary = room.crawl()
    assert (summary["state"], summary["pages"], summary["pending"]) == ("finished", 4, 0)
    assert Shelf.asked.count("/p/7") == 1
    rows = room.rows()
    assert rows["/p/7"]["id"] == "42"
    assert abs(time.time() - _seconds(rows["/p/7"]["added_at"])) < 120
    assert not rows["/p/1"].keys() & {"id", "added_at"}


def test_the_command_says_what_to_run(room: Room) -> None:
    room.crawl()
    code, out, _ = gossamer(room.folder, "add", "c", f"{room.web}/p/7")
    assert code == 0
    assert f"c: 1 URL added; the crawl is stopped: continue with gossamer crawl {room.web}/ --name c" in out


def test_ids_pass_redirects_and_retries_and_reach_dead_letters(room: Room) -> None:
    room.crawl()
    lines = [
        {"url": f"{room.web}/r/5", "id": "redirected", "added_at": ADDED_AT},
        {"url": f"{room.web}/fails", "id": "failing", "added_at": ADDED_AT},
    ]
    room.add("-", text="\n".join(map(json.dumps, lines)))
    room.crawl("--retries", "100ms")
    row = room.rows()["/r/5"]
    assert (row["url"], row["id"], row["added_at"]) == (f"{room.web}/p/5", "redirected", ADDED)
    tries = [(one["outcome"], one["added_at"]) for one in room.attempts() if one.get("id") == "failing"]
    assert tries == [("retry", ADDED), ("dead", ADDED)]
    assert [one["outcome"] for one in room.attempts() if one.get("id") == "redirected"] == [
        "redirected",
        "done",
    ]
    assert sum("id" in one for one in room.attempts()) == 4
    code, out, _ = gossamer(room.folder, "dead", "list", "c", "--json")
    letter = json.loads(out)
    assert (code, letter["request_id"], letter["added_at"]) == (0, "failing", ADDED_AT)
    assert "failing" in gossamer(room.folder, "dead", "show", letter["url"])[1]


def test_lines_that_are_not_requests_are_kept_with_their_number(room: Room) -> None:
    room.crawl()
    text = f'{room.web}/p/8\nnot a url\n\n{{"url": 3}}\n{{"url": "{room.web}/p/9", "colour": 1}}\n'
    added = room.add("-", text=text, code=2)
    assert (added["added"], added["rejected"]) == (1, 3)
    kept = (room.folder / ".gossamer/c/rejected.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in kept] == [2, 4, 5]


def test_all_refused_is_an_exit_code_of_its_own_and_seeds_pass_the_filters(room: Room) -> None:
    room.crawl("--exclude", "/p/9")
    assert room.add(f"{room.web}/p/9", code=5)["refused"] == {"filter": 1}
    other = room.web.replace("127.0.0.1", "localhost")
    assert room.add(f"{other}/p/3", f"{room.web}/p/9", "--as-seeds")["added"] == 2
    assert room.add(f"{other}/p/4")["added"] == 1  # the host was added to the scope by --as-seeds
    summary = room.crawl("--exclude", "/p/9", "--allow-private", "127.0.0.0/8", "--allow-private", "::1/128")
    assert summary["pages"] == 6


def test_known_urls_are_visited_again_by_choice(room: Room) -> None:
    room.crawl()
    assert room.add(f"{room.web}/p/1", f"{room.web}/p/8", "--again")["added"] == 2
    assert room.crawl()["pages"] == 5
    assert room.add(f"{room.web}/p/1", "--key", "order 7")["added"] == 1
    assert room.add(f"{room.web}/p/1", "--key", "order 7")["duplicates"] == 1
    room.crawl()
    assert (Shelf.asked.count("/p/1"), Shelf.asked.count("/p/8")) == (3, 1)


def test_known_urls_are_visited_again_by_the_age_of_their_last_visit(room: Room) -> None:
    room.crawl()
    words = (f"{room.web}/p/1", f"{room.web}/p/8", "--if-older", "24h")
    first = room.add(*words)
    assert (first["added"], first["recent"], first["refused"]) == (1, 1, {})
    log = room.folder / ".gossamer/c/known.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line["at"] -= 2 * 86_400 * line["url"].endswith("/p/1")
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert room.add(*words)["added"] == 1
    again = room.add(*words)
    assert (again["added"], again["duplicates"]) == (0, 2)
    room.crawl()
    assert (Shelf.asked.count("/p/1"), Shelf.asked.count("/p/8")) == (2, 1)
    last = room.add(*words)
    assert (last["added"], last["recent"]) == (0, 2)
    room.add(*words, "--again", code=2)
    room.add(*words[:2], "--if-older", "soon", code=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "nope", "http://a.example/"), "no crawl is named 'nope'; there are: c"),
        (("add", "c"), "no URL given"),
        (("add", "c", "nothing here"), "is not a URL, file or folder"),
        (("add", "c", "http://a.example/", "--carry", "{"), "is not JSON"),
        (("add", "c", "http://a.example/", "--use", "item"), "has no such page function"),
        (("add", "c", "http://a.example/", "http://b.example/", "--key", "k"), "names one request"),
        (("add", "c", "http://a.example/", "--priority", "9999999"), "between -1000000 and 1000000"),
    ],
)
def test_bad_input_gives_one_line(room: Room, words: tuple[str, ...], said: str) -> None:
    room.crawl()
    code, _, err = gossamer(room.folder, *words)
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_cancelled_crawl_takes_nothing(room: Room) -> None:
    Shelf.links = 50
    room.crawl("--limit", "3")
    gossamer(room.folder, "cancel", "c")
    code, _, err = gossamer(room.folder, "add", "c", f"{room.web}/p/77")
    assert code == 2
    assert "is cancelled, so its queue is dropped: start it over with --fresh" in err


@pytest.fixture
def running(room: Room) -> Iterator[subprocess.Popen[str]]:
    """Run a crawl of 300 pages of one host, which makes one request at a time."""
    Shelf.links = 300
    words = ["crawl", f"{room.web}/", "--name", "c", "--host-rate", "5", "-o", "out.jsonl", "-q"]
    process = begin(room.folder, *words)
    try:
        until("pages", lambda: len(Shelf.asked) > 4)
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def test_a_running_crawl_fetches_an_urgent_url_next_on_its_host(
    room: Room, running: subprocess.Popen[str]
) -> None:
    added = room.add(f"{room.web}/p/urgent", "--priority", "9")
    before = len(Shelf.asked)
    assert (added["state"], added["running"], added["added"]) == ("running", True, 1)
    until("the urgent page", lambda: "/p/urgent" in Shelf.asked)
    assert Shelf.asked.index("/p/urgent") <= before + 1  # a worker may already have claimed one other request


def test_a_paused_crawl_keeps_added_urls(room: Room, running: subprocess.Popen[str]) -> None:
    gossamer(room.folder, "pause", "c")
    code, out, _ = gossamer(room.folder, "add", "c", f"{room.web}/p/urgent", "--priority", "9")
    assert code == 0
    assert "the crawl is paused: continue with gossamer resume c" in out
    gossamer(room.folder, "resume", "c")
    until("the urgent page", lambda: "/p/urgent" in Shelf.asked)


@pytest.mark.parametrize("store_too", [False, True])
def test_an_add_that_is_killed_is_repeated_without_a_difference(room: Room, store_too: bool) -> None:
    room.crawl()
    total = 40_000
    text = "".join(f"{room.web}/q/{n}\n" for n in range(total))
    process = begin(room.folder, "add", "c", "-")
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()  # the input stays open, so the command waits for more
    until("URLs", lambda: room.status()["pending"] > 5000)
    if store_too:
        os.kill(json.loads((room.folder / ".gossamer/store/run.json").read_text())["pid"], signal.SIGKILL)
    process.kill()
    process.communicate()
    (room.folder / "list.txt").write_text(text)
    again = room.add("list.txt")
    assert again["added"] + again["duplicates"] == total
    status = room.status()
    assert (status["pending"], status["state"]) == (total, "stopped")
    assert room.add("list.txt")["duplicates"] == total


def test_stdin_keeps_a_running_crawl_open(room: Room) -> None:
    room.crawl()
    adding = begin(room.folder, "add", "c", "-")
    assert adding.stdin is not None
    adding.stdin.write(f"{room.web}/p/20\n")
    adding.stdin.flush()
    until("the URL", lambda: room.status()["pending"] == 1)
    crawl = begin(
        room.folder, "crawl", f"{room.web}/", "--name", "c", "--delay", "0", "-o", "out.jsonl", "-q"
    )
    until("the page", lambda: "/p/20" in Shelf.asked)
    adding.stdin.write(f"{room.web}/p/21\n")
    adding.stdin.flush()
    until("the next page", lambda: "/p/21" in Shelf.asked)
    assert crawl.poll() is None
    adding.communicate(timeout=30)
    assert adding.returncode == 0
    crawl.communicate(timeout=30)
    assert crawl.returncode == 0
    assert room.status()["state"] == "finished"


def test_urls_that_come_while_the_workers_end_are_fetched(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(
        targets=[f"{room.web}/"], settings=Settings(data=str(room.folder / "data"), delay=(0, 0)), name="c"
    )
    late = ["/p/21"]

    async def conclude(setup: Setup, store: Store, *more: Any, **named: Any) -> None:
        if late:
            await add_urls(store, job.settings, "c", added_targets([room.web + late.pop()]), AddOptions())

    monkeypatch.setattr(runner, "conclude_run", conclude)
    summary = asyncio.run(runner.crawl(job))
    assert (summary.state, summary.pages, summary.pending) == ("finished", 4, 0)


def test_urls_that_come_at_the_very_end_leave_the_crawl_unfinished(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(
        targets=[f"{room.web}/"], settings=Settings(data=str(room.folder / "data"), delay=(0, 0)), name="c"
    )

    async def worked(setup: Setup, store: Store) -> None:
        await add_urls(store, job.settings, "c", added_targets([f"{room.web}/p/21"]), AddOptions())

    summary = asyncio.run(runner.crawl(job, receivers=runner.ExtraReceivers(worked=worked)))
    assert (summary.state, summary.pending) == ("stopped", 1)
    assert asyncio.run(runner.crawl(job)).pages == 4


def test_a_crawl_without_a_stored_setup_is_refused(room: Room) -> None:
    room.crawl()

    async def forget() -> None:
        async with open_existing_store(Settings(data=str(room.folder / ".gossamer"))) as store:
            assert await store.client.delete(keys.setup("c")) == 1

    asyncio.run(forget())
    code, _, err = gossamer(room.folder, "add", "c", f"{room.web}/p/7")
    assert (code, "run its command once more" in err) == (2, True)


SITE = """
from gossamer import Item, Site
site = Site("c", seeds=["{web}/"], follow=False, host_rate="100/s")
class Thing(Item, key="url"):
    url: str
    told: list
@site.page("^/$")
def front(page):
    yield Thing(url=page.url, told=[page.request.id, page.request.added_at])
@site.page(name="thing")
def thing(page):
    yield Thing(url=page.url, told=[page.request.id, page.request.added_at, page.carry])
"""


def test_page_functions_and_items_have_them(room: Room) -> None:
    (room.folder / "c.py").write_text(SITE.format(web=room.web))
    room.crawl(target="c.py")
    code, _, err = gossamer(room.folder, "add", "c", f"{room.web}/p/1", "--use", "thin")
    assert (code, "its site files have front, thing" in err) == (2, True)
    line = {"url": f"{room.web}/p/1", "id": "9", "added_at": ADDED_AT, "use": "thing"}
    room.add("-", "--carry", '{"shop": 7}', text=json.dumps(line))
    room.crawl(target="c.py")
    first, second = map(json.loads, (room.folder / "out.jsonl").read_text().splitlines())
    assert (first["told"], "_id" in first, "_added_at" in first) == ([None, None], False, False)
    assert second["told"] == ["9", ADDED_AT, {"shop": 7}]
    assert (second["_id"], second["_added_at"]) == ("9", ADDED)


def _csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _sqlite(path: Path) -> list[dict[str, Any]]:
    base = sqlite3.connect(path)
    base.row_factory = sqlite3.Row
    return [dict(row) for row in base.execute("SELECT * FROM page")]


@pytest.mark.parametrize(("name", "read"), [("out.csv", _csv), ("out.sqlite", _sqlite)])
def test_tables_have_columns_for_them_if_the_seeds_have_ids(
    room: Room, name: str, read: Callable[[Path], list[dict[str, Any]]]
) -> None:
    line = {"url": f"{room.web}/p/1", "id": "9", "added_at": ADDED_AT}
    (room.folder / "list.jsonl").write_text(json.dumps(line))
    room.crawl("-o", name, target="list.jsonl")
    room.add(f"{room.web}/p/2", "--id", "10")
    room.crawl("-o", name, target="list.jsonl")
    rows = {row["url"].removeprefix(room.web): row for row in read(room.folder / name)}
    assert (rows["/p/1"]["id"], rows["/p/1"]["added_at"], rows["/p/2"]["id"]) == ("9", ADDED, "10")


def test_a_table_without_these_columns_keeps_them_beside(room: Room) -> None:
    room.crawl("-o", "out.sqlite")
    room.add(f"{room.web}/p/7", "--id", "10")
    room.crawl("-o", "out.sqlite")
    row = next(row for row in _sqlite(room.folder / "out.sqlite") if row["url"].endswith("/p/7"))
    assert json.loads(row["_extra"])["id"] == "10"


def test_a_csv_of_pages_has_columns_for_ids_that_come_later(room: Room) -> None:
    room.crawl("-o", "out.csv")
    room.add(f"{room.web}/p/7", "--id", "10")
    room.crawl("-o", "out.csv")
    rows = {row["url"].removeprefix(room.web): row for row in _csv(room.folder / "out.csv")}
    assert [*rows["/"]][-2:] == ["id", "added_at"]
    assert (rows["/p/7"]["id"], rows["/"]["id"], rows["/"]["added_at"]) == ("10", "", "")
    assert abs(time.time() - _seconds(rows["/p/7"]["added_at"])) < 120


def _seconds(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()
