"""Computes statistics of the ready heaps, without changing the heaps. The statistics show how many hosts of a
crawl wait for workers of each lane and region, and how many workers serve these hosts."""

from __future__ import annotations

from typing import NamedTuple

from gossamer.frontier.crawls import Crawls
from gossamer.frontier.summary import scan_keys
from gossamer.state.workers import Refusals, WorkerRecords
from gossamer.store import keys
from gossamer.store.store import Store


class HeapLine(NamedTuple):
    """Statistics of the waiting hosts of a crawl. The hosts wait for workers of one lane and region. The
    region '' means any region."""

    lane: str
    """The name of the lane, followed by the sites whose files a worker needs in order to serve the hosts, in
    the form `LANE+SITE+SITE`."""
    region: str
    ready: int
    """Number of hosts that may get a request now."""
    waiting: int
    """Number of hosts that must wait before they may get a request."""
    hard: int
    """Number of hard hosts among the hosts in `ready` and `waiting`. Many recent visits to a hard host failed
    or were blocked. The workers with the highest scores claim hard hosts first."""
    workers: int | None
    """Number of living workers that serve the hosts of the heap, or None if the crawl's own process serves
    all hosts."""
    lacking: int = 0
    """Number of living workers of the same lane and region that cannot serve the hosts of the heap, because
    they lack site files."""

    @property
    def stranded(self) -> bool:
        """Whether hosts are waiting but no worker serves them."""
        return self.workers == 0 and self.ready + self.waiting > 0

    @property
    def sites(self) -> list[str]:
        """The sites whose files a worker must have to serve these hosts. The list is empty if no site files
        are required."""
        return self.lane.split("+")[1:]


def split_heap(heap: str) -> tuple[str, str, bool]:
    """Splits the name of a heap into the lane (with sites), the region, and whether the heap contains hard
    hosts.

    >>> split_heap("http!@eu")
    ('http', 'eu', True)
    """
    lane, _, region = heap.partition("@")
    return lane.rstrip("!"), region, lane.endswith("!")


async def heaps_of_crawl(store: Store, name: str) -> list[HeapLine]:
    """Returns the statistics of all non-empty heaps of the crawl, by lane and region."""
    seconds, micros = await store.guard(store.client.time())
    now = int(seconds) * 1000 + int(micros) // 1000
    record = await Crawls(store).need(name)
    living = (
        [one for one in await WorkerRecords(store).living() if one.state == "running"]
        if record.fleet
        else None
    )
    refused = await Refusals(store).refused() if living else {}
    found: dict[tuple[str, str], list[int]] = {}
    seen: set[bytes] = set()
    async for page in scan_keys(store, f"{{b:???}}{name}:r:*"):
        fresh = [key for key in page if key not in seen]
        seen.update(fresh)
        pipe = store.client.pipeline(transaction=False)
        for key in fresh:
            pipe.zcount(key, "-inf", now)
            pipe.zcard(key)
        counts = await store.guard(pipe.execute())
        for at, key in enumerate(fresh):
            lane, region, hard = split_heap(key.decode().rpartition(":r:")[2])
            ready, all_ = counts[2 * at], counts[2 * at + 1]
            total = found.setdefault((lane, region), [0, 0, 0])
            total[0] += ready
            total[1] += all_ - ready
            total[2] += all_ if hard else 0
    lines = []
    for (lane, region), n in sorted(found.items()):
        first, *sites = lane.split("+")
        here = [one for one in living or () if first in one.lanes and region in ("", one.region)]
        lacking = sum(any((one.name, name, site) in refused for site in ("", *sites)) for one in here)
        workers = None if living is None else len(here) - lacking
        lines.append(HeapLine(lane, region, n[0], n[1], n[2], workers, lacking))
    return lines


async def heap_of_host(store: Store, name: str, host: str) -> HeapLine | None:
    """Returns the statistics of the heap for a host of the crawl. A heap contains the waiting hosts of one
    lane and region. In the result, `hard` is 1 if the host is hard, otherwise 0. Returns None if no host
    waits in this heap."""
    tag = keys.tag(keys.bucket_of(host, store.buckets))
    at, own = await store.guard(store.client.hmget(f"{tag}{name}:h:{host}", ["Y", "y"]))
    lane, region, hard = split_heap((at or own or b"http").decode().rstrip("?"))
    for line in await heaps_of_crawl(store, name):
        if (line.lane, line.region) == (lane, region):
            return line._replace(hard=int(hard))
    return None
