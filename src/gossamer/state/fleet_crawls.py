"""Reads and changes the records of a fleet's crawls in the store. Submits a crawl, changes it while it runs,
and ends it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from gossamer.errors import InUse
from gossamer.frontier.crawls import ENDED, UNDER_WAY, Crawls, store_time
from gossamer.store import keys
from gossamer.store.store import Store

log = logging.getLogger("gossamer.worker")

MAX_UNCOUNTED_S = 5.0
"""A leader counts the working time of all running crawls every few seconds. At most this many seconds of a
crawl's work are counted without the leader. The limit matters if no worker was alive for some time."""
_CLOCK = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1e6
local function count(most)
  local from = redis.call('HGET', KEYS[1], 'timed_at')
  if from then
    redis.call('HINCRBYFLOAT', KEYS[1], 'spent', string.format('%.6f', math.max(0, math.min(most, now - from))))
  end
end
"""
"""The beginning of a Lua script. `count(most)` adds the seconds of work since `timed_at` to the working time
of the crawl, but not more than `most`."""
_BEGIN_CLOCK = (
    _CLOCK
    + """
if redis.call('HGET', KEYS[1], 'state') ~= 'running' then return 0 end
return redis.call('HSETNX', KEYS[1], 'timed_at', string.format('%.6f', now))
"""
)
_COUNT_TIME = (
    _CLOCK
    + """
if redis.call('HGET', KEYS[1], 'state') ~= 'running' or redis.call('HEXISTS', KEYS[1], 'timed_at') == 0 then
  return 0
end
count(tonumber(ARGV[1]))
return redis.call('HSET', KEYS[1], 'timed_at', string.format('%.6f', now))
"""
)
_TURN = (
    _CLOCK
    + f"""
if redis.call('HGET', KEYS[1], 'state') ~= ARGV[1] then return 0 end
if ARGV[1] == 'running' then
  count({MAX_UNCOUNTED_S})
  redis.call('HDEL', KEYS[1], 'timed_at')
end
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1
"""
)


_SUBMIT = """
local state = redis.call('HGET', KEYS[1], 'state')
if state and state ~= 'paused' and state ~= 'running' then return state end
redis.call('HSET', KEYS[1], 'job', ARGV[1], 'state', 'running', 'reason', '',
  'run_from', redis.call('HGET', KEYS[1], 'spent') or '0')
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], 'reach:' .. ARGV[i], ARGV[i + 1]) end
return redis.call('HINCRBY', KEYS[1], 'revision', 1)
"""


_EDIT = """
local sites = cjson.decode(redis.call('HGET', KEYS[1], 'sites') or '{}')
for i = 1, #ARGV, 4 do
  if sites[ARGV[i]] == ARGV[i + 1] then
    sites[ARGV[i]] = ARGV[i + 2]
    redis.call('HSET', KEYS[1], 'reach:' .. ARGV[i], ARGV[i + 3])
  end
end
local text = cjson.encode(sites)
redis.call('HSET', KEYS[1], 'sites', text)
return text
"""


_APART = """
local known = redis.call('HGET', KEYS[1], 'apart') or ''
for word in string.gmatch(known, '%S+') do if word == ARGV[1] then return 0 end end
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'apart', known == '' and ARGV[1] or known .. ' ' .. ARGV[1])
return 1
"""


class Edit(NamedTuple):
    """A new version of a site file."""

    site: str
    was: str
    version: str
    reach: bytes
    """The hosts of the site, encoded for workers that lack the site's file (`sites.remote_sites.SiteReach` as
    JSON)."""


class FleetCrawl(NamedTuple):
    """The state of a fleet's crawl, which each worker reads every second."""

    name: str
    state: str
    weight: int
    spent: float
    sites: dict[str, str]
    ends_as: str
    began: str
    """The time at which the crawl began. A changed time means that the crawl has begun again, and that a
    worker must discard all local data about the crawl."""
    revision: int
    """How many times the crawl has been submitted since the time `began`."""
    apart: tuple[str, ...]
    """Groups of sites, in the form `SITE+SITE`. The hosts of a group wait for workers that have the files of
    all sites in the group."""
    precedence: int = 0
    """The precedence of the crawl. The crawls with the highest precedence get all the capacity that they can
    use."""
    run_from: float = 0.0
    """The number of seconds for which processes had worked on the crawl when the crawl was last submitted. In
    a crawl that visits its pages again, the time limit applies to each run separately."""


class FleetCrawls:
    """Reads and changes the submitted crawls of a store."""

    def __init__(self, store: Store) -> None:
        self._store, self._damaged = store, set[str]()

    async def submit(self, name: str, job: bytes, reaches: Mapping[str, bytes] | None = None) -> None:
        """Submits a crawl to the fleet, which begins to work on it at once.

        `job` contains everything that a worker needs (`app.job`). `reaches` maps each site to the data for
        workers that lack the site's file (`sites.remote_sites.SiteReach` as JSON). Raises InUse if somebody
        ended the crawl in the meantime.
        """
        flat = [x for pair in (reaches or {}).items() for x in pair]
        done = await self._do(self._store.client.eval(_SUBMIT, 1, keys.record(name), job, *flat))
        if isinstance(done, bytes):
            raise InUse(
                f"crawl {name} was ended while it was submitted, it is {done.decode()}: see "
                f"gossamer status {name}"
            )

    async def job(self, name: str) -> bytes | None:
        """Returns the submitted job of a crawl, or None."""
        found: bytes | None = await self._do(self._store.client.hget(keys.record(name), "job"))
        return found

    async def tasks(self) -> list[FleetCrawl]:
        """Returns the crawls that the fleet is working on."""
        names = await Crawls(self._store).names()
        pipe = self._store.client.pipeline(transaction=False)
        for name in names:
            pipe.hmget(
                keys.record(name),
                [
                    "state",
                    "weight",
                    "spent",
                    "sites",
                    "ends_as",
                    "started_at",
                    "revision",
                    "apart",
                    "precedence",
                    "run_from",
                ],
            )
            pipe.hexists(keys.record(name), "job")
        found = await self._store.guard(pipe.execute())
        tasks = []
        for at, name in enumerate(names):
            (state, weight, spent, sites, ends_as, began, revision, apart, precedence, run_from), fleet = (
                found[2 * at],
                found[2 * at + 1],
            )
            if not fleet or (state or b"").decode("utf-8", "replace") not in UNDER_WAY:
                continue
            try:
                task = FleetCrawl(
                    name,
                    state.decode(),
                    int(weight or 1),
                    float(spent or 0),
                    json.loads(sites or "{}"),
                    (ends_as or b"").decode(),
                    (began or b"").decode(),
                    int(revision or 0),
                    tuple((apart or b"").decode().split()),
                    int(precedence or 0),
                    float(run_from or 0),
                )
            except (ValueError, RecursionError) as error:  # a damaged record must not stop the others
                if name not in self._damaged:
                    self._damaged.add(name)
                    log.error("the record of crawl %s is damaged (%s): it is left alone", name, error)
                continue
            tasks.append(task)
        return tasks

    async def turn(self, name: str, was: str, state: str, reason: str = "", **fields: str) -> bool:
        """Changes the state of a crawl to `state` if the state is still `was`. Returns whether the state was
        changed."""
        pairs = {"state": state, "reason": reason, **fields}
        if state in ENDED:
            pairs["ended_at"] = repr(await store_time(self._store))
        flat = [x for pair in pairs.items() for x in pair]
        return bool(await self._do(self._store.client.eval(_TURN, 1, keys.record(name), was, *flat)))

    async def reopen(self, name: str) -> bool:
        """Resumes a finished crawl that has new URLs. Within a second, every worker begins to work on the
        crawl again. Returns whether the crawl was finished."""
        key, now = keys.record(name), await store_time(self._store)
        found = await self._do(self._store.client.hmget(key, ["revision", "idle", "ended_at"]))
        revision, idle, ended = (float(value or 0) for value in found)
        return await self.turn(
            name,
            "finished",
            "running",
            ended_at="",
            idle=repr(idle + now - (ended or now)),
            revision=str(int(revision) + 1),
        )

    async def versions(self, name: str, sites: dict[str, str]) -> None:
        """Sets the versions of the site files that the fleet uses for the crawl from now on. `sites` maps
        each site to the version of its file."""
        await self._do(self._store.client.hset(keys.record(name), "sites", json.dumps(sites)))

    async def edit(self, name: str, edits: Iterable[Edit]) -> dict[str, str]:
        """Sets new versions of site files, except for sites that somebody else has edited in the meantime.
        Returns the version that now applies to each site."""
        flat = [x for one in edits for x in one]
        found: dict[str, str] = json.loads(
            await self._do(self._store.client.eval(_EDIT, 1, keys.record(name), *flat))
        )
        return found

    async def site_reaches(self, name: str, sites: Sequence[str]) -> list[bytes | None]:
        """Returns one value per site: the data for workers that lack the site's file, or None. The data is a
        `sites.remote_sites.SiteReach` as JSON."""
        found: list[bytes | None] = await self._do(
            self._store.client.hmget(keys.record(name), [f"reach:{site}" for site in sites])
        )
        return found

    async def apart(self, name: str, group: str) -> None:
        """Records that hosts are waiting for workers with certain site files. `group` names the sites in the
        form `SITE+SITE`."""
        await self._do(self._store.client.eval(_APART, 1, keys.record(name), group))

    async def set_weight(self, name: str, weight: int) -> None:
        """Sets the crawl's share of the fleet's work, relative to the other crawls of its precedence."""
        await self._do(self._store.client.hset(keys.record(name), "weight", str(weight)))

    async def set_precedence(self, name: str, precedence: int) -> None:
        """Sets the crawl's precedence. Crawls of a lower precedence get only the capacity that this crawl
        does not use."""
        await self._do(self._store.client.hset(keys.record(name), "precedence", str(precedence)))

    async def begin_time(self, name: str) -> None:
        """Begins to count the working time of a running crawl, if nobody counts it yet."""
        await self._do(self._store.client.eval(_BEGIN_CLOCK, 1, keys.record(name)))

    async def count_time(self, name: str, most: float) -> None:
        """Adds the time since the last call, or since `begin_time`, to the working time of a running crawl
        (`spent`), but not more than `most` seconds. The rest is counted when the crawl's state changes."""
        await self._do(self._store.client.eval(_COUNT_TIME, 1, keys.record(name), most))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Any, call))
