"""`gossamer dead`: lists, shows, requeues and drops dead letters, which are URLs that a crawl gave up. `dead undo` undoes
the last change."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Data,
    Json,
    MaybeCrawl,
    OfCrawl,
    Option,
    Setting,
    StoreUrl,
    only_crawl,
    only_of,
    open_existing_store,
    read_settings,
)
from gossamer.config.value_texts import format_time
from gossamer.errors import UsageError
from gossamer.model.verdict import ERRORS

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.frontier.stats import Letter

OfHost = Annotated[str | None, Option("--host", metavar="HOST", help="Only of this host.")]
Reason = Annotated[
    str | None, Option("--reason", metavar="WORD", help="Only with this reason (dns, timeout, ...).")
]
Since = Annotated[str | None, Option("--since", metavar="TIME", help="Only from the last 90s, 5m, 2h, 3d.")]
DryRun = Annotated[bool, Option("--dry-run", help="Only count them.")]
Limit = Annotated[
    int, Option("--limit", metavar="N", help="Maximum number to show (default 1000; 0: all).", least=0)
]
Url = Annotated[str, Argument(metavar="URL|ID", help="The URL, or the number that the list shows.")]


def listed(
    crawl: MaybeCrawl = None,
    host: OfHost = None,
    reason: Reason = None,
    since: Since = None,
    limit: Limit = 1000,
    of_all: Annotated[bool, Option("--all", help="Of all crawls.")] = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """List dead letters, oldest first. With --json, print one object per line."""
    settings, wanted = read_settings(data, store, setting), filters(host, reason, since)
    if of_all and crawl is not None:
        raise UsageError(f"--all lists all crawls: leave {crawl} out, or --all")
    return asyncio.run(_list(settings, crawl, of_all, wanted, limit, as_json))


def show(
    url: Url,
    crawl: OfCrawl = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Show all fields of one dead letter."""
    return asyncio.run(_show(read_settings(data, store, setting), crawl, url, as_json))


def requeue(
    crawl: MaybeCrawl = None,
    host: OfHost = None,
    reason: Reason = None,
    since: Since = None,
    dry_run: DryRun = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Requeue dead letters, as if they had never been tried. Run the crawl's command afterwards to fetch the
    URLs."""
    settings, wanted = read_settings(data, store, setting), filters(host, reason, since)
    return asyncio.run(_act("requeue", settings, crawl, wanted, dry_run, as_json))


def drop(
    crawl: MaybeCrawl = None,
    host: OfHost = None,
    reason: Reason = None,
    since: Since = None,
    dry_run: DryRun = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Drop dead letters for good. A dropped dead letter counts as failed."""
    settings, wanted = read_settings(data, store, setting), filters(host, reason, since)
    return asyncio.run(_act("drop", settings, crawl, wanted, dry_run, as_json))


def undo(
    crawl: MaybeCrawl = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Undo the last requeue or drop of the last 10 minutes. A requeued URL that is fetched already stays as it is."""
    return asyncio.run(_undo(read_settings(data, store, setting), crawl, as_json))


async def _undo(settings: Settings, crawl: str | None, as_json: bool) -> int:
    from gossamer.app import dead_letters
    from gossamer.cli.printing import put_json

    async with open_existing_store(settings) as store:
        name = await only_crawl(store, crawl)
        done = await dead_letters.undo(store, name)
    if as_json:
        put_json({"crawl": name, **done._asdict()})
        return 0
    kept = f"; {done.kept} were fetched in the meantime and stay as they are" if done.kept else ""
    print(f"{done.letters} URLs are dead letters again{kept}")
    return 0


def filters(host: str | None, reason: str | None, since: str | None) -> dict[str, Any]:
    """Checks the filter options and returns them as arguments of `CrawlStatistics.dead`. `since` becomes a
    time in seconds since the epoch. Raises UsageError."""
    from gossamer.config.value_parsers import nearest, seconds

    if reason is not None and reason not in ERRORS:
        raise UsageError(f"--reason {reason!r}: unknown reason{nearest(reason, ERRORS)}")
    try:
        return {
            "host": only_of(host),
            "reason": reason,
            "since": time.time() - seconds(since) if since is not None else 0.0,
        }
    except ValueError as error:
        raise UsageError(f"--since {since!r}: {error}") from None


async def _list(
    settings: Settings,
    crawl: str | None,
    of_all: bool,
    wanted: dict[str, Any],
    limit: int,
    as_json: bool,
) -> int:
    import msgspec

    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.frontier.stats import CrawlStatistics

    rows: list[tuple[str, Letter]] = []
    shown = 0
    async with open_existing_store(settings) as store:
        statistics = CrawlStatistics(store)
        for name in await statistics.crawls.names() if of_all else [await only_crawl(store, crawl)]:
            async for letter in statistics.dead(name, **wanted):
                if limit and shown >= limit:
                    break
                shown += 1
                if as_json:
                    put_json({"crawl": name, **msgspec.structs.asdict(letter)} if of_all else letter)
                else:
                    rows.append((name, letter))
    if limit and shown >= limit:
        remark(f"the first {limit} are shown; --limit 0 shows all")
    if not as_json and rows:
        heads = (*(("crawl",) if of_all else ()), "id", "when", "reason", "tries", "url", "detail")
        table = [
            (
                *((name,) if of_all else ()),
                *(
                    one.id,
                    format_time(one.at),
                    one.reason,
                    one.attempts + (one.reason != "given-up"),
                    one.url,
                    one.detail,
                ),
            )
            for name, one in rows
        ]
        put_table(heads, table, right=("id", "tries"), least=("detail", "tries", "when"))
    elif not shown:
        remark("no dead letters")
    return 0


async def _show(settings: Settings, crawl: str | None, url: str, as_json: bool) -> int:
    import msgspec

    from gossamer.cli.printing import put_json, put_table
    from gossamer.frontier.stats import CrawlStatistics

    async with open_existing_store(settings) as store:
        name = await only_crawl(store, crawl)
        found = [
            letter
            async for letter in CrawlStatistics(store).dead(name)
            if url in (letter.url, str(letter.id))
        ]
    if not found:
        raise UsageError(f"{name} has no dead letter {url}; see gossamer dead list {name}")
    for letter in found:
        if as_json:
            put_json(letter)
        else:
            plain = {**msgspec.to_builtins(letter), "at": format_time(letter.at)}
            if letter.added_at is not None:
                plain["added_at"] = format_time(letter.added_at)
            put_table((), list(plain.items()))
    return 0


async def _act(
    verb: str, settings: Settings, crawl: str | None, wanted: dict[str, Any], dry_run: bool, as_json: bool
) -> int:
    from gossamer.app.dead_letters import decide
    from gossamer.cli.printing import put_json

    async with open_existing_store(settings) as store:
        name = await only_crawl(store, crawl)
        done, ended = await decide(store, name, verb, **wanted, dry_run=dry_run)
    if as_json:
        put_json({"crawl": name, "letters": done, "dry_run": dry_run})
        return 0
    words = {"requeue": "queued again", "drop": "dropped"}[verb]
    after = (
        "; run the crawl's command to fetch them"
        if verb == "requeue" and ended and done and not dry_run
        else ""
    )
    print(f"{done} dead letters {'would be ' if dry_run else ''}{words}{after}")
    return 0
