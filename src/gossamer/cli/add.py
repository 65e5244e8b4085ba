"""`gossamer add`: adds URLs to an existing crawl, whether it is running, paused or ended."""

from __future__ import annotations

import asyncio
import json
import signal
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
    open_existing_store,
    read_settings,
)
from gossamer.errors import CrawlEnded, UsageError

if TYPE_CHECKING:
    from gossamer.app.targets import Target
    from gossamer.app.url_adding import Added, AddOptions
    from gossamer.config.settings import Settings

STOPPED, USAGE, REFUSED = 11, 2, 5
Urls = Annotated[
    list[str] | None,
    Argument(metavar="URL...", help="URLs, lists (also JSON lines), sitemap:URL, feed:URL, - for stdin."),
]
Priority = Annotated[
    int | None, Option("--priority", metavar="N", help="Higher is fetched first (default: as the seeds).")
]
Id = Annotated[str | None, Option("--id", metavar="ID", help="Your id, which rows and attempts contain.")]
Use = Annotated[str | None, Option("--use", metavar="FUNCTION", help="The page function that reads them.")]
Carry = Annotated[str | None, Option("--carry", metavar="JSON", help="A value for the page function.")]
Key = Annotated[
    str | None, Option("--key", metavar="KEY", help="Identifies the one request in place of its URL.")
]
Again = Annotated[bool, Option("--again", help="Visit URLs again even if the crawl knows them.")]
IfOlder = Annotated[
    str | None,
    Option(
        "--if-older",
        metavar="TIME",
        help="Visit known URLs again, too, if their last good visit is older: 24h.",
    ),
]
AsSeeds = Annotated[
    bool, Option("--as-seeds", help="Take them outside of the scope, too; their hosts join it.")
]


def add(
    crawl: Crawl,
    urls: Urls = None,
    priority: Priority = None,
    request_id: Id = None,
    use: Use = None,
    carry: Carry = None,
    key: Key = None,
    again: Again = False,
    if_older: IfOlder = None,
    as_seeds: AsSeeds = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Add URLs to a crawl that is running, paused or ended. Without --again or --if-older, a known URL is not
    added a second time."""
    from gossamer.app.url_adding import AddOptions, added_targets, check_options
    from gossamer.cli.crawl import time_of

    settings = read_settings(data, store, setting)
    given = added_targets(urls or ())
    options = AddOptions(
        priority=priority,
        id=request_id,
        use=use,
        carry=_carried(carry),
        key=key,
        again=again,
        if_older=time_of("--if-older", if_older),
        as_seeds=as_seeds,
    )
    check_options(options, given)
    return asyncio.run(_add(settings, crawl, given, options, as_json, quiet))


def _carried(text: str | None) -> Any:
    """Returns the value of --carry. Raises UsageError."""
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"--carry {text!r} is not JSON ({error}): write it as --carry '{{\"shop\": 7}}'"
        ) from None


async def _add(
    settings: Settings, crawl: str, given: list[Target], options: AddOptions, as_json: bool, quiet: bool
) -> int:
    from gossamer.app.url_adding import Added, add_urls
    from gossamer.cli.printing import put_json, remark
    from gossamer.frontier.crawls import Crawls

    result = Added(crawl=crawl)
    async with open_existing_store(settings) as store:
        task = asyncio.ensure_future(
            add_urls(store, settings, crawl, given, options, lambda line: remark(line, quiet), result)
        )
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, task.cancel)
        stopped = False
        try:
            await task
        except CrawlEnded as error:
            remark(f"{error}: {said(result)}")
            return error.exit_code
        except asyncio.CancelledError:
            stopped = True
        record = await Crawls(store).need(crawl)
        result.state = result.state or record.state
    _report(result, quiet)
    if as_json:
        put_json(result)
    if stopped:
        remark(f"stopped; {said(result)}. The same command adds the rest")
        return STOPPED
    if not as_json:
        print(f"{crawl}: {said(result)}; {then(result, record)}")
    if result.rejected:
        return USAGE
    return REFUSED if result.refused and not (result.added or result.duplicates or result.recent) else 0


def said(result: Added) -> str:
    """Formats the result of adding URLs, for example `3 URLs added, 1 known already, 2 refused (scope 2)`."""
    from gossamer.config.value_texts import format_counts

    parts = [f"{result.added:,} URL{'' if result.added == 1 else 's'} added"]
    if result.duplicates:
        parts.append(f"{result.duplicates:,} known already")
    if result.recent:
        parts.append(f"{result.recent:,} visited recently")
    if result.refused:
        parts.append(f"{sum(result.refused.values()):,} refused ({format_counts(result.refused)})")
    if result.rejected:
        parts.append(f"{result.rejected:,} line{'' if result.rejected == 1 else 's'} rejected")
    return ", ".join(parts)


def then(result: Added, record: Any) -> str:
    """Returns a message about what happens to the added URLs. If no process works on the crawl, the text
    contains the command that continues it."""
    from gossamer.app.steering import continue_command

    if result.state == "paused":
        return f"the crawl is paused: continue with gossamer resume {record.name}"
    if result.running:
        who = "the fleet" if record.fleet else "the running crawl"
        return f"{who} fetches {'it' if result.added == 1 else 'them'}" if result.added else f"{who} goes on"
    if not result.added and result.state == "finished":
        return "the crawl is finished"
    limit = f" ({record.reason}: give a larger one)" if result.state == "limited" else ""
    return f"the crawl is {result.state}{limit}: continue with {continue_command(record)}"


def _report(result: Added, quiet: bool) -> None:
    """Prints the refused URLs and the rejected lines."""
    from gossamer.cli.printing import remark

    for line in result.rejected_lines:
        remark(f"{line.source} line {line.line}: {line.reason}", quiet)
    if result.rejected:
        remark(
            f"{result.rejected:,} lines are not requests; rejected.jsonl in the crawl's folder has them, "
            "and the other lines were taken",
            quiet,
        )
    for url, reason in result.refused_urls:
        remark(f"refused ({reason}): {url}", quiet)
    if (more := sum(result.refused.values()) - len(result.refused_urls)) > 0:
        remark(f"and {more:,} more were refused", quiet)
    if "scope" in result.refused or "filter" in result.refused:
        remark("--as-seeds takes URLs outside of the scope and the patterns, too", quiet)
