"""Requeues skipped URLs."""

from __future__ import annotations

import asyncio

import msgspec

from gossamer.app.skipped_requeue import requeue_skipped, skipped_rows
from gossamer.operations import inputs, results
from gossamer.operations.confirmation import (
    MAX_UNCONFIRMED,
    check_confirmation,
    confirmation,
    needs_confirmation,
)
from gossamer.operations.context import OperationContext
from gossamer.operations.rows import test_of


async def skipped_requeue(context: OperationContext, given: inputs.RequeueSkipped) -> results.RequeuedUrls:
    """Requeues skipped URLs. The filters and robots.txt decide again, unless they are taken as seeds. Start a crawl that
    has ended again to fetch them."""
    await context.need(given.crawl)
    _, rows = await asyncio.to_thread(skipped_rows, context.settings, given.crawl, test_of(given))
    if given.confirm is not None:
        check_confirmation(context, "skipped_requeue", given)
    elif len(rows) > MAX_UNCONFIRMED and not given.dry_run:
        raise needs_confirmation("skipped URLs")
    found = await requeue_skipped(
        context.store, context.settings, given.crawl, rows, as_seeds=given.as_seeds, dry_run=given.dry_run
    )
    confirm = confirmation(context, "skipped_requeue", given) if given.dry_run else None
    return results.RequeuedUrls(**msgspec.structs.asdict(found), confirm=confirm)
