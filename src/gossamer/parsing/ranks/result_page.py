"""Parses a result page of a search engine."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from gossamer.errors import UsageError
from gossamer.parsing.html import attribute_of, parse
from gossamer.parsing.nesting import is_deep
from gossamer.parsing.page_cost import TooComplex, limited_memory, may_explode
from gossamer.parsing.ranks.block_results import ResultList
from gossamer.parsing.ranks.model import Result, ResultPage
from gossamer.parsing.ranks.page_blocks import blocks
from gossamer.parsing.ranks.page_geometry import has_marks
from gossamer.parsing.ranks.page_rules import EngineRules, PageRules, default, load
from gossamer.parsing.ranks.page_scan import scan
from gossamer.parsing.ranks.verdicts import verdict

if TYPE_CHECKING:
    import turbohtml

MAX_BYTES: Final = 16 << 20
"""Maximum size in bytes of a result page that is parsed."""
_TAIL_BYTES: Final = 200
_NOT_SHOWN: Final = "script, style, template"


def results(body: bytes, engine: str, *, data: PageRules | Path | str | None = None) -> list[Result]:
    """Returns the results of a page in order, or [] if the page cannot be trusted. See `result_page`."""
    return list(result_page(body, engine, data=data).results)


def result_page(
    body: bytes, engine: str, url: str | None = None, *, data: PageRules | Path | str | None = None
) -> ResultPage:
    """Parses a result page. Accepts any bytes.

    - `engine`: `google` or `bing`.
    - `url`: the page's URL, if it is known. The page number is read from the URL. The URL also shows whether
      the engine redirected the request to a CAPTCHA.
    - `data`: a data file, or the path of a data file. It replaces the data file of the package.

    Raises UsageError if the engine is not known, and ConfigError if the data file is malformed.

    >>> page = result_page(b"<div id=search><div id=rso><div class=g data-hveid=1><a href='https://a.example/'>"
    ...     b"<h3>A</h3></a></div></div></div><footer></footer>", "google")
    >>> page.verdict, page.results[0].rank, page.results[0].url
    ('ok', 1, 'https://a.example/')
    """
    rules = data if isinstance(data, PageRules) else load(data) if data is not None else default()
    if engine not in rules.engines:
        known = ", ".join(rules.engines)
        raise UsageError(f"result pages of {engine!r} cannot be parsed; known engines: {known}")
    if reason := _refusal(body):
        return ResultPage(engine, "layout_unknown", reason, data_version=rules.version)
    one = rules.engines[engine]
    try:
        with limited_memory(body) if may_explode(body) else nullcontext():
            tree = parse(body, "text/html", url or one.base).tree
    except TooComplex as error:
        return ResultPage(engine, "layout_unknown", str(error), data_version=rules.version)
    for element in tree.select(_NOT_SHOWN):
        element.decompose()
    found = scan(tree, one, rules)
    listed = blocks(tree, found, one, rules) if found.organic else []
    is_whole = b"</html" in body[-_TAIL_BYTES:].lower()
    kind, reason = verdict(tree, found, one, rules, url or "", is_whole)
    page = ResultPage(
        engine, kind, reason, data_version=rules.version, query=_query(tree, one), page=_page(tree, one, url)
    )
    if not page.writes_positions:
        return page
    collected = ResultList(found, one, rules, measured=has_marks(body))
    for block in listed:
        collected.add(block)
    unknown = sum(block.type == "unknown" for block in listed)
    return ResultPage(
        engine, kind, reason, tuple(collected.results), unknown, rules.version, page.query, page.page
    )


def _refusal(body: bytes) -> str:
    """Returns the reason why a body is not parsed, or '' if the body can be parsed."""
    if len(body) > MAX_BYTES:
        return f"the page is larger than {MAX_BYTES >> 20} MiB"
    if is_deep(body, "text/html"):
        return "the page is nested too deeply to be parsed"
    return ""


def _query(tree: turbohtml.Document, engine: EngineRules) -> str | None:
    """Returns the query in the page's search field, or None."""
    for css in engine.query:
        for field in tree.select(css)[:3]:
            if query := " ".join((attribute_of(field, "value") or field.text).split()):
                return query
    return None


def _page(tree: turbohtml.Document, engine: EngineRules, url: str | None) -> int | None:
    """Returns the page number, which is read from the URL's offset or from the page's own navigation."""
    if url and (start := _offset(url)) is not None:
        return start
    for css in engine.page:
        for element in tree.select(css)[:20]:
            text = element.text.strip()
            if text.isascii() and text.isdigit() and 0 < int(text[:6]) < 1000:
                return int(text[:6])
    return None


def _offset(url: str) -> int | None:
    """Returns the page number that corresponds to a URL's parameter `start` (Google) or `first` (Bing), or
    None."""
    try:
        values = parse_qs(urlsplit(url).query, max_num_fields=200)
    except ValueError:
        return None
    for name, first in (("start", 0), ("first", 1)):
        value = values.get(name, [""])[0]
        if value.isascii() and value.isdigit() and len(value) < 6:
            return max(0, int(value) - first) // 10 + 1
    return None
