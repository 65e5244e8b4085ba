"""Decides whether the positions of a page can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.parsing.ranks.model import Verdict
from gossamer.parsing.ranks.page_rules import EngineRules, PageRules, plain
from gossamer.parsing.ranks.page_scan import Scan
from gossamer.parsing.ranks.result_links import host_and_path

if TYPE_CHECKING:
    import turbohtml

_MAX_TEXT_CHARS: Final = 200_000
_USUAL_RESULTS: Final = 8
"""Number of organic results that most result pages have."""
_MANY_LINKS: Final = 3
"""A page with at least _MANY_LINKS links that look like results is neither a CAPTCHA nor a consent page nor a
block page."""
_WALLS: tuple[Verdict, ...] = ("consent", "soft_block")


def verdict(
    tree: turbohtml.Document,
    found: Scan,
    engine: EngineRules,
    rules: PageRules,
    url: str,
    is_whole: bool,
) -> tuple[Verdict, str]:
    """Returns the verdict and its reason. `is_whole`: whether the page contains the end tag `</html>`."""
    if found.organic:
        return _of_results(tree, found, engine, is_whole)
    text = plain(tree.to_text()[:_MAX_TEXT_CHARS])
    likely = len(found.weak) + found.outside
    if likely < _MANY_LINKS:
        if wall := _captcha(tree, engine, rules, url, text):
            return wall
        if not is_whole and any(tree.select_one(f"#{name}") is not None for name in engine.chain):
            return "layout_unknown", "the page ends before its first result"
        if wall := _wall(tree, engine, rules, url, text):
            return wall
    if likely:
        return (
            "layout_unknown",
            f"{likely} links look like results, but the data file has no rule for their place",
        )
    if any(tree.select_one(css) is not None for css in engine.walls.get("no_results", ())):
        return "no_results", "the engine found nothing"
    if phrase := rules.phrase("no_results", text):
        return "no_results", f"the engine found nothing: {phrase!r}"
    if not text:
        return "soft_block", "the page shows no text"
    if not is_whole:
        return "layout_unknown", "the page ends before its first result"
    return "layout_unknown", "the page contains neither results nor a notice that there are none"


def _of_results(
    tree: turbohtml.Document, found: Scan, engine: EngineRules, is_whole: bool
) -> tuple[Verdict, str]:
    """Returns the verdict on a page with organic results."""
    if len(found.weak) > len(found.organic):
        return "layout_unknown", (
            f"{len(found.weak)} of {len(found.weak) + len(found.organic)} links with headings have too few votes"
        )
    if found.outside > max(1, len(found.organic) // 4):
        return "layout_unknown", f"{found.outside} links with headings are outside of the main column"
    has_foot = any(tree.select_one(css) is not None for css in engine.foot)
    if not has_foot and (not is_whole or len(found.organic) < _USUAL_RESULTS):
        return "partial", "the page has no foot, so later results may be missing"
    return "ok", ""


def _captcha(
    tree: turbohtml.Document, engine: EngineRules, rules: PageRules, url: str, text: str
) -> tuple[Verdict, str] | None:
    """Returns the verdict if the page is a CAPTCHA, or None. `text`: the page's text, normalized by
    `plain`."""
    if host_and_path(url)[1].startswith(("/sorry", "/turing")):
        return "captcha", "the URL is that of a CAPTCHA"
    return _of_kind("captcha", tree, engine, rules, text)


def _wall(
    tree: turbohtml.Document, engine: EngineRules, rules: PageRules, url: str, text: str
) -> tuple[Verdict, str] | None:
    """Returns the verdict if the page is a consent page or a block page, or None."""
    if host_and_path(url)[0].startswith("consent."):
        return "consent", "the URL is that of a consent page"
    return next((found for kind in _WALLS if (found := _of_kind(kind, tree, engine, rules, text))), None)


def _of_kind(
    kind: Verdict, tree: turbohtml.Document, engine: EngineRules, rules: PageRules, text: str
) -> tuple[Verdict, str] | None:
    """If the page contains an element or a phrase of this kind, returns the kind and the reason."""
    if css := next((one for one in engine.walls.get(kind, ()) if tree.select_one(one) is not None), ""):
        return kind, f"the page contains {css}"
    if phrase := rules.phrase(kind, text):
        return kind, f"the page says {phrase!r}"
    return None
