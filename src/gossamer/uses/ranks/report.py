"""Reads the data of a rank report from the history. The report contains key figures, gains and losses,
position histories, competitors, features, volatility, competing pages of the user's domain, failed checks,
and one result page beside its parsed results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.errors import UsageError
from gossamer.parsing.ranks import Result
from gossamer.uses.ranks import measures, series
from gossamer.uses.ranks.history import DAY_S, RankHistory
from gossamer.uses.ranks.measures import Curve
from gossamer.uses.ranks.page_rows import body_of, unpack_results
from gossamer.uses.ranks.series import (
    Competing,
    Day,
    FailedCheck,
    FeatureShare,
    RankPoint,
    Standing,
    Volatility,
)

MAX_ROWS = 30
"""Maximum number of rows of a table in a report, except for the table of all keywords."""
MAX_KEYWORDS = 500
MAX_CHARTS = 12
MAX_SHOWN_BODY = 1 << 20
"""Maximum size in bytes of a page that the report displays beside the parsed results."""


class RankChart(NamedTuple):
    """The position history of a domain in a search, for a chart. `rivals`: the position histories of
    competitors, keyed by domain. `failed`: the time and the error of each failed check."""

    standing: Standing
    points: list[RankPoint]
    rivals: dict[str, list[RankPoint]]
    failed: list[tuple[float, str]]


class ShownPage(NamedTuple):
    """A result page and its parsed results. `body` is '' if the history does not contain the HTML, or if the
    HTML is too large."""

    keyword: str
    engine: str
    time: float
    verdict: str
    source: str
    data_version: str
    url: str
    results: tuple[Result, ...]
    body: str


class RankReport(NamedTuple):
    """The data of a rank report on one domain. `checked`: the number of searches in which the domain's
    position is known. `listed`: the number of searches in the current keyword list that track the domain."""

    domain: str
    after: float
    now: float
    listed: int
    standings: list[Standing]
    moves: list[Standing]
    days: list[Day]
    charts: list[RankChart]
    voice: dict[str, float]
    rivals: dict[str, list[Standing]]
    features: list[FeatureShare]
    volatility: list[Volatility]
    competing: list[Competing]
    failing: list[FailedCheck]
    page: ShownPage | None
    curve: str
    """The name or the data source of the click curve."""

    @property
    def checked(self) -> int:
        """The number of searches in which the domain's position is known."""
        return len(self.standings)


def own_domains(history: RankHistory) -> list[str]:
    """Returns the user's domains in the current keyword list. The domain with the most searches comes
    first."""
    rows = history.query(
        "SELECT domain, count(*) FROM rank_domains WHERE own = 1 AND listed = 1 GROUP BY domain ORDER BY 2 DESC, 1"
    )
    return [domain for domain, _ in rows]


def choose_domain(history: RankHistory, domain: str = "") -> str:
    """Returns the canonical form of the domain for a report. By default, returns the user's domain with the
    most searches. Raises UsageError if `domain` is not followed, or if the history contains no keywords."""
    from gossamer.uses.ranks.domains import plain_domain

    known = own_domains(history)
    if not known:
        raise UsageError("the history has no keywords: gossamer ranks run KEYWORDS.csv comes first")
    if not domain:
        return known[0]
    wanted = plain_domain(domain) or domain
    if wanted not in known:
        raise UsageError(f"--domain {domain}: it is not followed; {', '.join(known[:5])} are")
    return wanted


def read_report(
    history: RankHistory,
    *,
    now: float,
    days: int = 30,
    domain: str = "",
    curve: Curve | None = None,
    curve_name: str = "",
    show: str = "",
) -> RankReport:
    """Reads the data of a report on the last `days` days. `curve`: the share of clicks at each position.
    `curve_name`: the name of the click curve for display. `show`: the keyword whose result page the report
    displays. The default is the keyword with the most significant change of position."""
    domain, after = choose_domain(history, domain), now - days * DAY_S
    found = series.standings(history, now=now, days=days, domain=domain)
    moves = series.moves(found, MAX_ROWS)
    ((listed,),) = history.query(
        "SELECT count(*) FROM rank_domains WHERE own = 1 AND listed = 1 AND domain = ?", [domain]
    )
    searches = {one.search for one in found}
    rivals: dict[str, list[Standing]] = {}
    for one in series.standings(history, now=now, days=days, own=False):
        if one.search in searches and not one.own:
            rivals.setdefault(one.domain, []).append(one)
    charted = [*moves, *(one for one in found if one not in moves)][:MAX_CHARTS]
    return RankReport(
        domain=domain,
        after=after,
        now=now,
        listed=listed,
        standings=found,
        moves=moves,
        days=series.daily(history, domain, now=now, days=days, curve=curve),
        charts=[_chart(history, one, rivals, after) for one in charted],
        voice=dict(list(series.share_of_voice(history, curve).items())[:15]),
        rivals=rivals,
        features=series.features(history, now=now, days=days),
        volatility=series.volatility(history, after=after),
        competing=[one for one in series.competing(history, after=after) if one.domain == domain][:MAX_ROWS],
        failing=series.failing(history),
        page=_shown(history, charted, show),
        curve=curve_name or measures.curve_source(),
    )


def _chart(history: RankHistory, one: Standing, rivals: dict[str, list[Standing]], after: float) -> RankChart:
    others = [domain for domain, found in rivals.items() if any(each.search == one.search for each in found)]
    return RankChart(
        one,
        series.read_series(history, one.search, one.domain, after=after),
        {domain: series.read_series(history, one.search, domain, after=after) for domain in others[:4]},
        series.failed_times(history, one.search, after=after),
    )


def _shown(history: RankHistory, charted: Sequence[Standing], keyword: str) -> ShownPage | None:
    """Returns the most recent page 1 of a keyword. If `keyword` is '', returns the most recent page 1 of the
    first search in the charts. Raises UsageError if the history contains no page 1 of the given keyword."""
    if keyword:
        clause, values = "s.keyword = ?", [keyword]
    elif charted:
        clause, values = "p.search = ?", [charted[0].search]
    else:
        return None
    rows = history.query(
        "SELECT s.keyword, s.engine, p.time, p.verdict, p.source, p.data_version, p.url, p.results, p.body, p.form FROM "
        f"rank_pages p JOIN rank_searches s ON s.id = p.search WHERE {clause} AND p.first = 1 ORDER BY p.time DESC LIMIT 1",
        values,
    )
    if not rows:
        if keyword:
            raise UsageError(f"--show {keyword!r}: no page 1 of this keyword is in the history")
        return None
    words, engine, at, verdict, source, version, url, results, packed, form = rows[0]
    body = body_of(packed) if packed is not None and form == "html" else None
    shown = body.decode("utf-8", "replace") if body is not None and len(body) <= MAX_SHOWN_BODY else ""
    return ShownPage(words, engine, at, verdict, source, version, url, unpack_results(results), shown)
