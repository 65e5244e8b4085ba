"""`gossamer prices alert`, `rules`, `failing` and `shops`: send alerts, check rules, and list failing targets
and the state of shops."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.alert_output import Outputs, put_reported
from gossamer.cli.options import Argument, Json, Option, Setting
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.prices.history import History

RULES = "rules.toml"
HISTORY = "prices.db"
STATES = ("gone", "moved", "blocked", "empty", "failed", "no-price", "undecided")

HistoryUrl = Annotated[
    str | None,
    Option(
        "--history", metavar="DB", help="The price history: a file (default prices.db) or postgresql://..."
    ),
]
RulesFile = Annotated[
    str | None,
    Option("--rules", metavar="FILE", help="The file of rules (default rules.toml, if it exists)."),
]


def alert(
    rules: RulesFile = None,
    output: Outputs = None,
    history: HistoryUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Evaluate the rules for the results of runs, and send the alerts and events that were not sent yet.

    Alerts go to the receivers of the setting `alerts`. The exit code is 9 if a receiver does not accept an
    alert.
    """
    from gossamer.cli.printing import remark
    from gossamer.uses.prices.after_run import report_changes

    file = rules or (RULES if Path(RULES).is_file() else None)
    with opened(history) as found:
        folder = str(Path(HISTORY if "://" in found.url else found.url).parent / ".gossamer" / "prices")
        options = {"setting": setting} if setting else {}
        told = report_changes(
            found, rules=file, outputs=output or (), folder=folder, options=options, tell=remark
        )
    return put_reported(told, as_json)


def rules(
    file: Annotated[str, Argument(metavar="FILE", help="The file of rules.")] = RULES,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Check a file of rules: the meaning of each rule, the number of targets to which it applies, and whether
    it can never fire."""
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.uses.prices.product_groups import read_groups
    from gossamer.uses.prices.rules import STATES, never_fires, read_rules

    book = read_rules(file)
    name = history or HISTORY
    if history is None and not Path(HISTORY).is_file():
        remark("there is no price history yet, so it is not known to which targets the rules apply")
        targets, groups = None, None
    else:
        with opened(name) as found:
            targets, groups = found.targets(), read_groups(found.database)
    rows = []
    for rule in book.rules:
        count = "" if targets is None else f"{sum(rule.applies(target) for target in targets):,}"
        reason = "" if targets is None else never_fires(rule, targets, groups)
        kind = "while true" if rule.condition.kind in STATES else "for a change"
        rows.append((rule.name, rule.text, kind, rule.severity, count, reason))
    heads = ("rule", "when", "fires", "severity", "targets", "can never fire")
    if as_json:
        put_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        put_table(heads, rows, right=("targets",), long=("can never fire",))
    return 0


def failing(
    state: Annotated[
        str | None, Option("--state", metavar="STATE", help="Only gone, moved, blocked, empty ...")
    ] = None,
    shop: Annotated[str | None, Option("--shop", metavar="SHOP", help="Only this shop.")] = None,
    runs: Annotated[
        int, Option("--runs", metavar="N", help="Failed in at least N runs in a row (default 1).")
    ] = 1,
    history: HistoryUrl = None,
    output: Annotated[
        str | None, Option("-o", "--output", metavar="FILE", help="Write the table to .xlsx, .parquet, ...")
    ] = None,
    as_csv: Annotated[
        bool, Option("--csv", help="A list of targets, with the new addresses of moved pages in `url`.")
    ] = False,
    as_json: Json = False,
) -> int:
    """List the targets that fail, with the start of the failure, the number of failed runs, and the last
    response.

    With --csv, the list can be used as the list of targets.
    """
    from gossamer.cli.printing import put_json, put_table
    from gossamer.uses.prices.failing import failing_csv, list_failing
    from gossamer.uses.prices.target_filter import TargetFilter

    if state is not None and state not in STATES:
        raise UsageError(f"--state {state}: choose {', '.join(STATES)}")
    with opened(history) as base:
        found = list_failing(
            base.database,
            state=state or "",
            chosen=TargetFilter(shop=shop or ""),
            least_runs=runs,
            limit=1_000_000,
        )
    if output is not None:
        from gossamer.cli.table_output import put_table_rows
        from gossamer.uses.prices.report_tables import failing_table

        put_table_rows("failing", failing_table(found), output, as_csv, as_json)
    elif as_csv:
        sys.stdout.write(failing_csv(found, _when))
    elif as_json:
        for one, url in found:
            put_json({**one._asdict(), "url": url})
    else:
        rows = [
            (one.target, one.state, _when(one.since), one.runs, one.address or one.tried[-1])
            for one, _ in found
        ]
        put_table(
            ("target", "state", "since", "runs", "new address, or what came back"), rows, right=("runs",)
        )
    return 0


def shops(
    accept: Annotated[
        str | None,
        Option(
            "--accept",
            metavar="SHOP",
            help="Make what a redesigned shop shows its known values, without alerts.",
        ),
    ] = None,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """List the shops with their state: ok, redesigned, away or moved."""
    from gossamer.cli.printing import put_json, put_table
    from gossamer.config.value_texts import format_number
    from gossamer.uses.prices.report_tables import shops_table

    with opened(history) as base:
        if accept is not None:
            if accept not in {one.shop for one in base.shops()}:
                raise UsageError(f"--accept {accept}: unknown shop; gossamer prices shops lists all shops")
            print(f"{accept}: {format_number(base.accept(accept), 'held value')} taken over")
            return 0
        found = shops_table(base.shops())
    if as_json:
        for row in found.rows:
            put_json(dict(zip(found.names, row, strict=True)))
    else:
        put_table(found.names, found.rows, right=("pages", "lost"), long=("detail",))
    return 0


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""


def opened(url: str | None) -> History:
    """Returns the price history. Raises UsageError if the price history does not exist."""
    from gossamer.config.redaction import register_in

    name = url or HISTORY
    register_in(name)
    if "://" not in name and not Path(name).is_file():
        raise UsageError(
            f"there is no price history {name}: run `gossamer prices run TARGETS` first, or give --history"
        )
    from gossamer.client.secrets import with_secrets
    from gossamer.uses.prices import history

    return history.History(with_secrets(name))
