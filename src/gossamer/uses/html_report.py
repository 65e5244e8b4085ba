"""Builds HTML reports: the document, its style, tables, links and charts. A report is one file for a browser
or a mail client. A report has no script, and loads no other files. A parameter that is described as a text is
escaped. All other parameters contain HTML.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
body{margin:0;background:#f6f7f9;color:#1c2430;font:15px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:27px;margin:0}h2{font-size:19px;margin:34px 0 10px}h3{font-size:15px;margin:0 0 2px}
.note{color:#566172;margin:2px 0 14px}.facts{margin:18px 0 0;padding:0}
.facts div{display:inline-block;background:#fff;border:1px solid #dde2e9;border-radius:8px;padding:10px 18px;margin:0 8px 8px 0}
.facts dt{color:#566172;font-size:13px}.facts dd{margin:0;font-size:22px;font-weight:600}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;background:#fff;border:1px solid #dde2e9}
th,td{padding:7px 11px;text-align:left;border-bottom:1px solid #e8ebf0;vertical-align:top}
th{background:#eef1f5;font-size:13px;white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.best{background:#e3f4ea;font-weight:600}
.chart{display:inline-block;vertical-align:top;max-width:100%;background:#fff;
border:1px solid #dde2e9;border-radius:8px;padding:12px 0 6px;margin:0 8px 10px 0}
.chart h3,.chart p{padding:0 14px}.chart svg{display:block;max-width:100%;height:auto}a{color:#0b57a4}
"""
Cell = tuple[str, str]
"""A table cell as a tuple of its CSS class and its HTML."""


def head(title: str, period: str, note: str, style: str = "") -> str:
    """Returns the beginning of a document, including its heading. All parameters except `style` are texts.
    `style`: CSS that the report needs in addition to STYLE."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}, {escape(period)}</title><style>{STYLE}{style}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="note">{escape(note)}</p>'
    )


END = "</main></body></html>\n"
"""The HTML at the end of a report."""


def facts(found: Iterable[tuple[str, str]]) -> str:
    """Returns the boxes with the main numbers of a report. `found`: pairs of a name and a value."""
    shown = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in found)
    return f'<dl class="facts">{shown}</dl>'


def section(
    title: str, heads: Sequence[str], rows: Sequence[Iterable[Cell]], empty: str, note: str = ""
) -> str:
    """Returns a heading and a table. `heads`: the column headings, as texts. The heading of a column of
    numbers ends in `:n`. `empty`: the message that replaces the table if there are no rows."""
    if not rows:
        return f'<h2>{title}</h2><p class="note">{empty}</p>'
    about = f'<p class="note">{note}</p>' if note else ""
    return f"<h2>{title}</h2>{about}{table(heads, rows)}"


def table(heads: Sequence[str], rows: Iterable[Iterable[Cell]]) -> str:
    """Returns a table that scrolls if it is too wide. `heads`: the column headings, as for `section`."""
    names = "".join(
        f'<th scope="col"{" class=n" if name.endswith(":n") else ""}>{escape(name.removesuffix(":n"))}</th>'
        for name in heads
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(cell: Cell) -> str:
    kind, shown = cell
    return f'<td class="{kind}">{shown}</td>' if kind else f"<td>{shown}</td>"


def link(url: str, shown: str = "") -> str:
    """Returns a link to a page, or only its text if the URL is not http(s). `shown`: the text to show instead
    of the URL."""
    text = escape(shown or url)
    if not url.startswith(("http://", "https://")):
        return text
    return f'<a href="{escape(url)}" rel="nofollow noreferrer">{text}</a>'


def svg(label: str, width: int, height: int, drawn: str, font_size: int = 12) -> str:
    """Returns an SVG drawing. `label`: a description for people who cannot see the drawing. The sizes are in
    pixels."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" font-size="{font_size}" fill="#566172" '
        f'font-family="system-ui,sans-serif">{drawn}</svg>'
    )


def date(seconds: float) -> str:
    """Returns the day (UTC) of a time, or `-` for 0."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds else "-"
