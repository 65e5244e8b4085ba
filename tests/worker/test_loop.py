"""The worker with real parts: stops, pauses, limits, surprises, crashes. The asserted times are ones that a
person would notice."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import RightsMissing
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Claim, Settle, Visit
from gossamer.politeness.pace import Delay
from gossamer.state.attempts_table import AttemptsTable
from gossamer.store.rights import RIGHTS
from gossamer.store.store import Store, connect
from gossamer.worker import committer as committing
from gossamer.worker import lease_keeper as keeping
from gossamer.worker import loop as working
from worker.worker_parts import SEED, Make, Net, Road, links, until

URLS = [f"http://a.example/{k}" for k in range(40)]


def rows(path: Path) -> list[str]:
    return [json.loads(line)["url"] for line in path.read_text().splitlines()]


async def begun(table: Road) -> asyncio.Task[str]:
    await table.add(SEED)
    task = asyncio.create_task(table.run())
    await until(lambda: len(table.net.asked) > 2)
    return task


def slow_site(wait: float = 0.05) -> Net:
    return Net({SEED: links(*URLS)}, wait=wait)


async def all_accounted_for(table: Road, ended: int) -> None:
    n = await table.counts()
    assert (n["pages"], n["open"]) == (ended, len(URLS) + 1 - ended)
    assert await table.leases() == 0
    assert await table.adds_up()
    assert sorted(rows(table.path)) == sorted(table.net.asked)


async def test_a_crawl_ends_when_all_is_done(road: Make) -> None:
    table = road(slow_site(0.0))
    await table.add(SEED)
    assert await table.run() == "finished"
    await all_accounted_for(table, 41)


async def test_an_empty_frontier_is_finished_at_once(road: Make) -> None:
    assert await road(Net()).run() == "finished"


async def test_a_graceful_stop_gives_back_what_was_not_begun(road: Make) -> None:
    table = road(slow_site(), concurrency=4)
    task = await begun(table)
    table.stop.set()
    began = time.monotonic()
    assert await task == "stopped"
    assert time.monotonic() - began < working.STOP_TIMEOUT_S
    await all_accounted_for(table, len(table.net.asked))
    assert len(table.net.asked) < 41
    again = road(slow_site(0.0), output="again.jsonl")
    assert await again.run() == "finished"
    assert sorted(again.net.asked + table.net.asked) == sorted([SEED, *URLS])


async def test_a_stop_ends_requests_that_hang_and_gives_them_back(
    road: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "STOP_TIMEOUT_S", 0.3)
    net = slow_site(0.0)
    table = road(net, concurrency=4)
    net.wait = 0.0
    await table.add(SEED)
    task = asyncio.create_task(table.run())
    await until(lambda: len(net.asked) > 0)
    net.wait = 60.0
    await until(lambda: table.worker.busy >= 4)
    table.stop.set()
    assert await asyncio.wait_for(task, 5) == "stopped"
    assert await table.leases() == 0
    n = await table.counts()
    assert n["pages"] + n["open"] == 41
    assert await table.adds_up()


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("stopping", "stopped"),
        ("cancelling", "cancelled"),
        ("stopped", "stopped"),
        ("cancelled", "cancelled"),
    ],
)
async def test_a_word_from_elsewhere_ends_it_soon(road: Make, state: str, outcome: str) -> None:
    table = road(slow_site(0.1), concurrency=2)
    task = await begun(table)
    table.state = state
    assert await asyncio.wait_for(task, 2 + 0.5) == outcome
    await all_accounted_for(table, len(table.net.asked))


async def test_pause_and_resume_act_soon(road: Make) -> None:
    table = road(slow_site(0.1), concurrency=2)
    task = await begun(table)
    table.state = "paused"
    await until(lambda: table.worker.paused and not table.worker.busy)
    before = -1
    while before != len(table.net.asked):  # a claim may have been under way
        before = len(table.net.asked)
        await asyncio.sleep(0.6)
    assert before < 41
    assert not task.done()
    table.state = "running"
    await until(lambda: len(table.net.asked) > before, 2.0)
    assert await task == "finished"
    await all_accounted_for(table, 41)


async def test_a_paused_crawl_can_be_stopped(road: Make) -> None:
    table = road(slow_site(0.1), concurrency=2)
    task = await begun(table)
    table.state = "paused"
    await until(lambda: table.worker.paused and not table.worker.busy)
    table.state = "stopping"
    assert await asyncio.wait_for(task, 2.5) == "stopped"
    await all_accounted_for(table, len(table.net.asked))


@pytest.mark.parametrize("limit", [1, 7, 40])
async def test_the_limit_of_pages_is_exact_and_keeps_the_queue(road: Make, limit: int) -> None:
    table = road(slow_site(0.01), limit=limit)
    await table.add(SEED)
    assert await table.run() == "pages"
    await all_accounted_for(table, limit)
    further = road(slow_site(0.0), output="further.jsonl")
    assert await further.run() == "finished"
    assert sorted(further.net.asked + table.net.asked) == sorted([SEED, *URLS])


async def test_the_limit_of_pages_is_exact_for_two_workers(road: Make) -> None:
    one, two = road(slow_site(0.01), limit=20), road(slow_site(0.01), limit=20, output="two.jsonl")
    await one.add(SEED)
    assert set(await asyncio.gather(one.run(), two.run())) == {"pages"}
    assert len(one.net.asked) + len(two.net.asked) == 20
    assert (await one.counts())["pages"] == 20


async def test_what_is_no_page_returns_its_permit(road: Make) -> None:
    answers: dict[str, Any] = {
        url: (302, {"location": "http://elsewhere.example/"}, b"") for url in URLS[:20]
    }
    table = road(Net({SEED: links(*URLS), **answers}), limit=10)
    await table.add(SEED)
    assert await table.run() == "pages"
    n = await table.counts()
    assert n["pages"] == 10
    assert await table.adds_up()


async def test_the_limit_of_bytes_claims_no_more(road: Make) -> None:
    table = road(slow_site(0.1), concurrency=2, size_limit=len(links(*URLS)) + 1)
    for url in URLS:
        table.net.answers[url] = "x" * 1000
    await table.add(SEED)
    assert await table.run() == "bytes"
    assert len(table.net.asked) <= 1 + 3 * 2, "what was claimed before the sum was known"
    await all_accounted_for(table, len(table.net.asked))


async def test_the_limit_of_time_ends_it(road: Make) -> None:
    table = road(slow_site(0.2), concurrency=1, deadline=time.monotonic() + 1.0)
    await table.add(SEED)
    began = time.monotonic()
    assert await table.run() == "time"
    assert time.monotonic() - began < 3
    await all_accounted_for(table, len(table.net.asked))


async def test_a_surprise_leaves_its_claim_to_expire_and_goes_on(road: Make, store: Store) -> None:
    net = slow_site(0.0)
    net.answers[URLS[3]] = [ValueError("a bug"), "fine"]
    table = road(net)
    table.frontier.policy = table.frontier.policy.__class__(
        delay=0, per_host=100, obey_robots=False, lease=1500
    )
    table.worker._renew = lambda: asyncio.sleep(0)  # type: ignore[method-assign] # so that a short lease may run out
    await table.add(SEED)
    assert await asyncio.wait_for(table.run(), 20) == "finished"
    assert [(claim.request.url, str(error)) for claim, error in table.surprises] == [(URLS[3], "a bug")]
    assert net.asked.count(URLS[3]) == 2
    assert sorted(rows(table.path)) == sorted([SEED, *URLS])
    assert (await table.counts()).get("retried", 0) == 0, "a bug of ours is not an attempt"


async def test_what_is_no_page_s_fault_ends_the_worker(road: Make) -> None:
    table = road(Net({SEED: OSError("no file descriptors left")}))
    await table.add(SEED)
    with pytest.raises(OSError, match="no file descriptors left"):
        await table.run()
    assert await table.leases() == 1
    assert await table.adds_up()


async def test_a_url_that_killed_its_workers_runs_alone(road: Make, store: Store) -> None:
    table = road(slow_site(0.02), concurrency=8)
    await table.add(SEED, *URLS[:10])
    for claim in await table.claim(20):
        if claim.request.url == URLS[5]:
            for _ in range(working.ALONE_AFTER_DEATHS):
                await store.client.zadd("{b:000}c:l", {str(claim.token): 1})
                await table.frontier.requeue_expired(0)
                (claim,) = await table.claim(1)
    await table.frontier.requeue_expired(0, nobody_lives=True)
    together: list[int] = []
    collect = table.net.collect

    async def collected(request: Any, headers: dict[str, str], guise: Any = None) -> Any:
        if request.url == URLS[5]:
            together.append(table.worker.busy)
            table.net.wait = 0.3
        found = await collect(request, headers)
        if request.url == URLS[5]:
            together.append(table.worker.busy)
            table.net.wait = 0.02
        return found

    table.net.collect = collected  # type: ignore[method-assign] # to look who else is at work
    assert await table.run() == "finished"
    assert together == [1, 1]
    assert sorted(table.net.asked) == sorted([SEED, *URLS])


async def test_leases_are_renewed_while_a_visit_is_long(road: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "RENEW_INTERVAL_S", 0.2)
    monkeypatch.setattr(keeping, "SWEEP_INTERVAL_S", 0.2)
    table = road(Net({}, wait=1.5), lease=700)
    await table.add(SEED)
    assert await table.run() == "finished"
    assert table.net.asked == [SEED]
    assert (rows(table.path), table.committer.refused) == ([SEED], 0)


async def test_a_lost_lease_is_fetched_again_and_written_once(
    road: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the sleep of a laptop, the leases have expired and the claims were queued again. The links are
    not lost."""
    monkeypatch.setattr(keeping, "RENEW_INTERVAL_S", 0.2)
    net = slow_site(0.8)
    table = road(net)
    await table.add(SEED)
    task = asyncio.create_task(table.run())
    await until(lambda: len(net.asked) == 1)
    (lost,) = table.worker.held
    await table.frontier.requeue_expired(0, nobody_lives=True)
    await until(lambda: lost not in table.worker.held)
    net.wait = 0.0
    assert await asyncio.wait_for(task, 20) == "finished"
    assert sorted(rows(table.path)) == sorted([SEED, *URLS])
    assert await table.adds_up()
    assert (await table.counts())["pages"] == 41


async def test_a_gate_visits_one_and_gives_the_rest_back(road: Make) -> None:
    net = Net({"http://a.example/robots.txt": "User-agent: *\nDisallow: /1\n"})
    table = road(net, obey=True, fixed=Delay(0.05, 0.05), per_host=1)
    await table.add(*URLS)
    assert await table.run() == "finished"
    pages = [url for url in net.asked if "robots" not in url]
    assert sorted(pages) == sorted(url for url in URLS if not url.startswith("http://a.example/1"))
    assert (await table.counts())["skip:robots"] == 11
    assert await table.adds_up()
    gaps = [b - a for a, b in pairwise(net.times)]
    assert min(gaps) >= 0.04


async def test_the_visitor_puts_each_claim_once(road: Make) -> None:
    net = Net({"http://a.example/robots.txt": "User-agent: *\nDisallow: /1\n"})
    table = road(net, obey=True, fixed=Delay(0.01, 0.01), per_host=1)
    await table.add(*URLS)
    put: list[Visit] = []
    claims: list[Claim] = []

    async def gate() -> bool:
        nonlocal claims
        claims = await table.claim()
        if claims and claims[0].kind == "gate":
            return True
        for claim in claims:
            await table.visitor.visit([claim], put.append)
        await table.frontier.settle(
            0, [v.ends(time.monotonic()) for v in put if v.settle.end], {"pages": 0}, {}
        )
        put.clear()
        return False

    await until(gate)
    await table.visitor.visit(claims, put.append)
    assert sorted(visit.claim.token for visit in put) == [claim.token for claim in claims]
    said: Callable[[str], int] = lambda action: sum(visit.settle.end == action for visit in put)  # noqa: E731
    assert said("d") == 1
    assert said("k") + said("b") == len(claims) - 1


async def test_no_more_requests_run_at_a_host_than_it_allows_while_they_land_early(road: Make) -> None:
    net, at_once = Net(wait=0.01), list[int]()
    collect = net.collect

    async def counted(*given: Any) -> Any:
        at_once.append(at_once[-1] + 1 if at_once else 1)
        try:
            return await collect(*given)
        finally:
            at_once.append(at_once[-1] - 1)

    net.collect = counted  # type: ignore[method-assign]
    table = road(net, per_host=3)
    await table.add(*URLS)
    assert await table.run() == "finished"
    assert max(at_once) == 3


async def test_starts_keep_the_delay_while_hosts_are_freed_early(road: Make) -> None:
    net = Net(wait=0.03)
    table = road(net, fixed=Delay(0.06, 0.06), per_host=1)
    await table.add(*URLS[:12])
    assert await table.run() == "finished"
    assert min(b - a for a, b in pairwise(net.times)) >= 0.055


async def test_a_limit_of_bytes_counts_each_page_before_the_next(road: Make) -> None:
    net = Net(dict.fromkeys(URLS, "x" * 1000))
    table = road(net, per_host=1, size_limit=2500)
    await table.add(*URLS)
    assert await table.run() == "bytes"
    assert len(net.asked) == 3


async def test_a_chain_of_pages_does_not_wait_for_company(
    road: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no other visit can start, a page is committed at once, because only its links can provide the
    next visits."""
    monkeypatch.setattr(committing, "GATHER_WAIT_S", 30.0)
    net = Net({SEED: links(URLS[0]), **{a: links(b) for a, b in pairwise(URLS)}})
    table = road(net, per_host=1)
    await table.add(SEED)
    assert await table.run() == "finished"
    assert len(net.asked) == len(URLS) + 1


async def test_missing_rights_never_count_as_a_crash(road: Make, store: Store) -> None:
    await store.guard(store.client.execute_command(f"ACL SETUSER poor reset on >word {RIGHTS}"))
    poor = connect(f"{store.url.replace('unix://', 'unix://poor:word@')}")
    await poor.open(1, "test")
    await store.guard(store.client.execute_command("ACL SETUSER poor resetkeys ~{b:* ~gossamer*"))
    table = road(slow_site(0.0))
    table.outputs._attempts = AttemptsTable(poor, "c", 1 << 20)
    await table.add(SEED)
    for _ in range(2):
        with pytest.raises(RightsMissing):
            await table.run()
        assert await table.leases() == 0
        assert [claim.crashes for claim in await peeked(table)] == [0]
        table = road(slow_site(0.0), output="again.jsonl")
        table.outputs._attempts = AttemptsTable(poor, "c", 1 << 20)
    await store.guard(store.client.execute_command(f"ACL SETUSER poor {RIGHTS}"))
    assert await table.run() == "finished"
    assert (await table.counts()).get("lapsed", 0) == 0
    await poor.close()


async def test_a_claim_whose_reply_comes_after_a_failure_never_counts_as_a_crash(
    road: Make, store: Store
) -> None:
    await store.guard(store.client.execute_command(f"ACL SETUSER poor reset on >word {RIGHTS}"))
    poor = connect(f"{store.url.replace('unix://', 'unix://poor:word@')}")
    await poor.open(1, "test")
    await store.guard(store.client.execute_command("ACL SETUSER poor resetkeys ~{b:* ~gossamer*"))
    table, failed, late = road(Net(), concurrency=1), asyncio.Event(), list[Claim]()
    table.outputs._attempts = AttemptsTable(poor, "c", 1 << 20)
    add, claim = table.outputs._attempts.add, table.frontier.all_buckets.claim

    async def fails(*given: Any) -> None:
        try:
            await add(*given)
        finally:
            failed.set()

    async def comes_late(*given: Any) -> Any:
        got = await claim(*given)
        if table.net.asked:
            late.extend(one for some in got for one in some.claims)
            await failed.wait()
            for _ in range(1000):  # until the failure has reached the worker
                await asyncio.sleep(0)
        return got

    table.outputs._attempts.add = fails  # type: ignore[method-assign]
    table.frontier.all_buckets.claim = comes_late  # type: ignore[method-assign]
    await table.add(*URLS[:3])
    with pytest.raises(RightsMissing):
        await table.run()
    assert late
    assert await table.leases() == 0
    table.frontier.all_buckets.claim = claim  # type: ignore[method-assign]
    assert [one.crashes for one in await peeked(table)] == [0] * 3
    await poor.close()


async def peeked(table: Road) -> list[Claim]:
    """Return the claims that a worker would get, and give them back."""
    claims = await table.claim()
    settles = [Settle(claim.token, ClaimEnd.REQUEUED) for claim in claims]
    await table.frontier.settle(0, settles, {}, {})
    return claims
