"""Manages the crawls of a store. Stores a record of each crawl (specification, state, the process that runs
the crawl), changes the state of crawls, and removes crawls and queues. Workers never remove a crawl or a
queue."""

from __future__ import annotations

import asyncio
import json
import os
import platform
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import msgspec

from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, InUse, UnknownCrawl, UsageError
from gossamer.frontier.cold import Cold
from gossamer.store import keys
from gossamer.store.store import Store

OF_HOST = ("h:", "q:", "t:", "w:", "a:", "k:", "e:")
"""The beginnings of the keys that contain the queue of a host."""
OF_QUEUES = ("o", "rf", "rt")
LEASES = ("l", "lp")
KEYS_PER_CALL = 250
"""How many keys a scan looks at before they are deleted. Other commands wait for a script that deletes queues."""


async def forget_crawl(store: Store, crawl: str, cold: Cold | None = None) -> None:
    """Removes a crawl with all its keys and its URLs in the cold store. The state of hosts is kept, because
    crawls share it."""
    if cold is not None:
        await cold.drop()
    await _empty(store, crawl)
    # the ready heaps `r:HEAP` end with their last host
    await _remove(store, crawl, lambda name: name not in LEASES and not name.startswith("r:"))
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.srem(f"{keys.tag(bucket)}c", crawl)
    pipe.delete(keys.record(crawl))
    own = (keys.anchors(crawl), keys.setup(crawl), keys.lately(crawl), keys.told(crawl))
    for key in (*own, *keys.attempts(crawl)):
        pipe.delete(key)
    pipe.hdel(f"{keys.tag(0)}@credits", f"crawl:{crawl}")
    pipe.srem(keys.CRAWLS, crawl)
    await store.guard(pipe.execute())


async def drop_queue(store: Store, crawl: str, cold: Cold | None = None) -> int:
    """Drops the queue of a crawl that is being cancelled. The dropped URLs count as failed with the reason
    `expired`. Returns the number of dropped URLs."""
    await _empty(store, crawl)
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.hmget(f"{keys.tag(bucket)}{crawl}:n", ["open", "infra"])
        pipe.hexists(f"{keys.tag(bucket)}{crawl}:g", "out")
    dropped = 0
    found = await store.guard(pipe.execute())
    for bucket, ((is_open, infra), out) in enumerate(zip(found[::2], found[1::2], strict=True)):
        left, key = int(is_open or 0) - int(infra or 0), f"{keys.tag(bucket)}{crawl}:n"
        if not int(is_open or 0) and not int(infra or 0) and not out:
            continue
        change = store.client.pipeline()
        change.hset(key, mapping={"open": 0, "infra": 0})
        if out:
            change.hset(f"{keys.tag(bucket)}{crawl}:g", "out", 0)
        change.hincrby(key, "failed", left)
        if left:
            change.hincrby(key, "err:expired", left)
        await store.guard(change.execute())
        dropped += left
    if cold is not None:
        await cold.drop()
    return dropped


async def forget_robots_failure(store: Store, host: str) -> None:
    """Removes the record of a failure to read a host's robots.txt. After the removal, a new crawl requests
    this robots.txt again without a delay."""
    key = f"{keys.tag(keys.bucket_of(host, store.buckets))}h:{host}"
    versions = await store.guard(cast(Awaitable[Any], store.client.hmget(key, ["vh", "vs"])))
    closed = [
        field
        for scheme, v in zip("hs", versions, strict=True)
        if int(v or 0) < 0
        for field in (f"v{scheme}", f"e{scheme}")
    ]
    await store.guard(cast(Awaitable[Any], store.client.hdel(key, "w", "ah", "as", *closed)))


async def _empty(store: Store, crawl: str) -> None:
    """Removes the queues of a crawl, and ends its claims. A claim occupies a slot of a host that other crawls
    share, so leases are never deleted: each is given back, which frees the slot and deletes the lease. This
    puts the URL back into its queue, where a living worker may claim it again before the queue is removed, so
    both steps are repeated until no claim is left."""
    while True:
        await _remove(store, crawl, lambda name: name in OF_QUEUES)
        if not await _give_back(store, crawl):
            return


async def _give_back(store: Store, crawl: str) -> int:
    """Requeues all claims of a crawl. Returns how many there were."""
    left, number = list(range(store.buckets)), 0
    while left:
        replies = await store.run_all(
            "requeue_expired", [(bucket, (crawl, 1000, 1000, 1)) for bucket in left]
        )
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
            number += reply[0]
        left = [bucket for bucket, reply in zip(left, replies, strict=True) if reply[0]]
    return number


async def _remove(store: Store, crawl: str, which: Callable[[str], bool]) -> None:
    """Deletes the queues of a crawl's hosts, and in batches the other keys for which the function `which` returns
    True. `which` receives each key without the crawl's prefix."""
    prefix = f"{crawl}:"
    async for found in store.scan(f"{{b:???}}{prefix}*", KEYS_PER_CALL):
        pipe, hosts = store.client.pipeline(transaction=False), list[tuple[int, list[str]]]()
        for bucket, names in keys.by_bucket(found).items():
            names = [name.removeprefix(prefix) for name in names]
            if own := [name for name in names if name.startswith(OF_HOST)]:
                hosts.append((bucket, [crawl, *own]))
            for name in names:
                if not name.startswith(OF_HOST) and which(name):
                    pipe.unlink(f"{keys.tag(bucket)}{prefix}{name}")
        for reply in await store.run_all("drop_hosts", hosts):
            if isinstance(reply, Exception):
                raise reply
        await store.guard(pipe.execute())
        await asyncio.sleep(0)


ENDED = ("finished", "limited", "stopped", "cancelled", "failed")
UNDER_WAY = ("running", "paused", "stopping", "cancelling", "ending")
"""States of a crawl that has work left or in progress. `ending` is the state of a crawl whose outputs are
being closed by a fleet."""
SUBMITTING = "it is being submitted; if the submission was interrupted, submit it again"
"""The text that is shown as the reason why a submitted crawl is paused. The URLs of this crawl have not been
added yet."""
FINISHING = "finishing"
"""The state in which workers see a running crawl that retries nothing any more (`Crawls.finish`)."""
REMOVING = "removing"
"""The state of a crawl that is being removed. A crawl that is being removed cannot be started."""


_UPDATE = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HSET', KEYS[1], unpack(ARGV))
"""
"""A Lua script that updates a crawl's record if the record exists. The script does not create a missing
record, because the store may have been emptied."""


_REPLACE_LIVE = """
if redis.call('EXISTS', KEYS[1]) == 0 or (redis.call('HGET', KEYS[1], 'live') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'live', ARGV[2])
return 1
"""


class Spec(msgspec.Struct, frozen=True):
    """The settings that define a crawl. All of these settings except `targets` must be the same when the
    crawl is resumed. Settings that are not in `Spec`, such as limits, pace and outputs, may change."""

    targets: list[str]
    scope: str = "host"
    include: list[str] = []
    exclude: list[str] = []
    depth: int = 50
    user_agent: str = ""
    seen: str = "default"
    drop: list[str] = []
    """Query parameters to ignore, in addition to the usual tracking parameters."""


BOUNDS = tuple(name for name in Spec.__struct_fields__ if name != "targets")
"""The fields of `Spec` that must not change when a crawl is resumed. New targets for an existing crawl become
additional seeds."""

OUTCOMES = {
    "pages": "--limit is reached",
    "bytes": "--size-limit is reached",
    "time": "--time-limit is reached",
    "credits": "the credits of the crawl are spent",
}
"""Maps each outcome of a run that stopped at a limit to the reason that the user sees. A crawl with such an
outcome gets the state `limited`."""

LIMITS = ("ignore_robots", "allow_private", "allow_port", "host_pages", "host_bytes", "host_time")
"""Settings that decide which URLs are accepted, and that may change between runs. The command `explain` uses
the values of the last run."""


def site_files(targets: Sequence[str]) -> list[str]:
    """Returns the absolute paths of the site files and folders among the targets of a crawl."""
    paths = (target for target in targets if "://" not in target)
    return [os.path.abspath(path) for path in paths if path.endswith(".py") or os.path.isdir(path)]


class LiveChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was changed while a crawl ran. Of a limit, None means unchanged, and 0 means no limit."""

    limit: int | None = None
    size_limit: int | None = None
    time_limit: float | None = None
    ends_at: float = 0.0
    """The store's time at which the changed time limit is over, in seconds since the epoch."""
    exclude: tuple[str, ...] = ()
    """The patterns of URLs that are not fetched any more, in addition to those of the specification."""

    def encode(self) -> str:
        """Returns the text that the record contains, which is '' if nothing was changed."""
        return "" if self == NO_CHANGES else msgspec.json.encode(self).decode()

    @staticmethod
    def decode(text: bytes | str) -> LiveChanges:
        """Decodes the text of a record."""
        return msgspec.json.decode(text, type=LiveChanges) if text else NO_CHANGES


NO_CHANGES = LiveChanges()


class Record(msgspec.Struct):
    """A crawl's record in the store. Times are in seconds since the epoch."""

    name: str
    spec: Spec
    state: str
    reason: str | None
    started_at: float
    ended_at: float | None
    spent: float
    """The number of seconds during which processes have worked on the crawl, including the current run."""
    door: dict[str, Any]
    """Describes the process that runs the crawl: its `pid` and `host`, the crawl's `folder`, and the `files`
    that the process writes. Paths are absolute."""
    outputs: list[str]
    seeded: bool
    """Whether all seeds are in the frontier."""
    sites: dict[str, str] = {}
    """Maps the name of each site of the crawl to the version of the site's file, which is a hash."""
    limits: dict[str, Any] = {}
    """The values that the settings in LIMITS had in the last run of the crawl."""
    idle: float = 0.0
    """The number of seconds since the crawl's start during which no process worked on the crawl."""
    fleet: bool = False
    """Whether the crawl was submitted, so that any worker of the fleet may run it."""
    weight: int = 1
    """The crawl's share of a fleet's work, relative to the other crawls."""
    refreshing: bool = False
    """Whether the crawl revisits pages that were already known (`--refresh`)."""
    precedence: int = 0
    """In a fleet, crawls with a lower precedence get only the capacity that this crawl does not use."""
    finishing: bool = False
    """Whether the crawl retries nothing any more. URLs that wait for a retry become dead letters."""
    finish_at: float | None = None
    """The time at which the crawl will end its wait for retries, in seconds since the epoch."""
    ends_as: str = ""
    """The final state that the crawl will get after the state `ending`."""
    tells: str = ""
    """What the crawl counts as new, changed and unchanged. `items`: items, as a store with one row per item
    compares them. `items gone`: the same, and the store also marks items as gone. `pages`: pages, as this
    machine's records of known pages tell. `nothing`: neither is known. "" before the first worker starts."""
    site_files: list[str] = []
    """The absolute paths of the site files and folders that the crawl's targets name."""
    live: LiveChanges = NO_CHANGES

    def at_work(self, now: float) -> float:
        """Returns the crawl's working time in seconds. This clock advances only while a process works on the
        crawl. `now` is the store's time."""
        return (self.ended_at or now) - self.idle


def check_name(name: str) -> None:
    """Raises UsageError if a name is not a valid name of a crawl. The crawl's folder has the same name."""
    if not keys.NAME.fullmatch(name):
        raise UsageError(
            f"--name {name[:100]!r}: use letters, digits, '.', '_' and '-', at most 80, a letter "
            "or digit first, not h or o "
            "alone"
        )


class Crawls:
    """Reads and changes the records of all crawls in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def names(self) -> list[str]:
        """Returns the sorted names of all crawls."""
        found = await self._do(self.store.client.smembers(keys.CRAWLS))
        return sorted(name.decode() for name in found)

    async def get(self, name: str) -> Record | None:
        """Returns the record of a crawl, or None."""
        raw = await self._do(self.store.client.hgetall(keys.record(name)))
        # no record, or an incomplete one in a store that was emptied
        if not raw.keys() >= {b"spec", b"state", b"started_at"}:
            return None
        f = {k.decode(): v.decode() for k, v in raw.items()}
        return Record(
            name,
            msgspec.json.decode(f["spec"], type=Spec),
            f["state"],
            f.get("reason") or None,
            float(f["started_at"]),
            float(f["ended_at"]) if f.get("ended_at") else None,
            float(f.get("spent", 0)),
            json.loads(f.get("door", "{}")),
            json.loads(f.get("outputs", "[]")),
            f.get("seeded") == "1",
            json.loads(f.get("sites", "{}")),
            json.loads(f.get("limits", "{}")),
            float(f.get("idle", 0)),
            "job" in f,
            int(f.get("weight", 1)),
            f.get("refreshing") == "1",
            int(f.get("precedence", 0)),
            f.get("finishing") == "1",
            float(f["finish_at"]) if f.get("finish_at") else None,
            f.get("ends_as", ""),
            f.get("tells", ""),
            json.loads(f.get("site_files", "[]")),
            LiveChanges.decode(f.get("live", "")),
        )

    async def need(self, name: str) -> Record:
        """Returns the record of a crawl. Raises UsageError if the crawl does not exist, and StoreChanged if the
        store was emptied while it was in use. The message of UsageError lists the existing crawls."""
        record = await self.get(name)
        if record is None:
            await self.store.check_same()
            known = ", ".join(await self.names()) or "none yet"
            raise UnknownCrawl(f"no crawl is named {name!r}; there are: {known}")
        return record

    async def begin(
        self,
        name: str,
        spec: Spec,
        outputs: list[str],
        sites: dict[str, str] | None = None,
        limits: dict[str, Any] | None = None,
        state: str = "running",
        refreshing: bool = False,
    ) -> Record:
        """Creates the crawl, or resumes an unfinished one that has the same specification.

        `refreshing`: whether a new crawl revisits pages that were known before. Raises ConfigError if the
        specification differs. Raises InUse if the crawl is being removed or cancelled.
        """
        check_name(name)
        record = await self.get(name)
        if record is not None and record.state == REMOVING:
            raise InUse(
                f"crawl {name} is being removed by gossamer clean: run the same command again in a moment, "
                "or if that was killed `gossamer clean`"
            )
        if record is not None and record.fleet and record.state == "cancelling":
            raise InUse(
                f"crawl {name} is being cancelled: run the same command again when gossamer "
                f"status {name} says it is"
            )
        if record is not None:
            differ = [f for f in BOUNDS if getattr(record.spec, f) != getattr(spec, f)]
            if differ:
                raise ConfigError(_difference(name, record.spec, spec, differ))
        fields: dict[str, str] = {
            "state": state,
            "ended_at": "",
            "finishing": "",
            "finish_at": "",
            "outputs": json.dumps([mask(one) for one in outputs]),
        }
        fields["reason"] = "" if state == "running" else SUBMITTING
        fields["door"] = json.dumps({"pid": os.getpid(), "host": platform.node()})
        fields["sites"] = json.dumps(sites or {})
        fields["site_files"] = json.dumps(site_files(spec.targets))
        fields["limits"] = json.dumps(limits or {})
        fields["spec"] = msgspec.json.encode(spec).decode()
        if record is not None:
            # limits belong to a run, exclusions to the crawl
            fields["live"] = LiveChanges(exclude=record.live.exclude).encode()
            fields["idle"] = repr(_idle(record, await store_time(self.store)))
        if record is None:
            fields |= {
                "started_at": repr(await store_time(self.store)),
                "spent": "0",
                "refreshing": str(int(refreshing)),
            }
        await self._do(self.store.client.hset(keys.record(name), mapping=cast(Any, fields)))
        await self._do(self.store.client.sadd(keys.CRAWLS, name))
        return await self.need(name)

    async def seeded(self, name: str) -> None:
        """Records that all seeds were added."""
        await self._do(self.store.client.hset(keys.record(name), "seeded", "1"))

    async def state(self, name: str) -> tuple[str, str]:
        """Returns the state of a crawl and the reason for it."""
        state, reason = await self._do(self.store.client.hmget(keys.record(name), ["state", "reason"]))
        return (state or b"cancelled").decode(), (reason or b"").decode()

    async def set(self, name: str, state: str, reason: str = "") -> None:
        """Sets the state and the reason. If the state is an end state, also sets `ended_at`."""
        fields = {"state": state, "reason": reason}
        if state in ENDED:
            fields["ended_at"] = repr(await store_time(self.store))
        flat = [x for pair in fields.items() for x in pair]
        await self._do(self.store.client.eval(_UPDATE, 1, keys.record(name), *flat))

    async def explain(self, name: str, reason: str) -> None:
        """Sets the reason for the crawl's state, without changing the state."""
        await self._do(self.store.client.eval(_UPDATE, 1, keys.record(name), "reason", reason))

    async def finish(self, name: str) -> None:
        """Ends all waits for retries. The workers end the URLs that wait, now and later in this run, as dead
        letters. URLs that have not failed are still visited."""
        await self._do(self.store.client.eval(_UPDATE, 1, keys.record(name), "finishing", "1"))

    async def finish_in(self, name: str, seconds: float | None) -> None:
        """Records when the crawl will end its wait for retries, in seconds from now, or that it will not."""
        at = "" if seconds is None else repr(await store_time(self.store) + seconds)
        await self._do(self.store.client.eval(_UPDATE, 1, keys.record(name), "finish_at", at))

    async def spend(self, name: str, seconds: float) -> None:
        """Stores the number of seconds during which processes have worked on the crawl. `seconds` is the sum
        over all runs."""
        await self._do(self.store.client.eval(_UPDATE, 1, keys.record(name), "spent", repr(seconds)))

    async def tell(self, name: str, tells: str) -> None:
        """Stores what the crawl counts as new, changed and unchanged (`Record.tells`)."""
        await self._do(self.store.client.eval(_UPDATE, 1, keys.record(name), "tells", tells))

    async def anchor(self, name: str, source: str, target: str) -> None:
        """Records that the seed `source` was redirected to `target`, which brings the host of `target` into
        scope."""
        await self._do(self.store.client.sadd(keys.anchors(name), f"{source}\t{target}"))

    async def change_live(self, name: str, was: LiveChanges, now: LiveChanges) -> bool:
        """Replaces the changes of a running crawl, which its workers follow within seconds. Returns False, and changes
        nothing, if they are not `was` any more."""
        call = self.store.client.eval(_REPLACE_LIVE, 1, keys.record(name), was.encode(), now.encode())
        return bool(await self._do(call))

    async def look(self, name: str) -> tuple[str, list[tuple[str, str]], bytes]:
        """Returns the state, all redirected seeds as pairs of source and target, and the encoded `LiveChanges`. The state
        of a running crawl that retries nothing any more is FINISHING. The call is cheap enough to be made every
        second. Raises StoreChanged."""
        pipe = self.store.client.pipeline(transaction=False)
        pipe.hmget(keys.record(name), ["state", "finishing", "live"])
        pipe.smembers(keys.anchors(name))
        pipe.hget(keys.META, "seed")
        (state, finishing, live), found, seed = await self._do(pipe.execute())
        self.store.same(seed)
        pairs = sorted(x.decode().split("\t", 1) for x in found)
        word = FINISHING if finishing and state == b"running" else (state or b"cancelled").decode()
        return word, [(source, target) for source, target in pairs], live or b""

    async def _do(self, call: Any) -> Any:
        return await self.store.guard(cast(Awaitable[Any], call))


async def store_time(store: Store) -> float:
    """Returns the store's time in seconds since the epoch. Times of crawls are taken from the store, because
    the clocks of the machines differ."""
    whole, micro = await store.guard(cast(Awaitable[Any], store.client.time()))
    return int(whole) + int(micro) / 1e6


def _idle(record: Record, now: float) -> float:
    """Returns the number of seconds during which no process worked on a crawl. The crawl is being resumed."""
    if record.ended_at is not None:
        return record.idle + now - record.ended_at
    return record.idle if record.fleet else max(record.idle, now - record.started_at - record.spent)


def _difference(name: str, was: Spec, now: Spec, fields: list[str]) -> str:
    lines = "; ".join(f"{f}: it was {getattr(was, f)!r}, now it is {getattr(now, f)!r}" for f in fields)
    return (
        f"crawl {name} cannot be resumed with other settings ({lines}): give the same ones, or "
        "use --fresh or another --name"
    )
