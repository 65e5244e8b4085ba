"""The counts of the summary add up at every moment of a crawl of unusual pages, even if workers are killed
and commands change the crawl."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import begin, children_of, command, job, kill, socket_of
from gossamer.app.open_store import open_url
from gossamer.app.runner import crawl
from gossamer.cli.commands import run
from gossamer.cli.summaries import advice
from gossamer.errors import Away
from gossamer.frontier.crawls import ENDED, Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.request import Request, pack
from gossamer.model.summary import Summary
from gossamer.model.visit import Settle
from web import preset, serve
from web.plan import FEATURES

# the excluded features only cost time
ODD = tuple(name for name in FEATURES if name not in ("hang", "endless", "bombs", "slow"))


def wrong(s: Summary | dict[str, Any]) -> str | None:
    """Return the counts of a summary that does not add up, or None."""
    n: dict[str, Any] = s if isinstance(s, dict) else {name: getattr(s, name) for name in s.__struct_fields__}
    parts = {name: n[name] for name in ("pages", "redirected", "failed", "dead", "pending")} | n["skipped"]
    if n["found"] == sum(parts.values()) and min(parts.values()) >= 0:
        return None
    return f"found {n['found']}: {parts}"


async def over(statistics: CrawlStatistics) -> bool:
    """Return whether the crawl has ended, after which its store may end at any moment."""
    record = await statistics.crawls.get("c")
    return record is not None and record.state in ENDED


async def sampled(store_url: str, shared: bool, door: subprocess.Popen[str]) -> list[Summary]:
    """Read the summary every few milliseconds. Meanwhile, kill a worker, requeue and drop dead letters,
    and stop the crawl."""
    store = await open_url(store_url, embedded=not shared)
    statistics, steer, samples = CrawlStatistics(store), OperatorCommands(store), list[Summary]()
    killed, steered, stopping = 0, 0, False
    # this client does not keep the embedded store running, so the store may end at any moment after the crawl
    try:
        while door.poll() is None and not await over(statistics):
            if "c" in await statistics.crawls.names():
                now = await statistics.summary("c")
                samples.append(now)
                if not killed and now.pages > 100 and kill(next(iter(children_of(door.pid)), None)):
                    killed = len(samples)
                if now.dead and steered < 2:
                    await steer.letters("c", "drop" if steered else "requeue")
                    steered += 1
                if killed and steered > 1 and len(samples) > killed + 100 and not stopping:
                    await statistics.crawls.set("c", "stopping", "by a test")
                    stopping = True
            await asyncio.sleep(0.003)
    except Away:
        if shared or not stopping:
            raise
    finally:
        await store.close()
    assert stopping
    return samples


@pytest.mark.parametrize("shared", [False, True])
def test_the_sum_at_every_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shared: bool, shared_store: str
) -> None:
    plan = preset("all", features=ODD, robots=("part", "missing"), latency=0.01)
    with serve(plan) as web:
        seeds = [
            *web.plan.seeds(),
            f"sitemap:{web.url(0, '/sitemap.xml')}",
            "sitemap:http://127.9.9.9:1/none.xml",
        ]
        one = job(seeds, tmp_path, processes=2, scope="any", per_host=2, timeout=2.0)
        words = command(one, "--scope", "any", *(("--store", shared_store) if shared else ()))
        door = begin(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        data = Path(one.settings.data)
        deadline = time.monotonic() + 30
        while not shared and socket_of(data) is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        samples = asyncio.run(sampled(shared_store if shared else socket_of(data) or "", shared, door))
    assert len(samples) > 20
    assert [line for line in map(wrong, samples) if line] == []
    assert len({s.found for s in samples}) > 5
    door.wait(30)
    where = ["--data", one.settings.data, *(("--store", shared_store) if shared else ())]
    assert told(capsys, *where)["state"] == "stopped"
    assert run(["dead", "requeue", "c", *where]) == 0
    assert told(capsys, *where)["dead"] == 0
    assert run(["cancel", "c", *where]) == 0
    assert told(capsys, *where)["pending"] == 0


def test_a_sitemap_that_dies_and_lives_again(valkey_url: str) -> None:
    """A sitemap is not a page, so it counts only while it is a dead letter."""

    async def moments() -> list[tuple[int, int, int]]:
        store = await open_url(valkey_url, embedded=False)
        frontier, statistics, steer = (
            Frontier(store, "c", Policy(delay=0, obey_robots=False)),
            CrawlStatistics(store),
            OperatorCommands(store),
        )
        await statistics.crawls.begin("c", Spec(["sitemap:https://a.example/s.xml"]), [])
        host, entry = pack(Request("https://a.example/s.xml", use="@sitemap"))
        await frontier.add({(0, host, 0, "http", "i", "5"): [1, 2, entry]})
        found = []

        async def look() -> None:
            now = await statistics.summary("c")
            assert wrong(now) is None
            found.append((now.found, now.dead, now.pending))

        for verb in ("requeue", "requeue", "drop"):
            await look()
            claim = (await frontier.claim(0, 1)).claims[0]
            await frontier.settle(0, [Settle(claim.token, "x", reason="connect")], {}, {})
            await look()
            await steer.letters("c", verb)
        await look()
        await store.close()
        return found

    assert asyncio.run(moments()) == [(0, 0, 0), (1, 1, 0)] * 3 + [(1, 0, 0)]


def told(capsys: pytest.CaptureFixture[str], *where: str) -> dict[str, Any]:
    """Return the summary that `status` prints, after checking that its counts add up."""
    capsys.readouterr()
    assert run(["status", "c", *where, "--json"]) == 0
    summary: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert wrong(summary) is None
    return summary


async def test_sitemaps_that_were_not_read_are_told(tmp_path: Path) -> None:
    """One sitemap of an index is a 404. The crawl of the home page does not use the index at all."""
    pages: dict[str, str] = {"/": "<title>Home</title>", "/a": "<title>A</title>"}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                body = pages.get((await reader.readuntil(b"\r\n\r\n")).split()[1].decode())
                kind = "text/html" if body and "<title>" in body else "text/plain"
                head = f"HTTP/1.1 {404 if body is None else 200} x\r\nContent-Type: {kind}\r\n"
                writer.write(f"{head}Content-Length: {len(body or '')}\r\n\r\n{body or ''}".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        home = f"http://{host}/"
        pages["/robots.txt"] = f"User-agent: *\nAllow: /\nSitemap: {home}index.xml\n"
        maps = "".join(f"<sitemap><loc>{home}{name}.xml</loc></sitemap>" for name in ("one", "two"))
        pages["/index.xml"] = f"<sitemapindex>{maps}</sitemapindex>"
        pages["/one.xml"] = f"<urlset><url><loc>{home}a</loc></url></urlset>"
        plain = await crawl(job([home], tmp_path, name="plain"))
        assert (plain.pages, plain.unused_sitemaps, plain.unread_sitemaps) == (1, {host: 1}, {})
        assert any("--sitemaps" in line for line in advice(plain))
        full = await crawl(job([f"sitemap:{home}index.xml"], tmp_path, name="full"))
        assert (full.pages, full.unused_sitemaps, full.unread_sitemaps) == (1, {}, {host: 1})
        assert any("1 sitemap of host" in line and "gossamer attempts full" in line for line in advice(full))
        assert full.adds_up()
