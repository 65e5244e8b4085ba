"""The rank history: a SQLite file, or PostgreSQL (`postgresql://...`). See `schema` for its tables.

A run calls, in this order:

    with RankHistory("ranks.db") as history:
        history.list_keywords(keywords)
        history.begin_run()
        while requests := history.next_requests(depth):
            history.record(pages)                 # any number of times
        events = history.end_run(depth)

A check that failed writes no position. `end_run` records for each search whether its positions are known.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from gossamer.uses.ranks import page_rows, strategy
from gossamer.uses.ranks.checks import find_domain
from gossamer.uses.ranks.database import RankDatabase
from gossamer.uses.ranks.model import (
    PAGE_RESULTS,
    FetchedResultPage,
    Keyword,
    RankEvent,
    RankEventKind,
    Search,
)
from gossamer.uses.ranks.recorder import CheckRecorder
from gossamer.uses.ranks.strategy import Depth

DAY_S = 86_400.0
KEEP_DAYS = 30.0
"""The bodies of pages are kept for this time by default."""
_SEARCH = ("keyword", "engine", "country", "language", "location", "device")
_EVENT = ("kind", "time", "engine", "search", "domain", "before", "after", "detail")


class PageRequest(NamedTuple):
    """A page to fetch. `first`: the first result page that the answer covers."""

    search: str
    page: int
    first: int


class RankHistory:
    """Reads and writes a rank history. Several processes may write to it at the same time. A connection may
    only be used by one thread at a time.

    `url`: a path or `postgresql://...`. `clock`: returns the time in seconds since the epoch. Raises ConfigError
    if the database cannot be opened.
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
        """Stores the list of keywords of a run. Searches and domains that are missing from the list are no
        longer listed, but their history is kept."""
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
        """Returns the searches by their ids. `listed`: whether to return only the searches of the last
        list."""
        where = " WHERE listed = 1" if listed else ""
        rows = self.database.rows(
            f"SELECT id, {', '.join(_SEARCH)} FROM rank_searches{where} ORDER BY keyword, id"
        )
        return {row[0]: Search(**dict(zip(_SEARCH, row[1:], strict=True))) for row in rows}

    def keywords(self) -> list[Keyword]:
        """Returns the listed keywords of the user's own domains, with their competitors."""
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
        """Returns the listed domains of each search, with True for the user's own."""
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

    def begin_run(self, *, resume: bool = False, searches: Sequence[str] = ()) -> int:
        """Begins a run, and returns its number. `resume`: whether to continue the last run if it has not
        ended. `searches`: the searches that the run checks (default: all listed ones)."""
        with self.database.transaction():
            run, _, is_open, chosen = self._run()
            if not (resume and is_open):
                run += 1
                chosen = list(searches)
                self._set_run(run, self.clock(), True, chosen)
        return run

    def run(self) -> tuple[int, float, bool]:
        """Returns the number of the last run, when it began, and whether it is open. Returns (0, 0.0, False)
        if there was no run."""
        number, started, is_open, _ = self._run()
        return number, started, is_open

    def next_requests(self, depth: Depth, skip: Iterable[str] = ()) -> list[PageRequest]:
        """Returns the pages that the open run needs next. Searches with the oldest check come first. More
        pages may be needed after these are recorded. `skip`: searches to leave out."""
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
                for page in strategy.next_pages(depth, last.get(name), states, found)
            ]
        return requests

    def last_pages(self) -> dict[str, int]:
        """Returns, by search, the page of the last position of the user's domains. A search is left out if no
        domain of the user was in the results in the last check."""
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
        """Records pages of the open run in one transaction. They are durable when this returns. `keep`:
        whether their bodies are stored, so that they can be parsed again."""
        if pages:
            with self.database.transaction():
                page_rows.write_pages(self.database, self._run()[0], pages, keep=keep)

    def end_run(
        self, depth: Depth, skipped: Mapping[str, str] | None = None, keep_days: float = KEEP_DAYS
    ) -> list[RankEvent]:
        """Ends the run: writes the positions of all checks, and returns the events. `skipped`: the searches
        that were not checked, each with the reason, for example the budget. `keep_days`: the number of days
        after which stored bodies are removed."""
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
        """Returns events of a period, oldest first. The period includes `after` but not `before`. `run`: only
        events of this run."""
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
        """Runs a query on SQLite or PostgreSQL, with `?` for each value."""
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
