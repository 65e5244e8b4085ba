"""Previews what a crawl would do with one page. The preview contains the function that reads the page, the
requests that follow, and the links that are left out, with the reasons. The commands `try` and `shell` use
this module. The decisions come from the crawl's own scope and robots.txt. The preview does no I/O and adds
nothing to a frontier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from typing import Any, NamedTuple

import msgspec

from gossamer import url as urls
from gossamer.app.enqueuer import seed_form
from gossamer.app.job import Job
from gossamer.app.seeding import scope_anchors, site_hosts, strip_credentials
from gossamer.blocks import needs_rendering
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.verdict import Drop
from gossamer.model.visit import Claim
from gossamer.parsing import html
from gossamer.parsing.links import Link, find_hrefs, hrefs, links_of
from gossamer.parsing.page_cost import cost_of, is_html
from gossamer.parsing.page_view import PageView
from gossamer.politeness.robots import Robots
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import match
from gossamer.sites.page_functions import PageResult, gather_follow, run
from gossamer.url.patterns import PatternTimeout
from gossamer.url.scope import Scope
from gossamer.url.traps import growing
from gossamer.worker.reader import GROWING, MAX_LINKS, NOFOLLOW
from gossamer.worker.route_links import RouteFollower

NOT_YIELDED, NOT_SELECTED = "not yielded", "not selected"
"""Reasons why a link is not followed, in addition to the reasons in `verdict.SKIPS`. NOT_YIELDED means that
the page function did not yield the link. NOT_SELECTED means that the site's `follow=` does not select the
link."""


class RobotsRules(NamedTuple):
    """The robots.txt of one origin. `file`: the URL of the robots.txt. `robots`: the rules in the robots.txt,
    or None if the whole origin is allowed or disallowed. `closed`: the reason why no page of the origin may
    be fetched, or None."""

    file: str
    agent: str
    robots: Robots | None = None
    closed: Drop | None = None


class RobotsLine(msgspec.Struct):
    """The robots.txt line that disallows a URL. `group`: the user agent of the group that applies. `line`:
    the line number, starting at 1. `rule`: the line as written."""

    url: str
    file: str
    group: str
    line: int
    rule: str

    def text(self) -> str:
        """Returns a phrase with the file, the line number, the rule and the group."""
        return f"{self.file} line {self.line}, {self.rule!r} in the group for {self.group!r}"


class FoundLink(msgspec.Struct, kw_only=True):
    """A link of a page, or a request that the page function yields. `followed` is true if the crawl would
    follow the link."""

    url: str
    followed: bool = True
    reason: str = ""
    """The reason why the crawl does not follow the link, or '' if the crawl follows the link. The reason is
    an element of `verdict.SKIPS`, or one of the constants NOT_YIELDED and NOT_SELECTED."""
    rule: str = ""
    """The rule that refuses the link, such as a pattern or a line of robots.txt. If no page function can read
    a requested page, `rule` describes the problem. If there is neither a rule nor a problem, `rule` is ''."""


class YieldedRequest(FoundLink, kw_only=True):
    """A request that a page function yields. `read_by`: the name of the function that will read the requested
    page, or '' if no function will read the page."""

    method: str = "GET"
    use: str | None = None
    carry: Any = None
    read_by: str = ""


class PagePreview(msgspec.Struct):
    """The preview of what a crawl would do with a page. `site` is the name of the site that reads the page,
    and `file` is its site file. If no site reads the page, `site` and `file` are ''."""

    site: str = ""
    file: str = ""
    function: str = ""
    """The name of the page function that reads the page, or '' if no page function reads the page."""
    error: str = ""
    """The error that the page function raised, or '' if the page function raised no error."""
    requests: list[YieldedRequest] = []
    links: list[FoundLink] = []
    """The links of the page, each URL once."""
    empty_without_scripts: bool = False
    too_costly: bool = False
    """Whether the page is too costly to parse in this process. In a crawl, a separate process parses pages
    that are too costly. If `too_costly` is true, the list `links` is empty."""


def crawl_scope(job: Job, sites: Sequence[LoadedSite], request: Request) -> Scope:
    """Returns the scope of a crawl of these sites. The scope covers the sites' seeds and hosts, or the
    request's URL if there are no sites. If a seed redirects, the scope also covers the redirect's target."""
    settings = job.settings
    seeds = [seed_form(seed, sites, job.settings) for site in sites for seed in site.requests()]
    given, _ = strip_credentials(seeds, 0)
    first = request.hops[0] if request.hops else request.url
    scope = Scope.of(
        [*scope_anchors(given, settings.scope), *site_hosts(list(sites), settings.scope)] or [first],
        settings.scope,
        include=settings.include,
        exclude=settings.exclude,
        depth=settings.depth,
        ports=settings.allow_port,
    )
    return scope.re_anchored(first, request.url) if first in scope.seeds else scope


def shut_by(rules: RobotsRules | None, url: str) -> RobotsLine | None:
    """Returns the robots.txt line that disallows a URL, or None."""
    if rules is None or rules.robots is None or urls.origin(url) != urls.origin(rules.file):
        return None
    found = rules.robots.deciding_line(rules.agent, url)
    if found is None or rules.robots.allows(rules.agent, url):
        return None
    line, rule = found
    return RobotsLine(url, rules.file, rules.robots.group_name(rules.agent), line, rule)


def preview(
    job: Job, sites: Sequence[LoadedSite], claim: Claim, page: Page, rules: RobotsRules | None
) -> PagePreview:
    """Returns the preview of a fetched page. `rules`: the robots.txt of the page's origin, or None if
    robots.txt is ignored. The page function runs once, and its printed output is discarded."""
    found = PagePreview(empty_without_scripts=needs_rendering(page.status, page.headers, page.body, page.url))
    if is_html(page.read_as, page.body) and cost_of(page.body).is_costly:
        found.too_costly = True
        return found
    document = html.parse(page.body, page.read_as, page.url, page.header("x-robots-tag"))
    site = match(sites, page.url)
    raw = find_hrefs(document)
    document.base.routes, _ = RouteFollower(job.settings.fragments).choose(
        page, document, raw.follow, raw.routes, "" if site is None else site.site.fragments
    )
    view, parsed = PageView(page, document, claim.request), PageResult()
    gathered: list[Request] = []
    if site is not None:
        found.site, found.file = site.name, str(site.path)
        with redirect_stderr(StringIO()):
            parsed = run(site, view)
            if callable(site.site.follow) and not parsed.error:
                gathered, problem = gather_follow(site, site.site.follow, view)
                parsed.error, parsed.detail = ("parse", problem) if problem else (None, "")
        found.function, found.error = parsed.function, parsed.detail
    decide = _decider(crawl_scope(job, sites, claim.request), claim, rules)
    found.requests = _requests(parsed.requests, sites, decide)
    wanted = {one.url: one for one in found.requests}
    why = _unfollowed(site, parsed, document, {urls.key(one.url) for one in gathered})
    for link in links_of(document, MAX_LINKS):
        if (known := wanted.get(link.url)) is not None:
            one = FoundLink(url=link.url, followed=known.followed, reason=known.reason, rule=known.rule)
        else:
            one = why(link) or decide(Request(link.url, claim.request.depth + 1))
        found.links.append(one)
    return found


def _requests(
    yielded: list[Request], sites: Sequence[LoadedSite], decide: Callable[[Request], FoundLink]
) -> list[YieldedRequest]:
    """Returns the distinct requests that a page function yielded. Each result has the crawl's decision about
    the request, and the function that will read the requested page."""
    found = []
    for number, one in enumerate({(one.method, one.url, one.body): one for one in yielded}.values()):
        decided = decide(one)
        if number >= MAX_LINKS:
            decided = _skipped(one.url, "trap", f"a page may yield {MAX_LINKS} requests")
        function, problem = _reader_of(sites, one)
        found.append(
            YieldedRequest(
                **{**msgspec.structs.asdict(decided), "rule": decided.rule or problem},
                method=one.method,
                use=one.use,
                carry=one.carry,
                read_by=function,
            )
        )
    return found


def _reader_of(sites: Sequence[LoadedSite], request: Request) -> tuple[str, str]:
    """Returns the name of the page function for a request, and a message about a problem with this function.
    The name is '' if no function will read the page. The message is '' if there is no problem."""
    site = match(sites, request.url)
    if site is None:
        return "", ""
    try:
        function = site.site.function(request.url, request.use)
    except PatternTimeout as error:
        return "", str(error)
    if function is None and request.use is not None:
        return "", f"site {site.name} has no page function {request.use!r}: its page will not be parsed"
    return ("" if function is None else function.name), ""


def _skipped(url: str, reason: str, rule: str) -> FoundLink:
    return FoundLink(url=url, followed=False, reason=reason, rule=rule)


def _decider(scope: Scope, claim: Claim, rules: RobotsRules | None) -> Callable[[Request], FoundLink]:
    """Returns a function that checks a request against the scope, and then against robots.txt, like a
    crawl."""

    def decide(request: Request) -> FoundLink:
        url, host = request.url, urls.host(request.url)
        reason = scope.refuse(url, host, request.depth, claim.host)
        if reason is not None:
            rule = next((rule for _, word, rule in scope.explain(url, request.depth) if word == reason), "")
            return _skipped(url, reason, rule)
        if (line := shut_by(rules, url)) is not None:
            return _skipped(url, "robots", line.text())
        return FoundLink(url=url)

    return decide


def _unfollowed(
    site: LoadedSite | None, parsed: PageResult, document: html.Document, gathered: set[str]
) -> Callable[[Link], FoundLink | None]:
    """Returns a function that explains why the crawl does not follow a link. The returned function must not
    be called for links that the page function requested. The returned function returns None if only the scope
    and robots.txt decide about the link."""
    follow = None if site is None else site.site.follow
    base = document.base
    grown = {base.resolve(href) for href in growing(base.url, hrefs(document)[0])}

    def decide(link: Link) -> FoundLink | None:
        if parsed.error:
            return _skipped(link.url, "parse", "the page could not be read, so none of its links is followed")
        if link.nofollow and not callable(follow):
            return _skipped(link.url, "nofollow", NOFOLLOW)
        if follow is False or (follow is None and parsed.function):
            who = f"{parsed.function}() does not yield it" if parsed.function else "the site has follow=False"
            return _skipped(link.url, NOT_YIELDED, who)
        if callable(follow):
            selected = urls.key(link.url) in gathered
            return None if selected else _skipped(link.url, NOT_SELECTED, "follow= does not return it")
        if follow not in (None, True) and not _matches(follow, link.url):
            return _skipped(link.url, NOT_SELECTED, "no pattern of follow= matches it")
        if link.url in grown:
            return _skipped(link.url, "trap", GROWING)
        return None

    return decide


def _matches(patterns: Any, url: str) -> bool:
    try:
        return any(one.search(url) for one in patterns)
    except PatternTimeout:
        return False
