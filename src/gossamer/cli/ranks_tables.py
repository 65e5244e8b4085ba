"""`gossamer ranks positions`, `history`, `competitors`, `features`, `volatility`, `competing` and `failing`:
print tables from the rank history."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Json, Option
from gossamer.cli.printing import put_rows
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.ranks.history import RankHistory

HISTORY = "ranks.db"
DAY_S = 86_400.0

HistoryUrl = Annotated[
    str | None,
    Option("--history", metavar="DB", help="The rank history: a file (default ranks.db) or postgresql://..."),
]
Days = Annotated[int, Option("--days", metavar="N", least=1, help="Compare with N days ago (default 7).")]
Month = Annotated[int, Option("--days", metavar="N", least=1, help="The last N days (default 30).")]
Domain = Annotated[str | None, Option("--domain", metavar="DOMAIN", help="Only this domain.")]
AsCsv = Annotated[bool, Option("--csv", help="Print CSV.")]
Curve = Annotated[
    str | None,
    Option(
        "--ctr", metavar="FILE", help="Your own curve of clicks: lines such as 1 28.5 (position, percent)."
    ),
]


def opened(url: str | None) -> RankHistory:
    """Opens the rank history. Raises UsageError if the rank history does not exist."""
    from gossamer.config.redaction import register_in

    name = url or HISTORY
    register_in(name)
    if "://" not in name and not Path(name).is_file():
        raise UsageError(
            f"there is no rank history {name}: `gossamer ranks run KEYWORDS` makes one, or give --history"
        )
    from gossamer.uses.ranks import history

    return history.RankHistory(name)


def plain(domain: str | None) -> str:
    """Returns the canonical form of the domain in `--domain`, or '' if the option is not given. Raises
    UsageError."""
    from gossamer.uses.ranks.domains import plain_domain

    if domain is None:
        return ""
    found = plain_domain(domain)
    if found is None:
        raise UsageError(f"--domain {domain!r}: this is not a domain")
    return found


def positions(
    domain: Domain = None,
    days: Days = 7,
    moves: Annotated[
        bool, Option("--moves", help="Only positions that changed, the biggest changes first.")
    ] = False,
    tag: Annotated[str | None, Option("--tag", metavar="TAG", help="Only keywords with this tag.")] = None,
    history: HistoryUrl = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the current, best and worst positions of your domains, and the change in the last N days.

    The position >20 means that the domain is not in the first 20 results. If the last check of a search
    failed, the last known position is shown, together with the state of the check.
    """
    from gossamer.uses.ranks import series
    from gossamer.uses.ranks.domains import shown_domain

    with opened(history) as base:
        found = series.standings(base, now=time.time(), days=days, domain=plain(domain))
        if tag is not None:
            tagged = {(one.search.id, one.domain) for one in base.keywords() if tag in one.tags}
            found = [one for one in found if (one.search, one.domain) in tagged]
        never = [one for one in series.failing(base) if one.state in ("never", "failed", "skipped")]
    if moves:
        found = series.moves(found)
    rows = [
        (
            *(one.keyword, f"{one.engine} {one.place}", shown_domain(one.domain), one.shown, _change(one)),
            *(one.best or "", one.worst or "", "" if one.state == "done" else one.state, one.url),
        )
        for one in found
    ]
    heads = ("keyword", "search", "domain", "position", "change", "best", "worst", "last check", "url")
    put_rows(
        heads, rows, as_csv, as_json, right=("position", "change", "best", "worst"), least=("url", "search")
    )
    if never and not as_csv and not as_json:
        from gossamer.cli.printing import remark

        remark(f"{len(never):,} searches have no new position: gossamer ranks failing shows why")
    return 0


def _change(one: Any) -> str:
    if not one.known_before or not one.change:
        return ""
    return f"{one.change:+d}"


def history_of(
    keyword: Annotated[str, Argument(metavar="KEYWORD", help="The keyword, as in the list.")],
    domain: Domain = None,
    days: Month = 30,
    history: HistoryUrl = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the results of all checks of a keyword, including failed checks."""
    from gossamer.uses.ranks import series
    from gossamer.uses.ranks.domains import shown_domain

    after = time.time() - days * DAY_S
    rows: list[tuple[float, tuple[Any, ...]]] = []
    with opened(history) as base:
        searches = {
            name: one
            for name, one in base.searches(listed=False).items()
            if one.keyword == " ".join(keyword.split())
        }
        if not searches:
            raise UsageError(f"{keyword!r}: unknown keyword; gossamer ranks positions lists all keywords")
        followed = base.followed(searches)
        for name, search in searches.items():
            where = f"{search.engine} {search.place}"
            names = [plain(domain)] if domain else list(followed.get(name, {}))
            for one in names:
                for point in series.read_series(base, name, one, after=after):
                    place = point.position if point.position is not None else f">{point.depth}"
                    cells = (when(point.time), where, shown_domain(one), place, point.url, point.note)
                    rows.append((point.time, cells))
            for at, why in series.failed_times(base, name, after=after):
                rows.append((at, (when(at), where, "", "not checked", "", why)))
    rows.sort(key=lambda row: row[0])
    heads = ("time", "search", "domain", "position", "url", "note")
    put_rows(
        heads, [cells for _, cells in rows], as_csv, as_json, right=("position",), least=("url", "search")
    )
    return 0


def competitors(
    domain: Domain = None,
    curve: Curve = None,
    side_by_side: Annotated[
        bool, Option("--side-by-side", help="Each keyword with the positions of all followed domains.")
    ] = False,
    limit: Annotated[int, Option("--limit", metavar="N", least=1, help="At most N rows (default 20).")] = 20,
    history: HistoryUrl = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """Compare domains by share of voice. The share of voice is a domain's share of all clicks on the organic
    results of your keywords.

    The table also shows domains that you do not follow. Clicks are estimated with a click curve (`--ctr`).
    """
    from gossamer.uses.ranks import measures, series
    from gossamer.uses.ranks.domains import shown_domain
    from gossamer.uses.ranks.report import choose_domain

    with opened(history) as base:
        own = choose_domain(base, domain or "")
        found = series.standings(base, now=time.time(), own=False)
        voice = series.share_of_voice(base, measures.read_curve(curve))
    if side_by_side:
        names = list(dict.fromkeys([own, *(one.domain for one in found)]))
        places = {(one.search, one.domain): one for one in found}
        searches = dict.fromkeys((one.search, one.keyword, f"{one.engine} {one.place}") for one in found)
        rows: list[tuple[Any, ...]] = [
            (words, where, *(places[name, one].shown if (name, one) in places else "" for one in names))
            for name, words, where in searches
        ]
        heads: tuple[str, ...] = ("keyword", "search", *map(shown_domain, names))
        put_rows(heads, rows, as_csv, as_json, right=heads[2:], least=("search",))
        return 0
    rows = []
    for name, share in list(voice.items())[:limit]:
        mine = [one.position for one in found if one.domain == name]
        bands = measures.count_bands(mine)
        counts = (bands["1-3"], bands["1-3"] + bands["4-10"], len(mine)) if mine else ("", "", "")
        rows.append((shown_domain(name), "yes" if name == own else "", f"{100 * share:.1f}", *counts))
    heads = ("domain", "own", "share of voice %", "first 3", "first 10", "known positions")
    put_rows(heads, rows, as_csv, as_json, right=heads[2:])
    return 0


def features(
    days: Month = 30, history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False
) -> int:
    """List the features of first result pages (AI overview, people also ask, ...). For each feature, show the
    number of pages with the feature, and the number of pages on which the feature contains your domains."""
    from gossamer.uses.ranks import series

    with opened(history) as base:
        found = series.features(base, now=time.time(), days=days)
    rows = [(one.type, one.pages, one.shown, one.shown_before, one.owned, one.owned_before) for one in found]
    heads = ("feature", "pages", "shown", "shown before", "with your domains", "with them before")
    put_rows(heads, rows, as_csv, as_json, right=heads[1:])
    return 0


def volatility(
    days: Month = 30, history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False
) -> int:
    """List how much the first ten results changed from run to run. The value 0 means no change, and 1 means
    that all results are new.

    The column jaccard counts added and removed results. The column rbo (rank-biased overlap, p = 0.9) gives
    more weight to changes at the top.
    """
    from gossamer.uses.ranks import series

    with opened(history) as base:
        found = series.volatility(base, after=time.time() - days * DAY_S)
    rows = [(when(one.time), one.searches, f"{one.jaccard:.3f}", f"{one.rbo:.3f}") for one in found]
    put_rows(
        ("time", "searches", "jaccard", "rbo"), rows, as_csv, as_json, right=("searches", "jaccard", "rbo")
    )
    return 0


def competing(
    days: Month = 30, history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False
) -> int:
    """List the keywords for which several of your own pages compete (cannibalisation)."""
    from gossamer.uses.ranks import series
    from gossamer.uses.ranks.domains import shown_domain

    with opened(history) as base:
        found = series.competing(base, after=time.time() - days * DAY_S)
    rows = [
        (
            one.keyword,
            shown_domain(one.domain),
            one.position or "",
            one.switches,
            " ".join(one.together or one.urls),
        )
        for one in found
    ]
    heads = ("keyword", "domain", "position", "switches", "pages")
    put_rows(heads, rows, as_csv, as_json, right=("position", "switches"))
    return 0


def failing(history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False) -> int:
    """List the searches that were never checked, and the searches whose last check failed or was skipped,
    with the reasons. A failed or skipped check records no position."""
    from gossamer.uses.ranks import series

    with opened(history) as base:
        found = series.failing(base)
    rows = [
        (
            *(one.search.keyword, f"{one.search.engine} {one.search.place}", one.state, one.error),
            *(one.runs, when(one.since), when(one.known)),
        )
        for one in found
    ]
    heads = ("keyword", "search", "state", "why", "checks", "since", "last position")
    put_rows(heads, rows, as_csv, as_json, right=("checks",), long=("why",))
    return 0


def when(seconds: float) -> str:
    """Formats a time in ISO 8601 format (UTC). Returns '' for 0."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""
