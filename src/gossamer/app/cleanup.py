"""Removes old data from the store and the data folder. Each kind of data has its own age limit. A cleanup
runs on demand. The scheduler also runs a cleanup every hour. Entry points can add further parts, for example
a part that removes leftovers in the broker."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.collectors.browser import orphan_browsers
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest
from gossamer.errors import UsageError
from gossamer.frontier.crawl_lock import hold_lock
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.stats import CrawlStatistics
from gossamer.state import cleanup
from gossamer.state.cleanup import Cleaner, Removed
from gossamer.store import keys, orphan_servers
from gossamer.store.store import Store

HOUR, DAY = 3600.0, 86_400.0


class CleanupScene(NamedTuple):
    """The store and the folders that one part of a cleanup works on."""

    settings: Settings
    store: Store
    broom: Cleaner
    crawl: str | None
    asked: bool = False
    """Whether the user listed the parts to clean."""


class CleanupKind(NamedTuple):
    """A kind of old data that a cleanup removes. `what` describes the data. `age` is the age in seconds at
    which the data is removed. `clean` removes the data, or only counts the data if the cleanup is a dry
    run."""

    what: str
    age: float
    clean: Callable[[CleanupScene, float], Awaitable[Removed]]


class Cleaned(msgspec.Struct, frozen=True):
    """The result of one part of a cleanup."""

    part: str
    what: str
    count: int
    bytes: int


def _locks(scene: CleanupScene, known: set[str]) -> Iterator[Path]:
    """Yields the lock files of crawls that are not in the store."""
    data = Path(scene.settings.data)
    for path in [path for name in ("lock", "output*.lock", "held-*") for path in data.glob(f"*/{name}")]:
        if path.parent.name not in known and path.parent.name != "store":
            yield path


async def _stale_locks(scene: CleanupScene, age: float) -> Removed:
    known = set(await Crawls(scene.store).names())

    def work() -> Removed:
        return _remove([path for path in _locks(scene, known) if not _is_held(path)], scene, age)

    return await asyncio.to_thread(work)


async def _logs(scene: CleanupScene, age: float) -> Removed:
    def work() -> Removed:
        data = Path(scene.settings.data)
        outputs = data.glob("schedules/*/*.*")
        return _remove(
            [*data.glob("*/surprises.log"), *data.glob("gossamer-error-*.txt"), *outputs], scene, age
        )

    return await asyncio.to_thread(work)


async def _cache(scene: CleanupScene, age: float) -> Removed:
    if scene.settings.cache is None:
        return Removed()
    entry = re.compile(r"[0-9a-f]{2}/(?:[0-9a-f]{46}|new-\d+-\d+)")
    root = Path(scene.settings.cache)

    def entries() -> Removed:
        return _remove(
            [path for path in root.glob("??/*") if entry.fullmatch(str(path.relative_to(root)))], scene, age
        )

    return await asyncio.to_thread(entries)


async def _stores(scene: CleanupScene, age: float) -> Removed:
    def work() -> Removed:
        found = list(orphan_servers.find_orphans(age))
        for one in found if not scene.broom.dry else ():
            orphan_servers.remove_orphan(one)
        return Removed(len(found))

    return await asyncio.to_thread(work)


async def _browsers(scene: CleanupScene, age: float) -> Removed:
    def work() -> Removed:
        found = list(orphan_browsers.find_orphan_browsers(age, time.time()))
        for one in found if not scene.broom.dry else ():
            orphan_browsers.end_orphan_browser(one)
        return Removed(len(found))

    return await asyncio.to_thread(work)


PARTS: dict[str, CleanupKind] = {
    "crawls": CleanupKind(
        "crawls that ended with nothing left to do",
        30 * DAY,
        lambda s, age: cleanup.remove_crawls(s.broom, age, partial(_hold, s.settings), s.crawl),
    ),
    "dead": CleanupKind(
        "dead letters of such crawls",
        30 * DAY,
        lambda s, age: cleanup.drop_dead_letters(s.broom, age, s.crawl),
    ),
    "leases": CleanupKind(
        "leases that ran out, of crawls that ended", 0, lambda s, _: cleanup.requeue_leases(s.broom)
    ),
    "hosts": CleanupKind(
        "states of hosts that no crawl asks for", 2 * DAY, lambda s, age: cleanup.remove_hosts(s.broom, age)
    ),
    "keys": CleanupKind(
        "keys of crawls that are gone", DAY, lambda s, age: cleanup.remove_orphan_keys(s.broom, age)
    ),
    "runs": CleanupKind(
        "records of the runs of schedules", 30 * DAY, lambda s, age: cleanup.remove_runs(s.broom, age)
    ),
    "workers": CleanupKind(
        "records of workers that are gone", DAY, lambda s, age: cleanup.remove_workers(s.broom, age)
    ),
    "stores": CleanupKind("embedded stores and sockets that nobody uses", HOUR, _stores),
    "proxies": CleanupKind(
        "health of proxies that are no longer used",
        7 * DAY,
        lambda s, age: cleanup.forget_proxies(s.broom, age),
    ),
    "browsers": CleanupKind("browsers whose process was killed", HOUR, _browsers),
    "locks": CleanupKind("locks of crawls that are gone", DAY, _stale_locks),
    "logs": CleanupKind("logs of surprises and of scheduled commands", 30 * DAY, _logs),
    "cache": CleanupKind("pages in the cache", 30 * DAY, _cache),
}
OF_A_CRAWL = ("crawls", "dead")


def check_parts(what: list[str] | None, more: Mapping[str, CleanupKind]) -> dict[str, CleanupKind]:
    """Returns all parts of a cleanup. Raises UsageError if a part in `what` does not exist."""
    parts = {**more, **PARTS}
    for name in what or ():
        if name not in parts:
            raise UsageError(
                f"--what {name!r}: unknown part{nearest(name, parts)}; the parts are {', '.join(parts)}"
            )
    return parts


async def clean(
    settings: Settings,
    store: Store,
    *,
    what: list[str] | None = None,
    older: float | None = None,
    crawl: str | None = None,
    dry: bool = False,
    more: Mapping[str, CleanupKind] = {},
) -> list[Cleaned]:
    """Removes old data. `older`: an age limit in seconds that replaces the age limits of all parts. `crawl`
    limits the cleanup to one crawl. Dead letters of this crawl are removed regardless of the crawl's state.
    `more`: additional parts of the cleanup, which run first."""
    parts = check_parts(what, more)
    if crawl is not None:
        await Crawls(store).need(crawl)
    wanted = what or (list(parts) if crawl is None else ["crawls"])
    if crawl is not None and (foreign := [name for name in wanted if name not in OF_A_CRAWL]):
        raise UsageError(
            f"--what {foreign[0]} does not belong to a single crawl; with --crawl, --what can be {' or '.join(OF_A_CRAWL)}"
        )
    scene = CleanupScene(
        settings, store, Cleaner(store, await CrawlStatistics(store).now(), dry=dry), crawl, what is not None
    )
    done = []
    for name in wanted:
        part = parts[name]
        found = await part.clean(scene, part.age if older is None else older)
        done.append(Cleaned(name, part.what, found.count, found.bytes))
    return done


class Hourly:
    """Runs a cleanup every hour in the elected scheduler. The hour is measured on the store's clock."""

    def __init__(
        self, settings: Settings, store: Store, say: Callable[..., None], more: Mapping[str, CleanupKind] = {}
    ) -> None:
        self._settings, self._store, self._say, self._more = settings, store, say, more
        self._next = 0.0

    async def __call__(self, now: float) -> None:
        """Runs a cleanup if an hour has passed since the last cleanup. The first cleanup takes place after an
        hour."""
        if now < self._next:
            return
        key = f"{keys.tag(0)}@cleaned"
        raw = await self._store.guard(cast(Awaitable[Any], self._store.client.get(key)))
        last = int(raw) / 1000 if raw else None
        if last is not None and now - last < HOUR:
            self._next = last + HOUR
            return
        await self._store.guard(cast(Awaitable[Any], self._store.client.set(key, round(now * 1000))))
        self._next = now + HOUR
        if last is None:
            return
        for one in await clean(self._settings, self._store, more=self._more):
            if one.count:
                self._say("cleaned", part=one.part, count=one.count, bytes=one.bytes)


def _hold(settings: Settings, name: str) -> contextlib.AbstractContextManager[Any]:
    """Returns a context that holds the crawl's folder lock, if the crawl ran on this machine."""
    folder = Path(settings.data) / name
    return hold_lock(folder, name) if (folder / "lock").exists() else contextlib.nullcontext()


def _is_held(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _remove(paths: list[Path], scene: CleanupScene, age: float) -> Removed:
    """Removes each file that is at least `age` seconds old, and then its folder if the folder is empty."""
    count, size = 0, 0
    for path in paths:
        with contextlib.suppress(OSError):
            about = path.lstat()
            if scene.broom.now - about.st_mtime < age:
                continue
            count, size = count + 1, size + about.st_size
            if not scene.broom.dry:
                path.unlink()
                with contextlib.suppress(OSError):
                    path.parent.rmdir()
    return Removed(count, size)
