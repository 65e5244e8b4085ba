"""The values that a parsed result page consists of."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

Verdict: TypeAlias = Literal[
    "ok", "partial", "no_results", "captcha", "consent", "soft_block", "layout_unknown"
]
TYPES: Final = (
    *("organic", "sitelink", "ad", "shopping", "featured_snippet", "ai_overview", "people_also_ask"),
    *("local_pack", "map", "top_stories", "videos", "short_videos", "images", "knowledge", "discussions"),
    *("jobs", "recipes", "flights", "hotels", "products", "social", "scholarly", "related", "notice"),
    "unknown",
)
"""The types that a `Result` may have."""


class Result(msgspec.Struct, frozen=True):
    """One result of a result page. A block with several entries, such as the questions of People also ask,
    gives one result for each entry. These share their `position`.

    type      one of `TYPES`
    rank      the place among the organic results, from 1; None for other types. A URL that the page shows
              twice has only its first rank, and its second result is left out
    position  the place of the block among all blocks of the page, from 1
    title     the heading, or the question, or the name of the place
    url       the target without the engine's redirect, '' if the result has none
    text      the snippet or the answer, '' if the page shows none
    sub       the place inside the block, from 0, for sitelinks, indented results and entries of features;
              None for the block's own result
    votes     how many of the three votes (structure, heading, class table) the result got; 0 if unknown
    pixel     the distance of the block from the top of the page in CSS pixels, None if it was not measured
    """

    type: str
    rank: int | None
    position: int
    title: str
    url: str = ""
    text: str = ""
    sub: int | None = None
    votes: int = 0
    pixel: float | None = None


class ResultPage(msgspec.Struct, frozen=True):
    """A result page of a search engine.

    engine        `google` or `bing`
    verdict       whether the page can be trusted; only `ok` and `partial` pages have positions
    reason        why the verdict is not `ok`, '' otherwise
    results       the results in the order of the page; empty unless the verdict is `ok` or `partial`
    unknown       how many blocks have the type `unknown`
    data_version  the version of the data file that the page was parsed with
    query         the query that the page answers, None if the page does not show it
    page          the page number from 1, None if it is not known
    """

    engine: str
    verdict: Verdict
    reason: str = ""
    results: tuple[Result, ...] = ()
    unknown: int = 0
    data_version: str = ""
    query: str | None = None
    page: int | None = None

    @property
    def writes_positions(self) -> bool:
        """Whether positions of this page may be stored. A failed check never becomes a position."""
        return self.verdict in ("ok", "partial")
