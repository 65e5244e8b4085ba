"""`gossamer ranks positions`, `history`, `competitors`, `features`, `volatility`, `competing` and `failing`:
print tables from the rank history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Argument, Json, Option
from gossamer.cli.printing import put_rows
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.ranks.history import RankHistory

HISTORY = "ranks.db"

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
    from gossamer.uses.ranks.tables import positions_table, unknown_positions

    with opened(history) as base:
        found = positions_table(base, domain=plain(domain), days=days, only_moves=moves, tag=tag)
        never = unknown_positions(base)
    put_rows(*found, as_csv, as_json, right=found.names[3:7], least=("url", "search"))
    if never and not as_csv and not as_json:
        from gossamer.cli.printing import remark

        remark(f"{never:,} searches have no new position: gossamer ranks failing shows why")
    return 0


def history_of(
    keyword: Annotated[str, Argument(metavar="KEYWORD", help="The keyword, as in the list.")],
    domain: Domain = None,
    days: Month = 30,
    history: HistoryUrl = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the results of all checks of a keyword, including failed checks."""
    from gossamer.uses.ranks.tables import keyword_table

    with opened(history) as base:
        found = keyword_table(base, keyword, domain=plain(domain), days=days)
    put_rows(*found, as_csv, as_json, right=("position",), least=("url", "search"))
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
    from gossamer.uses.ranks.tables import competitors_table, side_by_side_table

    with opened(history) as base:
        if side_by_side:
            found = side_by_side_table(base, domain=domain or "")
        else:
            found = competitors_table(base, domain=domain or "", curve=curve, limit=limit)
    put_rows(*found, as_csv, as_json, right=found.names[2:], least=("search",) if side_by_side else ())
    return 0


def features(
    days: Month = 30, history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False
) -> int:
    """List the features of first result pages (AI overview, people also ask, ...). For each feature, show the
    number of pages with the feature, and the number of pages on which the feature contains your domains."""
    from gossamer.uses.ranks.tables import features_table

    with opened(history) as base:
        found = features_table(base, days=days)
    put_rows(*found, as_csv, as_json, right=found.names[1:])
    return 0


def volatility(
    days: Month = 30, history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False
) -> int:
    """List how much the first ten results changed from run to run. The value 0 means no change, and 1 means
    that all results are new.

    The column jaccard counts added and removed results. The column rbo (rank-biased overlap, p = 0.9) gives
    more weight to changes at the top.
    """
    from gossamer.uses.ranks.tables import volatility_table

    with opened(history) as base:
        found = volatility_table(base, days=days)
    put_rows(*found, as_csv, as_json, right=found.names[1:])
    return 0


def competing(
    days: Month = 30, history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False
) -> int:
    """List the keywords for which several of your own pages compete (cannibalisation)."""
    from gossamer.uses.ranks.tables import competing_table

    with opened(history) as base:
        found = competing_table(base, days=days)
    put_rows(*found, as_csv, as_json, right=("position", "switches"))
    return 0


def failing(history: HistoryUrl = None, as_csv: AsCsv = False, as_json: Json = False) -> int:
    """List the searches that were never checked, and the searches whose last check failed or was skipped,
    with the reasons. A failed or skipped check records no position."""
    from gossamer.uses.ranks.tables import failing_table

    with opened(history) as base:
        found = failing_table(base)
    put_rows(*found, as_csv, as_json, right=("checks",), long=("why",))
    return 0
