"""Operations on stored rows: items, pages, attempts and dead letters."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

from gossamer.app.dead_letters import decide, undo
from gossamer.app.query.filters import Test, all_of
from gossamer.app.query.opened_crawl import NO_LIST, filtered_rows, opened_crawl
from gossamer.config.redaction import conceal_values
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import seconds
from gossamer.errors import ConfigError, InUse, InvalidField, UsageError
from gossamer.frontier.stats import Letter
from gossamer.items.assets import told_of
from gossamer.observability.skipped_log import NAME as SKIPPED
from gossamer.operations import inputs, results
from gossamer.operations.confirmation import (
    MAX_UNCONFIRMED,
    SAMPLE,
    check_confirmation,
    confirmation,
    needs_confirmation,
)
from gossamer.operations.context import OperationContext, authority
from gossamer.operations.cursors import cursor_after, position_of

WHAT = {inputs.ListItems: "items", inputs.ListAttempts: "attempts", inputs.ListSkipped: "skipped"}
LISTED = get_args(inputs.SkipReason)
Found = TypeVar("Found")


class SelectedRows(NamedTuple):
    """The rows that a request selects. `what`: `items`, `pages` or `attempts`. `after`: the number of stored rows
    to pass over."""

    settings: Settings
    crawl: str
    what: str
    test: Test
    kind_test: Test
    """Selects kinds of items, in addition to `test`."""
    wheres: list[str]
    after: int
    may_lack_rows: bool
    """Whether the crawl has just begun, so that no output exists yet."""
    notes: list[str]
    """Messages about rows that are missing."""


async def item_list(context: OperationContext, given: inputs.ListItems) -> results.RowPage:
    """Lists the stored items of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    return await _page(context, given)


async def page_list(context: OperationContext, given: inputs.ListRows) -> results.RowPage:
    """Lists the page records of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    return await _page(context, given)


async def attempt_list(context: OperationContext, given: inputs.ListAttempts) -> results.RowPage:
    """Lists the requests of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    return await _page(context, given)


async def skipped_list(context: OperationContext, given: inputs.ListSkipped) -> results.RowPage:
    """Lists the URLs that a crawl found and did not fetch, each with the reason and the rule that decided. Another media
    type streams all of them: NDJSON, CSV or Parquet."""
    found = await _page(context, given)
    if not found.items and not (Path(context.settings.data) / given.crawl / SKIPPED).exists():
        counted = (await context.statistics.summary(given.crawl)).skipped
        if missing := sum(n for word, n in counted.items() if word in LISTED):
            found.note = found.note or f"the crawl counts {missing:,} such URLs or links, but {NO_LIST}"
    return found


async def _page(context: OperationContext, given: inputs.ListRows) -> results.RowPage:
    record = await context.need(given.crawl)
    selected = select(context.settings, record.name, given, may_lack_rows=not record.outputs)
    found: list[tuple[int, dict[str, Any]]] = []
    async for batch in in_thread(selected_rows(selected), given.limit + 1):
        found = batch
        break
    more = found[given.limit :]
    rows = found[: given.limit]
    after = cursor_after(given, rows[-1][0]) if more else None
    note = "; ".join(dict.fromkeys(selected.notes)) or None
    return results.RowPage(items=[row for _, row in rows], next=after, note=note)


def select(settings: Settings, crawl: str, given: inputs.ListRows, *, may_lack_rows: bool) -> SelectedRows:
    """Returns the rows that a request selects. `may_lack_rows`: see `SelectedRows`. Raises GossamerError."""
    what = WHAT.get(type(given), "pages")
    test = test_of(given)
    kind = getattr(given, "kind", None)
    kind_test: Test = lambda row: True  # noqa: E731
    if kind is not None:
        kind_test = lambda row: str(row.get("_kind")).lower() == kind.lower()  # noqa: E731
    elif what == "items":
        kind_test = lambda row: not told_of(row)  # noqa: E731
    after = position_of(given, int, 0)
    return SelectedRows(settings, crawl, what, test, kind_test, given.where, after, may_lack_rows, [])


def test_of(given: inputs.ListRows | inputs.RequeueSkipped) -> Test:
    """Returns the filters of a request as one test. Raises InvalidField."""
    try:
        return all_of(
            host=None if given.host is None else authority(given.host),
            since=given.since,
            wheres=given.where,
            status=getattr(given, "status", None),
            outcome=getattr(given, "outcome", None),
            reason=getattr(given, "reason", None),
        )
    except InvalidField:
        raise
    except UsageError as error:
        raise InvalidField(_without_option(error), "/where" if given.where else "/since") from None


def selected_rows(one: SelectedRows) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Yields the selected rows, each with the number of stored rows up to and including the row."""
    with opened_crawl(one.settings, one.crawl, one.notes.append) as stored:
        seen = [0]

        def rows() -> Iterator[dict[str, Any]]:
            for number, row in enumerate(stored.rows(one.what), 1):
                if number > one.after and one.kind_test(row) and one.test(row):
                    seen[0] = number
                    yield row

        try:
            for row in filtered_rows(rows(), stored, one.what, one.wheres or None):
                masked: Any = conceal_values(row)
                yield seen[0], masked
        except UsageError as error:
            if one.wheres:
                raise InvalidField(_without_option(error), "/where") from None
            if not one.may_lack_rows:
                raise ConfigError(str(error)) from None  # the rows are where this machine does not reach them


async def in_thread(found: Generator[Found, None, None], size: int) -> AsyncIterator[list[Found]]:
    """Yields what a generator yields, in batches of `size`. One thread runs the generator, because the readers of some
    outputs may only be used in the thread that opened them."""
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        threads = ThreadPoolExecutor(1, "rows")
        stack.callback(threads.shutdown, wait=False)
        stack.callback(threads.submit, found.close)
        while batch := await loop.run_in_executor(threads, lambda: list(islice(found, size))):
            yield batch


async def dead_list(context: OperationContext, given: inputs.ListDeadLetters) -> results.LetterPage:
    """Lists dead letters, which are URLs that a crawl gave up."""
    await context.need(given.crawl)
    after = position_of(given, tuple[int, int], (0, 0))
    found: list[Letter] = []
    async for letter in context.statistics.dead(given.crawl, **_filters(given), after=after):
        if len(found) == given.limit:
            last = found[-1]
            return results.LetterPage(items=found, next=cursor_after(given, (last.bucket, last.id)))
        found.append(letter)
    return results.LetterPage(items=found, next=None)


async def dead_requeue(context: OperationContext, given: inputs.DecideDeadLetters) -> results.Decided:
    """Requeues dead letters, as if they had never been tried. Start a crawl that has ended again to fetch them."""
    return await _decide(context, given, "requeue")


async def dead_drop(context: OperationContext, given: inputs.DecideDeadLetters) -> results.Decided:
    """Drops dead letters for good. A dropped dead letter counts as failed."""
    return await _decide(context, given, "drop")


async def dead_undo(context: OperationContext, given: inputs.OneCrawl) -> results.UndoneLetters:
    """Undoes the last requeue or drop of dead letters, if it was made in the last 10 minutes."""
    await context.need(given.crawl)
    try:
        done = await undo(context.store, given.crawl)
    except UsageError as error:
        raise InUse(str(error)) from None
    return results.UndoneLetters(crawl=given.crawl, **done._asdict())


async def _decide(context: OperationContext, given: inputs.DecideDeadLetters, verb: str) -> results.Decided:
    await context.need(given.crawl)
    filters, operation = _filters(given), f"dead_{verb}"
    if given.dry_run:
        count, sample = 0, list[Letter]()
        async for letter in context.statistics.dead(given.crawl, **filters):
            count += 1
            if len(sample) < SAMPLE:
                sample.append(letter)
        confirm = confirmation(context, operation, given)
        return results.Decided(crawl=given.crawl, letters=count, dry_run=True, sample=sample, confirm=confirm)
    if given.confirm is not None:
        check_confirmation(context, operation, given)
    else:
        count = 0
        async for _ in context.statistics.dead(given.crawl, **filters):
            count += 1
            if count > MAX_UNCONFIRMED:
                raise needs_confirmation("dead letters")
    n, _ = await decide(context.store, given.crawl, verb, **filters)
    return results.Decided(crawl=given.crawl, letters=n, dry_run=False)


def _filters(given: inputs.ListDeadLetters | inputs.DecideDeadLetters) -> dict[str, Any]:
    host = None if given.host is None else authority(given.host)
    return {"host": host, "reason": given.reason, "since": moment_of(given.since)}


def moment_of(text: str | None) -> float:
    """Converts an age or a time to seconds since the epoch."""
    if text is None:
        return 0.0
    try:
        return time.time() - seconds(text)
    except ValueError:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _without_option(error: UsageError) -> str:
    """Returns a message of the command line without the name of the option."""
    return re.sub(r"^--\w+ ", "", str(error))
