"""Own searches through several proxies: each proxy is an exit with a crawl and a pace of its own, because the delay of
a host belongs to a store and not to an address."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer.errors import NoProxyLeft, UsageError
from gossamer.uses.ranks.history import PageRequest

MAX_EXITS = 16
"""The most crawls at once. More proxies share them."""
CrawlOfExit = Callable[[Sequence[PageRequest], Mapping[str, Any]], Awaitable[str]]
"""Fetches pages through one exit with options of `gossamer.run`, and returns the state of the crawl."""


def read_exits(files: Sequence[str]) -> list[str]:
    """Returns the lines of lists of proxies. Raises UsageError if a list cannot be read."""
    lines: dict[str, None] = {}
    for name in files:
        try:
            text = Path(name).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"the list of proxies {name} cannot be read: {error.strerror}") from error
        given = (line.strip() for line in text.splitlines())
        lines |= dict.fromkeys(line for line in given if line and not line.startswith("#"))
    return list(lines)


@contextlib.contextmanager
def exit_options(proxies: Sequence[str], options: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yields the options of each exit: the name of its crawl, its list of proxies, and a data folder with a store of
    its own. (A store that the settings name is shared, and with it the pace.) The lists contain passwords, so they are
    readable by the user alone, and they are deleted at the end."""
    base = Path(str(options.get("data") or ".gossamer")) / "ranks-exits"
    with tempfile.TemporaryDirectory(prefix="gossamer-exits-") as folder:
        found = []
        for number in range(min(len(proxies), MAX_EXITS)):
            path = Path(folder) / f"{number}.txt"
            path.write_text("\n".join(proxies[number::MAX_EXITS]) + "\n", encoding="utf-8")
            more = {"name": f"ranks-{number}", "proxies": [str(path)], "progress": False}
            more["data"] = str(base / str(number))
            found.append({**options, **more})
        yield found


async def crawl_by_exits(
    requests: Sequence[PageRequest],
    exits: Sequence[dict[str, Any]],
    crawl: CrawlOfExit,
    is_recorded: Callable[[PageRequest], bool],
) -> str:
    """Divides requests among exits and fetches them at the same time. The requests of an exit whose proxies fail go
    to the other exits. Returns the state of the crawls: `finished`, unless one has another state. Raises the first
    error, and NoProxyLeft if no exit is left."""
    waiting, state = list(requests), "finished"
    while waiting:
        if not exits:
            raise NoProxyLeft("no proxy left: none of the list can be used")
        parts = [waiting[number :: len(exits)] for number in range(len(exits))]
        done = await asyncio.gather(
            *(crawl(part, options) for part, options in zip(parts, exits, strict=True) if part),
            return_exceptions=True,
        )
        for one in done:
            if isinstance(one, BaseException) and not isinstance(one, NoProxyLeft):
                raise one
        state = next((one for one in (state, *done) if isinstance(one, str) and one != "finished"), state)
        usable = [one for one, what in zip(exits, done, strict=False) if not isinstance(what, NoProxyLeft)]
        if len(usable) == len(exits):
            break
        exits, waiting = usable, [one for one in waiting if not is_recorded(one)]
    return state
