"""Requeues URLs that a crawl skipped, by the list of skipped URLs of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from gossamer.app.query.filters import Test
from gossamer.app.query.opened_crawl import opened_crawl
from gossamer.app.targets import Target
from gossamer.app.url_adding import Added, AddOptions, add_urls
from gossamer.config.settings import Settings
from gossamer.store.store import Store

MASK = "***"
SAMPLE = 5


class Requeued(msgspec.Struct, kw_only=True):
    """The result of requeueing skipped URLs. `urls`: the selected URLs. `refused`: those that the crawl refuses again,
    by reason. `masked`: those that cannot be requeued, because the list does not contain their secrets."""

    crawl: str
    urls: int
    dry_run: bool
    added: int = 0
    refused: dict[str, int] = {}
    masked: int = 0
    sample: list[str] = []


def skipped_rows(
    settings: Settings, crawl: str | None, test: Test, say: Callable[[str], None] = lambda _: None
) -> tuple[str, list[dict[str, Any]]]:
    """Returns the name of a crawl, and its skipped URLs that pass a test. Must not be called in an event loop. Raises
    UsageError."""
    with opened_crawl(settings, crawl, say) as stored:
        return stored.name, [row for row in stored.rows("skipped") if test(row)]


async def requeue_skipped(
    store: Store,
    settings: Settings,
    crawl: str,
    rows: Iterable[dict[str, Any]],
    *,
    as_seeds: bool = False,
    dry_run: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Requeued:
    """Adds skipped URLs to their crawl, as `add --again` does: the filters and robots.txt decide again. `as_seeds`: the
    scope, the patterns and the limits do not apply, and the hosts join the scope. `dry_run`: only counts them. Raises
    GossamerError."""
    chosen = [str(row["url"]) for row in rows]
    urls = [url for url in chosen if MASK not in url]
    found = Requeued(crawl=crawl, urls=len(chosen), dry_run=dry_run, masked=len(chosen) - len(urls))
    found.sample = urls[:SAMPLE]
    if dry_run or not urls:
        return found
    target = Target("list", "\n".join(urls), [url.encode() for url in urls])
    result = Added(crawl=crawl)
    await add_urls(store, settings, crawl, [target], AddOptions(again=True, as_seeds=as_seeds), say, result)
    found.added, found.refused = result.added, result.refused
    return found
