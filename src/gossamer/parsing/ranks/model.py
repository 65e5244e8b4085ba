"""Defines the classes that represent a parsed result page."""

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
"""The possible types of a `Result`."""


class Result(msgspec.Struct, frozen=True):
    """One result of a result page. A block with several entries, such as the questions of People also ask,
    gives one result for each entry. All results of one block have the same `position`.

    - `type`: one of `TYPES`.
    - `rank`: the place among the organic results, from 1. None for other types. If the page shows a URL
      twice, only the first result is kept.
    - `position`: the place of the block among all blocks of the page, from 1.
    - `title`: the heading, the question, or the name of a place on the map.
    - `url`: the target of the link, without the engine's redirect. '' if the result has no link.
    - `text`: the snippet or the answer, or '' if the page shows neither.
    - `sub`: the place inside the block, counted from 0. `sub` is set only for sitelinks, indented results and
      entries of features. `sub` is None for the main result of the block.
    - `votes`: the number of votes that the result got (structure, heading, class names). 0 if unknown.
    - `pixel`: the distance of the block from the top of the page in CSS pixels. `pixel` is None if the block
      was not measured.
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

    - `engine`: `google` or `bing`.
    - `verdict`: whether the page can be trusted. Only `ok` and `partial` pages have positions.
    - `reason`: the reason if the verdict is not `ok`, otherwise ''.
    - `results`: the results in page order. Empty unless the verdict is `ok` or `partial`.
    - `unknown`: the number of blocks of the type `unknown`.
    - `data_version`: the version of the data file with which the page was parsed.
    - `query`: the query that the page answers, or None if the page does not show it.
    - `page`: the page number from 1, or None if it is unknown.
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
        """Whether positions of this page may be stored. The positions of a page that failed a check are never
        stored."""
        return self.verdict in ("ok", "partial")
