"""The tables that a rank history shows: positions, the checks of a keyword, competitors, features, volatility,
competing pages and failing searches. The command line prints them, and the API returns them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from gossamer.client.table_files import TableRows
from gossamer.errors import UsageError
from gossamer.uses.ranks import measures, series
from gossamer.uses.ranks.domains import shown_domain
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.report import choose_domain

DAY_S = 86_400.0


def positions_table(
    base: RankHistory, *, domain: str = "", days: int = 7, only_moves: bool = False, tag: str | None = None
) -> TableRows:
    """Returns the current, best and worst positions of the own domains. The position `>20` means that the domain is not
    in the first 20 results. `days`: the age of the positions with which the change is computed. `only_moves`: only
    changed positions, the biggest changes first."""
    found = series.standings(base, now=time.time(), days=days, domain=domain)
    if tag is not None:
        tagged = {(one.search.id, one.domain) for one in base.keywords() if tag in one.tags}
        found = [one for one in found if (one.search, one.domain) in tagged]
    if only_moves:
        found = series.moves(found)
    rows = [
        (
            *(one.keyword, f"{one.engine} {one.place}", shown_domain(one.domain), one.shown, _change(one)),
            *(one.best or "", one.worst or "", "" if one.state == "done" else one.state, one.url),
        )
        for one in found
    ]
    names = ("keyword", "search", "domain", "position", "change", "best", "worst", "last check", "url")
    return TableRows(names, rows)


def unknown_positions(base: RankHistory) -> int:
    """Returns the number of searches without a new position."""
    return sum(one.state in ("never", "failed", "skipped") for one in series.failing(base))


def _change(one: Any) -> str:
    return f"{one.change:+d}" if one.known_before and one.change else ""


def keyword_table(base: RankHistory, keyword: str, *, domain: str = "", days: int = 30) -> TableRows:
    """Returns the results of all checks of a keyword, including failed checks, oldest first. Raises UsageError if
    the keyword is unknown."""
    after, words = time.time() - days * DAY_S, " ".join(keyword.split())
    searches = {name: one for name, one in base.searches(listed=False).items() if one.keyword == words}
    if not searches:
        raise UsageError(f"{keyword!r}: unknown keyword; gossamer ranks positions lists all keywords")
    rows: list[tuple[float, tuple[Any, ...]]] = []
    followed = base.followed(searches)
    for name, search in searches.items():
        where = f"{search.engine} {search.place}"
        for one in [domain] if domain else list(followed.get(name, {})):
            for point in series.read_series(base, name, one, after=after):
                place = point.position if point.position is not None else f">{point.depth}"
                cells = (when(point.time), where, shown_domain(one), place, point.url, point.note)
                rows.append((point.time, cells))
        for at, why in series.failed_times(base, name, after=after):
            rows.append((at, (when(at), where, "", "not checked", "", why)))
    rows.sort(key=lambda row: row[0])
    return TableRows(("time", "search", "domain", "position", "url", "note"), [cells for _, cells in rows])


def competitors_table(
    base: RankHistory, *, domain: str = "", curve: str | None = None, limit: int = 20
) -> TableRows:
    """Returns the domains with the largest share of voice, which is a domain's share of all clicks on the organic
    results. `curve`: a file with an own curve of clicks."""
    own = choose_domain(base, domain)
    found = series.standings(base, now=time.time(), own=False)
    voice = series.share_of_voice(base, measures.read_curve(curve))
    rows: list[Sequence[Any]] = []
    for name, share in list(voice.items())[:limit]:
        mine = [one.position for one in found if one.domain == name]
        bands = measures.count_bands(mine)
        counts = (bands["1-3"], bands["1-3"] + bands["4-10"], len(mine)) if mine else ("", "", "")
        rows.append((shown_domain(name), "yes" if name == own else "", f"{100 * share:.1f}", *counts))
    names = ("domain", "own", "share of voice %", "first 3", "first 10", "known positions")
    return TableRows(names, rows)


def side_by_side_table(base: RankHistory, *, domain: str = "") -> TableRows:
    """Returns the positions of all followed domains, one column a domain and one row a search."""
    own = choose_domain(base, domain)
    found = series.standings(base, now=time.time(), own=False)
    domains = list(dict.fromkeys([own, *(one.domain for one in found)]))
    places = {(one.search, one.domain): one for one in found}
    searches = dict.fromkeys((one.search, one.keyword, f"{one.engine} {one.place}") for one in found)
    rows = [
        (words, where, *(places[name, one].shown if (name, one) in places else "" for one in domains))
        for name, words, where in searches
    ]
    return TableRows(("keyword", "search", *map(shown_domain, domains)), rows)


def features_table(base: RankHistory, *, days: int = 30) -> TableRows:
    """Returns the features of first result pages, such as `ai_overview`, and how often they contain own domains."""
    found = series.features(base, now=time.time(), days=days)
    rows = [(one.type, one.pages, one.shown, one.shown_before, one.owned, one.owned_before) for one in found]
    names = ("feature", "pages", "shown", "shown before", "with your domains", "with them before")
    return TableRows(names, rows)


def volatility_table(base: RankHistory, *, days: int = 30) -> TableRows:
    """Returns how much the first ten results changed from run to run: 0 is no change, 1 is all new."""
    found = series.volatility(base, after=time.time() - days * DAY_S)
    rows = [(when(one.time), one.searches, f"{one.jaccard:.3f}", f"{one.rbo:.3f}") for one in found]
    return TableRows(("time", "searches", "jaccard", "rbo"), rows)


def competing_table(base: RankHistory, *, days: int = 30) -> TableRows:
    """Returns the keywords for which several own pages compete."""
    found = series.competing(base, after=time.time() - days * DAY_S)
    rows = [
        (
            *(one.keyword, shown_domain(one.domain), one.position or "", one.switches),
            " ".join(one.together or one.urls),
        )
        for one in found
    ]
    return TableRows(("keyword", "domain", "position", "switches", "pages"), rows)


def failing_table(base: RankHistory) -> TableRows:
    """Returns the searches that were never checked, and those whose last check failed or was skipped."""
    rows = [
        (
            *(one.search.keyword, f"{one.search.engine} {one.search.place}", one.state, one.error),
            *(one.runs, when(one.since), when(one.known)),
        )
        for one in series.failing(base)
    ]
    return TableRows(("keyword", "search", "state", "why", "checks", "since", "last position"), rows)


def when(seconds: float) -> str:
    """Formats a time in ISO 8601 format (UTC). Returns '' for 0."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""
