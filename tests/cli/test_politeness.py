"""Tests of circuit breakers, lanes and rate caps in the output of `host show`, `explain`, `status` and
`rate`, on a real store."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer import url as urls
from gossamer.cli.commands import run
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.request import Request, pack
from gossamer.model.visit import Settle
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.store.keys import bucket_of
from gossamer.store.store import BUCKETS_SERVER, Store, connect

A = "a.example"


class Desk:
    """Runs commands on one store, and returns their output."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.url, self.capsys = url, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = run([*words, "--store", self.url])
        out, err = self.capsys.readouterr()
        return code, out, err

    def json(self, *words: str) -> Any:
        code, out, err = self(*words, "--json")
        assert code == 0, err
        return json.loads(out)

    def do(self, act: Callable[[Store], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            store = connect(self.url)
            await store.open(BUCKETS_SERVER, urls.psl_hash())
            try:
                return await act(store)
            finally:
                await store.close()

        return asyncio.run(inside())


@pytest.fixture
def desk(
    valkey_url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Desk:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)
    return Desk(valkey_url, capsys)


async def fill(store: Store, lane: str = "http", faults: int = 0) -> None:
    """Create a crawl whose host has failed `faults` times in a row."""
    await Crawls(store).begin("c", Spec([f"https://{A}/"]), [])
    frontier = Frontier(store, "c", Policy(delay=0, obey_robots=False, per_host=100))
    bucket, flat = bucket_of(A, store.buckets), []
    for n in range(faults + 3):
        request = Request(f"https://{A}/{n}")
        mark = urls.fingerprint(urls.canonical(request.url) or "", store.seed)
        flat += [*frontier.remainder(mark), pack(request)[1]]
    await frontier.add({(bucket, A, 0, lane, "o", ""): flat})
    if faults:
        for claim in (await frontier.claim(bucket, faults)).claims[:faults]:
            await frontier.settle(
                bucket, [Settle(claim.token, "x", since=0, health="f", reason="connect")], {"pages": 0}, {}
            )


def test_an_open_breaker_is_seen_and_closed_by_hand(desk: Desk) -> None:
    desk.do(lambda store: fill(store, faults=10))
    shown = desk.json("host", "show", A)
    breaker = shown["breaker"]
    assert (breaker["state"], breaker["faults"], breaker["openings"], breaker["hard"]) == (
        "open",
        10,
        1,
        True,
    )
    assert 20 < breaker["until"] <= 36
    assert breaker["since"] >= 0
    assert "trouble" not in shown
    _, out, _ = desk("host", "show", A)
    assert "open, " in out
    assert "10 faults in a row since" in out
    assert desk.json("status", "c")["slowest_hosts"][0]["state"] == "open"
    told = desk.json("explain", f"https://{A}/12")
    assert told["now"] == "pending"
    assert "its host fails: open" in told["why"]
    assert desk("host", "resume", A)[0] == 0
    assert desk.json("host", "show", A)["breaker"]["state"] == "closed"
    assert "fails" not in desk.json("explain", f"https://{A}/12")["why"]


def test_status_shows_failing_hosts_before_long_queues(desk: Desk) -> None:
    async def others(store: Store) -> None:
        await fill(store, faults=10)
        frontier = Frontier(store, "c", Policy(delay=0, obey_robots=False))
        for k in range(12):
            host, flat = f"h{k}.example", []
            for n in range(40):
                request = Request(f"https://{host}/{n}")
                mark = urls.fingerprint(urls.canonical(request.url) or "", store.seed)
                flat += [*frontier.remainder(mark), pack(request)[1]]
            await frontier.add({(bucket_of(host, store.buckets), host, 0, "http", "o", ""): flat})

    desk.do(others)
    hosts = desk.json("status", "c")["slowest_hosts"]
    assert (hosts[0]["host"], hosts[0]["state"], len(hosts)) == (A, "open", 10)
    assert hosts[0]["waiting"] < hosts[1]["waiting"] == 40


def test_a_host_that_never_failed_is_closed(desk: Desk) -> None:
    desk.do(fill)
    assert desk.json("host", "show", A)["breaker"] == {
        "state": "closed",
        "faults": 0,
        "openings": 0,
        "since": None,
        "until": None,
        "failing": 0.0,
        "hard": False,
    }


def test_hosts_that_wait_for_nobody_are_told(desk: Desk) -> None:
    desk.do(lambda store: fill(store, lane="slow@eu"))
    (line,) = desk.json("status", "c")["lanes"]
    assert (line["lane"], line["region"], line["ready"], line["workers"], line["stranded"]) == (
        "slow",
        "eu",
        1,
        None,
        False,
    )
    desk.do(lambda store: FleetCrawls(store).submit("c", b"{}"))
    (line,) = desk.json("status", "c")["lanes"]
    assert (line["workers"], line["stranded"]) == (0, True)
    _, out, _ = desk("status", "c")
    assert "start one with gossamer worker --lane slow --region eu" in out
    assert (
        "waits for a worker of lane slow, region eu: none is alive"
        in desk.json("explain", f"https://{A}/1")["why"]
    )
    assert "lane slow, region eu; queued 3" in desk("host", "show", A)[1]


def test_caps_are_set_shown_and_lifted(desk: Desk) -> None:
    desk.do(fill)
    assert desk("rate")[2] == "gossamer: there is no cap\n"
    assert desk("rate", "fleet", "50")[1] == "the fleet: at most 50 requests per second\n"
    assert desk("rate", "http", "2.5")[1] == "lane http: at most 2.5 requests per second\n"
    assert desk.json("rate") == {"fleet": 50.0, "http": 2.5}
    assert desk.json("rate", "http") == {"http": 2.5}
    assert desk("rate", "fleet", "none")[1] == "the fleet: no cap\n"
    assert desk("rate")[1].split() == ["cap", "of", "requests/s", "http", "2.5"]


@pytest.mark.parametrize("words", [("fleet", "fast"), ("fleet", "0"), ("a@b", "5"), ("fleet", "-1")])
def test_a_cap_that_is_none(desk: Desk, words: tuple[str, str]) -> None:
    desk.do(fill)
    code, out, err = desk("rate", *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
