"""Fetches result pages directly from the engines through several proxies. Each proxy is an exit with its own
crawl, store and request rate. The exits need separate stores because a store enforces the delay of a host for
all addresses together."""

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
"""Maximum number of concurrent crawls. If the user gives more than MAX_EXITS proxies, several proxies share a
crawl."""
CrawlOfExit = Callable[[Sequence[PageRequest], Mapping[str, Any]], Awaitable[str]]
"""A function that fetches result pages through one exit, with the given options of `gossamer.run`. The
function returns the state of the crawl."""

_UNUSABLE = (NoProxyLeft, ConfigError, UsageError)
"""The exceptions that a crawl raises if no proxy of the crawl is usable. A crawl has no usable proxy if no
proxy answers, or if the list of proxies contains no valid proxy."""


def read_exits(files: Sequence[str]) -> list[str]:
    """Returns the proxies in list files, without duplicates. Raises UsageError if a file cannot be read."""
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
    """Returns the number of exits that search an engine at the same time. `files`: files with lists of
    proxies. `store`: the shared store, or None. With a shared store, the number is 1, because all exits of a
    shared store share the delay of a host. Raises UsageError if a file cannot be read."""
    return 1 if store else max(1, min(len(read_exits(files)), MAX_EXITS))


@contextlib.contextmanager
def exit_options(proxies: Sequence[str], options: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """A context manager that yields the crawl options of each exit. Each exit has its own crawl name, list of
    proxies, and data folder with a store. If the settings name a store, all exits use this store, and share
    the delays in the store. The list files are readable only by the user and are deleted at the end, because
    proxy URLs can contain passwords."""
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
    """Divides requests among exits, and runs the crawls of all exits at the same time. If the proxies of an
    exit are unusable, the requests of the exit go to the other exits, and the user gets a message. Returns
    `finished` if all crawls finished, or the state of a crawl that did not finish. If the proxies of all
    exits are unusable, raises the error of one of the exits. Errors with other causes are always raised."""
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
