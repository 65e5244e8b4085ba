"""`gossamer status CRAWL --freshness`: shows the freshness of the pages in a crawl with revisits. `gossamer
changed` reports pages as changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Crawl,
    Data,
    Json,
    Quiet,
    Setting,
    StoreUrl,
    open_existing_store,
    read_settings,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.recrawl.freshness import Freshness
    from gossamer.store.store import Store

Urls = Annotated[list[str], Argument(metavar="URL...", help="Pages that changed.")]


async def print_freshness(store: Store, name: str, as_json: bool) -> int:
    """Prints the freshness of a crawl. Raises UsageError if the crawl does not visit its pages again."""
    import msgspec

    from gossamer.cli.printing import put_json, put_table
    from gossamer.frontier.crawls import Crawls, store_time
    from gossamer.recrawl.freshness import read_freshness

    await Crawls(store).need(name)
    found = await read_freshness(store, name)
    if found is None:
        raise UsageError(
            f"crawl {name} does not visit its pages again, or its first report is still to come: "
            "see gossamer crawl --revisit"
        )
    if as_json:
        put_json({"crawl": name, **msgspec.to_builtins(found)})
        return 0
    put_table((), rows_of(name, found, await store_time(store)))
    return 0


def rows_of(name: str, found: Freshness, now: float) -> list[tuple[str, str]]:
    """Returns the labels and values of a report."""
    from gossamer.config.value_texts import format_duration

    rows = [
        ("crawl", f"{name}, as of {format_duration(max(0, round(now - found.at)))} ago"),
        ("known pages", f"{found.pages:,}, {found.queued:,} of them being visited"),
        (
            "stale",
            f"{_share(found.expected_stale)} of the time expected, {_share(found.measured_stale)} measured",
        ),
        ("stale now", f"{_share(found.stale_now)} of the pages expected"),
        (
            "changes",
            f"{found.changes:,.1f} a day expected; {found.changed:,} of {found.revisits:,} visits found one",
        ),
        (
            "budget",
            f"{found.budget:,.0f} visits a day, {_share(found.budget_used)} used; {found.needed:,.0f} planned",
        ),
        (
            "visits saved",
            f"{found.saved:,.0f} a day, against equal intervals" if found.saved is not None else "-",
        ),
        ("interval", f"{format_duration(found.mean_interval)} on average"),
        ("never changed", f"{found.never_changed:,} pages"),
        ("always changed", f"{found.always_changed:,} pages"),
        ("too old", f"{found.over_age:,} pages are older than {format_duration(found.max_age)}"),
    ]
    if found.signals:
        rows.append(("signals", f"{found.signals:,.0f}, {found.confirmed:,.0f} of them confirmed"))
    return rows


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def changed(
    crawl: Crawl,
    urls: Urls,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Report pages as changed. A crawl with --revisit visits these pages next."""
    from gossamer.cli.printing import print_action

    count = asyncio.run(_report(read_settings(data, store, setting), crawl, urls))
    said = f"{count} page{'' if count == 1 else 's'} of {crawl} will be visited next"
    facts: dict[str, Any] = {"crawl": crawl, "did": "changed", "pages": count}
    print_action(said, as_json, quiet, **facts)
    return 0


async def _report(settings: Settings, name: str, texts: list[str]) -> int:
    from gossamer.recrawl.freshness import report_pages, urls_of_pages

    found = urls_of_pages(texts)
    async with open_existing_store(settings) as store:
        return await report_pages(store, name, found)
