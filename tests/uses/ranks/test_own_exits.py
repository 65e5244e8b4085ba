"""Own searches through proxies. Each proxy has its own pace, and the other proxies take over the searches of
a proxy that fails."""

from __future__ import annotations

import asyncio
import http.server
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gossamer.errors import NoProxyLeft, UsageError
from gossamer.uses.ranks.keywords import read_keywords
from gossamer.uses.ranks.own_exits import MAX_EXITS, exit_options, read_exits
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.run import RankRunOptions, RankRunSummary, run
from support.answers import answering
from support.light_proxies import Light
from uses.ranks.simulated_days import OWN, page_html

DELAY_S = 0.5
Times = dict[str, list[float]]
SAID: list[str] = []
"""The messages of the runs."""


@pytest.fixture
def engine() -> Iterator[tuple[str, Times]]:
    """A search engine on loopback that records the times of the searches by client address."""
    came: Times = defaultdict(list)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            came[self.client_address[0]].append(time.monotonic())
            words = parse_qs(urlsplit(self.path).query)["q"][0]
            body = page_html(words, 1, 3, None, False)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with answering(Handler) as port:
        yield f"http://127.0.0.1:{port}", came


@pytest.fixture
def proxies() -> Iterator[list[Light]]:
    """Two proxies in a thread of their own. Each searches from its own address."""
    some = [Light("127.0.0.2", 18431), Light("127.0.0.3", 18431)]
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    for one in some:
        asyncio.run_coroutine_threadsafe(one.start(), loop).result()
    yield some
    for one in some:
        asyncio.run_coroutine_threadsafe(one.stop(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def searched(folder: Path, address: str, count: int, lines: list[str], **more: str) -> RankRunSummary:
    """Makes a run of own searches through proxies."""
    (folder / "k.csv").write_text("keyword,domain\n" + "".join(f"kettle {n},{OWN}\n" for n in range(count)))
    (folder / "p.txt").write_text("# mine\n" + "\n".join(lines) + "\n")
    options = RankRunOptions(
        history=str(folder / "ranks.db"),
        depth=Depth("basic", 10),
        own=True,
        hosts={"google": address},
        crawl={
            "data": str(folder / "data"),
            "delay": f"{DELAY_S}-{2 * DELAY_S}",
            "allow_private": "127.0.0.0/8",
            "proxies": [str(folder / "p.txt")],
            **more,
        },
    )
    return run(read_keywords([str(folder / "k.csv")]).keywords, options, SAID.append, lambda _: None)


def test_each_exit_has_a_pace_of_its_own(
    tmp_path: Path, engine: tuple[str, Times], proxies: list[Light]
) -> None:
    address, came = engine
    done = searched(tmp_path, address, 10, [f"http://{one.address}:{one.port}" for one in proxies])
    assert (done.done, done.failed) == (10, 0)
    assert {where: len(times) for where, times in came.items()} == {"127.0.0.2": 5, "127.0.0.3": 5}
    for times in came.values():
        assert min(after - before for before, after in itertools.pairwise(times)) > 0.6 * DELAY_S
    first, second = came.values()
    # the proxies search at the same time, not one after the other
    assert max(first[0], second[0]) < min(first[-1], second[-1])


def test_exits_with_one_store_share_its_pace(
    tmp_path: Path, engine: tuple[str, Times], proxies: list[Light], valkey_url: str
) -> None:
    address, came = engine
    lines = [f"http://{one.address}:{one.port}" for one in proxies]
    done = searched(tmp_path, address, 6, lines, store=valkey_url)
    assert (done.done, done.failed) == (6, 0)
    every = sorted(itertools.chain.from_iterable(came.values()))
    assert min(after - before for before, after in itertools.pairwise(every)) > 0.6 * DELAY_S


@pytest.mark.parametrize("line", ["http://127.0.0.4:18431", "no proxy at all"])
@pytest.mark.parametrize("count", [1, 4])
def test_searches_of_a_proxy_that_fails_go_to_the_other(
    tmp_path: Path, engine: tuple[str, Times], proxies: list[Light], line: str, count: int
) -> None:
    address, came = engine
    SAID.clear()
    done = searched(tmp_path, address, count, [line, f"http://{proxies[0].address}:18431"])
    assert (done.done, done.failed) == (count, 0)
    assert {where: len(times) for where, times in came.items()} == {"127.0.0.2": count}
    assert len([one for one in SAID if one.startswith("a proxy cannot be used")]) == 1


def test_nothing_is_searched_without_a_proxy(tmp_path: Path, engine: tuple[str, Times]) -> None:
    address, came = engine
    with pytest.raises(NoProxyLeft):
        searched(tmp_path, address, 2, ["http://127.0.0.4:18431", "http://127.0.0.5:18431"])
    assert not came


def test_lists_are_divided_and_deleted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# mine\n" + "".join(f"http://10.0.0.{n}:1\n\n" for n in range(40)))
    lines = read_exits([str(tmp_path / "a.txt")] * 2)
    assert len(lines) == 40
    with exit_options(lines, {"delay": "5-10", "data": str(tmp_path / "d")}) as exits:
        assert len(exits) == MAX_EXITS
        assert len({one["data"] for one in exits}) == len({one["name"] for one in exits}) == MAX_EXITS
        files = [Path(one["proxies"][0]) for one in exits]
        assert sorted(line for file in files for line in file.read_text().split()) == sorted(lines)
        assert {file.parent.stat().st_mode & 0o077 for file in files} == {0}
    assert not any(file.exists() for file in files)
    with pytest.raises(UsageError, match="cannot be read"):
        read_exits([str(tmp_path / "none.txt")])
