"""The metrics page for Prometheus. Its values equal those of the crawl, and the number of its series is
limited."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec
import pytest

from cli.command_line import gossamer
from gossamer import url as urls
from gossamer.errors import ConfigError
from gossamer.frontier.crawls import Crawls, Spec, forget_crawl
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.recent_rates import lane_rates, recent_rates
from gossamer.model.request import Request, pack
from gossamer.model.response_times import quantile
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Commit, Settle
from gossamer.observability.exporter import MetricsServer
from gossamer.observability.metrics import METRICS, text_of
from gossamer.observability.snapshot import Observer
from gossamer.politeness.scores import WorkerScore
from gossamer.state.domains_with_metrics import MAX_DOMAINS, MetricDomains
from gossamer.state.scores import Scores
from gossamer.state.workers import WorkerRecord, WorkerRecords
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store, connect

R = TypeVar("R")


@pytest.fixture
def run(valkey_url: str) -> Callable[[Callable[[Store], Awaitable[Any]]], Any]:
    """Returns a function that runs an async function with an open store of 4 buckets."""

    def do(work: Callable[[Store], Awaitable[R]]) -> R:
        async def opened() -> R:
            store = connect(valkey_url, patience=0.0, embedded=False)
            await store.open(4, "psl")
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(opened())

    return do


def samples(page: str) -> dict[str, float]:
    """Returns the value of each series."""
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in page.splitlines()
        if not line.startswith("#")
    }


async def a_crawl(store: Store, name: str = "c") -> None:
    await Crawls(store).begin(name, Spec(["http://a.example/"]), [])


TOTALS = {
    "requests|http|ok": 7,
    "requests|http|http-5xx": 1,
    "le|http|0": 6,
    "le|http|16": 2,
    "seconds|http": 25_000,
    "wire|http": 100,
    "decoded|http": 300,
    "domain|a.example|ok": 7,
    "lane|http|eu": 7,
    "items|book|i": 5,
    "items|book|b": 2,
    "retried|timeout": 1,
    "climbed|plain|browser": 1,
    "robots|ok": 1,
    "proxy|pool|ok": 1,
    "credits|zyte": 3,
}


async def settled(store: Store, name: str = "c", bucket: int = 0) -> None:
    """Settles counts and totals, as a commit does."""
    frontier = Frontier(store, name, Policy())
    counts = {"pages": 7, "requests": 8, "skip:robots": 2, "err:http-5xx": 1, "own:x": 4, "q|shop|p": 7}
    await frontier.settle_all([Commit(bucket, [], counts, {}, totals=TOTALS)])


def test_totals_of_all_buckets_and_crawls_are_added_up_and_outlive_a_crawl(run: Any) -> None:
    async def work(store: Store) -> tuple[dict[str, float], dict[str, float]]:
        await a_crawl(store)
        await settled(store, bucket=0)
        await settled(store, bucket=3)
        before = samples(text_of(await Observer(store).look()))
        await forget_crawl(store, "c")
        return before, samples(text_of(await Observer(store).look()))

    before, after = run(work)
    assert before['gossamer_requests_total{collector="http",outcome="ok"}'] == 14
    assert before['gossamer_request_duration_seconds_bucket{collector="http",le="0.025"}'] == 12
    assert before['gossamer_request_duration_seconds_bucket{collector="http",le="180"}'] == 12
    assert before['gossamer_request_duration_seconds_bucket{collector="http",le="+Inf"}'] == 16
    assert before['gossamer_request_duration_seconds_sum{collector="http"}'] == 5
    assert before['gossamer_items_total{kind="book",valid="true"}'] == 6
    assert before['gossamer_items_total{kind="book",valid="false"}'] == 4
    assert before['gossamer_skipped_total{reason="robots"}'] == 4
    assert before['gossamer_page_errors_total{reason="http-5xx"}'] == 2
    assert before['gossamer_crawl_pages{crawl="c"}'] == 14
    assert not any("own" in name for name in before)
    counters = {metric.name for metric in METRICS if metric.kind == "counter"} - {
        "gossamer_store_commands_total"
    }
    for name, value in before.items():
        if name.partition("{")[0] in counters:
            assert after[name] == value
    assert not any('crawl="c"' in name for name in after)


def test_dead_letters_and_expired_leases_are_counted(run: Any) -> None:
    async def work(store: Store) -> dict[str, float]:
        await a_crawl(store)
        frontier = Frontier(store, "c", Policy(obey_robots=False, delay=0, lease=1))
        adds: Any = {}
        for n in range(2):
            request = Request(f"http://a.example/{n}")
            mark = urls.fingerprint(request.url, store.seed)
            group = (bucket_of("a.example", store.buckets), "a.example", 0, "http", "s", "")
            adds.setdefault(group, []).extend((*frontier.remainder(mark), pack(request)[1]))
        await frontier.add(adds)
        (bucket,) = await frontier.all_buckets.due()
        (claim, *_) = (await frontier.claim(bucket, 1)).claims
        await frontier.settle(bucket, [Settle(claim.token, ClaimEnd.DEAD, reason="timeout")], {}, {})
        await frontier.claim(bucket, 1)
        while not (await frontier.requeue_expired(bucket))[0]:  # noqa: ASYNC110 - the store's clock decides
            await asyncio.sleep(0.001)
        return samples(text_of(await Observer(store).look()))

    found = run(work)
    assert found['gossamer_dead_letters_total{reason="timeout"}'] == 1
    assert found["gossamer_leases_expired_total"] == 1
    assert found["gossamer_urls_added_total"] == 2
    assert found['gossamer_crawl_pending{crawl="c"}'] == 1


def test_each_process_has_its_level_and_its_limit_is_counted(run: Any) -> None:
    async def work(store: Store) -> dict[str, float]:
        await a_crawl(store)
        scores = Scores(store, "c")
        now = await scores.now()
        for name, level in (("w.1", 64), ("w.2", 200)):
            record = WorkerScore(name, at=now, concurrency=level, limit="processor")
            await scores.tell(name, msgspec.json.encode(record))
        return samples(text_of(await Observer(store).look()))

    found = run(work)
    assert {name: n for name, n in found.items() if "concurrency" in name} == {
        'gossamer_concurrency_level{crawl="c",process="w.1"}': 64,
        'gossamer_concurrency_level{crawl="c",process="w.2"}': 200,
        'gossamer_concurrency_limit_processes{crawl="c",limit="processor"}': 2,
    }


def test_names_are_those_of_prometheus() -> None:
    for metric in METRICS:
        assert re.fullmatch(r"gossamer_[a-z_]+", metric.name), metric.name
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert metric.text.endswith("."), metric.name
        assert not {"url", "host", "job", "instance"} & set(metric.labels)
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_labels_are_escaped(run: Any) -> None:
    async def work(store: Store) -> str:
        await WorkerRecords(store).beat(
            WorkerRecord(name='w"\\\n@x', host="", pid=1, lanes=["http"], processes=1, version="1")
        )
        return text_of(await Observer(store).look())

    page = run(work)
    assert 'gossamer_worker_up{worker="w\\"\\\\\\n@x",region=""} 1' in page.splitlines()


def test_recent_rates_come_from_periods_of_the_stores_clock(run: Any) -> None:
    async def work(store: Store) -> Any:
        await settled(store)
        now = await Crawls(store).store.guard(store.client.time())
        at = int(now[0])
        (young, old) = await recent_rates(store, ["c", "c"], at, [at - 2, at - 5000])
        (later,) = await recent_rates(store, ["c"], at + 700, [at - 5000])
        return at, young, old, later

    at, young, old, later = run(work)
    assert young.pages[0] == pytest.approx(3.5)
    assert 7 / 70 <= old.pages[0] <= 7 / 60
    assert old.requests[1] == pytest.approx(8 / 605, rel=0.02)
    assert later.pages == (0, 0)
    assert abs(old.last - at) < 5


def test_recent_rates_are_known_by_lane_and_region(run: Any) -> None:
    async def work(store: Store) -> Any:
        frontier = Frontier(store, "c")
        for lane, pages in (("http|eu", 3), ("http|eu", 4), ("browser+http|", 2), ("http|", 9)):
            await frontier.settle_all([Commit(0, [], {"pages": pages}, {}, totals={f"lane|{lane}": pages})])
        now = int((await store.guard(store.client.time()))[0])
        return await lane_rates(store, "c", now, now - 2)

    assert [(one.lanes, one.region, one.pages[0]) for one in run(work)] == [
        ("browser+http", "", 1.0),
        ("http", "eu", 3.5),
    ]


def test_domains_are_bounded_and_stay(run: Any) -> None:
    async def work(store: Store) -> tuple[set[str], set[str]]:
        first, second = MetricDomains(store, ["named.example"]), MetricDomains(store)
        await first.exchange()
        for n in range(2 * MAX_DOMAINS):
            second.ask(f"d{n}.example")
        await second.exchange()
        await first.exchange()
        return first.known, second.known

    first, second = run(work)
    assert first == second
    assert len(first) == MAX_DOMAINS
    assert "named.example" in first


def test_quantiles_lie_within_their_interval() -> None:
    assert quantile(0.5, []) is None
    assert quantile(0.5, [0] * 7 + [10]) == pytest.approx(0.875)
    assert quantile(0.95, [0] * 16 + [3]) == 180


def test_the_server_answers_and_a_port_in_use_is_named() -> None:
    server = MetricsServer("127.0.0.1", 0, lambda: "gossamer_up 1\n")
    server.start()
    try:
        address = f"http://127.0.0.1:{server.port}"
        answer = httpx.get(f"{address}/metrics")
        assert answer.text == "gossamer_up 1\n"
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert httpx.get(f"{address}/healthz").text == "ok\n"
        assert httpx.get(f"{address}/other").status_code == 404
        with pytest.raises(
            ConfigError, match=f"{server.port}: Address already in use: choose another --port"
        ):
            MetricsServer("127.0.0.1", server.port, str)
    finally:
        server.close()


@pytest.mark.parametrize("address", ["999.1.1.1", "8.8.8.8", "no host"])
def test_an_address_at_which_nothing_can_listen_is_refused_before_anything_else(
    tmp_path: Path, address: str
) -> None:
    code, _, err = gossamer(tmp_path, "metrics", "--bind", address, "--once")
    assert (code, f"--bind {address}" in err) == (2, True), err


def test_a_store_that_does_not_answer_is_told() -> None:
    for refuses in (False, True):
        samples = [one for one in text_of(None, refuses=refuses).splitlines() if one[0] != "#"]
        assert samples == ["gossamer_up 0", f"gossamer_store_refuses {int(refuses)}"]
