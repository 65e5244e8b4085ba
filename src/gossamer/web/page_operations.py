"""The operation that shows a page of a crawl beside what was made of it."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path
from typing import Any

from gossamer import url as urls
from gossamer.app.query.attempts_tail import last_attempts
from gossamer.app.query.opened_crawl import opened_crawl
from gossamer.client.stored_pages import StoredPages
from gossamer.config.redaction import mask
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, InvalidField, UsageError
from gossamer.operations import inputs_of_views, results_of_views
from gossamer.operations.context import OperationContext
from gossamer.parsing.encodings import decode

MAX_ROWS_READ = 200_000
"""Maximum number of rows that are searched for those of a page."""
MAX_BODY_CHARS = 256 << 10
ATTEMPTS_SHOWN = 20


async def page_show(
    context: OperationContext, given: inputs_of_views.ShowPage
) -> results_of_views.PageInspection:
    """Shows a page of a crawl beside what was made of it: its record, its items, the requests for it, and its stored
    body, if the crawl stores whole pages."""
    await context.need(given.crawl)
    if urls.parse(given.url) is None:
        raise InvalidField(f"{given.url[:200]!r} is not a URL", "/url")
    return await asyncio.to_thread(_page_view, context.settings, given.crawl, given.url)


def _page_view(settings: Settings, crawl: str, url: str) -> results_of_views.PageInspection:
    key = urls.canonical(url) or url
    shown = mask(url)

    def is_of_page(row: dict[str, Any], *names: str) -> bool:
        return any(row.get(name) in (url, key, shown) for name in names)

    page, items, body, why = (
        None,
        list[dict[str, Any]](),
        None,
        "the crawl stores no whole pages: -o pages.warc.gz stores them",
    )
    try:
        with opened_crawl(settings, crawl) as stored:
            for row in islice(stored.rows("pages"), MAX_ROWS_READ):
                if is_of_page(row, "url", "requested_url"):
                    page = row
            for row in islice(stored.rows("items"), MAX_ROWS_READ):
                if is_of_page(row, "_url"):
                    items.append(row)
            if stored.archives:
                names = [key, url, str((page or {}).get("url") or url)]
                body, why = _body(stored.archives, list(dict.fromkeys(names)), page)
    except (UsageError, ConfigError) as error:
        why = str(error)
    attempts = last_attempts(settings, crawl, key, urls.canonical, ATTEMPTS_SHOWN)
    return results_of_views.PageInspection(
        crawl=crawl,
        url=url,
        page=page,
        items=items,
        attempts=attempts,
        body=None if body is None else mask(body[:MAX_BODY_CHARS]),
        why_no_body=None if body is not None else why,
    )


def _body(archives: list[str], names: list[str], page: dict[str, Any] | None) -> tuple[str | None, str]:
    """Returns the stored body of a page, or None and the reason why there is none."""
    for archive in reversed(archives):
        path = Path(archive.removeprefix("objects:"))
        if "://" in archive or not path.exists():
            continue
        with StoredPages(str(path)) as pages:
            for name in names:
                if (found := pages.get(name)) is not None:
                    return decode(found.body, (page or {}).get("content_type")), ""
    return None, f"{', '.join(archives)} has no response of this URL that this machine can read"
