"""The results of operations that show several things beside each other."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class ActivityPeriod(Struct, kw_only=True):
    """The requests of a period: their number, and the number of responses by class. `none`: no response came."""

    at: str
    requests: int
    statuses: dict[str, int]


class CrawlActivity(Struct, kw_only=True):
    """The requests of a crawl over time. `seconds`: the length of a period."""

    crawl: str
    requests: int
    seconds: int
    periods: list[ActivityPeriod]


class PageInspection(Struct, kw_only=True):
    """A page of a crawl: its record, its items, the requests for it, and its stored body."""

    crawl: str
    url: str
    page: dict[str, Any] | None
    items: list[dict[str, Any]]
    attempts: list[dict[str, Any]]
    body: str | None
    """The stored body as text, cut after 256 KiB."""
    why_no_body: str | None


class LetterGroup(Struct, kw_only=True):
    """Dead letters of a host with the same reason. `sample`: the last one."""

    reason: str
    host: str
    letters: int
    oldest: float
    newest: float
    sample: dict[str, Any]


class LetterGroups(Struct, kw_only=True):
    """The dead letters of a crawl by reason and host, most first. `counted`: how many were read. `is_complete`: whether
    these are all."""

    crawl: str
    counted: int
    is_complete: bool
    groups: list[LetterGroup]


class ComparedCount(Struct, kw_only=True):
    """A count of two crawls. `change`: in percent of the other crawl's, or None if it has none."""

    name: str
    here: float
    there: float
    change: float | None


class CrawlComparison(Struct, kw_only=True):
    """Two crawls beside each other. `counts`: those that either crawl has."""

    crawl: str
    other: str
    counts: list[ComparedCount]


class MatchDecision(Struct, kw_only=True):
    """A decision on a pair of targets, and how many pairs still wait."""

    one: str
    other: str
    decision: str
    left: int
