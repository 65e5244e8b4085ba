"""`--polite-by`: hosts at one address share one budget, judged at the servers."""

from __future__ import annotations

import contextlib
from pathlib import Path

from e2e.runs import job
from gossamer.door import crawl
from web import preset, serve
from web.judge import by_host, faults, violations

WEBS, DELAY = 7, 0.12


async def test_twenty_hosts_at_three_addresses(tmp_path: Path) -> None:
    plan = preset("tiny", hosts=3, pages=4, links=3, hrefs=3, fanout=2, latency=0.01, robots=("missing", "part"))
    with contextlib.ExitStack() as stack:
        webs = [stack.enter_context(serve(plan)) for _ in range(WEBS)]
        seeds = [seed for web in webs for seed in web.plan.seeds()]
        ports = [web.plan.port for web in webs]
        one = job(seeds, tmp_path, processes=2, delay=(DELAY, DELAY), polite_by="ip", allow_port=ports, concurrency=32)
        summary = await crawl(one)
        logs = [web.log() for web in webs]
    for web, log in zip(webs, logs, strict=True):
        assert faults(log, web.plan, orphans=False) == []
    by_address = [hit._replace(host=hit.host.partition(":")[0]) for log in logs for hit in log]
    addresses = by_host(by_address)
    assert len(addresses) == 3
    assert violations(by_address, dict.fromkeys(addresses, DELAY)) == []
    assert summary.adds_up()
    assert (summary.pages, summary.retried, summary.dead) == (WEBS * 3 * 4, 0, 0), "a turn refused is no attempt"


async def test_two_crawls_share_an_address_and_a_fast_host_is_not_slowed_by_another_address(tmp_path: Path) -> None:
    plan = preset("tiny", hosts=2, pages=6, links=4, hrefs=4, fanout=3)
    with serve(plan) as web, serve(plan) as other:
        seeds = [*web.plan.seeds(), *other.plan.seeds()]
        ports = [web.plan.port, other.plan.port]
        one = job(seeds, tmp_path, delay=(0.1, 0.1), per_host=2, polite_by="ip", allow_port=ports)
        summary = await crawl(one)
        log = [hit._replace(host=hit.host.partition(":")[0]) for each in (web, other) for hit in each.log()]
    assert summary.pages == 24
    addresses = by_host(log)
    assert violations(log, dict.fromkeys(addresses, 0.1), per_host=2) == []
