"""`gossamer doctor --size`: what a crawl needs, reckoned from measured figures (docs/scale.md has where each
was measured)."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from gossamer.cli.printing import duration as span
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

WORKER_CPU = 0.85e-3
"""CPU seconds of a worker a page, links found, stored and rows written."""
STORE_CPU = 0.16e-3
"""CPU seconds of a store a page."""
SEEN = {"default": 4.7, "exact": 9.3, "bloom": 3.0}
"""Bytes of the store's memory a URL that is known, just after it grew."""
PENDING = 64.0
"""Bytes of it a URL that waits, beyond its path and its referrer's path."""
PATHS = 84.0
"""Bytes of those two."""
HOST = 520.0
"""Bytes a host: its state, its queue's head, its place in the ready heap."""
COLD = 220.0
"""Bytes on disk a URL in the cold store."""
HEADROOM = 2.0
"""Times the data that a store's memory should be: it rewrites its file while it works."""
WORKER_MEMORY = 150 << 20
MOST = 10**15
"""Of hosts, URLs, or what else is counted."""


class PlannedLoad(NamedTuple):
    """What is to be crawled. Times in seconds."""

    hosts: int
    urls: int
    delay: float = 1.0
    """From start to start at one host; 0: the next begins when one ends."""
    per_host: int = 1
    seconds: float = 0.5
    """An answer takes."""
    concurrency: int = 64
    workers: int | None = None
    """Worker processes there are."""
    pending: int | None = None
    """URLs that wait at once; None: half of all."""
    within: float | None = None
    """It is to be done in so long."""
    seen: str = "default"
    hot: int = 512
    """Of a host, in the store's memory (0: all of them)."""


class Machine(NamedTuple):
    """What this machine has."""

    cores: int
    memory: int


class Size(NamedTuple):
    """What it needs. Rates in pages a second, sizes in bytes, times in seconds."""

    by_politeness: float
    by_worker: float
    """One process does."""
    by_store: float
    """One store does."""
    rate: float
    bound: str
    """politeness, workers, store."""
    duration: float
    workers: int
    """That keep up with what politeness allows, or with `within`."""
    store_memory: int
    """To give to the store, headroom included."""
    cold: int
    """On disk."""
    stores: int
    """Servers, as none should do more than its processor can."""
    one_machine: bool
    why: str


def size(load: PlannedLoad, machine: Machine) -> Size:
    """Reckon.

    >>> size(PlannedLoad(hosts=10, urls=36_000, delay=1.0), Machine(2, 8 << 30)).duration
    3600.0
    """
    turn = max(load.delay / load.per_host if load.delay else load.seconds / load.per_host, 1e-6)
    polite = load.hosts / turn
    worker = min(1 / WORKER_CPU, load.concurrency / max(load.seconds, 1e-3))
    store = 1 / STORE_CPU
    wanted = polite if load.within is None else min(polite, load.urls / load.within)
    workers = max(1, math.ceil(wanted / worker - 1e-9))
    stores = max(1, math.ceil(wanted / store - 1e-9))
    have = load.workers or (workers if load.within is not None else min(workers, machine.cores))
    rates = {"politeness": polite, "workers": have * worker, "store": stores * store}
    bound = min(rates, key=rates.__getitem__)
    rate = rates[bound]
    waiting = load.pending if load.pending is not None else load.urls // 2
    hot = min(waiting, load.hosts * load.hot) if load.hot else waiting
    data = load.urls * SEEN[load.seen] + hot * (PENDING + PATHS) + load.hosts * HOST
    memory, duration = int(data * HEADROOM), load.urls / rate
    cores = wanted * (WORKER_CPU + STORE_CPU)
    need = memory + have * WORKER_MEMORY
    late = load.within is not None and load.urls / polite > load.within
    why = (
        f"at this delay they take {span(load.urls / polite)} whatever there is: more hosts at once, or a shorter delay"
        if late
        else f"it wants {need / 2**30:.1f} GiB of memory, this machine has {machine.memory / 2**30:.1f}"
        if need > machine.memory
        else f"{wanted:.0f} pages/s want {cores:.1f} cores, this machine has {machine.cores}"
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
        memory,
        int((waiting - hot) * COLD),
        stores,
        enough,
        why,
    )


def tell(settings: Settings, crawl: str | None, given: dict[str, Any], as_json: bool) -> int:
    """Print what the crawl described needs; exit 0."""
    from gossamer.cli.printing import put_json, put_table

    like = asyncio.run(measured(settings, crawl)) if crawl is not None else {}
    load = load_of(like, given, settings)
    machine = Machine(os.cpu_count() or 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    found = size(load, machine)
    if as_json:
        put_json({"load": load._asdict(), "machine": machine._asdict(), **found._asdict()})
    else:
        put_table((), lines(load, found))
    return 0


def load_of(like: dict[str, Any], given: dict[str, Any], settings: Settings) -> PlannedLoad:
    """What was measured, then what was given. Raises UsageError."""
    from gossamer.frontier.cold import HOT, parts

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
    if high := [name for name in ("hosts", "urls", "per_host", "workers") if (values.get(name) or 0) > MOST]:
        raise UsageError(f"--{high[0].replace('_', '-')} is at most {MOST}")
    if values.get("within") == 0:
        raise UsageError("--within 0: nothing is done in no time: leave it out, or give a time such as 12h")
    off = settings.cold == "off" or (settings.cold is None and settings.store is not None)
    hot = 0 if off else parts(settings.cold or "sqlite:")[1] if settings.cold else HOT
    return PlannedLoad(**{"concurrency": settings.concurrency, "seen": settings.seen, "hot": hot, **values})


def lines(load: PlannedLoad, found: Size) -> list[tuple[str, str]]:
    """What a person reads."""
    from gossamer.cli.printing import amount

    delay = f"{load.delay:g} s apart" if load.delay else f"answers in {load.seconds:g} s"
    cold = f", {amount(found.cold)} of disk for the cold store" if found.cold else ""
    store = "one store" if found.stores == 1 else f"{found.stores} store servers (a cluster)"
    return [
        ("crawl", f"{load.urls:,} URLs on {load.hosts:,} hosts, {load.per_host} at once a host, {delay}"),
        ("time", f"{span(found.duration)} at {found.rate:,.1f} pages/s, bound by {found.bound}"),
        ("politeness", f"allows {found.by_politeness:,.1f} pages/s, if the URLs are spread evenly"),
        ("workers", f"{found.workers} processes keep up with that; one does {found.by_worker:,.0f} pages/s"),
        (
            "store",
            f"{store}, {amount(found.store_memory)} of memory (twice its data){cold}; one does {found.by_store:,.0f} pages/s",
        ),
        ("one machine", f"{'enough' if found.one_machine else 'not enough'}: {found.why}"),
    ]


async def measured(settings: Settings, crawl: str) -> dict[str, Any]:
    """Hosts, URLs, delay and answers of a crawl so far."""
    from gossamer.cli.options import opened
    from gossamer.frontier.stats import Census

    async with opened(settings) as store:
        census = Census(store)
        summary = await census.summary(crawl)
        hosts = await census.hosts(crawl, 1000)
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
    """Seconds of the last requests in an attempts log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - (1 << 18)))
            last = file.read().splitlines()[1:]
    except OSError:
        return []
    found = []
    for line in last:
        with contextlib.suppress(msgspec.MsgspecError):  # it may be written just now
            found.append(msgspec.json.decode(line, type=MeasuredAttempt).seconds)
    return [seconds for seconds in found if seconds]


class MeasuredAttempt(msgspec.Struct):
    """An attempt, as far as it is needed here."""

    seconds: float | None = None


def _time(option: str, text: str) -> float:
    from gossamer.config.value_parsers import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise UsageError(f"--{option} {text}: {error}") from None
