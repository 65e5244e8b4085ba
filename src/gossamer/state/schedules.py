"""Stores schedules: their definitions, their open and ended runs, and the scheduler that leads. All schedules
are stored in bucket 0."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.config.value_parsers import nearest
from gossamer.errors import ConfigError, UnknownName, UsageError
from gossamer.store import keys
from gossamer.store.store import Store

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}\Z")
KEPT_RUNS = 1000
"""Maximum number of ended runs kept per schedule."""
OPEN = ("waiting", "launching", "launched")
VERSION = 1
COMMAND_VERSION = 2
"""The version of the schedules of commands, and of their runs. A gossamer that can only schedule crawls reports
such a schedule as unreadable."""


class ScheduledTask(msgspec.Struct, frozen=True):
    """The arguments of a schedule's crawl or the words of its command, as the user typed them. Each run of the
    schedule parses these arguments again. A task contains no secrets from the environment."""

    targets: list[str]
    options: dict[str, Any] = {}
    """The options of the crawl, with the names that `gossamer.crawl` accepts."""
    outputs: list[tuple[str, bool]] = []
    """The outputs of the crawl. Each output is a pair of a text and a bool. The text is the argument of the
    option -o or -O. The bool is true for the option -O. In the argument of an output, `{date}` and `{run}`
    are replaced for each run."""
    folder: str = "."
    """The folder that may contain gossamer.toml."""
    fail_on: str | list[str] | None = None
    """The quality gates of the crawl (option `--fail-on`). Earlier versions of gossamer stored the quality
    gates as a single string."""
    command: list[str] | msgspec.UnsetType = msgspec.UNSET
    """The words of a scheduled command, for example `["prices", "run", "targets.csv"]`. Unset for a crawl, so
    the stored form of a crawl's schedule does not change."""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The definition of one schedule. Times are in seconds."""

    version: int = VERSION
    name: str
    cron: str
    zone: str = "UTC"
    jitter: float = 0.0
    spread: float = 0.0
    missed: str = "run"
    most: int = 10
    overlap: str = "skip"
    paused: bool = False
    task: ScheduledTask

    @property
    def is_command(self) -> bool:
        """Whether the runs of the schedule start a command instead of a crawl."""
        return bool(self.task.command)


class ScheduledRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a schedule. If a run is divided into parts, each part has its own record. Times are in
    seconds since the epoch."""

    version: int = VERSION
    due: float
    at: float
    """The time at which the run begins."""
    state: str
    """The state of the run. The state of an unfinished run is one of OPEN. The state of an ended run is
    either an end state of a crawl, or one of `failed`, `gate`, `skipped` and `missed`. A command that exits
    with 0 is `finished`, with 30 or 31 `gate`, and with another code `failed`."""
    crawl: str = ""
    """The name of the run's crawl, or '' if the run starts a command."""
    part: int = 0
    """The number of the part of the run, starting at 1, or 0 if the run is not divided into parts."""
    begun: float | None = None
    ended: float | None = None
    reason: str = ""
    times: int = 1
    """The number of due times that the run covers. A run that makes up for several missed due times covers
    more than one due time."""
    by_hand: bool = False
    task: ScheduledTask | None = None
    exit_code: int | msgspec.UnsetType = msgspec.UNSET
    """The exit code of an ended command, or of a crawl that failed or did not meet a gate."""
    log: str | msgspec.UnsetType = msgspec.UNSET
    """The file with the output of a command. With a shared store, the name of the machine and a colon come
    first."""

    @property
    def field(self) -> str:
        """The key of the run in the hash that contains the schedule's open runs."""
        return f"{round(self.due * 1000)}:{self.part}"


class Lead(NamedTuple):
    """The reply to a scheduler that tries to become the leader. `token` is 0 if another scheduler leads.
    `now` is the store's time in seconds since the epoch."""

    token: int
    leader: str
    now: float
    changes: int


class StoredSchedule(NamedTuple):
    """A schedule and its progress, as stored."""

    schedule: Schedule
    revision: str
    mark: float
    """The time up to which schedulers have handled all due times of the schedule."""
    counts: dict[str, int]


class Unread(NamedTuple):
    """A schedule that this version of gossamer cannot read."""

    name: str
    why: str


def check_name(name: str) -> None:
    """Raises UsageError if `name` cannot be the name of a schedule. The names of the schedule's crawls begin
    with the schedule's name. Therefore, the schedule's name must be valid as the beginning of a crawl's
    name."""
    if not NAME.match(name) or name in ("h", "o"):
        raise UsageError(
            f"schedule {name[:60]!r}: use letters, digits, '.', '_' and '-', at most 50, a letter "
            "or digit first, not h or o alone"
        )


class Schedules:
    """Reads and changes the schedules of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def put(self, schedule: Schedule, *, from_now: bool = False) -> bool:
        """Adds or changes a schedule. Returns whether the schedule already existed. `from_now`: whether due
        times in the past are skipped."""
        raw = msgspec.json.encode(schedule)
        return bool(await self.store.run("edit_schedule", 0, "", "put", schedule.name, raw, int(from_now)))

    async def drop(self, name: str) -> bool:
        """Removes a schedule and all its runs. Returns whether the schedule existed."""
        return bool(await self.store.run("edit_schedule", 0, "", "drop", name, "", 0))

    async def need(self, name: str) -> StoredSchedule:
        """Returns one schedule. If the schedule does not exist, raises UsageError, whose message lists the
        most similar names."""
        found = await self._read([name])
        if not found:
            names = await self.names()
            there = (
                f"; there are: {', '.join(names[:20])}"
                if names
                else "; there is none yet: gossamer schedule add"
            )
            raise UnknownName(f"no schedule is named {name!r}{nearest(name, names)}{there}")
        if isinstance(found[0], Unread):
            raise ConfigError(f"schedule {name}: {found[0].why}")
        return found[0]

    async def names(self) -> list[str]:
        """Returns all names, sorted."""
        found = await self._do(self.store.client.smembers(_key("schedules")))
        return sorted(name.decode() for name in found)

    async def all(self) -> list[StoredSchedule | Unread]:
        """Returns all schedules by name."""
        names, out = await self.names(), []
        for first in range(0, len(names), 500):
            out += await self._read(names[first : first + 500])
        return out

    async def open(self, name: str) -> list[ScheduledRun]:
        """Returns the open runs in the order of their due times."""
        found = await self._do(self.store.client.hvals(_key(f"open:{name}")))
        return sorted(
            (run for run in map(_run, found) if run is not None), key=lambda run: (run.due, run.part)
        )

    async def ended(self, name: str, most: int = KEPT_RUNS) -> list[ScheduledRun]:
        """Returns the ended runs, latest first."""
        found = await self._do(self.store.client.lrange(_key(f"runs:{name}"), 0, most - 1))
        return [run for run in map(_run, found) if run is not None]

    async def forget(self, name: str, before: float, *, dry: bool) -> tuple[int, int]:
        """Removes the records of runs that ended before a time, except the record of the latest run. Returns
        the number of removed records and their size in bytes."""
        found = await self._do(self.store.client.lrange(_key(f"runs:{name}"), 0, -1))
        old = 0
        for raw in reversed(found[1:]):
            run = _run(raw)
            if run is None or (run.ended or run.due) >= before:
                break  # the age of a record that cannot be read is unknown
            old += 1
        if old and not dry:
            await self._do(self.store.client.rpop(_key(f"runs:{name}"), old))
        return old, sum(len(raw) for raw in found[len(found) - old :])

    async def lead(self, owner: str, seconds: float) -> Lead:
        """Takes or renews the lead for `seconds`. If `seconds` is 0, gives up the lead."""
        token, leader, now, changes = await self.store.run(
            "elect_scheduler", 0, "", owner, round(seconds * 1000)
        )
        return Lead(token, leader.decode(), now / 1000, changes)

    async def leader(self) -> str | None:
        """Returns the scheduler that currently leads, or None."""
        found = await self._do(self.store.client.get(_key("leader")))
        return found.decode().partition(" ")[2] if found else None

    async def due(
        self,
        token: int,
        entry: StoredSchedule,
        mark: float,
        runs: Iterable[ScheduledRun],
        ended: Iterable[ScheduledRun],
        counts: dict[str, int],
    ) -> int:
        """Records in the store that all due times up to `mark` have been handled. `runs`: the runs that begin
        now. `ended`: the runs that were skipped or missed. Returns 1 on success, 0 if another scheduler was
        faster, and -1 if this scheduler is no longer the leader."""
        opened = [word for run in runs for word in (run.field, msgspec.json.encode(run))]
        past = [msgspec.json.encode(run) for run in ended]
        counted = [word for field, by in counts.items() if by for word in (field, by)]
        return int(
            await self.store.run(
                "due_runs",
                0,
                "",
                token,
                entry.schedule.name,
                entry.revision,
                _ms(entry.mark),
                _ms(mark),
                KEPT_RUNS,
                len(opened) // 2,
                *opened,
                len(past),
                *past,
                *counted,
            )
        )

    async def turn(self, token: int | None, name: str, was: ScheduledRun | None, now: ScheduledRun) -> int:
        """Changes the record of a run from `was` to `now`. Returns 1 on success, 0 if the stored record no
        longer equals `was`, and -1 if this scheduler has lost the lead.

        `token` is None for a run that a person started by hand.
        """
        before = msgspec.json.encode(was) if was is not None else b""
        over = now.state not in OPEN
        done = await self.store.run(
            "scheduled_run",
            0,
            "",
            "" if token is None else token,
            name,
            now.field,
            before,
            msgspec.json.encode(now),
            KEPT_RUNS if over else 0,
            "failed" if now.state in ("failed", "gate") else "runs",
        )
        return int(done)

    async def _read(self, names: list[str]) -> list[StoredSchedule | Unread]:
        pipe = self.store.client.pipeline(transaction=False)
        for name in names:
            pipe.hgetall(_key(f"schedule:{name}"))
        found = zip(names, await self.store.guard(pipe.execute()), strict=True)
        return [_entry(name, raw) for name, raw in found if raw]

    async def _do(self, call: Any) -> Any:
        return await self.store.guard(cast(Awaitable[Any], call))


class _Versioned(msgspec.Struct):
    """The field that all versions of a record have in common."""

    version: int = 0


def _entry(name: str, raw: dict[bytes, bytes]) -> StoredSchedule | Unread:
    try:
        version = msgspec.json.decode(raw[b"spec"], type=_Versioned).version
        if version not in (VERSION, COMMAND_VERSION):
            raise ValueError(
                f"it is of version {version}, this gossamer knows {COMMAND_VERSION}: use the same gossamer everywhere"
            )
        schedule = msgspec.json.decode(raw[b"spec"], type=Schedule)
    except (msgspec.MsgspecError, ValueError, KeyError) as error:
        return Unread(name, str(error))
    counts = {field: int(raw.get(field.encode(), 0)) for field in ("runs", "failed", "skipped", "missed")}
    return StoredSchedule(schedule, raw[b"rev"].decode(), int(raw[b"mark"]) / 1000, counts)


def _run(raw: bytes) -> ScheduledRun | None:
    """Decodes the record of a run. Returns None if the record is damaged or has another version."""
    try:
        run = msgspec.json.decode(raw, type=ScheduledRun)
    except msgspec.MsgspecError:
        return None
    return run if run.version in (VERSION, COMMAND_VERSION) else None


def _ms(seconds: float) -> str:
    return str(round(seconds * 1000))


def _key(name: str) -> str:
    return f"{keys.tag(0)}@{name}"
