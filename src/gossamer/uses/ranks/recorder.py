"""Computes the checks, positions, features and events of a run from the fetched pages, and writes them to the
database. Rewrites the results of a run whose pages were parsed again."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gossamer.uses.ranks import layouts, page_rows
from gossamer.uses.ranks.changes import Known, changes
from gossamer.uses.ranks.checks import SearchOutcome, read_check
from gossamer.uses.ranks.layouts import LayoutPages
from gossamer.uses.ranks.model import Position, RankEvent, RankEventKind
from gossamer.uses.ranks.pages_to_fetch import FAILED, Depth
from gossamer.uses.ranks.schema import RankDatabase

_POSITION = (
    *(
        "search",
        "domain",
        "run",
        "time",
        "position",
        "depth",
        "absolute",
        "page",
        "url",
        "title",
        "urls",
        "note",
    ),
)
_CHECK = "search, run, time, state, depth, error, withheld, first_page, requests, credits"
Group = tuple[str, str, str]
"""A group of pages with the same layout: a tuple of engine, format and device."""


class CheckRecorder:
    """Writes the results of checks inside a transaction. `followed`: the followed domains of each search. The
    value is True for a domain of the user, and False for a competitor."""

    def __init__(
        self, database: RankDatabase, followed: Mapping[str, Mapping[str, bool]], depth: Depth
    ) -> None:
        self._database, self._followed, self._depth = database, followed, depth
        rows = database.rows("SELECT id, engine, device FROM rank_searches")
        self._engines = {row[0]: (row[1], row[2]) for row in rows}

    def settle(
        self,
        run: int,
        names: Sequence[str],
        started: float,
        skipped: Mapping[str, str],
        *,
        again: bool = False,
        early: bool = False,
    ) -> list[RankEvent]:
        """Writes the checks of the searches `names` in a run, and returns the events of the checks. `again`:
        whether the results of the run are rewritten, because its pages were parsed again. Events of rewritten
        results cause no alerts. A rewrite does not change the stored states of layouts. `early`: whether the run
        still fetches pages of other searches. Only good checks are written then, and neither events nor the
        states of layouts, because the end of the run judges the layouts by all pages and writes all checks."""
        withheld, events = self._layouts(run, started, again=again or early)
        pages = page_rows.read_pages(self._database, run, names)
        known = self._known(run, names)
        old = self._positions_of(run, names) if again else {}
        checks: list[tuple[Any, ...]] = []
        outcomes: list[tuple[str, float, SearchOutcome]] = []
        depths = (
            dict(self._database.rows("SELECT search, depth FROM rank_checks WHERE run = ?", [run]))
            if again
            else {}
        )
        totals = self._totals(run)
        for name in names:
            found = pages.get(name, [])
            if not found and (again or not self._followed.get(name)):
                continue
            depth = depths.get(name) or min(self._depth.results, self._depth.pages * 10)
            held = withheld.get(name, "")
            outcome = read_check(name, found, self._followed.get(name, {}), depth, held)
            if name in skipped and outcome.state == "failed" and all(one.state != FAILED for one in found):
                outcome = outcome._replace(state="skipped", error=skipped[name])
            if early and outcome.state not in ("done", "no-results"):
                continue
            outcome = _with_notes(outcome, old)
            time = min((one.time for one in found), default=started)
            checks.append(
                (
                    *(name, run, time, outcome.state, depth, outcome.error[:500], held),
                    *(int(outcome.first_page), *totals.get(name, (0, 0))),
                )
            )
            outcomes.append((name, time, outcome))
            events += changes(name, self._engines.get(name, ("", ""))[0], time, known[name], outcome)
        self._write(run, checks, outcomes)
        if early:
            return []
        self._write_events(run, [row[0] for row in checks], events, again=again)
        return events

    def _totals(self, run: int) -> dict[str, tuple[int, int]]:
        rows = self._database.rows(
            "SELECT search, count(*), sum(credits) FROM rank_pages WHERE run = ? GROUP BY search", [run]
        )
        return {search: (int(requests), int(paid)) for search, requests, paid in rows}

    def _layouts(self, run: int, started: float, *, again: bool) -> tuple[dict[str, str], list[RankEvent]]:
        """Judges the page layouts of a run. Returns the reasons why positions are not stored, keyed by search
        id, and the events of changed layouts."""
        rows = self._database.rows(
            "SELECT search, form, page, verdict, organic FROM rank_pages WHERE run = ? AND verdict <> 'failed'",
            [run],
        )
        members: dict[Group, set[str]] = defaultdict(set)
        verdicts: dict[Group, list[tuple[int, str, int]]] = defaultdict(list)
        for search, form, page, verdict, organic in rows:
            engine, device = self._engines.get(search, ("", ""))
            members[engine, form, device].add(search)
            verdicts[engine, form, device].append((page, verdict, organic))
        known = {
            tuple(row[:3]): row[3:]
            for row in self._database.rows(
                "SELECT engine, form, device, state, since, usual, pages FROM rank_layouts"
            )
        }
        withheld: dict[str, str] = {}
        events: list[RankEvent] = []
        for group, found in sorted(verdicts.items()):
            state, since, usual, pages = known.get(group, ("ok", started, 0.0, 0))
            organic = tuple(count for page, verdict, count in found if page == 1 and verdict == "ok")
            unreadable = sum(verdict == "layout_unknown" for _, verdict, _ in found)
            judged = layouts.judge(LayoutPages(len(found), unreadable, organic), usual, pages)
            if judged.withheld:
                withheld |= dict.fromkeys(members[group], judged.withheld)
            if again or (len(found) < layouts.MIN_PAGES and state != "ok"):
                continue
            if judged.state != state:
                kind = RankEventKind.LAYOUT_DRIFT if judged.state == "drift" else RankEventKind.LAYOUT_BACK
                where = " ".join(filter(None, group))
                detail = f"{where}: {judged.detail or 'its pages can be read again'}"
                events.append(
                    RankEvent(
                        kind=kind,
                        time=started,
                        engine=group[0],
                        before=state,
                        after=judged.state,
                        detail=detail,
                    )
                )
                since = started
            if judged.state == "ok":
                usual, pages = layouts.remember(usual, pages, organic)
            self._database.execute(
                "INSERT INTO rank_layouts (engine, form, device, state, since, usual, pages) VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (engine, form, device) DO UPDATE SET state = excluded.state, since = excluded.since, "
                "usual = excluded.usual, pages = excluded.pages",
                [*group, judged.state, since, usual, pages],
            )
        return withheld, events

    def _known(self, run: int, names: Sequence[str]) -> dict[str, Known]:
        """Returns the results of the checks before a run, keyed by search id."""
        run = int(run)
        positions: dict[str, dict[str, Position]] = defaultdict(dict)
        columns = ", ".join(f"p.{name}" for name in _POSITION)
        for row in self._database.rows_in(
            f"SELECT {columns} FROM rank_positions p WHERE p.search IN (?) AND p.run = (SELECT max(q.run) FROM "
            f"rank_positions q WHERE q.search = p.search AND q.domain = p.domain AND q.run < {run})",
            names,
        ):
            positions[row[0]][row[1]] = position_of(row)
        features: dict[str, set[tuple[str, str]]] = {
            row[0]: set()
            for row in self._database.rows_in(
                f"SELECT DISTINCT search FROM rank_checks WHERE first_page = 1 AND run < {run} AND search IN (?)",
                names,
            )
        }
        for search, kind, domain in self._database.rows_in(
            f"SELECT f.search, f.type, f.domain FROM rank_features f WHERE f.search IN (?) AND f.run = (SELECT "
            f"max(c.run) FROM rank_checks c WHERE c.search = f.search AND c.first_page = 1 AND c.run < {run})",
            names,
        ):
            features[search].add((kind, domain))
        failing = {
            row[0]
            for row in self._database.rows_in(
                f"SELECT c.search FROM rank_checks c WHERE c.state = 'failed' AND c.search IN (?) AND c.run = (SELECT "
                f"max(d.run) FROM rank_checks d WHERE d.search = c.search AND d.state <> 'skipped' AND d.run < {run})",
                names,
            )
        }
        found = {}
        for name in names:
            pairs = features.get(name)
            shown = None if pairs is None else frozenset(kind for kind, domain in pairs if not domain)
            owned = frozenset(pair for pair in pairs or () if pair[1])
            found[name] = Known(positions[name], shown, owned, name in failing)
        return found

    def _positions_of(self, run: int, names: Sequence[str]) -> dict[tuple[str, str], Position]:
        rows = self._database.rows_in(
            f"SELECT {', '.join(_POSITION)} FROM rank_positions WHERE run = {int(run)} AND search IN (?)",
            names,
        )
        return {(row[0], row[1]): position_of(row) for row in rows}

    def _write(
        self,
        run: int,
        checks: Sequence[tuple[Any, ...]],
        outcomes: Iterable[tuple[str, float, SearchOutcome]],
    ) -> None:
        keys = [(row[0], run) for row in checks]
        seq = _Seq(self._database, run, [row[0] for row in checks])
        for table in ("rank_checks", "rank_positions", "rank_features"):
            self._database.many(f"DELETE FROM {table} WHERE search = ? AND run = ?", keys)
        self._database.many(
            "INSERT INTO rank_checks (search, run, time, state, depth, error, withheld, first_page, requests, credits, "
            f"seq) VALUES ({', '.join('?' * 11)})",
            [(*row, seq.of_check(row)) for row in checks],
        )
        positions: list[tuple[Any, ...]] = []
        features: list[tuple[Any, ...]] = []
        for name, time, outcome in outcomes:
            positions += [_position_row(name, run, one, time) for one in outcome.positions.values()]
            if outcome.first_page:
                features += [(name, run, kind, "", count, time) for kind, count in outcome.shown.items()]
                features += [
                    (name, run, kind, domain, count, time) for (kind, domain), count in outcome.owned.items()
                ]
        self._database.many(
            f"INSERT INTO rank_positions ({', '.join(_POSITION)}, seq) VALUES ({', '.join('?' * len(_POSITION))}, ?)",
            [(*row, seq.of_position(row)) for row in positions],
        )
        self._database.many(
            "INSERT INTO rank_features (search, run, type, domain, count, time) VALUES (?, ?, ?, ?, ?, ?)",
            features,
        )

    def _write_events(
        self, run: int, names: Sequence[str], events: Iterable[RankEvent], *, again: bool
    ) -> None:
        old: dict[str, int | None] = {}
        if again:
            old = dict(
                self._database.rows_in(
                    f"SELECT id, seq FROM rank_events WHERE run = {int(run)} AND search IN (?)", names
                )
            )
            self._database.many(
                "DELETE FROM rank_events WHERE run = ? AND search = ?", [(run, name) for name in names]
            )
        rows, seq = [], self._database.next_seq()
        for one in events:
            key = (one.kind, one.engine, one.search, one.domain, run, one.before, one.after, one.detail)
            number = hashlib.blake2b(repr(key).encode(), digest_size=12).hexdigest()
            rows.append(
                (
                    *(
                        number,
                        str(one.kind),
                        one.time,
                        run,
                        one.engine,
                        one.search,
                        one.domain,
                        one.before,
                        one.after,
                    ),
                    *(one.detail, int(again), old.get(number, seq)),
                )
            )
        self._database.many(
            "INSERT INTO rank_events (id, kind, time, run, engine, search, domain, before, after, detail, alerted, seq) "
            f"VALUES ({', '.join('?' * 12)}) ON CONFLICT (id) DO NOTHING",
            rows,
        )


class _Seq:
    """The numbers (`seq`) of the checks and positions of a run that are written again. A row that does not
    change keeps its number, so that outputs receive it once."""

    def __init__(self, database: RankDatabase, run: int, names: Sequence[str]) -> None:
        self._new = database.next_seq()
        where = f"WHERE run = {int(run)} AND search IN (?)"
        self._checks = {
            row[0]: row for row in database.rows_in(f"SELECT {_CHECK}, seq FROM rank_checks {where}", names)
        }
        self._positions = {
            tuple(row[:2]): row
            for row in database.rows_in(
                f"SELECT {', '.join(_POSITION)}, seq FROM rank_positions {where}", names
            )
        }

    def of_check(self, row: tuple[Any, ...]) -> int:
        return self._kept(row, self._checks.get(row[0]))

    def of_position(self, row: tuple[Any, ...]) -> int:
        return self._kept(row, self._positions.get(row[:2]))

    def _kept(self, row: tuple[Any, ...], old: tuple[Any, ...] | None) -> int:
        return int(old[-1]) if old is not None and tuple(old[:-1]) == row else self._new


def _position_row(name: str, run: int, one: Position, time: float) -> tuple[Any, ...]:
    return (
        *(name, one.domain, run, one.time or time, one.position, one.depth, one.absolute, one.page),
        *(one.url, one.title, msgspec.json.encode(one.urls).decode(), one.note),
    )


def position_of(row: Sequence[Any]) -> Position:
    """Converts a row of the table `rank_positions` to a Position."""
    found = dict(zip(_POSITION, row, strict=True))
    del found["run"]
    return Position(**{**found, "urls": tuple(msgspec.json.decode(found["urls"]))})


def _with_notes(outcome: SearchOutcome, old: Mapping[tuple[str, str], Position]) -> SearchOutcome:
    """Adds a note to each position that has changed. The note contains the previous position, which is in
    `old`."""
    changed = dict(outcome.positions)
    for domain, one in changed.items():
        was = old.get((one.search, domain))
        if was is None:
            continue
        if was.position != one.position:
            before = "not in results" if was.position is None else f"{was.position}"
            changed[domain] = msgspec.structs.replace(
                one, note=f"{one.note}; position before: {before}".strip("; ")
            )
        elif was.note and not one.note:
            changed[domain] = msgspec.structs.replace(one, note=was.note)
    return outcome._replace(positions=changed)
