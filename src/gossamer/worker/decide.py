"""Decides the verdict of a visit, with a pure function of the response. Blocks and errors are passed as
values and are not raised as exceptions."""

from __future__ import annotations

import random

from gossamer.blocks import Block
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.verdict import SKIPS, Done, Drop, Later, Redirected, Retry, Verdict
from gossamer.model.wall_clock import CLOCK

MAX_REDIRECTS = 10
TEMPORARY_REDIRECTS = (302, 303, 307)
"""Status codes of redirects after which later requests should still use the original URL (RFC 9110 section
15.4)."""


def decide(
    request: Request, result: Page | Failure, target: str | None, same: bool, block: Block | None = None
) -> Verdict:
    """Returns the verdict for a request.

    `target`: the redirect target in fetch form, or None if Location is not an http(s) URL. `same`: whether
    the target has the same canonical form as the request. A redirect to the same canonical form is a bounce
    that sets cookies or tracks visitors. `block`: the block that was detected in the response. If the status
    is the only sign of a block, or if the block is an empty page, the verdict depends only on the status.
    """
    if isinstance(result, Failure):
        return _failed(result)
    status = result.status
    if block is not None and not block.bare and block.kind != "empty":
        reason = "rate-limited" if block.kind == "rate-limit" else "blocked"
        return Retry(reason, block.line(), retry_after(result.header("retry-after")))
    if result.late:
        return Retry("missing", result.late)
    if 200 <= status < 300 or status == 304:
        return Done()
    if result.location is not None:
        return _redirected(request, target, same)
    if status == 429:
        return Retry("rate-limited", f"HTTP {status}", retry_after(result.header("retry-after")))
    if status == 408:
        return Retry("timeout", "HTTP 408")
    if status >= 500:
        return Retry("http-5xx", f"HTTP {status}", retry_after(result.header("retry-after")))
    return Done("http-4xx") if 400 <= status < 500 else Done()


def _failed(failure: Failure) -> Verdict:
    if failure.later is not None:
        return Later(failure.later)
    if failure.reason in SKIPS:
        return Drop(skip=failure.reason, detail=failure.detail)
    if failure.final:
        return Drop(error=failure.reason, detail=failure.detail)
    return Retry(failure.reason, failure.detail)


def _redirected(request: Request, target: str | None, same: bool) -> Verdict:
    if target is None:
        return Drop(skip="filter", detail="redirected to a URL that is not http(s)")
    if same:
        return Redirected(target, again=True)
    if target in request.hops or target == request.url:
        return Drop(error="redirect-loop", detail=f"it leads back to {target}")
    if len(request.hops) >= MAX_REDIRECTS:
        return Drop(error="redirect-loop", detail=f"more than {MAX_REDIRECTS} redirects")
    return Redirected(target)


MAX_RETRY_DELAY = 1.1
"""A retry is due after its wait, or up to this many times later, at random."""


def retry_delay(attempt: int, retries: tuple[float, ...]) -> float | None:
    """Returns the delay in seconds before the next try after `attempt` earlier failures, or None if no retry
    is left. A random part of up to a tenth of the delay is added.

    >>> retry_delay(3, (60.0, 300.0, 1800.0)) is None
    True
    """
    if attempt >= len(retries):
        return None
    return retries[attempt] * random.uniform(1.0, MAX_RETRY_DELAY)


def retry_after(value: str | None, now: float | None = None) -> float:
    """Returns the seconds to wait according to a Retry-After header, or 0 if the header is absent or invalid.
    The header contains seconds or a date (RFC 9110 section 10.2.3).

    >>> retry_after("120")
    120.0
    """
    if not value:
        return 0.0
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - (CLOCK.now() if now is None else now))
    except (ValueError, TypeError, OverflowError):
        return 0.0


def seed_count_change(request: Request) -> dict[str, int]:
    """Returns the change of the count `seeds`, which is the number of seeds without a response. The result is
    -1 for a response to a seed, and 0 for a response to any other request."""
    return {"seeds": -1} if request.depth == 0 and request.referrer is None else {}
