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
from gossamer.uses.html_report import END, facts, head, link

MAX_ROWS: Final = 100
"""Maximum number of findings of a check that the report shows."""
_ORDER: Final = {"error": 0, "warning": 1, "notice": 2, "info": 3}
_STYLE: Final = """
h1{overflow-wrap:anywhere}th,td{padding:6px 11px;overflow-wrap:anywhere}
.warn{background:#fff6e0;border:1px solid #e8cf8f;border-radius:8px;padding:10px 16px;margin:16px 0 0}
.s{display:inline-block;min-width:62px;text-align:center;border-radius:5px;padding:1px 7px;font-size:13px;font-weight:600}
.error{background:#fbe3e3;color:#8f1a1a}.warning{background:#fff0cf;color:#7a5200}.notice{background:#e3edf9;color:#0b4a8f}
.info{background:#ececec;color:#333}
details{background:#fff;border:1px solid #dde2e9;border-radius:8px;margin:0 0 8px}
summary{cursor:pointer;padding:9px 14px}summary b{margin:0 6px}details>div{padding:0 14px 14px}
.new{color:#a32020;font-weight:600}.fixed{color:#0b6b3a;font-weight:600}.out{color:#566172}
"""


def render_report(database: AuditDatabase, summary: AuditSummary) -> Iterator[str]:
    """Yields the parts of a whole HTML document."""
    title = f"Audit of {summary.url}"
    record = next(one for one in database.audits() if one.number == summary.audit)
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(record.started))
    yield head(title, when, f"{when} (UTC), audit {summary.audit}", _STYLE)
    yield _facts(summary)
    if summary.reasons:
        yield (
            '<p class="warn">The crawl did not see the whole site, so some checks are inconclusive: '
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
            cells = "".join(f"<td class=n>{n:,}</td>" if n else "<td class=n>-</td>" for n in counts)
            new, fixed = sum(one.new for one in found), sum(one.fixed for one in found)
            change = f"<td class=n>{_change(new, fixed)}</td>"
            rows.append(f"<tr><td>{escape(group)}</td><td class=n>{len(found)}</td>{cells}{change}</tr>")
    heads = "".join(
        f'<th scope="col"{" class=n" if place else ""}>{name}</th>'
        for place, name in enumerate(("group", "checks", "errors", "warnings", "notices", "change"))
    )
    return (
        f"<h2>Overview</h2><table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        "<h2>Findings</h2>"
    )


def _change(new: int, fixed: int) -> str:
    parts = []
    if new:
        parts.append(f'<span class="new">{new:,} new</span>')
    if fixed:
        parts.append(f'<span class="fixed">{fixed:,} fixed</span>')
    return " ".join(parts)


def _section(database: AuditDatabase, summary: AuditSummary, check: CheckOutcome) -> str:
    query = (
        "SELECT url, target, detail, is_new FROM findings WHERE audit = ? AND check_id = ? "
        "ORDER BY is_new DESC, url, target LIMIT ?"
    )
    rows = "".join(
        f"<tr><td>{link(url)}</td><td>{link(target) if target != detail else ''}</td><td>{escape(detail)}"
        f"{' <span class=new>new</span>' if new else ''}</td></tr>"
        for url, target, detail, new in database.rows(query, [summary.audit, check.id, MAX_ROWS])
    )
    if check.fixed and summary.before is not None:
        gone = fixed_findings(database, summary.audit, summary.before, check.id, whole=summary.whole)
        rows += "".join(
            f'<tr class="out"><td>{link(one.url)}</td><td>{link(one.target) if one.target != one.detail else ""}</td>'
            f"<td>{escape(one.detail)} <span class=fixed>fixed</span></td></tr>"
            for one in islice(gone, MAX_ROWS)
        )
    more = (
        f'<p class="note">The first {MAX_ROWS} of {check.count:,}. All of them: -o FOLDER/ or -o FILE.xlsx.</p>'
        if check.count > MAX_ROWS
        else ""
    )
    reason = f'<p class="note">{escape(check.reason)}</p>' if check.reason else ""
    share = f", {100 * check.share:.0f} % of the indexable pages" if check.share >= 0.01 else ""
    heads = '<th scope="col">page</th><th scope="col">other page</th><th scope="col">detail</th>'
    return (
        f'<details id="{check.id}"{" open" if check.severity == "error" else ""}><summary>'
        f'<span class="s {check.severity}">{check.severity}</span> <b>{escape(check.title)}</b> {check.count:,}'
        f"{share} {_change(check.new, check.fixed)}</summary><div>"
        f'<p class="note">{escape(check.fix)}</p>{reason}<table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</div></details>\n"
    )


def _silent(summary: AuditSummary) -> str:
    """Returns HTML that lists the checks without findings and the checks without a result."""
    undecided = [one for one in summary.checks if one.state in ("inconclusive", "skipped")]
    clean = [one for one in summary.checks if not one.count and one.state in ("checked", "partial")]
    parts = []
    if undecided:
        rows = "".join(
            f"<tr><td>{escape(one.title)}</td><td>{one.state}</td><td>{escape(one.reason)}</td></tr>"
            for one in undecided
        )
        parts.append(f"<h2>Not decided</h2><table><tbody>{rows}</tbody></table>")
    if clean:
        shown = "".join(f"<tr><td>{escape(one.title)}</td><td>{escape(one.group)}</td></tr>" for one in clean)
        parts.append(f"<h2>Nothing found</h2><table><tbody>{shown}</tbody></table>")
    return "".join(parts)
