"""Renders an audit as one HTML file for a browser or a mail client. The file has no script and loads nothing.
All texts from pages are escaped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from itertools import islice
from typing import Final

from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.findings import fixed_findings
from gossamer.uses.audit.model import AuditSummary, CheckOutcome
from gossamer.uses.audit.registry import GROUPS
from gossamer.uses.html_report import END, Cell, breakable, facts, head, link, section, table
from gossamer.uses.numbers import counted, percent

MAX_ROWS: Final = 100
"""Maximum number of findings of a check that the report shows."""
_ORDER: Final = {"error": 0, "warning": 1, "notice": 2, "info": 3}
_FINDING: Final = ("page", "other page", "detail")


def render_report(database: AuditDatabase, summary: AuditSummary) -> Iterator[str]:
    """Yields the parts of a whole HTML document."""
    title = f"Audit of {summary.url}"
    record = next(one for one in database.audits() if one.number == summary.audit)
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(record.started))
    yield head(title, when, f"{when} (UTC), audit {summary.audit}")
    yield _facts(summary)
    if summary.reasons:
        yield (
            '<p class="warn">The crawl did not see the whole site, so some findings are only likely, or checks inconclusive: '
            f"{escape('; '.join(summary.reasons))}.</p>"
        )
    yield _overview(summary)
    for check in sorted(summary.checks, key=lambda one: _ORDER[one.severity]):
        if check.count or check.fixed:
            yield _section(database, summary, check)
    yield _silent(summary)
    yield END


def _facts(summary: AuditSummary) -> str:
    numbers = [
        ("pages", f"{summary.pages:,}"),
        *([("visited before", f"{summary.recent:,}")] if summary.recent else []),
        ("indexable", f"{summary.indexable:,}"),
        ("errors", f"{summary.errors:,}"),
        ("warnings", f"{summary.warnings:,}"),
        ("notices", f"{summary.notices:,}"),
    ]
    if summary.before is not None:
        numbers += [("new", f"{summary.new:,}"), ("fixed", f"{summary.fixed:,}")]
    compared = (
        f'<p class="note">New and fixed: compared with audit {summary.before}.</p>' if summary.before else ""
    )
    return f"{facts(numbers)}{compared}"


def _overview(summary: AuditSummary) -> str:
    rows = []
    for group in GROUPS:
        found = [one for one in summary.checks if one.group == group]
        counts = [
            sum(one.count for one in found if one.severity == severity)
            for severity in ("error", "warning", "notice")
        ]
        if found:
            cells = [("n", f"{n:,}" if n else "-") for n in counts]
            change = _change(sum(one.new for one in found), sum(one.fixed for one in found))
            rows.append([("", escape(group)), ("n", f"{len(found):,}"), *cells, ("n", change)])
    heads = ("group", "checks:n", "errors:n", "warnings:n", "notices:n", "change:n")
    return f"{section('Overview', heads, rows, '')}<h2>Findings</h2>"


def _change(new: int, fixed: int) -> str:
    parts = []
    if new:
        parts.append(f'<span class="bad">{new:,} new</span>')
    if fixed:
        parts.append(f'<span class="good">{fixed:,} fixed</span>')
    return " ".join(parts)


def _section(database: AuditDatabase, summary: AuditSummary, check: CheckOutcome) -> str:
    query = (
        "SELECT url, target, detail, is_new FROM findings WHERE audit = ? AND check_id = ? "
        "ORDER BY is_new DESC, url, target LIMIT ?"
    )
    rows = [
        _row(url, target, detail, ' <span class="bad">new</span>' if new else "")
        for url, target, detail, new in database.rows(query, [summary.audit, check.id, MAX_ROWS])
    ]
    if check.fixed and summary.before is not None:
        gone = fixed_findings(database, summary.audit, summary.before, check.id, whole=summary.whole)
        mark = ' <span class="good">fixed</span>'
        rows += [_row(one.url, one.target, one.detail, mark) for one in islice(gone, MAX_ROWS)]
    more = (
        f'<p class="note">The first {MAX_ROWS} of {check.count:,}. All of them: -o FOLDER/ or -o FILE.xlsx.</p>'
        if check.count > MAX_ROWS
        else ""
    )
    reason = f'<p class="note">{escape(check.reason)}</p>' if check.reason else ""
    share = f", on {percent(check.share)} of the indexable pages" if check.share >= 0.01 else ""
    return (
        f'<details class="box" id="{check.id}"{" open" if check.severity == "error" else ""}><summary>'
        f'<span class="s {check.severity}">{check.severity}</span> <b>{escape(check.title)}</b> '
        f"{counted(check.count, 'finding')}{share} {_change(check.new, check.fixed)}</summary><div>"
        f'<p class="note">{escape(check.fix)}</p>{reason}{table(_FINDING, rows, stacked=True)}{more}</div></details>\n'
    )


def _row(url: str, target: str, detail: str, mark: str) -> list[Cell]:
    other = link(target) if target != detail else ""
    return [("u", link(url)), ("u" if other else "", other), ("u", f"{breakable(detail)}{mark}")]


def _silent(summary: AuditSummary) -> str:
    """Returns HTML that lists the checks without findings and the checks without a result."""
    undecided = [one for one in summary.checks if one.state in ("inconclusive", "skipped")]
    clean = [one for one in summary.checks if not one.count and one.state in ("checked", "partial")]
    parts = []
    if undecided:
        rows = [[("", escape(one.title)), ("", one.state), ("u", escape(one.reason))] for one in undecided]
        parts.append(f"<h2>Not decided</h2>{table(('check', 'state', 'reason'), rows, stacked=True)}")
    if clean:
        rows = [[("", escape(one.title)), ("", escape(one.group))] for one in clean]
        parts.append(section("Nothing found", ("check", "group"), rows, ""))
    return "".join(parts)
