"""The inputs of operations that show several things beside each other."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gossamer.operations.inputs import CrawlName, Cursor, Input, Limit
from gossamer.operations.inputs_of_uses import AuditName, Days, HistoryName, RunName, RunsName, Text


class ShowPage(Input):
    """A page of a crawl."""

    crawl: CrawlName
    url: Annotated[str, Meta(min_length=1, max_length=2083)]


class CompareCrawls(Input):
    """A crawl, and the one to compare it with."""

    crawl: CrawlName
    other: CrawlName


class ReportPrices(Input):
    """The targets of a price history on which to report."""

    history: HistoryName = "prices"
    days: Days = 30
    shop: Text | None = None
    tag: Text | None = None
    product: Text | None = None


class ReportRanks(Input):
    """The domain of a rank history on which to report."""

    history: HistoryName = "ranks"
    days: Days = 30
    domain: Text | None = None
    """Default: the domain with most keywords."""


class ReportKeywords(Input):
    """The count of keywords on which to report."""

    folder: RunsName = "keywords"
    run: RunName | None = None
    """Default: the last one that is done."""


class ReportAudit(Input):
    """The site on whose last audit to report."""

    audit: AuditName


class ListPriceMatches(Input):
    """The pairs of offers that wait for a decision."""

    history: HistoryName = "prices"
    skipped: bool = False
    """Whether to list the pairs that were skipped before."""
    limit: Limit = 50
    cursor: Cursor = None


class DecidePriceMatch(Input):
    """Whether two targets offer the same product."""

    one: Text
    other: Text
    decision: Literal["same", "different", "later"]
    history: HistoryName = "prices"
