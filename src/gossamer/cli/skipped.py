"""`gossamer skipped`: lists and requeues the URLs that a crawl found and did not fetch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import (
    Data,
    Json,
    MaybeCrawl,
    Option,
    Setting,
    StoreUrl,
    only_of,
    open_existing_store,
    read_settings,
)
from gossamer.cli.query import HostFilter, Limit, Since, Where
from gossamer.errors import UsageError
from gossamer.model.verdict import SKIPS

if TYPE_CHECKING:
    from gossamer.app.query.filters import Test
    from gossamer.config.settings import Settings

UNLISTED = {
    "duplicate": "a duplicate was fetched under its first link",
    "recent": "a recent page is in the outputs of an earlier run",
}
"""Reasons of URLs that are not missing in the outputs, so that the list does not contain them."""
Reason = Annotated[
    str | None, Option("--reason", metavar="WORD", help="Only with this reason (robots, scope, ...).")
]
DryRun = Annotated[bool, Option("--dry-run", help="Only count them.")]
AsSeeds = Annotated[
    bool, Option("--as-seeds", help="Take them outside of the scope, too; their hosts join it.")
]


def listed(
    crawl: MaybeCrawl = None,
    reason: Reason = None,
    host: HostFilter = None,
    since: Since = None,
    where: Where = None,
    limit: Limit = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """List the URLs that a crawl skipped, each with the reason and the rule that decided. `gossamer export --what
    skipped` writes them to a file."""
    from gossamer.app.query.opened_crawl import filtered_rows, opened_crawl
    from gossamer.cli.printing import remark
    from gossamer.cli.query import print_rows

    test = _test(reason, host, since, where)
    with opened_crawl(read_settings(data, store, setting), crawl, remark) as stored:
        rows = filtered_rows((row for row in stored.rows("skipped") if test(row)), stored, "skipped", where)
        heads = ("reason", "url", "rule", "depth", "found_on")
        print_rows(
            rows,
            limit,
            as_json,
            heads,
            only=True,
            least=("found_on", "depth"),
            empty=stored.why_empty,
            what="skipped",
        )
    return 0


def requeue(
    crawl: MaybeCrawl = None,
    reason: Reason = None,
    host: HostFilter = None,
    since: Since = None,
    where: Where = None,
    as_seeds: AsSeeds = False,
    dry_run: DryRun = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Requeue skipped URLs. The filters and robots.txt decide again, unless --as-seeds is given. Run the crawl's
    command afterwards to fetch the URLs."""
    settings = read_settings(data, store, setting)
    return asyncio.run(
        _requeue(settings, crawl, _test(reason, host, since, where), as_seeds, dry_run, as_json)
    )


def _test(reason: str | None, host: str | None, since: str | None, where: list[str] | None) -> Test:
    from gossamer.app.query.filters import all_of
    from gossamer.config.value_parsers import nearest

    if reason is not None and reason not in SKIPS:
        raise UsageError(f"--reason {reason!r}: unknown reason{nearest(reason, SKIPS)}")
    if reason in UNLISTED:
        raise UsageError(f"--reason {reason}: these are only counted: {UNLISTED[reason]}")
    return all_of(host=only_of(host), since=since, reason=reason, wheres=where or ())


async def _requeue(
    settings: Settings, crawl: str | None, test: Test, as_seeds: bool, dry_run: bool, as_json: bool
) -> int:
    from gossamer.app.skipped_requeue import requeue_skipped, skipped_rows
    from gossamer.cli.printing import put_json, remark
    from gossamer.config.value_texts import format_counts

    name, rows = await asyncio.to_thread(skipped_rows, settings, crawl, test, remark)
    async with open_existing_store(settings) as store:
        found = await requeue_skipped(
            store, settings, name, rows, as_seeds=as_seeds, dry_run=dry_run, say=remark
        )
    if as_json:
        put_json(found)
        return 0
    if dry_run:
        print(f"{found.urls} skipped URLs would be queued again")
    else:
        refused = f", {sum(found.refused.values())} refused again ({format_counts(found.refused)})"
        print(f"{found.added} of {found.urls} skipped URLs queued again{refused if found.refused else ''}")
    if found.refused and not as_seeds:
        remark("--as-seeds takes URLs outside of the scope and the patterns, too")
    if found.masked:
        remark(f"{found.masked} were left out, because the list does not contain their secrets")
    return 0
