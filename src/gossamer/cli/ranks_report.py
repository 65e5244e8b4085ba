"""`gossamer ranks alert`, `send`, `rules`, `report`, `export`, `import` and `reparse`: send alerts, check rules, and
read and write rank histories."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.alert_output import Outputs, put_reported
from gossamer.cli.options import Argument, Json, Option, Setting
from gossamer.cli.ranks import (
    Country,
    Device,
    Domain,
    Engine,
    Language,
    Layout,
    Rejected,
    defaults_of,
    read_list,
)
from gossamer.cli.ranks_tables import HISTORY, Curve, HistoryUrl, Month, opened
from gossamer.cli.record_output import (
    Again,
    RankKinds,
    RecordOutputs,
    RecordsToSend,
    put_sent,
    sending_folder,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.ranks.import_pages import Imported

RULES = "rank-rules.toml"
DAY_S = 86_400.0
MAX_SHOWN = 10


def alert(
    rules: Annotated[
        str | None,
        Option("--rules", metavar="FILE", help=f"The file of rules (default {RULES}, if it exists)."),
    ] = None,
    output: Outputs = None,
    history: HistoryUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Evaluate the rules for the results of runs, and send the alerts and events that were not sent yet.

    Alerts are sent to the receivers in the setting `alerts`. Exit code 9 if an alert or an event cannot be
    sent.
    """
    from gossamer.cli.printing import remark
    from gossamer.uses.ranks.after_run import report_changes

    file = rules or (RULES if Path(RULES).is_file() else None)
    with opened(history) as found:
        folder = str(Path(HISTORY if "://" in found.url else found.url).parent / ".gossamer" / "ranks")
        options = {"setting": setting} if setting else {}
        told = report_changes(
            found, rules=file, outputs=output or (), folder=folder, options=options, tell=remark
        )
    return put_reported(told, as_json)


def send(
    output: RecordOutputs = None,
    what: RankKinds = None,
    again: Again = False,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Send the recorded positions, results, checks and events to outputs: each output gets what it does not have
    yet.

    A record is sent at least once, always with the same id. The history keeps all records.
    """
    from gossamer.uses.ranks.records import KINDS

    records = RecordsToSend(output, KINDS, what, sending_folder(history, HISTORY, "ranks"), needed=True)
    return put_sent(records.send(lambda: opened(history), again=again), as_json)


def rules(
    file: Annotated[str, Argument(metavar="FILE", help="The file of rules.")] = RULES,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Check a file of rules. For each rule, show the condition, the number of keywords to which the rule
    applies, and the reason if the rule can never fire."""
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.uses.ranks.after_run import never_fires
    from gossamer.uses.ranks.rules import STATES, read_rules

    book = read_rules(file)
    rows = []
    if history is None and not Path(HISTORY).is_file():
        remark("there is no rank history yet, so it is not known to which keywords the rules apply")
        facts = [("", "") for _ in book.rules]
    else:
        with opened(history) as found:
            keywords = found.keywords()
            facts = [
                (f"{sum(rule.applies(one) for one in keywords):,}", never_fires(rule, found))
                for rule in book.rules
            ]
    for rule, (count, reason) in zip(book.rules, facts, strict=True):
        kind = "while true" if rule.condition.kind in STATES else "for a change"
        rows.append((rule.name, rule.text, kind, rule.severity, count, reason))
    heads = ("rule", "when", "fires", "severity", "keywords", "can never fire")
    if as_json:
        put_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        put_table(heads, rows, right=("keywords",), long=("can never fire",))
    return 0


def report(
    output: Annotated[
        str, Option("-o", "--output", metavar="FILE", help="The HTML file (default ranks.html).")
    ] = "ranks.html",
    domain: Annotated[
        str | None, Option("--domain", metavar="DOMAIN", help="Default: the domain with most keywords.")
    ] = None,
    days: Month = 30,
    curve: Curve = None,
    show: Annotated[
        str | None,
        Option("--show", metavar="KEYWORD", help="The keyword whose result page is shown beside its parse."),
    ] = None,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Write an HTML report with gains and losses, histories, competitors, features and failed checks.

    The report is a single file without scripts or external resources, so it can be sent by email.
    """
    from gossamer.uses.ranks.measures import read_curve
    from gossamer.uses.ranks.report import read_report
    from gossamer.uses.ranks.report_html import render_report

    with opened(history) as base:
        found = read_report(
            base,
            now=time.time(),
            days=days,
            domain=domain or "",
            curve=read_curve(curve),
            curve_name=curve or "",
            show=show or "",
        )
    try:
        Path(output).write_text(render_report(found), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"-o {output}: {error.strerror}") from error
    facts = {
        "keywords": found.checked,
        "moves": len(found.moves),
        "charts": len(found.charts),
        "failed": len(found.failing),
    }
    if as_json:
        from gossamer.cli.printing import put_json

        put_json({"file": output, **facts})
    else:
        print(f"{output}: {', '.join(f'{count:,} {name}' for name, count in facts.items())}")
    return 0


def export(
    file: Annotated[str, Argument(metavar="FILE", help="FILE.csv, FILE.xlsx or FILE.parquet.")],
    what: Annotated[
        str | None,
        Option("--what", metavar="TABLE", help="positions (default), checks, features, events or results."),
    ] = None,
    days: Annotated[int | None, Option("--days", metavar="N", least=1, help="Only the last N days.")] = None,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Export the rank history to a CSV, Excel or Parquet file. An Excel file has one sheet per table."""
    from gossamer.uses.ranks.export import export as write

    after = 0.0 if days is None else time.time() - days * DAY_S
    with opened(history) as base:
        counts = write(base, file, what or "", after=after)
    if as_json:
        from gossamer.cli.printing import put_json

        put_json({"file": file, "rows": counts})
    else:
        print(f"{file}: {', '.join(f'{count:,} {name}' for name, count in counts.items())}")
    return 0


def import_(
    pages: Annotated[
        list[str], Argument(metavar="PAGES...", help="HTML or JSON files (also .gz), folders, WARC files.")
    ],
    keywords: Annotated[
        str, Option("--keywords", metavar="FILE", help="The list of keywords whose pages these are.")
    ],
    first: Annotated[
        int, Option("--first", metavar="N", least=1, help="The first N results (default 10).")
    ] = 10,
    domain: Domain = None,
    engine: Engine = None,
    country: Country = None,
    language: Language = None,
    device: Device = None,
    layout: Layout = None,
    history: HistoryUrl = None,
    rejected: Rejected = None,
    as_json: Json = False,
) -> int:
    """Import saved result pages into the rank history. All pages of one day are imported as one run.

    The keyword of a page is read from the page's URL (in the WARC record, or after `saved from`) or from the
    page's search field. The time of a page is the time of its WARC record or of its file.
    """
    from gossamer.parsing.ranks.page_rules import load
    from gossamer.uses.ranks.history import RankHistory
    from gossamer.uses.ranks.import_pages import import_pages, read_saved
    from gossamer.uses.ranks.pages_to_fetch import Depth

    found = read_list([keywords], None, defaults_of(domain, engine, country, language, device))
    with RankHistory(history or HISTORY) as base:
        base.list_keywords(found.keywords)
        done = import_pages(
            base, read_saved(pages), depth=Depth("custom", first), layout=load(layout) if layout else None
        )
    return _print_imported(done, rejected, as_json)


def _print_imported(done: Imported, rejected: str | None, as_json: bool) -> int:
    from gossamer.cli.printing import put_json, remark
    from gossamer.uses.prices.targets import write_rejected
    from gossamer.uses.ranks.import_pages import shown_rejected

    for line in shown_rejected(done.rejected, MAX_SHOWN):
        remark(line)
    if done.rejected:
        path = Path(rejected or "pages.rejected.jsonl")
        write_rejected(path, done.rejected)
        remark(f"{len(done.rejected):,} pages were not taken; {path} has the reasons")
    if as_json:
        put_json(
            {
                "pages": done.pages,
                "runs": done.runs,
                "rejected": len(done.rejected),
                "events": len(done.events),
            }
        )
    else:
        print(f"{done.pages:,} pages of {done.runs:,} days, {len(done.events):,} changes")
    if not done.pages:
        raise UsageError("no page belongs to a keyword of the list")
    return 0


def reparse(
    layout: Layout = None,
    everything: Annotated[bool, Option("--all", help="Also pages that this data file has parsed.")] = False,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Parse the stored result pages again with the current data file, and correct the positions. Each
    corrected position has a note.

    `gossamer ranks run` also does this automatically when the data file has changed.
    """
    from gossamer.cli.printing import put_json
    from gossamer.parsing.ranks import result_page
    from gossamer.parsing.ranks.page_rules import default, load
    from gossamer.uses.ranks.reparse import parse_again

    data = load(layout) if layout else default()
    with opened(history) as base:
        done = parse_again(
            base,
            data.version,
            lambda body, engine, url: result_page(body, engine, url, data=data),
            everything=everything,
        )
    if as_json:
        put_json({**done._asdict(), "data": data.version})
    else:
        print(
            f"{done.pages:,} pages parsed again with data {data.version}: {done.checks:,} checks read differently, "
            f"{done.corrected:,} positions corrected"
        )
    return 0
