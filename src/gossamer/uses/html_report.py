"""Builds HTML reports: the document, its style, tables, links and charts. A report is one file for a browser
or a mail client. A report has no script, and loads no other files. A parameter that is described as a text is
escaped. All other parameters contain HTML.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from html import escape

_LIGHT = (
    "--page:#f6f7f9;--box:#fff;--text:#1c2430;--quiet:#566172;--line:#dde2e9;--row:#e8ebf0;--head:#eef1f5;"
    "--link:#0b57a4;--good:#0b6b3a;--bad:#a32020;--best:#e3f4ea;--own:#eaf2fb;--mark:#fff0b3;--warn:#fff6e0;"
    "--error:#fbe3e3;--error-text:#8f1a1a;--warning:#fff0cf;--warning-text:#7a5200;--notice:#e3edf9;"
    "--notice-text:#0b4a8f;--info:#ececec;--info-text:#333;--band:#e6eaf0;--dash:#77839a;--in:#2a9d5c;"
    "--out:#c23b3b;--unknown:#b5bdc9;--c0:#0b57a4;--c1:#b45f06;--c2:#6a329f;--c3:#38761d;--c4:#a61c5d;"
    "--b0:#0b6b3a;--b1:#3f9a63;--b2:#9bc96f;--b3:#e3c04b;--b4:#e39a4b;--b5:#c9ced6;--b6:#e6e9ee"
)
_DARK = (
    "--page:#12161c;--box:#1b212a;--text:#e3e8ef;--quiet:#9da9b9;--line:#38424f;--row:#2a323d;--head:#252d38;"
    "--link:#82b8f5;--good:#6fd39b;--bad:#ff9a94;--best:#173a28;--own:#1c3047;--mark:#5c4b0a;--warn:#3a3115;"
    "--error:#4d2020;--error-text:#ffc2be;--warning:#45350f;--warning-text:#f5d389;--notice:#1d3553;"
    "--notice-text:#b5d5fb;--info:#333b46;--info-text:#d5dbe3;--band:#2c3542;--dash:#8492a8;--in:#43b877;"
    "--out:#ef7670;--unknown:#66717f;--c0:#82b8f5;--c1:#f0a860;--c2:#c7a0f0;--c3:#8fd37a;--c4:#f093bd;"
    "--b0:#2f9e63;--b1:#4fb57c;--b2:#9bc96f;--b3:#d8b945;--b4:#d88f43;--b5:#7b8593;--b6:#4a5462"
)
STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--page);color:var(--text);font:15px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif}}
main{{max-width:1240px;margin:0 auto;padding:28px 20px 48px}}
h1{{font-size:27px;line-height:1.25;margin:0}}h2{{font-size:19px;margin:34px 0 10px}}h3{{font-size:15px;margin:0 0 2px}}
h1,h2,h3,p,dd,summary{{overflow-wrap:break-word}}a{{color:var(--link)}}mark{{background:var(--mark);color:inherit}}
.note{{color:var(--quiet);margin:2px 0 14px}}.facts{{display:flex;flex-wrap:wrap;gap:8px;margin:18px 0;padding:0}}
.facts div{{background:var(--box);border:1px solid var(--line);border-radius:8px;padding:10px 18px}}
.facts dt{{color:var(--quiet);font-size:13px}}.facts dd{{margin:0;font-size:22px;font-weight:600}}
.warn{{background:var(--warn);border:1px solid var(--line);border-radius:8px;padding:10px 16px;margin:16px 0 0}}
.wide{{overflow-x:auto}}table{{border-collapse:collapse;width:100%;background:var(--box);border:1px solid var(--line)}}
th,td{{padding:7px 11px;text-align:left;border-bottom:1px solid var(--row);vertical-align:top}}
th{{background:var(--head);font-size:13px;white-space:nowrap}}
td.n,th.n{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}
td.d{{white-space:nowrap}}.b{{display:inline-block;max-width:100%}}td.u{{min-width:13em;max-width:34em;overflow-wrap:anywhere}}
.best{{background:var(--best);font-weight:600}}.own{{background:var(--own);font-weight:600}}
.off{{color:var(--quiet)}}.good{{color:var(--good)}}.bad{{color:var(--bad)}}.small{{font-size:13px;font-weight:400}}
.s{{display:inline-block;min-width:66px;text-align:center;border-radius:5px;padding:1px 7px;font-size:13px;font-weight:600}}
.error{{background:var(--error);color:var(--error-text)}}.warning{{background:var(--warning);color:var(--warning-text)}}
.notice{{background:var(--notice);color:var(--notice-text)}}.info{{background:var(--info);color:var(--info-text)}}
details.box{{background:var(--box);border:1px solid var(--line);border-radius:8px;margin:0 0 8px}}
.box>summary{{padding:9px 14px}}.box>summary b{{margin:0 6px}}.box>div{{padding:0 14px 14px}}summary{{cursor:pointer}}
.key{{display:inline-block;margin-right:10px}}.key i{{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:4px}}
.bar{{display:inline-block;height:9px;background:var(--c0);border-radius:2px}}
.charts{{display:flex;flex-wrap:wrap;gap:10px}}
.chart{{background:var(--box);border:1px solid var(--line);border-radius:8px;padding:12px 14px 8px;max-width:100%}}
.chart svg{{display:block;max-width:100%;height:auto;overflow:visible}}
.beside{{display:flex;gap:12px;align-items:stretch;flex-wrap:wrap}}.beside>div{{flex:1 1 440px;min-width:0}}
iframe{{width:100%;height:760px;border:1px solid var(--line);background:#fff}}
@media (min-width:900px){{.charts .chart{{max-width:calc(50% - 5px)}}}}
@media (max-width:640px){{
main{{padding:18px 12px 32px}}h1{{font-size:22px}}th,td{{padding:6px}}.facts div{{padding:8px 12px}}.facts dd{{font-size:19px}}
.wide:not(.stack) :is(td,th):first-child{{position:sticky;left:0;z-index:1;min-width:7.5em;max-width:44vw;overflow-wrap:break-word}}
.wide:not(.stack) :is(td,th).n:first-child{{min-width:0}}.bar{{zoom:.5;height:16px}}
.wide:not(.stack){{background:linear-gradient(var(--box),var(--box)) right/40px 100% no-repeat local,
linear-gradient(to left,var(--dash),transparent) right/10px 100% no-repeat scroll var(--box)}}.wide:not(.stack) table{{background:none}}
.wide:not(.stack) :is(td):first-child:not(.own,.best){{background:var(--box)}}
.stack thead{{display:none}}.stack :is(table,tbody,tr,td){{display:block}}.stack td{{border:0;padding:2px 8px;max-width:none}}
.stack tr{{border-bottom:1px solid var(--row);padding:6px 0}}.stack td:empty{{display:none}}
.chart{{width:100%}}.large svg{{font-size:19px}}.beside>div{{flex-basis:100%}}iframe{{height:420px}}
}}
@media print{{
@page{{margin:14mm}}body{{background:#fff;font-size:10pt}}main{{max-width:none;padding:0}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
h1{{font-size:18pt}}h2{{font-size:13pt}}h2,h3,summary{{break-after:avoid}}tr,.chart,.facts div{{break-inside:avoid}}
.facts div{{padding:5px 10px}}.facts dd{{font-size:14pt}}
th,td{{padding:3px 6px;font-size:8.5pt}}td:not(.n):first-child{{min-width:7.5em}}.bar{{zoom:.5;height:16px}}td .small{{font-size:7.5pt}}
th{{white-space:normal}}.wide{{overflow:visible}}td.u{{min-width:0}}
details.box::details-content{{content-visibility:visible;display:block;height:auto}}a{{color:inherit}}iframe{{height:400px}}
.charts .chart{{width:calc(50% - 5px)!important;padding:8px 10px 4px}}.chart .note{{margin-bottom:6px}}
.charts .large svg{{font-size:19px}}
}}
"""
"""The style of all reports. A report has no style of its own."""
_BREAKS = re.compile(r"([/.?=_])(?=\w)")
_LARGE_PX = 400
"""On a narrow screen, the texts of wider charts are enlarged."""
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
    return f'<div class="{kind}"><table>{top}<tbody>{body}</tbody></table></div>'


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


def chart(title: str, note: str, drawn: str, width: int) -> str:
    """Returns the box of a chart. `width`: the width of the drawing in pixels."""
    kind = "chart large" if width > _LARGE_PX else "chart"
    return f'<div class="{kind}" style="width:{width + 30}px"><h3>{title}</h3><p class="note">{note}</p>{drawn}</div>'


def legend_entry(color: str, name: str) -> str:
    """Returns an entry of a chart's legend, which stays on one line. `color`: the value of a CSS colour. `name`: a text."""
    return f'<span class="key"><i style="background:{color}"></i>{escape(name)}</span>'


def svg(label: str, width: int, height: int, drawn: str, font_size: int = 12) -> str:
    """Returns an SVG drawing. `label`: a description for people who cannot see the drawing. The sizes are in
    pixels."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" font-size="{font_size}" fill="var(--quiet)" '
        f'font-family="system-ui,sans-serif">{drawn}</svg>'
    )


def date(seconds: float) -> str:
    """Returns the day (UTC) of a time, or `-` for 0."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds else "-"
