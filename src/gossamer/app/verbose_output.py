"""Formats the lines that `-v` prints. There is one line for each page, with its status, time, size, items and
links, or with its error."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import LINK, LINKS, RAW, Visit

NO_ITEMS = ("page", RAW, LINK, LINKS)
"""Kinds of rows that are not items."""


def write_stderr(line: str) -> None:
    """Writes a line, with its line end, to stderr."""
    sys.stderr.write(line)
    sys.stderr.flush()


class VisitLines:
    """A callable that receives each visit. Calls `say` with a line for each visit that made a request or
    failed."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def __call__(self, visit: Visit) -> None:
        if visit.claim.kind != "robots" and (line := visit_line(visit)):
            self._say(f"{line}\n")


def visit_line(visit: Visit) -> str:
    """Returns the line of a visit, or '' if it neither made a request nor failed."""
    last = visit.attempts[-1] if visit.attempts else None
    why = why_failed(visit)
    if last is None and not why:
        return ""
    items = sum(row.kind not in NO_ITEMS for row in visit.rows)
    links = sum(len(flat) // 3 for flat in visit.adds.values())
    status, seconds, size, url = (
        ("-", 0.0, 0, visit.claim.request.url)
        if last is None
        else (last.status or "-", last.seconds, last.bytes_wire, last.url)
    )
    counts = f"{status:>3} {seconds * 1000:>6.0f} ms {size:>9,} B {items:>4} items {links:>4} links"
    return f"{counts}  {url}" + (f"  ({why})" if why else "")


def why_failed(visit: Visit) -> str:
    """Returns the error of a visit and whether the URL is retried or given up. Returns '' if there is no
    error."""
    settle = visit.settle
    reason = settle.reason or visit.error or (visit.attempts[-1].error if visit.attempts else None) or ""
    if settle.end == ClaimEnd.RETRY:
        return f"{reason}: tried again in {settle.wait / 1000:.0f} s"
    if settle.end == ClaimEnd.DEAD:
        return f"{reason}: given up"
    return reason
