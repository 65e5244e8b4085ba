"""Computes the result of a check from the fetched pages of a search. The result contains positions and
features, or the reason why the check failed. All functions of this module are pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.parsing.ranks import Result
from gossamer.uses.ranks.domains import DomainMatch
from gossamer.uses.ranks.model import ASSUMED_END, PAGE_RESULTS, Position
from gossamer.uses.ranks.pages_to_fetch import END, FAILED, GOOD

WRITES = ("ok", "partial")
"""The verdicts of pages whose results are used for positions."""
OWNED_TYPES = frozenset(
    (
        *(
            "ad",
            "shopping",
            "featured_snippet",
            "ai_overview",
            "people_also_ask",
            "local_pack",
            "top_stories",
        ),
        *(
            "videos",
            "short_videos",
            "images",
            "knowledge",
            "discussions",
            "jobs",
            "recipes",
            "products",
            "social",
        ),
    )
)
"""The types of non-organic results in which a domain can appear."""
_LAST_PAGE = 1_000
_FULL_PAGE = 7
"""A page with at least this many organic results is usually not the last page."""


class CheckedPage(NamedTuple):
    """A page that was fetched for a check. `page`: the number of the result page. `first`: the lowest page
    number that the results cover, because one answer of a provider can cover several result pages."""

    page: int
    first: int
    verdict: str
    reason: str
    results: tuple[Result, ...]
    time: float = 0.0
    note: str = ""

    @property
    def state(self) -> str:
        """The state of the page: `good`, `end` or `failed`. `strategy.next_pages` uses the state to choose
        the next pages. A partially loaded page is `good`, and is not fetched again."""
        if self.verdict in WRITES:
            return GOOD
        return END if self.verdict == "no_results" else FAILED


class SearchOutcome(NamedTuple):
    """The result of a check of a search. `positions`: the positions of the followed domains. A domain is
    missing if its position is unknown."""

    state: str
    """The state of the check: `done`, `failed`, `no-results` or `skipped`."""
    error: str
    positions: dict[str, Position]
    first_page: bool
    shown: dict[str, int]
    """Maps each result type to the number of results of that type on page 1."""
    owned: dict[tuple[str, str], int]
    """Maps each pair of a result type and a followed domain to the number of the domain's results of that
    type on page 1."""


def read_check(
    search: str, pages: Sequence[CheckedPage], domains: Mapping[str, bool], depth: int, withheld: str = ""
) -> SearchOutcome:
    """Computes the result of a check from the fetched pages. `domains`: the followed domains of the search.
    The value is True for a domain of the user, and False for a competitor. `depth`: the number of top results
    to check. `withheld`: the reason why the results of readable pages are ignored, or '' if the results are
    used."""
    bad = next((one for one in pages if one.state == FAILED), None)
    error = f"{bad.verdict.replace('_', ' ')}: {bad.reason}" if bad else ""
    if doubtful := next((one for one in pages if _is_doubtful_end(one, pages)), None):
        error = (
            error
            or f"soft block: page {doubtful.page} came without results, though the page before it is full"
        )
        pages = [one for one in pages if one is not doubtful]
    if withheld:
        return SearchOutcome("failed", withheld, {}, False, {}, {})
    if any(one.verdict == "no_results" and one.first == 1 for one in pages):
        return SearchOutcome("no-results", "the engine has no results", {}, False, {}, {})
    good = sorted(
        (one for one in pages if one.verdict in WRITES), key=lambda one: (one.page - one.first, one.page)
    )
    covered = _covered(pages)
    complete = covered >= set(range(1, -(-depth // PAGE_RESULTS) + 1))
    positions: dict[str, Position] = {}
    for domain in domains:
        found = find_domain(search, domain, good, depth)
        if found.position is not None or complete:
            positions[domain] = found
    own = [domain for domain, is_own in domains.items() if is_own] or list(domains)
    if own and all(domain in positions for domain in own):
        state, error = "done", ""
    elif error:
        state = "failed"
    else:
        state, error = "failed", _why_open(pages, covered, depth)
    first = next((one for one in good if one.first == 1), None)
    shown, owned = _features(first.results if first else (), domains)
    return SearchOutcome(state, error, positions, first is not None, shown, owned)


def find_domain(search: str, domain: str, pages: Sequence[CheckedPage], depth: int) -> Position:
    """Returns the best position of a domain on readable pages. The returned `position` is None if no page
    contains the domain."""
    match, hits = DomainMatch(domain), list[tuple[int, CheckedPage, Result]]()
    for page in pages:
        for one in page.results:
            if one.type == "organic" and one.rank is not None and match.owns(one.url):
                hits.append(((page.first - 1) * PAGE_RESULTS + one.rank, page, one))
    hits.sort(key=lambda hit: hit[0])
    time = min((page.time for page in pages), default=0.0)
    if not hits:
        return Position(search=search, domain=domain, time=time, position=None, depth=depth)
    place, page, best = hits[0]
    return Position(
        search=search,
        domain=domain,
        time=page.time,
        position=place,
        depth=depth,
        absolute=best.position or None,
        page=(place - 1) // PAGE_RESULTS + 1 if page.first != page.page else page.page,
        url=best.url,
        title=best.title,
        urls=tuple(dict.fromkeys(hit[2].url for hit in hits)),
        note=page.note,
    )


def _covered(pages: Iterable[CheckedPage]) -> set[int]:
    """Returns the numbers of the result pages that were read completely. If an empty page shows that there
    are no further results, the numbers of all later pages are also returned."""
    covered: set[int] = set()
    for one in pages:
        if one.verdict == "ok":
            covered.update(range(one.first, one.page + 1))
        elif one.verdict == "no_results" and one.first > 1:
            covered.update(range(one.first, _LAST_PAGE))
    return covered


def _is_doubtful_end(page: CheckedPage, pages: Sequence[CheckedPage]) -> bool:
    """Whether an empty result page is unlikely to be the end of the results, because the previous page is
    full. Some providers charge for an empty answer when the engine has blocked the request."""
    if page.verdict != "no_results" or page.reason != ASSUMED_END:
        return False
    before = next((one for one in pages if one.page == page.page - 1 and one.verdict in WRITES), None)
    ranked = sum(one.type == "organic" and one.rank is not None for one in before.results) if before else 0
    return ranked >= _FULL_PAGE


def _why_open(pages: Sequence[CheckedPage], covered: set[int], depth: int) -> str:
    if any(one.verdict == "partial" for one in pages):
        return "partial: a page was loaded in part, and the domain is not on the loaded part"
    if not pages:
        return "no page was fetched"
    last = -(-depth // PAGE_RESULTS)
    missing = [str(page) for page in range(1, last + 1) if page not in covered]
    return f"the domain is not on the fetched pages; of the first {depth} results, page {', '.join(missing)} is open"


def _features(
    results: Sequence[Result], domains: Iterable[str]
) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    shown: dict[str, int] = defaultdict(int)
    owned: dict[tuple[str, str], int] = defaultdict(int)
    matches = [(domain, DomainMatch(domain)) for domain in domains]
    for one in results:
        if one.type == "sitelink":
            continue
        shown[one.type] += 1
        if one.type in OWNED_TYPES and one.url:
            for domain, match in matches:
                if match.owns(one.url):
                    owned[one.type, domain] += 1
    return dict(shown), dict(owned)
