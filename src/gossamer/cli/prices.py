"""`gossamer prices plan` and `gossamer prices run`: the first command computes how long a price run takes,
and the second one makes the run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Argument, IfOlder, Json, Option, Quiet
from gossamer.cli.record_output import PriceKinds, RecordOutputs, RecordsToSend, objects_of, sending_folder
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.prices.model import Event, PriceTarget
    from gossamer.uses.prices.plan import RunPlan
    from gossamer.uses.prices.run import PriceRunSummary, RunOptions
    from gossamer.uses.prices.targets import TargetList
    from gossamer.uses.record_stream import SentRecords

UNFIT = 3
"""The exit code if a run does not fit into the time that the option `--within` allows."""
MAX_SHOWN = 10
MAX_SHOWN_CHANGES = 50

Sources = Annotated[
    list[str],
    Argument(
        metavar="TARGETS...", help="CSV, JSON lines, Excel or text; sitemap:URL; 'sql:DATABASE QUERY'; URLs."
    ),
]
History = Annotated[
    str | None,
    Option(
        "--history", metavar="DB", help="The price history: a file (default prices.db) or postgresql://..."
    ),
]
Delay = Annotated[
    str | None,
    Option("--delay", metavar="SECONDS", help="Between two visits of a host: 5, or a range (default 2-8)."),
]
Within = Annotated[
    str | None, Option("--within", metavar="TIME", help="The run must end after this time: 3h.")
]
Spread = Annotated[
    str | None, Option("--spread", metavar="TIME", help="Spread the visits evenly over this time: 24h.")
]
Bandwidth = Annotated[str | None, Option("--bandwidth", metavar="MBIT", help="Mbit/s that the run may use.")]
DataFolder = Annotated[
    str | None, Option("--data", metavar="DIR", help="The data folder (default .gossamer).")
]
Store = Annotated[
    str | None,
    Option("--store", metavar="URL", help="A shared store, for the pace of hosts that others visit, too."),
]
Processes = Annotated[
    str | None,
    Option("--processes", metavar="N", help="Visit pages in N processes, or auto: one per core (default 1)."),
]
Fleet = Annotated[
    bool,
    Option("--fleet", help="The workers of the fleet visit the pages. Needs --store, and PostgreSQL."),
]
Selectors = Annotated[
    str | None,
    Option(
        "--selectors", metavar="FILE", help="The table of selectors (default selectors.csv, if it exists)."
    ),
]
Rejected = Annotated[
    str | None,
    Option("--rejected", metavar="FILE", help="Where bad lines go (default TARGETS.rejected.jsonl)."),
]
Ladder = Annotated[
    str | None, Option("--ladder", metavar="RUNGS", help="plain (default), impersonated, browser.")
]
Proxies = Annotated[
    list[str] | None, Option("--proxies", metavar="FILE", help="A list of proxies; repeatable.")
]
Setting = Annotated[
    list[str] | None, Option("-s", "--setting", metavar="NAME=VALUE", help="Any setting of a crawl.")
]
Partly = Annotated[
    bool, Option("--partly", help="Run although --within does not suffice; the rest comes first next time.")
]
SELECTORS = "selectors.csv"


def seconds(option: str, text: str | None) -> float | None:
    """Parses the time of an option, such as `3h`, and returns it in seconds. Raises UsageError."""
    from gossamer.config.value_parsers import seconds as parse

    if text is None:
        return None
    try:
        found = parse(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}") from None
    if found <= 0:
        raise UsageError(f"{option} {text!r}: the time must be longer than 0")
    return found


def delays(text: str) -> tuple[float, float]:
    """Returns the shortest and the longest delay of `--delay`, in seconds. Raises UsageError."""
    low, _, high = text.partition("-")
    try:
        found = float(low.rstrip("s")), float((high or low).rstrip("s"))
    except ValueError:
        raise UsageError(f"--delay {text!r}: write seconds, or a range such as 2-8") from None
    if not 0 <= found[0] <= found[1]:
        raise UsageError(f"--delay {text!r}: the first number of a range is the smaller one")
    return found


def read_list(sources: list[str], rejected: str | None) -> TargetList:
    """Reads targets. Prints notes and rejected lines on stderr. Raises UsageError if there is no target."""
    from gossamer.cli.printing import remark
    from gossamer.uses.prices.rules import rules_of_targets
    from gossamer.uses.prices.targets import read_targets, write_rejected

    found = read_targets(sources)
    for note in found.notes:
        remark(note)
    if found.rejected:
        path = Path(rejected or _beside(sources[0]))
        write_rejected(path, found.rejected)
        for one in found.rejected[:MAX_SHOWN]:
            remark(f"{one.source} line {one.line}: {one.reason}")
        remark(
            f"{len(found.rejected):,} bad lines are kept in {path}; the other {len(found.targets):,} are used"
        )
    bad = rules_of_targets(found.targets)[1]
    for note in bad[:MAX_SHOWN]:
        remark(note)
    if bad:
        remark(f"{len(bad):,} rules of targets are wrong and do not apply; the targets are watched")
    if not found.targets:
        raise UsageError(f"{', '.join(sources)[:200]}: it contains no targets")
    return found


def _beside(source: str) -> str:
    return f"{source}.rejected.jsonl" if Path(source).is_file() else "targets.rejected.jsonl"


def _plan_of(found: TargetList, delay: str | None, window: float | None, bandwidth: str | None) -> RunPlan:
    from gossamer.uses.prices.plan import make_plan
    from gossamer.uses.prices.targets import pages_of_hosts

    try:
        megabits = None if bandwidth is None else float(bandwidth)
    except ValueError:
        megabits = 0.0
    if megabits is not None and megabits <= 0:
        raise UsageError(f"--bandwidth {bandwidth!r}: write Mbit/s, such as 20")
    return make_plan(
        pages_of_hosts(found.targets),
        len(found.targets),
        delay=delays(delay or "2-8"),
        window_s=window,
        megabits=megabits,
    )


def plan(
    sources: Sources,
    delay: Delay = None,
    within: Within = None,
    bandwidth: Bandwidth = None,
    rejected: Rejected = None,
    as_json: Json = False,
) -> int:
    """Tell how long a run takes, and which pages do not fit into --within.

    Exit code 3 if not all pages fit into --within.
    """
    import msgspec

    from gossamer.cli.printing import put_json

    made = _plan_of(read_list(sources, rejected), delay, seconds("--within", within), bandwidth)
    if as_json:
        put_json({**msgspec.to_builtins(made), "fits": made.fits})
    else:
        print_plan(made)
    return 0 if made.fits else UNFIT


def print_plan(made: RunPlan) -> None:
    """Prints a plan on stdout."""
    from gossamer.cli.printing import put_table
    from gossamer.uses.prices.plan import told_hours

    shown = made.hosts[:MAX_SHOWN]
    rows = [
        (one.host, f"{one.pages:,}", told_hours(one.hours), f"{one.unfit:,}" if one.unfit else "")
        for one in shown
    ]
    if rest := made.hosts[MAX_SHOWN:]:
        hours = max(one.hours for one in rest)
        unfit = sum(one.unfit for one in rest)
        rows.append(
            (
                f"{len(rest)} other hosts",
                f"{sum(one.pages for one in rest):,}",
                told_hours(hours),
                f"{unfit:,}" if unfit else "",
            )
        )
    put_table(("host", "pages", "time", "do not fit"), rows, right=("pages", "time", "do not fit"))
    print(f"\n{summary_of_plan(made)}")
    for reason in made.reasons[:MAX_SHOWN]:
        print(reason)


def summary_of_plan(made: RunPlan) -> str:
    """Summarizes a plan in one sentence."""
    from gossamer.uses.prices.plan import told_hours

    low, high = made.delay
    delay = f"{low:g} s" if low == high else f"{low:g} to {high:g} s"
    line = (
        f"{made.pages:,} page{'s' * (made.pages != 1)} of {len(made.hosts):,} host{'s' * (len(made.hosts) != 1)} "
        f"with {delay} between visits of a host: "
        f"{told_hours(made.hours)}, bound by {made.bound_by}"
    )
    if made.window_hours is None:
        return line
    if made.fits:
        return f"{line}; this fits into {told_hours(made.window_hours)}"
    return f"{line}; {made.unfit:,} pages do not fit into {told_hours(made.window_hours)}"


def run(
    sources: Sources,
    history: History = None,
    data: DataFolder = None,
    selectors: Selectors = None,
    delay: Delay = None,
    within: Within = None,
    spread: Spread = None,
    partly: Partly = False,
    store: Store = None,
    processes: Processes = None,
    fleet: Fleet = False,
    ladder: Ladder = None,
    proxies: Proxies = None,
    setting: Setting = None,
    if_older: IfOlder = None,
    rejected: Rejected = None,
    output: RecordOutputs = None,
    what: PriceKinds = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Visit all product pages, and record every change of price or availability.

    To continue a run that was stopped or killed, repeat the same command. -o sends the records at the end.
    """
    from gossamer.cli.printing import hush_remarks
    from gossamer.cli.scheduled_commands import check_crawl_options, end_of_checks
    from gossamer.config.redaction import register_in
    from gossamer.uses.prices.records import KINDS
    from gossamer.uses.prices.run import RunOptions, check_history
    from gossamer.uses.prices.selector_table import read_selectors

    hush_remarks(quiet)
    register_in(history or "")
    found = read_list(sources, rejected)
    made = _plan_of(found, delay, window := seconds("--within", within), None)
    has_time = fleet or store or window or any(text.startswith("retries=") for text in setting or ())
    if not _begins(made, partly, bool(has_time)):
        return UNFIT
    crawl = _given(
        data=data, store=store, processes=processes, ladder=ladder, proxies=proxies, setting=setting
    )
    options = RunOptions(
        history=history or "prices.db",
        fleet=fleet,
        selectors=selectors or (SELECTORS if Path(SELECTORS).is_file() else None),
        delay=delay or "2-8",
        within=window,
        spread=seconds("--spread", spread),
        if_older=seconds("--if-older", if_older),
        crawl=crawl | {"progress": not quiet},
    )
    records = RecordsToSend(output, KINDS, what, sending_folder(history, "prices.db", "prices"))
    end_of_checks(
        lambda: check_history(options),
        lambda: read_selectors(options.selectors),
        lambda: check_crawl_options(crawl),
    )
    return _run_and_print(found.targets, options, records, as_json)


def _run_and_print(
    targets: Sequence[PriceTarget], options: RunOptions, records: RecordsToSend, as_json: bool
) -> int:
    from gossamer.cli.prices_rules import opened
    from gossamer.cli.printing import remark
    from gossamer.uses.prices.run import run as run_prices

    events: list[Event] = []
    try:
        done = run_prices(targets, options, remark, events.extend)
    except KeyboardInterrupt:
        remark("stopped: the results so far are recorded, and the same command continues the run")
        raise
    records.send_after(lambda: opened(options.history), lambda sent: _print_run(done, events, sent, as_json))
    return 0


def _begins(made: RunPlan, partly: bool, has_time: bool) -> bool:
    """Prints the plan of a run, and returns whether the run begins. `has_time`: whether the run makes all
    retries."""
    from gossamer.cli.printing import remark

    remark(summary_of_plan(made))
    if not has_time:
        remark("pages that fail are tried again for at most 2 minutes after the others")
    if made.fits or partly:
        return True
    for reason in made.reasons[:MAX_SHOWN]:
        remark(reason)
    remark("give --partly to run as much as fits, longer --within, or a shorter --delay")
    return False


def _given(**options: object) -> dict[str, object]:
    """Returns only the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def _print_run(
    done: PriceRunSummary, events: Sequence[Event], sent: Sequence[SentRecords], as_json: bool
) -> None:
    import msgspec

    from gossamer.cli.printing import put_json

    if as_json:
        found = {**msgspec.to_builtins(done), "events": [msgspec.to_builtins(one) for one in events]}
        put_json({**found, "sent": objects_of(sent)} if sent else found)
    else:
        print_changes(events)
        print_summary(done)


def print_changes(events: Sequence[Event]) -> None:
    """Prints the changes of a run on stdout."""
    from gossamer.cli.printing import put_table, remark

    changes = [one for one in events if one.kind != "first"]
    rows = []
    for one in changes[:MAX_SHOWN_CHANGES]:
        what = f"{one.target or one.shop} {one.variant}".strip()
        unit = f" {one.currency}" if one.currency and one.kind in ("price", "regular-price") else ""
        rows.append((str(one.kind), what, f"{one.before or ''}", f"{one.after or ''}{unit}", one.detail))
    if rows:
        put_table(("change", "target", "before", "after", "detail"), rows, long=("detail",))
        sys.stdout.write("\n")
    if len(changes) > MAX_SHOWN_CHANGES:
        remark(f"{len(changes) - MAX_SHOWN_CHANGES:,} more changes: --json shows all")


def print_summary(done: PriceRunSummary) -> None:
    """Prints the summary of a run on stdout."""
    from gossamer.config.value_texts import format_duration, format_number

    parts = [f"{done.checked:,} of {format_number(done.pages, 'page')} checked"]
    if done.unchanged:
        parts[0] += f" ({done.unchanged:,} unchanged on the server)"
    if done.recent:
        parts.append(f"{done.recent:,} checked within --if-older")
    if done.first_prices:
        parts.append(f"{format_number(done.first_prices, 'price')} recorded for the first time")
    parts.append(format_number(done.changes, "change"))
    if done.held:
        parts.append(f"{format_number(done.held, 'value')} held until the next run")
    if done.failing:
        parts.append(f"{format_number(done.failing, 'target')} failing (gossamer prices failing)")
    parts.append(f"{done.fresh_share:.1%} of the pages checked within 24 hours")
    print(f"run {done.run} {done.state} in {format_duration(done.seconds)}: {', '.join(parts)}")
