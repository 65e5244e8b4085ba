"""Simulates many days of adaptive recrawls with a real Valkey and the real scripts.

    python benchmarks/revisits.py [--urls 100000] [--days 60] [--budget URLS/10] [--hosts 1000] [--fleet]

The loop of `--revisit auto` runs with a clock that moves by `--step` hours (default 1) at a time.
`revisit.lua` queues the pages, `claim.lua` claims them, and `settle.lua` settles them. The outcomes of visits
go through the inbox of the page table. Pages change by Poisson processes, whose rates are lognormal within
and between hosts. The first half of the time is for learning.

The output contains the used share of the budget, the maximum age at a visit and at the end, and the share of
time for which pages are stale. This share is compared with equal intervals and with an oracle that knows the
rates. The output also contains the store's memory and the table's size per URL, and the server's CPU time for
a claim and its settling, for first visits and for repeated visits. With `--fleet`, the table is in the store,
as for `gossamer submit`. Then the output contains the table's share of the memory per URL, and the time that
another process takes to read the table.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import tempfile
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from gossamer.app import revisit_budget, revisit_loop
from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Job, Setup
from gossamer.app.page_table_storage import SharedTableStorage
from gossamer.app.revisit_loop import RevisitLoop
from gossamer.app.revisit_setup import rules_of_job
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Spec
from gossamer.model.request import KnownPage, Request
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import KnownLine, Settle
from gossamer.recrawl import revisit_policy as policy
from gossamer.recrawl.known_pages import TABLE_NAME
from gossamer.recrawl.page_table import PageState, VisitInbox, encode_line, page_id
from gossamer.recrawl.page_table_chunks import CHUNK_PAGES, STATE, pack
from gossamer.recrawl.stored_table import StoredTable, VisitOutcomes
from gossamer.store import keys
from gossamer.store.embedded import Embedded
from gossamer.store.store import Store, connect
from gossamer.worker.link_intake import TakenLinks

DAY_S = 86_400.0
TURNS = 40


class World:
    """The changing pages of the simulation, and the last visit of each page."""

    def __init__(self, urls: int, hosts: int) -> None:
        rng = random.Random(5)
        self.rng = rng
        self.rate: dict[str, float] = {}
        for host in range(hosts):
            mean = math.log(1 / 60) + rng.gauss(0, 1.0)
            for page in range(urls // hosts):
                self.rate[f"https://h{host}.example/page/{page}/of-a-site"] = math.exp(
                    mean + rng.gauss(0, 1.4)
                )
        self.changes: dict[str, float] = {}
        """The time of the first change after the last visit, by URL."""
        self.version = dict.fromkeys(self.rate, 0)
        self.seen = dict.fromkeys(self.rate, 0.0)
        self.stale = 0.0
        self.scored = 0.0
        self.oldest = 0.0

    def visit(self, url: str, now: float) -> KnownPage:
        """Visits a page at a time in seconds. Returns the outcome."""
        if url not in self.changes:
            self.changes[url] = now + self.rng.expovariate(self.rate[url]) * DAY_S
        else:
            if self.scored:
                self.oldest = max(self.oldest, now - self.seen[url])
                self.stale += max(0.0, now - max(self.changes[url], self.scored))
            if self.changes[url] <= now:
                self.version[url] += 1
                self.changes[url] = now + self.rng.expovariate(self.rate[url]) * DAY_S
        self.seen[url] = now
        texts = (f"{name} {url} {self.version[url]}" for name in ("body", "said", "tag"))
        body, said, tag = (f"{xxhash.xxh3_64_intdigest(text.encode()):016x}" for text in texts)
        return KnownPage(200, f'"{tag}"', "", body, said)

    def end(self, now: float) -> float:
        """Returns the share of stale time since scoring began."""
        rest = sum(max(0.0, now - max(at, self.scored)) for at in self.changes.values())
        return (self.stale + rest) / (len(self.changes) * (now - self.scored))


async def cpu(store: Store) -> float:
    """Returns the CPU seconds that the server has used."""
    info = await store.client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


async def memory(store: Store) -> int:
    """Returns the memory of the store's data in bytes."""
    return int((await store.client.info("memory"))["used_memory"])


class Reports:
    """Receives the outcomes of visits: the inbox of the table in the folder, or the list in the store."""

    def __init__(self, store: Store, folder: Path, fleet: bool) -> None:
        self._inbox = None if fleet else VisitInbox(folder / "c" / TABLE_NAME)
        self._outcomes = VisitOutcomes(store, "c")

    async def write(self, lines: list[KnownLine]) -> None:
        """Writes the outcomes of visits."""
        if self._inbox is not None:
            self._inbox.write(lines)
        else:
            await self._outcomes.add(lines)

    def close(self) -> None:
        """Closes the inbox."""
        if self._inbox is not None:
            self._inbox.close()


async def visit_all(adds: Enqueuer, inbox: Reports, world: World, now: float) -> tuple[int, float]:
    """Visits all queued pages. Returns the number of visits, and the server's CPU seconds."""
    frontier, done, before = adds.frontier, 0, await cpu(adds.frontier.store)
    while claims := (await frontier.claim(0, 256)).claims:
        lines = []
        for claim in claims:
            known = world.visit(claim.request.url, now)
            lines.append(KnownLine(claim.request.url, round(now), known))
        await inbox.write(lines)
        ends = [Settle(one.token, ClaimEnd.DONE, since=5) for one in claims]
        await frontier.settle(0, ends, {"pages": len(claims)}, {})
        done += len(claims)
    return done, await cpu(frontier.store) - before


async def seed(adds: Enqueuer, inbox: Reports, world: World, now: float, step: int) -> float:
    """Adds and visits all pages once, in random order.

    A batch has `step` pages, as many as a step of the simulation visits again. Returns the server's CPU
    seconds per page for claims and settles.
    """
    spent, urls = 0.0, list(world.rate)
    world.rng.shuffle(urls)
    for first in range(0, len(urls), step):
        taken = TakenLinks()
        for url in urls[first : first + step]:
            adds.take(Request(url), taken, "os")
        await adds.add(taken)
        spent += (await visit_all(adds, inbox, world, now))[1]
    return spent / len(urls)


def best(world: World, visits: float) -> tuple[float, float]:
    """Returns the expected shares of stale time with equal intervals and with the true rates."""
    rates = list(world.rate.values())
    sample = world.rng.sample(rates, min(5000, len(rates)))
    equal = sum(policy.stale_share(rate, len(rates) / visits) for rate in sample) / len(sample)
    price = policy.solve_price(
        [policy.Sample(rate) for rate in sample], len(rates), visits, policy.Bounds(0, 28.5)
    )
    oracle = sum(
        policy.stale_share(rate, policy.interval(rate, price, 1.0, policy.Bounds(0, 28.5))) for rate in sample
    )
    return equal, oracle / len(sample)


async def in_turn(
    loop: RevisitLoop,
    adds: Enqueuer,
    inbox: Reports,
    world: World,
    clock: list[float],
    step: float,
    folder: Path,
) -> tuple[float, float, float]:
    """Measures the server's CPU seconds for a claim and its settling, in three kinds of visits.

    The kinds are repeated visits, as many visits to new pages, and as many visits to new pages that carry
    validators. The kinds take turns, so all of them run under the same load. A new page causes the same
    requests to the same scripts as in a crawl without `--revisit`.
    """
    spent, done = [0.0, 0.0, 0.0], 0
    scratch = VisitInbox(folder / "scratch.sqlite")
    hosts = sorted({url.split("/page/")[0] for url in world.rate})
    for turn in range(TURNS):
        clock[0] += step
        await loop.tick()
        n, seconds = await visit_all(adds, inbox, world, clock[0])
        spent[0], done = spent[0] + seconds, done + n
        for kind, known in (
            ("new", None),
            ("carry", KnownPage(200, '"0123456789abcdef"', "", "0" * 16, "0" * 16)),
        ):
            taken = TakenLinks()
            for number in range(n):
                url = f"{world.rng.choice(hosts)}/{kind}/{turn}/{number}"
                adds.take(Request(url, known=known), taken, "os")
            await adds.add(taken)
            before = await cpu(adds.frontier.store)
            while claims := (await adds.frontier.claim(0, 256)).claims:
                scratch.write(
                    [KnownLine(one.request.url, 1, KnownPage(200)) for one in claims]
                )  # takes as long as the write of a repeated visit
                ends = [Settle(one.token, ClaimEnd.DONE, since=5) for one in claims]
                await adds.frontier.settle(0, ends, {"pages": len(claims)}, {})
            spent[1 + (kind == "carry")] += await cpu(adds.frontier.store) - before
    scratch.close()
    again, new, carry = (one / done for one in spent)
    return again, new, carry


class Costs(NamedTuple):
    """The measurements: the last moment, CPU seconds, the number of visits, and bytes of the store."""

    now: float
    first: float
    spent: float
    done: int
    used: int
    empty: int
    once: int
    peak: int


async def simulate(store: Store, folder: Path, given: argparse.Namespace) -> None:
    budget = given.budget or given.urls // 10
    world, clock = World(given.urls, given.hosts), [1_800_000_000.0]
    settings = Settings(
        data=str(folder),
        delay=(0.0, 0.0),
        per_host=100,
        ignore_robots=True,
        scope="any",
        revisit="auto",
        revisit_budget=f"{budget}/d",
        max_age=30 * DAY_S,
    )
    job = Job(targets=["https://h0.example/"], settings=settings)
    setup = Setup(
        job=job,
        crawl="c",
        spec=Spec(job.targets, scope="any"),
        store=store.url,
        seeds=job.targets,
        allowed=[],
    )
    (folder / "c").mkdir(parents=True)
    rules = rules_of_job(job)
    assert rules is not None
    home = SharedTableStorage(store, "c") if given.fleet else None
    loop = RevisitLoop(setup, store, rules, print, lambda: clock[0], lambda: clock[0], home)
    adds, inbox = Enqueuer(setup, store), Reports(store, folder, given.fleet)
    empty = await memory(store)
    await loop.open(adds)
    first = await seed(adds, inbox, world, clock[0], max(1, round(budget * given.step / 24)))
    once = await memory(store)
    while await loop.tick():
        pass
    spent, done, used, peak = 0.0, 0, 0, 0
    for step in range(round(given.days * 24 / given.step)):
        clock[0] += given.step * 3600
        if step == round(given.days * 24 / given.step / 2):
            world.scored, done, spent = clock[0] - given.step * 3600, 0, 0.0
            used = 0
        await loop.tick()
        if step % 24 == 0:
            peak = max(peak, await memory(store))
        n, seconds = await visit_all(adds, inbox, world, clock[0])
        done, spent, used = done + n, spent + seconds, used + n
    await show(
        store, folder, given, world, loop, Costs(clock[0], first, spent, done, used, empty, once, peak)
    )
    again, new, carry = await in_turn(loop, adds, inbox, world, clock, given.step * 3600, folder)
    print(
        f"in turn, server CPU a claim and settle: {again * 1e6:.1f} us visits again, {new * 1e6:.1f} us new pages: "
        f"{again / new:.2f}; {carry * 1e6:.1f} us new pages with validators: {again / carry:.2f}"
    )
    await loop.close()
    inbox.close()
    if given.fleet:
        await show_stored(store, given.urls, used)


async def show_stored(store: Store, urls: int, visits: int) -> None:
    """Prints the figures of a table in the store."""
    own = keys.stored_table("c", store.buckets)
    sizes = {}
    for name, key in own._asdict().items():
        sizes[name] = int(await store.client.execute_command("MEMORY", "USAGE", key, "SAMPLES", 0) or 0)
    packed = sum(len(one) for one in (await store.client.hgetall(own.chunks)).values())
    print(
        f"table in the store: {sum(sizes.values()) / urls:.1f} B a URL ({sizes}); its chunks {packed / urls:.1f} B, "
        f"of these {STATE.size} B of state"
    )
    began, cpu_before = time.monotonic(), time.process_time()

    async def do(call: Any, *args: Any) -> Any:
        return call(*args)

    table = await StoredTable(store, "c").open(do)
    print(
        f"another process reads it in {time.monotonic() - began:.1f} s, {time.process_time() - cpu_before:.1f} s of "
        f"CPU: {table.sums.page_count():,} pages"
    )
    table.close()
    print(f"chunks of pages that are hard to compress: {hard_chunks():.1f} B a URL")


def hard_chunks() -> float:
    """Returns the bytes per page in chunks of pages that are hard to compress.

    The URLs contain random numbers and words. Each page has an ETag, a Last-Modified date and two hashes.
    """
    rng = random.Random(3)
    words = [
        "red",
        "blue",
        "green",
        "large",
        "small",
        "new",
        "old",
        "shirt",
        "shoe",
        "table",
        "lamp",
        "chair",
        "book",
        "pen",
        "bag",
        "hat",
        "coat",
        "ring",
        "cup",
        "box",
    ]
    pages = []
    for n in range(CHUNK_PAGES):
        tag, body, said = (f"{rng.getrandbits(64):016x}" for _ in range(3))
        name = f"{rng.randrange(10**6)}/{'-'.join(rng.choices(words, k=4))}"
        known = KnownPage(200, f'"{tag}"', formatdate(1.7e9 + rng.randrange(10**7), usegmt=True), body, said)
        line = KnownLine(
            f"https://shop.example/product/{name}",
            1_800_000_000,
            known,
            2,
            f"https://shop.example/list/{n // 20}",
        )
        changes, days = rng.random(), rng.random() * 50
        pages.append(
            PageState(page_id(line), changes, days, line.at, line.at + 99, 0, line=encode_line(line))
        )
    return len(pack(pages)) / CHUNK_PAGES


async def show(
    store: Store, folder: Path, given: argparse.Namespace, world: World, loop: RevisitLoop, costs: Costs
) -> None:
    """Prints the figures."""
    budget = given.budget or given.urls // 10
    now, first, spent, done, used, empty, once, peak = costs
    found = await loop.report(round(now))
    equal, oracle = best(world, budget)
    stale, days = world.end(now), (now - world.scored) / DAY_S
    late = sum(now - at > 30 * DAY_S for at in world.seen.values())
    left = await memory(store)
    size = sum(path.stat().st_size for path in (folder / "c").glob(f"{TABLE_NAME}*"))
    print(
        f"{given.urls:,} URLs on {given.hosts:,} hosts, {given.days} days, {budget:,} visits a day, second half:"
    )
    print(
        f"budget used {used / (budget * days):.1%}; largest age {world.oldest / DAY_S:.1f} d; over 30 d: {late}"
    )
    print(
        f"time stale {stale:.2%}: {stale / equal:.3f} of equal intervals ({equal:.2%}), {stale / oracle:.3f} of the "
        f"oracle ({oracle:.2%}); expected {found.expected_stale or 0:.2%}, measured {found.measured_stale or 0:.2%}"
    )
    print(
        f"store memory a URL: {(left - empty) / given.urls:.1f} B with all waiting, {(peak - empty) / given.urls:.1f} B "
        f"at most, {(once - empty) / given.urls:.1f} B after the first visits; table {size / given.urls:.0f} B of "
        "disk a URL"
    )
    print(
        f"server CPU a claim and settle: {first * 1e6:.1f} us first visits, {spent / done * 1e6:.1f} us visits again"
    )


async def run(given: argparse.Namespace) -> None:
    step = given.step * 3600
    revisit_budget.MAX_CATCH_UP_S = step
    revisit_loop.REFIT_INTERVAL_S, revisit_loop.REPORT_INTERVAL_S = 6 * step, 86_400.0
    revisit_loop.FIRST_REFITS = 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gt-") as name:
        embedded = Embedded(Path(name) / "store")
        store = connect(await asyncio.to_thread(embedded.start))
        await store.open(1, "benchmark")
        try:
            await simulate(store, Path(name) / "data", given)
        finally:
            await store.close()
            await asyncio.to_thread(embedded.leave)
    print(f"took {time.monotonic() - began:.0f} s, {time.process_time():.0f} s of CPU in this process")


def main() -> None:
    """Reads the options, and runs the simulation."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--urls", type=int, default=100_000)
    options.add_argument("--days", type=float, default=60)
    options.add_argument("--hosts", type=int, default=1000)
    options.add_argument("--step", type=float, default=1.0, help="hours by which the clock moves")
    options.add_argument("--fleet", action="store_true", help="the table is in the store")
    options.add_argument("--budget", type=int, default=0, help="visits a day")
    asyncio.run(run(options.parse_args()))


if __name__ == "__main__":
    main()
