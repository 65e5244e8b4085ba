"""`gossamer doctor --size`: estimates the resources of a crawl from measured figures. docs/scale.md has the
source of each figure."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from gossamer.config.resources import MAX_AUTO_VISITS, visits_at_once
from gossamer.config.value_texts import format_duration as span
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

WORKER_CPU = 0.85e-3
"""CPU seconds of a worker per page, including finding links, storing URLs and writing rows."""
STORE_CPU = 0.16e-3
"""CPU seconds that the store needs per page."""
SEEN = {"default": 4.7, "exact": 9.3, "bloom": 3.0}
"""Bytes of store memory per known URL, by kind of seen set. The numbers were measured immediately after the
seen set was enlarged."""
PENDING_URL_BYTES = 64.0
"""Bytes of store memory per pending URL, without its path and its referrer's path."""
URL_PATHS_BYTES = 84.0
"""Bytes of store memory for the path and the referrer's path of a pending URL."""
HOST_BYTES = 520.0
"""Bytes of store memory per host: the state of the host, the head of its queue, and its entry in the ready
heap."""
COLD_URL_BYTES = 220.0
"""Bytes of disk per URL in the cold store."""
STORE_HEADROOM = 2.0
"""Ratio of the memory that the store needs to the size of the store's data. The store needs additional memory
while it rewrites its file."""
WORKER_MEMORY_BYTES = 150 << 20
MAX_COUNT = 10**15
"""The maximum value of an option that counts hosts, URLs or other things."""


class PlannedLoad(NamedTuple):
    """The crawl whose resources are estimated. Times are in seconds."""

    hosts: int
    urls: int
    delay: float = 1.0
    """Seconds between the starts of two requests to the same host. 0 means that each request starts as soon
    as the previous request to the host has ended."""
    per_host: int = 1
    seconds: float = 0.5
    """Time from the start of a request to the end of its response."""
    concurrency: int = MAX_AUTO_VISITS
    """Number of concurrent visits of a process."""
    workers: int | None = None
    """Number of worker processes. If `workers` is None, the estimate determines the number."""
    pending: int | None = None
    """Maximum number of URLs that are pending at the same time. If `pending` is None, the estimate assumes
    that half of all URLs are pending."""
    within: float | None = None
    """Time in seconds within which the crawl must finish, or None."""
    seen: str = "default"
    hot: int = 512
    """Number of pending URLs per host that the store keeps in memory. 0 means that the store keeps all
    pending URLs in memory."""


class Machine(NamedTuple):
    """The CPU cores and the memory (in bytes) of this machine."""

    cores: int
    memory: int


class Size(NamedTuple):
    """The estimated resources. Rates are in pages per second, sizes in bytes, times in seconds."""

    by_politeness: float
    by_worker: float
    """The maximum rate of one worker process. This rate is limited either by the process's CPU or by its
    number of concurrent visits."""
    by_store: float
    """The maximum rate of one store server."""
    rate: float
    bound: str
    """The limit that determines `rate`: politeness, concurrency, workers or store."""
    duration: float
    workers: int
    """The smallest number of worker processes that have enough CPU time for the crawl. Without `within`, the
    processes can request pages as fast as politeness allows. With `within`, the processes can finish the
    crawl within that time."""
    visits: int
    """The number of concurrent visits that each worker process needs."""
    used: float
    """The fraction of CPU time that the worker processes use at the rate `rate`. If the fraction is small,
    the processes mostly wait for hosts, and more processes would not make the crawl faster."""
    store_memory: int
    """Memory to give to the store, including headroom."""
    cold: int
    """Disk space for the cold store."""
    stores: int
    """Number of store servers needed so that no server's CPU is overloaded."""
    one_machine: bool
    why: str


def size(load: PlannedLoad, machine: Machine) -> Size:
    """Estimates the resources that a load needs on a machine.

    >>> size(PlannedLoad(hosts=10, urls=36_000, delay=1.0), Machine(2, 8 << 30)).duration
    3600.0
    """
    turn = max(load.delay / load.per_host if load.delay else load.seconds / load.per_host, 1e-6)
    polite = load.hosts / turn
    by_cpu = 1 / WORKER_CPU
    worker = min(by_cpu, load.concurrency / max(load.seconds, 1e-3))
    store = 1 / STORE_CPU
    wanted = polite if load.within is None else min(polite, load.urls / load.within)
    workers = max(1, math.ceil(wanted / by_cpu - 1e-9))
    stores = max(1, math.ceil(wanted / store - 1e-9))
    have = load.workers or (workers if load.within is not None else min(workers, machine.cores))
    full = "workers" if worker == by_cpu else "concurrency"
    rates = {"politeness": polite, full: have * worker, "store": stores * store}
    bound = min(rates, key=rates.__getitem__)
    rate = rates[bound]
    waiting = load.pending if load.pending is not None else load.urls // 2
    hot = min(waiting, load.hosts * load.hot) if load.hot else waiting
    data = load.urls * SEEN[load.seen] + hot * (PENDING_URL_BYTES + URL_PATHS_BYTES) + load.hosts * HOST_BYTES
    memory, duration = int(data * STORE_HEADROOM), load.urls / rate
    cores = wanted * (WORKER_CPU + STORE_CPU)
    need = memory + have * WORKER_MEMORY_BYTES
    late = load.within is not None and load.urls / polite > load.within
    why = (
        (
            f"at this delay they take {span(load.urls / polite)} on any machine: crawl more hosts at "
            "once, or use a shorter delay"
        )
        if late
        else f"it needs {need / 2**30:.1f} GiB of memory, this machine has {machine.memory / 2**30:.1f}"
        if need > machine.memory
        else f"{wanted:.0f} pages/s need {cores:.1f} cores, this machine has {machine.cores}"
        if cores > machine.cores
        else f"{cores:.2f} of {machine.cores} cores, {need / 2**30:.1f} of {machine.memory / 2**30:.1f} GiB"
    )
    enough = need <= machine.memory and cores <= machine.cores and not late
    return Size(
        polite,
        worker,
        store,
        rate,
        bound,
        duration,
        workers,
        max(1, math.ceil(min(wanted / workers, by_cpu) * load.seconds)),
        min(1.0, rate / (have * by_cpu)),
        memory,
        int((waiting - hot) * COLD_URL_BYTES),
        stores,
        enough,
        why,
    )


def print_size(settings: Settings, crawl: str | None, given: dict[str, Any], as_json: bool) -> int:
    """Prints the resources that the described crawl needs. Returns exit code 0."""
    from gossamer.cli.printing import put_json, put_table

    like = asyncio.run(measured_load(settings, crawl)) if crawl is not None else {}
    load = load_of(like, given, settings)
    machine = Machine(os.cpu_count() or 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    found = size(load, machine)
    if as_json:
        put_json({"load": load._asdict(), "machine": machine._asdict(), **found._asdict()})
    else:
        put_table((), size_rows(load, found))
    return 0


def load_of(like: dict[str, Any], given: dict[str, Any], settings: Settings) -> PlannedLoad:
    """Combines the measured figures of a crawl with the given options. The options take precedence. Raises
    UsageError."""
    from gossamer.frontier.cold import DEFAULT_HOT_URLS, parse_cold

    values = {**like, **{name: value for name, value in given.items() if value is not None}}
    for name in ("delay", "seconds", "within"):
        if isinstance(values.get(name), str):
            values[name] = _time("answer" if name == "seconds" else name, values[name])
    for name in ("hosts", "urls"):
        if name not in values:
            raise UsageError(
                f"--{name} N is missing: gossamer doctor --size --hosts N --urls N, or --crawl CRAWL"
            )
    if low := [name for name in ("hosts", "urls", "per_host", "workers") if values.get(name, 1) < 1]:
        raise UsageError(f"--{low[0].replace('_', '-')} is 1 or more")
    if high := [
        name for name in ("hosts", "urls", "per_host", "workers") if (values.get(name) or 0) > MAX_COUNT
    ]:
        raise UsageError(f"--{high[0].replace('_', '-')} is at most {MAX_COUNT}")
    if values.get("within") == 0:
        raise UsageError("--within 0 is not possible: leave it out, or give a time such as 12h")
    off = settings.cold == "off" or (settings.cold is None and settings.store is not None)
    hot = 0 if off else parse_cold(settings.cold or "sqlite:")[1] if settings.cold else DEFAULT_HOT_URLS
    most = visits_at_once(settings.concurrency)[1]
    return PlannedLoad(**{"concurrency": most, "seen": settings.seen, "hot": hot, **values})


def size_rows(load: PlannedLoad, found: Size) -> list[tuple[str, str]]:
    """Returns the estimate as labeled rows of a table."""
    from gossamer.config.value_texts import format_bytes

    delay = f"{load.delay:g} s apart" if load.delay else f"answers in {load.seconds:g} s"
    cold = f", {format_bytes(found.cold)} of disk for the cold store" if found.cold else ""
    store = "one store" if found.stores == 1 else f"{found.stores} store servers (a cluster)"
    return [
        ("crawl", f"{load.urls:,} URLs on {load.hosts:,} hosts, {load.per_host} at once per host, {delay}"),
        ("time", f"{span(found.duration)} at {found.rate:,.1f} pages/s, bound by {found.bound}"),
        ("politeness", f"allows {found.by_politeness:,.1f} pages/s, if the URLs are spread evenly"),
        ("workers", _about_workers(load, found)),
        (
            "store",
            (
                f"{store}, {format_bytes(found.store_memory)} of memory (twice its data){cold}; one "
                f"does {found.by_store:,.0f} pages/s"
            ),
        ),
        ("one machine", f"{'enough' if found.one_machine else 'not enough'}: {found.why}"),
    ]


def _about_workers(load: PlannedLoad, found: Size) -> str:
    """Returns a text that states how many processes are useful, and whether they are fully loaded or mostly
    waiting."""
    n = "1 process keeps" if found.workers == 1 else f"{found.workers:,} processes keep"
    text = f"{n} up with that, with {found.visits:,} visits at once each"
    if found.bound == "concurrency":
        return (
            f"{text}; {load.concurrency:,} at once are too few, so they wait for answers ({found.used:.0%} "
            "busy): leave concurrency at auto, more processes are not needed"
        )
    if found.bound == "politeness":
        return f"{text}; they wait for hosts ({found.used:.0%} busy), so more processes are not faster"
    return f"{text}; one is full at {found.by_worker:,.0f} pages/s"


async def measured_load(settings: Settings, crawl: str) -> dict[str, Any]:
    """Returns the figures measured in a crawl so far: hosts, URLs, pending URLs, mean delay and mean response
    time."""
    from gossamer.cli.options import open_existing_store
    from gossamer.frontier.stats import CrawlStatistics

    async with open_existing_store(settings) as store:
        statistics = CrawlStatistics(store)
        summary = await statistics.summary(crawl)
        hosts = await statistics.hosts(crawl, 1000)
    known = {"hosts": max(1, summary.hosts), "urls": max(1, summary.pages + summary.pending)}
    delays = [line.delay for line in hosts if line.delay]
    times = await asyncio.to_thread(_answers, Path(settings.data) / crawl / "attempts.jsonl")
    return {
        **known,
        "pending": summary.pending,
        **({"delay": sum(delays) / len(delays)} if delays else {}),
        **({"seconds": sum(times) / len(times)} if times else {}),
    }


def _answers(path: Path) -> list[float]:
    """Returns the durations of the last requests in an attempts log, in seconds."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - (1 << 18)))
            last = file.read().splitlines()[1:]
    except OSError:
        return []
    found = []
    for line in last:
        # the last line may be incomplete, because a crawl is still writing the file
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(line, type=MeasuredAttempt).seconds)
    return [seconds for seconds in found if seconds]


class MeasuredAttempt(msgspec.Struct):
    """The fields of an attempt that the estimate needs."""

    seconds: float | None = None


def _time(option: str, text: str) -> float:
    from gossamer.config.value_parsers import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise UsageError(f"--{option} {text}: {error}") from None
