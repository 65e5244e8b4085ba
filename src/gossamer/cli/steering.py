"""`gossamer pause`, `resume`, `finish`, `stop` and `cancel` control a crawl, `gossamer limits` changes what it may fetch,
`gossamer accept` confirms its last run, and `gossamer priority` reorders its pending URLs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Crawl,
    Data,
    Json,
    Option,
    Quiet,
    Setting,
    StoreUrl,
    hosts_of,
    open_existing_store,
    read_settings,
)
from gossamer.errors import UsageError
from gossamer.url.patterns import Searcher, compile_

if TYPE_CHECKING:
    from gossamer.app.live_changes import Changes
    from gossamer.config.settings import Settings


def _steering(verb: str, about: str) -> Callable[..., int]:
    """Returns the command that steers a crawl in one way. `about`: its help text."""

    def command(
        crawl: Crawl,
        data: Data = None,
        store: StoreUrl = None,
        setting: Setting = None,
        as_json: Json = False,
        quiet: Quiet = False,
    ) -> int:
        return asyncio.run(_steer(verb, crawl, read_settings(data, store, setting), as_json, quiet))

    command.__name__, command.__doc__ = verb, about
    return command


pause = _steering("pause", "Pause a crawl. No new pages are fetched, and the queue and all results are kept.")
resume = _steering("resume", "Continue a paused crawl.")
stop = _steering("stop", "End a crawl gracefully and keep its queue.")
finish = _steering(
    "finish",
    "Retry nothing more. URLs that wait for a retry become dead letters, and the others are still fetched.",
)
cancel = _steering("cancel", "End a crawl and drop its queue. Fetched pages are kept.")


def accept(
    crawl: Crawl,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Confirm that a run which ended with exit code 31 is right. What the run showed is then concluded, and
    later runs are compared with it, too."""
    from gossamer.app.accept import accept as accept_run
    from gossamer.cli.printing import put_json, remark

    summary = asyncio.run(accept_run(read_settings(data, store, setting), crawl))
    if as_json:
        put_json(summary)
    remark(
        f"{crawl}: the run counts as good: {summary.new} new, {summary.changed} changed, {summary.gone} gone",
        quiet or as_json,
    )
    return 0


def limits(
    crawl: Crawl,
    limit: Annotated[
        str | None, Option("--limit", metavar="N", help="Maximum number of pages; none: no limit.")
    ] = None,
    size_limit: Annotated[
        str | None, Option("--size-limit", metavar="SIZE", help="Maximum size of all bodies: 500M, none.")
    ] = None,
    time_limit: Annotated[
        str | None,
        Option("--time-limit", metavar="TIME", help="Maximum time of all runs: 90s, 5m, 2h, none."),
    ] = None,
    exclude: Annotated[
        list[str] | None, Option("--exclude", metavar="REGEX", help="Fetch no URL that matches. Repeatable.")
    ] = None,
    readmit: Annotated[
        list[str] | None,
        Option("--readmit", metavar="REGEX", help="Drop an exclusion that was added so. Repeatable."),
    ] = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Change the limits and exclusions of a running crawl, or show what was changed. Its workers follow within
    seconds."""
    from gossamer.app.live_changes import Changes
    from gossamer.config import value_parsers

    parsers: dict[str, Callable[[str], float]] = {
        "limit": lambda text: value_parsers.count(1, 1 << 53, text),
        "size_limit": value_parsers.size,
        "time_limit": value_parsers.span,
    }
    given: dict[str, Any] = {}
    for name, text in (("limit", limit), ("size_limit", size_limit), ("time_limit", time_limit)):
        if text is None:
            continue
        try:
            given[name] = 0 if text == "none" else parsers[name](text)
        except ValueError as error:
            raise UsageError(f"--{name.replace('_', '-')} {text!r}: {error}, or none") from None
    changes = Changes(**given, exclude=exclude or (), readmit=readmit or ())
    return asyncio.run(_limits(read_settings(data, store, setting), crawl, changes, as_json, quiet))


async def _limits(settings: Settings, crawl: str, changes: Changes, as_json: bool, quiet: bool) -> int:
    from gossamer.app.live_changes import change_live
    from gossamer.cli.printing import print_action
    from gossamer.config.value_texts import format_bytes, format_duration

    async with open_existing_store(settings) as store:
        now = await change_live(store, settings, crawl, changes)
    shown: list[str] = []
    for word, value, text in (
        ("pages", now.limit, str),
        ("bytes", now.size_limit, format_bytes),
        ("time", now.time_limit, format_duration),
    ):
        if value is not None:
            shown.append(f"{word}: {text(value) if value else 'no limit'}")
    shown += [f"exclude {pattern}" for pattern in now.exclude]
    fields = {name: getattr(now, name) for name in ("limit", "size_limit", "time_limit")}
    said = "; ".join(shown) or "nothing was changed while it ran"
    print_action(f"{crawl}: {said}", as_json, quiet, crawl=crawl, **fields, exclude=list(now.exclude))
    return 0


def priority(
    crawl: Crawl,
    n: Annotated[int, Argument(metavar="N", help="The new priority; higher is fetched first.")],
    host: Annotated[
        str | None, Option("--host", metavar="HOST", help="Only URLs of this host, or of a site file's.")
    ] = None,
    match: Annotated[
        str | None, Option("--match", metavar="REGEX", help="Only URLs that contain a match of this.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only count them.")] = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Change the priority of waiting URLs, whether the crawl runs or not."""
    settings = read_settings(data, store, setting)
    hosts = [None] if host is None else [*hosts_of(host)]
    try:
        pattern = compile_(match) if match is not None else None
    except re.error as error:
        raise UsageError(f"--match {match!r} is not a regular expression: {error}") from None
    if not -1_000_000 <= n <= 1_000_000:
        raise UsageError(f"a priority must be between -1000000 and 1000000, not {n}")
    return asyncio.run(_priority(settings, crawl, n, hosts, pattern, dry_run, as_json))


async def _priority(
    settings: Settings,
    crawl: str,
    n: int,
    hosts: Sequence[str | None],
    match: Searcher | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    from gossamer.app.steering import change_priority
    from gossamer.cli.printing import put_json

    async with open_existing_store(settings) as store:
        moved = await change_priority(store, settings, crawl, n, hosts, match, dry_run)
    if as_json:
        put_json({"crawl": crawl, "priority": n, "urls": moved, "dry_run": dry_run})
    else:
        print(f"{moved} URLs {'would have' if dry_run else 'have'} priority {n}")
    return 0


async def _steer(verb: str, name: str, settings: Settings, as_json: bool, quiet: bool) -> int:
    from gossamer.app.steering import steer
    from gossamer.cli.printing import print_action

    async with open_existing_store(settings) as store:
        state, said = await steer(store, settings, verb, name)
    print_action(f"{name}: {said}", as_json, quiet, crawl=name, state=state)
    return 0
