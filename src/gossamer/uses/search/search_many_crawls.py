"""Searches several indexes at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.uses.search.index import SearchIndex, SearchResult
from gossamer.uses.search.query import Query


class FoundIn(NamedTuple):
    """A page in the results, and the name of the page's crawl."""

    crawl: str
    page: SearchResult


class FoundInAll(NamedTuple):
    """One page of the combined results of several crawls. `total`: the number of results on all pages."""

    total: int
    results: list[FoundIn]


def find_in_all(
    indexes: Mapping[str, SearchIndex],
    query: Query,
    limit: int = 10,
    offset: int = 0,
    *,
    by_date: bool = False,
) -> FoundInAll:
    """Searches the indexes of several crawls, which are keyed by the names of the crawls. Returns the
    matching pages, best match first, or newest first if `by_date` is set. `limit` 0 means all. A page that
    several crawls kept is returned once per crawl. Scores of different crawls are only approximately
    comparable, because the score of a word depends on how rare the word is in its crawl."""
    total, found = 0, list[FoundIn]()
    for name, index in indexes.items():
        part = index.find(query, limit and offset + limit, by_date=by_date)
        total += part.total
        found += [FoundIn(name, one) for one in part.results]
    if len(indexes) > 1:
        found.sort(key=lambda one: (one.page.published or one.page.fetched)[:10], reverse=True)
        if not by_date:
            # the sort is stable, so pages with equal scores stay sorted by date
            found.sort(key=lambda one: -one.page.score)
    return FoundInAll(total, found[offset : offset + limit] if limit else found[offset:])
