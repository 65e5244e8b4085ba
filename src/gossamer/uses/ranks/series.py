"""Reads data for reports from the rank history. The data contains current and earlier positions, position
histories, features, volatility, and competing pages of the user's domains. Each query uses an index."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from gossamer.uses.ranks import measures
from gossamer.uses.ranks.checks import OWNED_TYPES
from gossamer.uses.ranks.history import DAY_S, RankHistory
from gossamer.uses.ranks.measures import Curve
from gossamer.uses.ranks.model import Search
from gossamer.uses.ranks.page_rows import unpack_results


class Standing(NamedTuple):
    """The current position of a domain in a search.

    - `position`: the current position, or None if the domain is not in the first `depth` results.
    - `before`: the position at the beginning of the period, or the oldest known position. `known_before`:
      whether there is a known position before the current position.
    - `change`: the number of positions gained (+) or lost (-). A position of None counts as `depth` + 1.
    - `best`, `worst`: the best and the worst position in the period, or None if the domain was never in the
      results.
    - `state`: the state of the last check (`done`, `failed`, ...). `error`: the error of the last check.
    - `time`: the time of the position, in seconds since the epoch.
    """

    search: str
    keyword: str
    engine: str
    place: str
    domain: str
    own: bool
    position: int | None
    depth: int
    before: int | None
    known_before: bool
    change: int
    best: int | None
    worst: int | None
    url: str
    time: float
    volume: int | None
    state: str
    error: str
    note: str

    @property
    def shown(self) -> str:
        """The position for display, such as `7`, or `>20` if the domain is not in the first 20 results."""
        return str(self.position) if self.position is not None else f">{self.depth}"


class RankPoint(NamedTuple):
    """The position of a domain at one time. `position` is None if the domain is not in the first `depth`
    results."""

    time: float
    position: int | None
    depth: int
    url: str
    note: str


class FailedCheck(NamedTuple):
    """A search that was never checked, or whose last check failed or was skipped."""

    search: Search
    state: str
    error: str
    since: float
    runs: int
    """The number of consecutive checks that failed or were skipped."""
    known: float
    """The time of the last successful check, or 0.0 if no check was successful."""


def standings(
    history: RankHistory, *, now: float, days: float = 7, domain: str = "", own: bool = True, search: str = ""
) -> list[Standing]:
    """Returns the current positions of the listed domains, sorted by keyword. `days`: the length of the
    period for `before` and `change`, in days. `own`: whether to return only the user's domains. The result
    omits a domain whose position is unknown in all checks of a search."""
    where, values = ["d.listed = 1", "s.listed = 1"], list[Any]()
    for clause, value in (("d.domain = ?", domain), ("d.search = ?", search)):
        if value:
            where.append(clause)
            values.append(value)
    if own:
        where.append("d.own = 1")
    rows = history.query(
        "SELECT p.search, p.domain, p.position, p.depth, p.url, p.time, p.note, d.own, s.keyword, s.engine, s.country, "
        "s.language, s.location, s.device, s.volume FROM rank_positions p JOIN rank_domains d ON d.search = p.search AND "
        f"d.domain = p.domain JOIN rank_searches s ON s.id = p.search WHERE {' AND '.join(where)} "
        "ORDER BY s.keyword, s.engine, s.device, p.search, d.own DESC, p.domain, p.run",
        values,
    )
    states = _last_states(history)
    grouped: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        grouped[row[0], row[1]].append(row)
    return [_standing(found, states, now - days * DAY_S) for found in grouped.values()]


def _standing(
    rows: Sequence[tuple[Any, ...]], states: Mapping[str, tuple[str, str]], start: float
) -> Standing:
    last = rows[-1]
    search = Search(
        keyword=last[8],
        engine=last[9],
        country=last[10],
        language=last[11],
        location=last[12],
        device=last[13],
    )
    earlier = [row for row in rows[:-1] if row[5] <= start] or rows[:1]
    base = earlier[-1]
    period = [row[2] for row in rows if row[5] >= start and row[2] is not None]
    state, error = states.get(last[0], ("", ""))
    return Standing(
        search=last[0],
        keyword=search.keyword,
        engine=search.engine,
        place=search.place,
        domain=last[1],
        own=bool(last[7]),
        position=last[2],
        depth=last[3],
        before=base[2],
        known_before=base is not last,
        change=_place(base) - _place(last),
        best=min(period, default=None),
        worst=max(period, default=None),
        url=last[4],
        time=last[5],
        volume=last[14],
        state=state,
        error=error,
        note=last[6],
    )


def _place(row: Sequence[Any]) -> int:
    place: int = row[2] if row[2] is not None else row[3] + 1
    return place


def _last_states(history: RankHistory) -> dict[str, tuple[str, str]]:
    rows = history.query(
        "SELECT c.search, c.state, c.error FROM rank_checks c WHERE c.run = (SELECT max(d.run) FROM rank_checks d "
        "WHERE d.search = c.search)"
    )
    return {search: (state, error) for search, state, error in rows}


def read_series(history: RankHistory, search: str, domain: str, *, after: float = 0.0) -> list[RankPoint]:
    """Returns the positions of a domain in a search, oldest first."""
    rows = history.query(
        "SELECT time, position, depth, url, note FROM rank_positions WHERE search = ? AND domain = ? AND time >= ? "
        "ORDER BY run",
        [search, domain, after],
    )
    return [RankPoint(*row) for row in rows]


def failed_times(history: RankHistory, search: str, *, after: float = 0.0) -> list[tuple[float, str]]:
    """Returns the time and the error of each failed check of a search."""
    return [
        (time, error)
        for time, error in history.query(
            "SELECT time, error FROM rank_checks WHERE search = ? AND state = 'failed' AND time >= ? ORDER BY run",
            [search, after],
        )
    ]


def failing(history: RankHistory) -> list[FailedCheck]:
    """Returns the listed searches whose last check failed or was skipped, and the listed searches that were
    never checked."""
    searches, checks = history.searches(), dict[str, list[tuple[Any, ...]]]()
    for row in history.query("SELECT search, state, error, time FROM rank_checks ORDER BY search, run DESC"):
        checks.setdefault(row[0], []).append(row)
    found = []
    for name, search in searches.items():
        rows = checks.get(name, [])
        bad = []
        for row in rows:
            if row[1] in ("done", "no-results"):
                break
            bad.append(row)
        if bad or not rows:
            done = rows[len(bad)][3] if len(rows) > len(bad) else 0.0
            state, error = (bad[0][1], bad[0][2]) if bad else ("never", "no run has checked it")
            found.append(FailedCheck(search, state, error, bad[-1][3] if bad else 0.0, len(bad), done))
    return sorted(found, key=lambda one: (-one.runs, one.search.keyword))


class Day(NamedTuple):
    """The ranking metrics of a domain at the end of one day. `known`: the number of searches with a position
    that is not older than `MAX_AGE_S`."""

    time: float
    visibility: float
    clicks: float
    known: int
    bands: dict[str, int]


MAX_AGE_S = 14 * DAY_S
"""The metrics of a day include only positions that are at most this number of seconds old."""


def daily(
    history: RankHistory, domain: str, *, now: float, days: int = 30, curve: Curve | None = None
) -> list[Day]:
    """Returns one set of ranking metrics per day for a domain, oldest day first. The metrics of a day are
    measured at its end. The result omits days before the first check. If the check of a day failed, the last
    known position is used."""
    curve = curve or measures.default_curve()
    rows = history.query(
        "SELECT p.search, p.time, p.position FROM rank_positions p JOIN rank_searches s ON s.id = p.search AND s.listed = 1 "
        "WHERE p.domain = ? AND p.time >= ? ORDER BY p.time",
        [domain, now - days * DAY_S - MAX_AGE_S],
    )
    weight = measures.weights(dict(history.query("SELECT id, volume FROM rank_searches WHERE listed = 1")))
    known: dict[str, tuple[float, int | None]] = {}
    found, at = [], 0
    for back in range(days - 1, -1, -1):
        end = now - back * DAY_S
        while at < len(rows) and rows[at][1] <= end:
            known[rows[at][0]] = rows[at][1:]
            at += 1
        places = {name: place for name, (time, place) in known.items() if time >= end - MAX_AGE_S}
        if places:
            found.append(
                Day(
                    end,
                    measures.visibility(places, weight, curve),
                    measures.clicks(places, weight, curve),
                    len(places),
                    measures.count_bands(places.values()),
                )
            )
    return found


def last_results(history: RankHistory) -> dict[str, list[tuple[int, str]]]:
    """Returns the positions and URLs of all organic results in the last successful check of each listed
    search, keyed by search id."""
    rows = history.query(
        "SELECT p.search, p.first, p.results FROM rank_pages p JOIN rank_searches s ON s.id = p.search AND s.listed = 1 "
        "WHERE p.verdict IN ('ok', 'partial') AND p.run = (SELECT max(c.run) FROM rank_checks c WHERE "
        "c.search = p.search AND c.state = 'done') ORDER BY p.search, p.page"
    )
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for search, first, results in rows:
        found[search] += measures.ranked_urls(first, unpack_results(results))
    return dict(found)


def share_of_voice(history: RankHistory, curve: Curve | None = None) -> dict[str, float]:
    """Returns each domain's share of all clicks in the results of the last successful checks, in descending
    order. All pages of a followed domain are counted together."""
    domains = [
        domain for (domain,) in history.query("SELECT DISTINCT domain FROM rank_domains WHERE listed = 1")
    ]
    weight = measures.weights(dict(history.query("SELECT id, volume FROM rank_searches WHERE listed = 1")))
    return measures.share_of_voice(
        last_results(history), weight, curve or measures.default_curve(), sorted(domains)
    )


class FeatureShare(NamedTuple):
    """The frequency of a feature on page 1 of the results. `pages`: the number of searches whose page 1 was
    read. `shown`: the number of pages that contain the feature. `owned`: the number of pages on which the
    feature contains a domain of the user. `shown_before` and `owned_before`: the values of `shown` and
    `owned` at the beginning of the period."""

    type: str
    pages: int
    shown: int
    owned: int
    shown_before: int
    owned_before: int


def features(history: RankHistory, *, now: float, days: float = 30) -> list[FeatureShare]:
    """Returns the frequency of each feature in the listed searches, most frequent first."""
    ends = {"now": _feature_counts(history, now), "before": _feature_counts(history, now - days * DAY_S)}
    pages, shown, owned = ends["now"]
    _, shown_before, owned_before = ends["before"]
    kinds = sorted({*shown, *shown_before}, key=lambda kind: (-shown.get(kind, 0), kind))
    return [
        FeatureShare(
            *(kind, pages, shown.get(kind, 0), owned.get(kind, 0)),
            *(shown_before.get(kind, 0), owned_before.get(kind, 0)),
        )
        for kind in kinds
        if kind in OWNED_TYPES or kind == "related"
    ]


def _feature_counts(history: RankHistory, end: float) -> tuple[int, dict[str, int], dict[str, int]]:
    rows = history.query(
        "SELECT c.search, f.type, f.domain, d.own FROM rank_checks c JOIN rank_searches s ON s.id = c.search AND "
        "s.listed = 1 LEFT JOIN rank_features f ON f.search = c.search AND f.run = c.run LEFT JOIN rank_domains d ON "
        "d.search = f.search AND d.domain = f.domain WHERE c.first_page = 1 AND c.run = (SELECT max(e.run) FROM "
        "rank_checks e WHERE e.search = c.search AND e.first_page = 1 AND e.time <= ?)",
        [end],
    )
    shown: dict[str, set[str]] = defaultdict(set)
    owned: dict[str, set[str]] = defaultdict(set)
    for search, kind, domain, own in rows:
        if kind is not None and not domain:
            shown[kind].add(search)
        elif kind is not None and own:
            owned[kind].add(search)
    pages = len({row[0] for row in rows})
    return pages, {k: len(v) for k, v in shown.items()}, {k: len(v) for k, v in owned.items()}


class Volatility(NamedTuple):
    """The change of the first ten results since the previous check, averaged over all searches. 0 means no
    change. `jaccard`: 1 minus the Jaccard index of the URLs. `rbo`: 1 minus the rank-biased overlap of the
    URLs (p = .9)."""

    time: float
    searches: int
    jaccard: float
    rbo: float


def volatility(history: RankHistory, *, after: float = 0.0) -> list[Volatility]:
    """Returns the volatility of each run, oldest first."""
    rows = history.query(
        "SELECT p.run, p.search, p.time, p.results FROM rank_pages p JOIN rank_checks c ON c.search = p.search AND "
        "c.run = p.run AND c.first_page = 1 WHERE p.first = 1 AND p.verdict = 'ok' AND p.time >= ? "
        "ORDER BY p.run, p.search, p.page",
        [after],
    )
    last: dict[str, list[str]] = {}
    found: dict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for run, search, time, results in rows:
        urls = [url for place, url in measures.ranked_urls(1, unpack_results(results)) if place <= 10]
        if (was := last.get(search)) is not None:
            moved = 1 - measures.jaccard(was, urls), 1 - measures.rank_biased_overlap(was, urls)
            found[run].append((time, *moved))
        last[search] = urls
    return [
        Volatility(
            *(min(one[0] for one in part), len(part)),
            *(sum(one[1] for one in part) / len(part), sum(one[2] for one in part) / len(part)),
        )
        for _, part in sorted(found.items())
    ]


class Competing(NamedTuple):
    """A search in which several pages of one domain compete (keyword cannibalisation). `together`: the URLs
    of all pages of the domain in the last results. `switches`: how many times a different page became the
    domain's best result within the period."""

    search: str
    keyword: str
    domain: str
    position: int | None
    together: tuple[str, ...]
    urls: tuple[str, ...]
    switches: int


def competing(history: RankHistory, *, after: float = 0.0) -> list[Competing]:
    """Returns the searches in which several pages of a user's domain compete. The search in which the best
    page changed most often comes first."""
    rows = history.query(
        "SELECT p.search, s.keyword, p.domain, p.position, p.url, p.urls FROM rank_positions p JOIN rank_searches s ON "
        "s.id = p.search AND s.listed = 1 JOIN rank_domains d ON d.search = p.search AND d.domain = p.domain AND d.own = 1 "
        "AND d.listed = 1 WHERE p.time >= ? ORDER BY p.search, p.domain, p.run",
        [after],
    )
    grouped: dict[tuple[str, str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        grouped[row[0], row[1], row[2]].append(row[3:])
    found = []
    for key, points in grouped.items():
        best = [url for _, url, _ in points if url]
        together = tuple(msgspec.json.decode(points[-1][2]))
        switches = sum(one != other for one, other in itertools.pairwise(best))
        if len(together) > 1 or switches:
            found.append(Competing(*key, points[-1][0], together, tuple(dict.fromkeys(best)), switches))
    return sorted(found, key=lambda one: (-one.switches, -len(one.together), one.keyword))


def moves(found: Iterable[Standing], limit: int = 50) -> list[Standing]:
    """Returns the positions (`Standing`) that have changed, biggest changes first. Changes near the top have
    more weight."""
    changed = [one for one in found if one.known_before and one.change]
    return sorted(changed, key=lambda one: -_weight(one))[:limit]


def _weight(one: Standing) -> float:
    now = one.position if one.position is not None else one.depth + 1
    return abs(one.change) / min(now, now + one.change)
