"""Own searches through several proxies: each proxy is an exit with a crawl and a pace of its own, because the delay of
a host belongs to a store and not to an address."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer.errors import ConfigError, NoProxyLeft, UsageError
from gossamer.uses.ranks.history import PageRequest

MAX_EXITS = 16
"""Maximum number of crawls at once. If there are more proxies, several of them share a crawl."""
CrawlOfExit = Callable[[Sequence[PageRequest], Mapping[str, Any]], Awaitable[str]]
"""Fetches pages through one exit with options of `gossamer.run`, and returns the state of the crawl."""

_UNUSABLE = (NoProxyLeft, ConfigError, UsageError)
"""The errors of a crawl whose proxies do not answer, or whose list has no proxy that can be read."""


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


def count_exits(files: Sequence[str], store: str | None) -> int:
    """Returns how many own searches of an engine run at once. `files`: lists of proxies. `store`: the shared store, in
    which all exits have one pace. Raises UsageError if a list cannot be read."""
    return 1 if store else max(1, min(len(read_exits(files)), MAX_EXITS))


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
    tell: Callable[[str], None],
) -> str:
    """Divides requests among exits and fetches them at the same time. The requests of an exit whose proxies cannot be
    used go to the other exits, with a message for the user. Returns the state of the crawls: `finished`, unless one
    has another state. Raises the error of the last exit if none is left, and any other error at once."""
    waiting, state = list(requests), "finished"
    while waiting:
        used = exits[: len(waiting)]
        done = await asyncio.gather(
            *(crawl(waiting[number :: len(used)], options) for number, options in enumerate(used)),
            return_exceptions=True,
        )
        failed = {number: one for number, one in enumerate(done) if isinstance(one, _UNUSABLE)}
        for number, one in enumerate(done):
            if isinstance(one, BaseException) and (number not in failed or len(failed) == len(exits)):
                raise one
        state = next((one for one in (state, *done) if isinstance(one, str) and one != "finished"), state)
        if not failed:
            break
        for error in failed.values():
            tell(f"a proxy cannot be used, so its searches go to the others: {error}")
        exits = [one for number, one in enumerate(exits) if number not in failed]
        waiting = [one for one in waiting if not is_recorded(one)]
    return state
