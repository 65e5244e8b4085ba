"""Changes the limits and the exclusions of a crawl while it runs. The workers read the changes together with the state of
the crawl, every second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from gossamer.app.steering import continue_command
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest
from gossamer.errors import InUse, UsageError
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import Crawls, LiveChanges, store_time
from gossamer.store.store import Store
from gossamer.url.patterns import compile_

MAX_EXCLUSIONS = 100
MAX_PATTERN_CHARS = 1000


class Changes(NamedTuple):
    """What to change. Of a limit, None means to leave it, and 0 means no limit. `exclude`: patterns of URLs that are not
    fetched any more. `readmit`: patterns of earlier changes that apply no longer."""

    limit: int | None = None
    size_limit: int | None = None
    time_limit: float | None = None
    exclude: Sequence[str] = ()
    readmit: Sequence[str] = ()

    @property
    def limits(self) -> dict[str, float]:
        """The limits to change."""
        found = {name: getattr(self, name) for name in ("limit", "size_limit", "time_limit")}
        return {name: value for name, value in found.items() if value is not None}


async def change_live(store: Store, settings: Settings, name: str, changes: Changes) -> LiveChanges:
    """Changes the limits and exclusions of a crawl, and returns all changes since it began. Without changes, only returns
    them. A crawl that does not run keeps exclusions for its next run. Raises InUse if limits are to be changed then, and
    UsageError for a wrong pattern or an unknown crawl."""
    crawls = Crawls(store)
    for pattern in changes.exclude:
        _check(pattern)
    while True:
        record = await crawls.need(name)
        was = record.live
        if not changes.limits and not changes.exclude and not changes.readmit:
            return was
        if changes.limits and not is_running(record, settings.data):
            raise InUse(
                f"crawl {name} does not run ({record.state}): give its limits to the command that continues it: "
                f"{continue_command(record)}"
            )
        for pattern in changes.readmit:
            if pattern not in was.exclude:
                known = nearest(pattern, was.exclude) or f"; there are: {', '.join(was.exclude) or 'none'}"
                raise UsageError(f"--readmit {pattern!r}: no such exclusion was added to {name}{known}")
        kept = [one for one in was.exclude if one not in changes.readmit]
        exclude = tuple(dict.fromkeys([*kept, *changes.exclude]))
        if len(exclude) > MAX_EXCLUSIONS:
            raise UsageError(
                f"--exclude: a crawl has at most {MAX_EXCLUSIONS} added exclusions: combine them with |"
            )
        now = msgspec.structs.replace(was, exclude=exclude, **changes.limits)
        if changes.time_limit is not None:
            ends = await store_time(store) + changes.time_limit - record.spent
            now = msgspec.structs.replace(now, ends_at=ends)
        if await crawls.change_live(name, was, now):
            return now


def _check(pattern: str) -> None:
    try:
        compile_(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"--exclude {pattern!r} is not a regular expression: {error}") from None
    if len(pattern) > MAX_PATTERN_CHARS:
        raise UsageError(f"--exclude: a pattern has at most {MAX_PATTERN_CHARS} characters")
