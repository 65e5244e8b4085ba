"""Builds HTML reports: the document, its style, tables, links and charts. A report is one file for a browser
or a mail client. A report has no script, and loads no other files. A parameter that is described as a text is
escaped. All other parameters contain HTML.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

STYLE = Path(__file__).with_name("page_style.css").read_text(encoding="utf-8").partition("\n")[2]
"""The style of all reports, and of the dashboard. A report has no style of its own."""
_BREAKS = re.compile(r"([/.?=_])(?=\w)")
Cell = tuple[str, str]
"""A table cell as a tuple of its CSS class and its HTML."""


def head(title: str, period: str, note: str) -> str:
    """Returns the beginning of a document, including its heading. All parameters are texts."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}, {escape(period)}</title><style>{STYLE}</style></head><body><main>"
        f'<h1>{" ".join(map(_title_word, title.split(" ")))}</h1><p class="note">{escape(note)}</p>'
    )


def _title_word(word: str) -> str:
    """Returns a word of a title as HTML. A URL stays on one line if it fits on one."""
    return f'<span class="b">{breakable(word)}</span>' if "://" in word else escape(word)


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


def table(heads: Sequence[str], rows: Iterable[Iterable[Cell]], *, stacked: bool = False) -> str:
    """Returns a table that scrolls if it is too wide. A column without any text is left out. `heads`: the column headings, as
    for `section`. `stacked`: whether a narrow screen shows the cells of a row below one another instead."""
    cells = [[*row] for row in rows]
    shown = [place for place in range(len(heads)) if not cells or any(row[place][1] for row in cells)]
    names = "".join(
        f'<th scope="col"{" class=n" if name.endswith(":n") else ""}>{escape(name.removesuffix(":n"))}</th>'
        for name in (heads[place] for place in shown)
    )
    body = "".join(f"<tr>{''.join(_cell(row[place]) for place in shown)}</tr>" for row in cells)
    kind = "wide stack" if stacked else "wide"
    top = f"<thead><tr>{names}</tr></thead>" if any(heads) else ""
    return f'<div class="{kind}" tabindex="0"><table>{top}<tbody>{body}</tbody></table></div>'


def _cell(cell: Cell) -> str:
    kind, shown = cell
    return f'<td class="{kind}">{shown}</td>' if kind else f"<td>{shown}</td>"


def link(url: str, shown: str = "") -> str:
    """Returns a link to a page, or only its text if the URL is not http(s). `shown`: the text to show instead
    of the URL."""
    text = breakable(shown or url)
    if not url.startswith(("http://", "https://")):
        return text
    return f'<a href="{escape(url)}" rel="nofollow noreferrer">{text}</a>'


def breakable(text: str) -> str:
    """Returns a text as HTML. A browser may break the URLs in it after the signs between their words.

    >>> breakable("see https://example.com/a-b")
    'see https://<wbr>example.<wbr>com/<wbr>a-b'
    """
    return _BREAKS.sub(r"\1<wbr>", escape(text)) if "/" in text else escape(text)


def chart(title: str, note: str, drawn: str, *, small: bool = False) -> str:
    """Returns the box of a chart. `drawn`: the drawing, of `uses.charts`."""
    kind = "chart" if small else "chart large"
    return f'<div class="{kind}"><h3>{title}</h3><p class="note">{note}</p>{drawn}</div>'


def legend_entry(color: str, name: str) -> str:
    """Returns an entry of a chart's legend, which stays on one line. `color`: a colour of `uses.charts`. `name`: a
    text."""
    return f'<span class="key"><i class="{color[6:-1]}"></i>{escape(name)}</span>'


def date(seconds: float) -> str:
    """Returns the day (UTC) of a time, or `-` for 0."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds else "-"
