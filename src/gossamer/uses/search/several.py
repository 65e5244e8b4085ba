"""Searches several indexes at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.uses.search.index import SearchIndex, SearchResult
from gossamer.uses.search.query import Query


class FoundIn(NamedTuple):
    """A page that was found, and the name of its crawl."""

    crawl: str
    page: SearchResult


class FoundInAll(NamedTuple):
    """The pages of one part of the results of several crawls, and the number of all results."""

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
    """Returns the pages that match, by the names of their crawls, the best first. `by_date`: the newest first.
    `limit` 0 means all. A page that several crawls kept is found in each. Scores of a rare word depend a little
    on the other pages of its crawl."""
    total, found = 0, list[FoundIn]()
    for name, index in indexes.items():
        part = index.find(query, limit and offset + limit, by_date=by_date)
        total += part.total
        found += [FoundIn(name, one) for one in part.results]
    if len(indexes) > 1:
        found.sort(key=lambda one: (one.page.published or one.page.fetched)[:10], reverse=True)
        if not by_date:
            found.sort(key=lambda one: -one.page.score)  # stable: equal scores stay in the order of dates
    return FoundInAll(total, found[offset : offset + limit] if limit else found[offset:])
