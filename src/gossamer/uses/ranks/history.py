"""Reads and writes the rank history, which is a SQLite file or a PostgreSQL database (`postgresql://...`).
The module `schema` describes the tables of the history.

A run calls the methods of RankHistory in this order:

    with RankHistory("ranks.db") as history:
        history.list_keywords(keywords)
        history.begin_run()
        while requests := history.next_requests(depth):
            history.record(pages)                 # any number of times
        events = history.end_run(depth)

`end_run` writes the state of the check for each search. A failed check never writes the position None,
because a page that was not read could contain the domain.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from gossamer.uses.ranks import page_rows, pages_to_fetch
from gossamer.uses.ranks.checks import find_domain
from gossamer.uses.ranks.model import (
    PAGE_RESULTS,
    FetchedResultPage,
    Keyword,
    RankEvent,
    RankEventKind,
    Search,
)
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.recorder import CheckRecorder
from gossamer.uses.ranks.schema import RankDatabase

DAY_S = 86_400.0
KEEP_DAYS = 30.0
"""Default number of days for which the history stores the bodies of result pages."""
_SEARCH = ("keyword", "engine", "country", "language", "location", "device")
_EVENT = ("kind", "time", "engine", "search", "domain", "before", "after", "detail")


class PageRequest(NamedTuple):
    """A request for a result page. `first`: the number of the first result page that the answer covers."""

    search: str
    page: int
    first: int


class RankHistory:
    """A rank history in a database. Several processes may write to the same history at the same time. Only
    one thread at a time may use a RankHistory.

    `url`: the path of a SQLite file, or `postgresql://...`. `clock`: a function that returns the current time
    in seconds since the epoch. Raises ConfigError if the database cannot be opened.
    """

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self.url = url
        self.database = RankDatabase(url)
        self.clock = clock or time.time

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.database.close()

    def list_keywords(self, keywords: Iterable[Keyword]) -> None:
        """Stores the current list of keywords. Searches and domains that the list does not contain are marked
        as not listed, and their history is kept."""
        searches: dict[str, tuple[Any, ...]] = {}
        domains: dict[tuple[str, str], tuple[Any, ...]] = {}
        for one in keywords:
            name = one.search.id
            values = [getattr(one.search, column) for column in _SEARCH]
            known = searches.get(name)
            searches[name] = (name, *values, one.volume if one.volume is not None else known and known[-1])
            domains[name, one.domain] = (name, one.domain, 1, _json(one.tags), _json(one.rules))
            for rival in one.competitors:
                domains.setdefault((name, rival), (name, rival, 0, "[]", "[]"))
        with self.database.transaction():
            self.database.execute("UPDATE rank_searches SET listed = 0")
            self.database.execute("UPDATE rank_domains SET listed = 0")
            self.database.many(
                f"INSERT INTO rank_searches (id, {', '.join(_SEARCH)}, volume) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET listed = 1, volume = excluded.volume",
                searches.values(),
            )
            self.database.many(
                "INSERT INTO rank_domains (search, domain, own, tags, rules) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (search, domain) DO UPDATE SET listed = 1, own = excluded.own, tags = excluded.tags, "
                "rules = excluded.rules",
                domains.values(),
            )

    def searches(self, *, listed: bool = True) -> dict[str, Search]:
        """Returns the searches, keyed by search id. `listed`: whether to return only searches in the current
        list of keywords."""
        where = " WHERE listed = 1" if listed else ""
        rows = self.database.rows(
            f"SELECT id, {', '.join(_SEARCH)} FROM rank_searches{where} ORDER BY keyword, id"
        )
        return {row[0]: Search(**dict(zip(_SEARCH, row[1:], strict=True))) for row in rows}

    def keywords(self) -> list[Keyword]:
        """Returns the keywords of the current list, one per search and domain of the user. Each keyword also
        contains the competitors' domains that are tracked in the search."""
        searches = self.searches()
        volumes = dict(self.database.rows("SELECT id, volume FROM rank_searches WHERE listed = 1"))
        rows = self.database.rows(
            "SELECT search, domain, own, tags, rules FROM rank_domains WHERE listed = 1 ORDER BY search, domain"
        )
        rivals: dict[str, list[str]] = defaultdict(list)
        for search, domain, own, _, _ in rows:
            if not own:
                rivals[search].append(domain)
        return [
            Keyword(
                search=searches[search],
                domain=domain,
                competitors=tuple(rivals[search]),
                volume=volumes.get(search),
                tags=tuple(msgspec.json.decode(tags)),
                rules=tuple(msgspec.json.decode(rules)),
            )
            for search, domain, own, tags, rules in rows
            if own and search in searches
        ]

    def followed(self, searches: Iterable[str] | None = None) -> dict[str, dict[str, bool]]:
        """Returns the followed domains of each search. The value is True for a domain of the user, and False
        for a competitor."""
        query = "SELECT search, domain, own FROM rank_domains WHERE listed = 1"
        if searches is None:
            rows = self.database.rows(f"{query} ORDER BY search, own DESC, domain")
        else:
            rows = self.database.rows_in(
                f"{query} AND search IN (?) ORDER BY search, own DESC, domain", searches
            )
        found: dict[str, dict[str, bool]] = defaultdict(dict)
        for search, domain, own in rows:
            found[search][domain] = bool(own)
        return dict(found)

    def begin_run(
        self, *, resume: bool = False, searches: Sequence[str] = (), at: float | None = None
    ) -> int:
        """Begins a run, and returns the number of the run. `resume`: whether to continue the last run if the
        last run has not ended. `searches`: the ids of the searches to check. The default is all listed
        searches. `at`: the start of the run in seconds since the epoch, by default now."""
        with self.database.transaction():
            run, _, is_open, chosen = self._run()
            if not (resume and is_open):
                run += 1
                chosen = list(searches)
                self._set_run(run, self.clock() if at is None else at, True, chosen)
        return run

    def run(self) -> tuple[int, float, bool]:
        """Returns the number of the last run, the start time of the run, and whether the run is open. Returns
        (0, 0.0, False) if the history contains no run."""
        number, started, is_open, _ = self._run()
        return number, started, is_open

    def next_requests(self, depth: Depth, skip: Iterable[str] = ()) -> list[PageRequest]:
        """Returns the result pages that the open run needs next. The searches with the oldest successful
        check come first. After the returned pages have been recorded, the run may need more pages. `skip`:
        the ids of searches to leave out."""
        run, _, _, chosen = self._run()
        left_out, wanted = set(skip), set(chosen)
        followed, last = self.followed(), self.last_pages()
        fetched = page_rows.read_pages(self.database, run)
        checked = dict(
            self.database.rows(
                "SELECT search, max(time) FROM rank_checks WHERE state = 'done' GROUP BY search"
            )
        )
        requests = []
        for name in sorted(self.searches(), key=lambda one: checked.get(one, 0.0)):
            if name in left_out or (wanted and name not in wanted):
                continue
            pages = fetched.get(name, [])
            own = [domain for domain, is_own in followed.get(name, {}).items() if is_own]
            good = [one for one in pages if page_rows.is_trusted(one.verdict)]
            found = bool(good) and all(
                find_domain(name, domain, good, depth.results).position is not None for domain in own
            )
            states = {number: one.state for one in pages for number in range(one.first, one.page + 1)}
            requests += [
                PageRequest(name, page, 1 if depth.cumulative else page)
                for page in pages_to_fetch.next_pages(depth, last.get(name), states, found)
            ]
        return requests

    def checked_since(self, since: float, depth: Depth) -> set[str]:
        """Returns the searches whose last check is not older than `since`, was at least as deep as `depth`, and
        found out the positions of all domains of the user."""
        rows = self.database.rows(
            "SELECT c.search FROM rank_checks c WHERE c.time >= ? AND c.depth >= ? AND (c.state = 'no-results' OR "
            "c.state = 'done' AND NOT EXISTS (SELECT 1 FROM rank_domains o WHERE o.search = c.search AND o.own = 1 "
            "AND o.listed = 1 AND NOT EXISTS (SELECT 1 FROM rank_positions p WHERE p.search = o.search AND "
            "p.domain = o.domain AND p.run = c.run))) AND c.run = (SELECT max(d.run) FROM rank_checks d WHERE "
            "d.search = c.search)",
            [since, min(depth.results, depth.pages * PAGE_RESULTS)],
        )
        return {search for (search,) in rows}

    def last_pages(self) -> dict[str, int]:
        """Maps each search id to the number of the result page on which the last check found the user's
        domain. If the user has several domains in a search, the best position counts. A search is left out if
        the last check found none of the user's domains."""
        rows = self.database.rows(
            "SELECT p.search, p.position FROM rank_positions p JOIN rank_domains d ON d.search = p.search AND "
            "d.domain = p.domain AND d.own = 1 AND d.listed = 1 WHERE p.run = (SELECT max(q.run) FROM "
            "rank_positions q WHERE q.search = p.search AND q.domain = p.domain) AND p.position IS NOT NULL"
        )
        pages: dict[str, int] = {}
        for search, position in rows:
            page = (position - 1) // PAGE_RESULTS + 1
            pages[search] = min(page, pages.get(search, page))
        return pages

    def record(self, pages: Sequence[FetchedResultPage], *, keep: bool = True) -> None:
        """Stores fetched pages of the open run in one transaction. The pages are durable when `record`
        returns. `keep`: whether to store the bodies of the pages, so that the pages can be parsed again
        later."""
        if pages:
            with self.database.transaction():
                page_rows.write_pages(self.database, self._run()[0], pages, keep=keep)

    def record_checks(self, depth: Depth, searches: Sequence[str]) -> None:
        """Writes the checks and the positions of searches whose pages are all recorded, while the run is open. The
        end of the run writes them again, together with the events. A check that failed is not written, because
        the run may be resumed."""
        with self.database.transaction():
            run, started, is_open, _ = self._run()
            if is_open:
                recorder = CheckRecorder(self.database, self.followed(searches), depth)
                recorder.settle(run, searches, started, {}, early=True)

    def end_run(
        self, depth: Depth, skipped: Mapping[str, str] | None = None, keep_days: float = KEEP_DAYS
    ) -> list[RankEvent]:
        """Ends the open run. Writes the checks and the positions of all searches, and returns the events.
        `skipped`: the reasons why searches were not checked, keyed by search id. `keep_days`: the number of
        days after which the stored bodies of pages are deleted."""
        with self.database.transaction():
            run, started, is_open, chosen = self._run()
            if not is_open:
                return []
            names = chosen or list(self.searches())
            settling = CheckRecorder(self.database, self.followed(names), depth)
            events = settling.settle(run, names, started, skipped or {})
            self._set_run(run, started, False, [])
            oldest = self.clock() - keep_days * DAY_S
            self.database.execute(
                "UPDATE rank_pages SET body = NULL WHERE body IS NOT NULL AND time < ?", [oldest]
            )
        return events

    def events(self, *, after: float = 0.0, before: float = 1e18, run: int | None = None) -> list[RankEvent]:
        """Returns the events of a period, oldest first. The period includes the time `after` and excludes the
        time `before`. `run`: if given, only events of this run are returned."""
        where, values = "time >= ? AND time < ?", [after, before]
        if run is not None:
            where += " AND run = ?"
            values.append(run)
        rows = self.database.rows(
            f"SELECT {', '.join(_EVENT)} FROM rank_events WHERE {where} ORDER BY time, id", values
        )
        return [
            RankEvent(**{**dict(zip(_EVENT, row, strict=True)), "kind": RankEventKind(row[0])})
            for row in rows
        ]

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs an SQL query and returns the rows. The query contains `?` for each value, on both SQLite and
        PostgreSQL."""
        return self.database.rows(sql, values)

    def _run(self) -> tuple[int, float, bool, list[str]]:
        rows = self.database.rows("SELECT value FROM rank_meta WHERE name = 'run'")
        if not rows:
            return 0, 0.0, False, []
        return msgspec.json.decode(rows[0][0], type=tuple[int, float, bool, list[str]])

    def _set_run(self, run: int, started: float, is_open: bool, chosen: Sequence[str]) -> None:
        self.database.execute(
            "INSERT INTO rank_meta (name, value) VALUES ('run', ?) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value",
            [_json((run, started, is_open, chosen))],
        )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
