"""Parses a result page of a search engine."""

from __future__ import annotations

from gossamer.parsing.html import attribute_of, parse
from gossamer.parsing.ranks.model import Result, ResultPage
from gossamer.parsing.ranks.result_links import is_own, target

BASES = {"google": "https://www.google.com/search", "bing": "https://www.bing.com/search"}


def results(body: bytes, engine: str) -> list[Result]:
    """Returns the results of a page in their order, [] unless the page is trusted. See `result_page`."""
    return list(result_page(body, engine).results)


def result_page(body: bytes, engine: str, url: str | None = None) -> ResultPage:
    """Parses a result page. `engine`: `google` or `bing`. `url`: the page's URL, if known."""
    page = parse(body, "text/html", url or BASES[engine])
    found: list[Result] = []
    for heading in page.tree.select("#rso a h3, #b_results > li.b_algo h2 a")[:500]:
        link = heading if heading.tag == "a" else heading.closest("a")
        goal = target(attribute_of(link, "href"), BASES[engine]) if link else ""
        if not goal or is_own(goal, engine) or goal in {one.url for one in found}:
            continue
        place = len(found) + 1
        found.append(Result("organic", place, place, " ".join(heading.text.split()), goal, votes=2))
    if not found:
        return ResultPage(engine, "layout_unknown", "no results were found on the page")
    return ResultPage(engine, "ok", "", tuple(found))
