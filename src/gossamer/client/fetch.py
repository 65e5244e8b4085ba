"""Fetches one page in the same way as `gossamer try`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gossamer.client.options import PageOptions, check_names, job_of
from gossamer.client.records import CrawledPage
from gossamer.errors import FetchFailed, UsageError
from gossamer.model.request import Request
from gossamer.model.visit import PageRecord

if TYPE_CHECKING:
    from gossamer.app.dry_run import Trial


async def fetch_page(url: str, options: Mapping[str, Any]) -> CrawledPage:
    """Fetches a URL, follows redirects, and returns the page. Raises UsageError for an invalid option, and
    FetchFailed if no page was received."""
    from gossamer.app.dry_run import try_one
    from gossamer.worker.records import page_record

    check_names(options, PageOptions.__annotations__)
    if not isinstance(url, str):
        raise UsageError(f"{url!r} is not a URL: give one URL as a text")
    trial = await try_one(job_of([], options), url)
    if trial.page is None or trial.claim is None:
        raise _failure(url, trial)
    records = [row.data for row in trial.rows if isinstance(row.data, PageRecord)]
    record = next((one for one in records if one.url == trial.page.url), None)
    return CrawledPage(
        record or page_record(trial.claim.request, trial.page), trial.page, trial.claim.request
    )


def _failure(url: str, trial: Trial) -> FetchFailed:
    from gossamer.app.outcome import RETRYABLE
    from gossamer.worker.records import page_record

    reason = next(iter(trial.summary.errors), "robots" if trial.disallowed is not None else "no-response")
    what = trial.dead[0] if trial.dead else reason
    refused = next((row for row in trial.rows if row.page is not None and row.kind == "page"), None)
    if refused is not None and refused.page is not None:
        what = f"{what} (status {refused.page.status})"
    if trial.disallowed is not None:
        why = f"robots.txt disallows it: {trial.disallowed.text()}"
    elif reason in RETRYABLE:
        why = f"{what}: {RETRYABLE[reason]}"
    else:
        why = trial.closed_origin or what
    error = FetchFailed(f"{url}: {why}")
    error.reason, error.summary = reason, trial.summary
    if refused is not None and refused.page is not None:
        request = Request(refused.page.url)
        error.page = CrawledPage(page_record(request, refused.page, error=reason), refused.page, request)
        error.status = refused.page.status
    return error
