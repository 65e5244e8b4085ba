"""Tests of `gossamer add --again` across kills: if the same command is repeated after kills, each of its
URLs is visited exactly once more."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import begin, gossamer
from gossamer.app.open_store import open_existing_store
from gossamer.config.settings import Settings
from gossamer.frontier.producer_positions import leases_key
from support.fleet_workers import until
from support.shelf import Shelf, serving_shelf

KILLED = """
import os, signal, sys
from gossamer.store import connection
left = [int(sys.argv.pop(1))]
exchange = connection.Connection._exchange

async def until_killed(self, commands):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    if any(command[0] == "HDEL" and str(command[1]).endswith(":ag") for command in commands):
        left[0] = 1_000_000  # the command has ended
    return await exchange(self, commands)

connection.Connection._exchange = until_killed
from gossamer.cli import main; main()
"""
"""Runs the command line, and kills the process before it sends the N-th group of commands to the store."""


@pytest.fixture
def web() -> Iterator[str]:
    with serving_shelf() as url:
        yield url


def end_leases(folder: Path) -> None:
    """End the leases of killed commands. Otherwise, a crawl waits 30 s for these leases before it ends."""

    async def end() -> None:
        async with open_existing_store(Settings(data=str(folder / ".gossamer"))) as store:
            await store.client.delete(leases_key("c"))

    asyncio.run(end())


def crawl(folder: Path, web: str, pages: int) -> Counter[str]:
    """Run the crawl to its end, and return the number of requests per path."""
    end_leases(folder)
    Shelf.asked.clear()
    words = ["crawl", f"{web}/", "--name", "c", "--delay", "0", "--json", "-o", "out.jsonl"]
    code, out, err = gossamer(folder, *words)
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["pages"] == pages
    return Counter(Shelf.asked) - Counter(["/robots.txt"])


def first_crawl(folder: Path, web: str, *more: str) -> None:
    """Crawl the front page and its two links."""
    words = ["crawl", f"{web}/", "--name", "c", "--delay", "0", "-q", "-o", "out.jsonl", *more]
    assert gossamer(folder, *words)[0] == 0


def test_a_kill_between_any_two_steps_changes_nothing(tmp_path: Path, web: str) -> None:
    first_crawl(tmp_path, web)
    words = [f"{web}/p/{n}" for n in (0, 1, 7, 7, 8)]
    (tmp_path / "more.txt").write_text(f"{web}/p/9\n{web}/p/1\n")
    command = ["add", "c", *words, "more.txt", "--again", "--json"]
    kills = 0
    while True:
        process = begin(tmp_path, str(kills), *command, code=KILLED)
        out, err = process.communicate(timeout=60)
        if process.returncode != -signal.SIGKILL:
            break
        kills += 1
    assert process.returncode == 0, err
    assert kills > 8
    added = json.loads(out)
    assert (added["added"], added["duplicates"], added["continued"]) == (0, 7, True)
    assert "did not finish: the URLs that it added are not added again" in err
    assert crawl(tmp_path, web, 8) == Counter(f"/p/{n}" for n in (0, 1, 7, 8, 9))
    code, out, _ = gossamer(tmp_path, *command)
    added = json.loads(out)
    # the repeated command has ended, so the same command counts as a new one
    assert (code, added["added"], added["continued"]) == (0, 5, False)
    assert crawl(tmp_path, web, 13) == Counter(f"/p/{n}" for n in (0, 1, 7, 8, 9))


def test_visits_between_the_kill_and_the_repetition_count(tmp_path: Path, web: str) -> None:
    first_crawl(tmp_path, web)
    process = begin(tmp_path, "add", "c", "-", "--again")
    assert process.stdin is not None
    process.stdin.write(f"{web}/p/1\n{web}/p/7\n")
    process.stdin.flush()
    until("the URLs", lambda: pending(tmp_path) == 2)
    process.kill()
    process.communicate()
    assert crawl(tmp_path, web, 5) == Counter(["/p/1", "/p/7"])
    text = f"{web}/p/1\n{web}/p/7\n{web}/p/8\n"
    code, out, _ = gossamer(tmp_path, "add", "c", "-", "--again", "--json", text=text)
    added = json.loads(out)
    assert (code, added["added"], added["duplicates"], added["continued"]) == (0, 1, 2, True)
    assert crawl(tmp_path, web, 6) == Counter(["/p/8"])


def test_another_command_is_another_wish(tmp_path: Path, web: str) -> None:
    first_crawl(tmp_path, web)
    process = begin(tmp_path, "4", "add", "c", f"{web}/p/1", "--again", code=KILLED)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    code, out, _ = gossamer(tmp_path, "add", "c", f"{web}/p/1", "--again", "--id", "7", "--json")
    assert (code, json.loads(out)["continued"]) == (0, False)


def test_a_link_to_a_new_url_that_was_added_again_is_not_visited_twice(tmp_path: Path, web: str) -> None:
    first_crawl(tmp_path, web, "--limit", "1")
    Shelf.links = 9
    assert gossamer(tmp_path, "add", "c", f"{web}/", f"{web}/p/8", "--again")[0] == 0
    visits = crawl(tmp_path, web, 11)
    assert (visits["/p/8"], visits["/"]) == (1, 1)


def pending(folder: Path) -> int:
    code, out, err = gossamer(folder, "status", "c", "--json")
    assert code == 0, err
    return int(json.loads(out)["pending"])
