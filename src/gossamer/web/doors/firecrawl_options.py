"""The options of Firecrawl's v2 API: which gossamer has, and why it refuses the others. The shapes are those that the
published clients send (firecrawl-py 4.55.0, firecrawl-mcp 3.22.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct, field

from gossamer.config.value_parsers import nearest
from gossamer.errors import InvalidField
from gossamer.web.doors.door import converted, refuse_unknown

SERVICE = "Firecrawl"
_HOSTED = "only Firecrawl's hosted service does this"
_MODEL = "gossamer runs no language model: write a site file for the fields that you need"
_SITE = "callers cannot choose this: a site file or the settings of serve can"
FORMATS = ("markdown", "links", "rawHtml", "screenshot")
REFUSED_FORMATS = {
    "html": "gossamer does not clean HTML: ask for rawHtml or markdown",
    "rawBase64": "ask for rawHtml, or store complete pages with serve -o pages.warc.gz",
    "changeTracking": "use gossamer crawl --refresh, which reports changed pages",
    "images": "ask for links or rawHtml",
    "attributes": "write a site file",
    **dict.fromkeys(("json", "summary", "query", "question", "highlights"), _MODEL),
    **dict.fromkeys(("branding", "product", "menu", "audio", "video", "blocks", "pages"), _HOSTED),
}
_HOST = r"^[a-z]+://[^/?#]+"
"""Matches a URL up to its path."""

REFUSED_SCRAPE = {
    "headers": _SITE,
    "location": _SITE,
    "mobile": _SITE,
    "skipTlsVerification": _SITE,
    "profile": _SITE,
    "actions": "a site file describes actions in the browser",
    "waitFor": "a site file describes what to wait for in the browser",
    "includeTags": "gossamer finds the article itself: write a site file to choose elements",
    "excludeTags": "gossamer finds the article itself: write a site file to choose elements",
    "minAge": "pages are always fetched, there is no cache",
    "lockdown": "pages are always fetched, there is no cache",
    "zeroDataRetention": "the rows of a crawl are kept until gossamer clean removes them",
    "useMock": _HOSTED,
    "checkPromptInjection": _HOSTED,
    "redactPII": _HOSTED,
    "threatProtection": _HOSTED,
    "auditMetadata": _HOSTED,
    "domainTools": _HOSTED,
    "toolDetail": _HOSTED,
    "alexandria": _HOSTED,
}
REFUSED_CRAWL = {
    "prompt": _MODEL,
    "ignoreRobotsTxt": "callers cannot ignore robots.txt",
    "robotsUserAgent": "the setting user_agent of serve decides",
    "ignoreQueryParameters": "the setting drop_parameters of serve decides",
    "webhook": "add a webhook to serve (gossamer webhooks add), which reports all crawls in gossamer's own form",
    "zeroDataRetention": REFUSED_SCRAPE["zeroDataRetention"],
    "auditMetadata": _HOSTED,
    "threatProtection": _HOSTED,
}
REFUSED_MAP = {"location": _SITE, "threatProtection": _HOSTED, "auditMetadata": _HOSTED}

REFUSED_PATHS = {
    "search": "web search is a hosted service",
    "extract": _MODEL,
    "agent": _MODEL,
    "crawl/params-preview": _MODEL,
    "deep-research": _MODEL,
    "llmstxt": _MODEL,
    "research": _HOSTED,
    "browser": _HOSTED,
    "interact": "a site file describes actions in the browser",
    "parse": "gossamer reads pages of the web, not uploaded files",
    "monitor": "use a schedule (gossamer schedule add) and a webhook",
    "team": "there are no credits, tokens or queues to report: see /v1/metrics",
    "concurrency-check": "see gossamer serve --crawls",
    "support": _HOSTED,
    "feedback": _HOSTED,
    "exchange": _HOSTED,
    "alexandria": _HOSTED,
}
"""Addresses below `/v2/` that only the hosted service answers, each with the reason."""


class FirecrawlPage(Struct, rename="camel"):
    """The options of one page that gossamer has. Those without an effect here are checked by `scrape_options`."""

    formats: list[Any] = []
    only_main_content: bool | None = None
    timeout: Annotated[int, Meta(ge=1, le=3_600_000)] | None = None
    """Milliseconds."""
    proxy: str | None = None
    parsers: list[Any] | None = None
    max_age: Annotated[int, Meta(ge=0)] | None = None
    """Milliseconds. A page that is fetched now is young enough."""
    remove_base64_images: bool | None = None
    fast_mode: bool | None = None
    block_ads: bool | None = None
    store_in_cache: bool | None = None
    origin: str | None = None
    integration: str | None = None


class Formats(Struct, frozen=True):
    """What a caller wants of a page."""

    markdown: bool = False
    links: bool = False
    raw_html: bool = False
    screenshot: Literal["page", "full"] | None = None


class FirecrawlCrawl(Struct, rename="camel"):
    """The options of a crawl that gossamer has."""

    url: str
    limit: Annotated[int, Meta(ge=1)] = 10_000
    include_paths: list[str] = []
    exclude_paths: list[str] = []
    max_discovery_depth: Annotated[int, Meta(ge=0)] | None = None
    sitemap: Literal["skip", "include", "only"] = "include"
    crawl_entire_domain: bool = False
    allow_external_links: bool = False
    allow_subdomains: bool = False
    delay: Annotated[float, Meta(ge=0)] | None = None
    """Seconds."""
    max_concurrency: Annotated[int, Meta(ge=1)] | None = None
    regex_on_full_url: bool = field(name="regexOnFullURL", default=False)
    deduplicate: bool = field(name="deduplicateSimilarURLs", default=True)
    """Whichever the value, URLs with the same canonical form are one page."""
    scrape_options: dict[str, Any] = {}
    origin: str | None = None
    integration: str | None = None


class FirecrawlBatch(Struct, rename="camel"):
    """The options of a batch that gossamer has, except those of its pages."""

    urls: Annotated[list[str], Meta(min_length=1, max_length=10_000)]
    append_to: str | None = field(name="appendToId", default=None)
    ignore_invalid: bool = field(name="ignoreInvalidURLs", default=True)
    max_concurrency: Annotated[int, Meta(ge=1)] | None = None


class FirecrawlMap(Struct, rename="camel"):
    """The options of a map that gossamer has."""

    url: str
    search: str | None = None
    sitemap: Literal["skip", "include", "only"] = "include"
    include_subdomains: bool = True
    ignore_query_parameters: bool = True
    limit: Annotated[int, Meta(ge=1)] = 5000
    timeout: Annotated[int, Meta(ge=1, le=3_600_000)] | None = None
    """Milliseconds."""
    origin: str | None = None
    integration: str | None = None


def names_of(kind: type[Struct]) -> tuple[str, ...]:
    """Returns the names of options in requests."""
    return kind.__struct_encode_fields__


def scrape_options(given: Mapping[str, Any], where: str = "") -> tuple[Formats, FirecrawlPage]:
    """Reads the options of a page. `where`: the path of the options in the request. Raises InvalidField for an option
    that gossamer does not have."""
    refuse_unknown(given, names_of(FirecrawlPage), REFUSED_SCRAPE, SERVICE, where)
    options = converted(given, FirecrawlPage)
    if options.only_main_content is False and _wants(options.formats, "markdown"):
        raise InvalidField(
            f"{where}onlyMainContent: Markdown is always the main content: ask for rawHtml to get all",
            "/onlyMainContent",
        )
    if options.proxy not in (None, "basic", "auto"):
        raise InvalidField(f"{where}proxy: {_SITE}", "/proxy")
    for one in options.parsers or ():
        if one != "pdf":
            raise InvalidField(f"{where}parsers: only pdf, without options", "/parsers")
    return _formats(options.formats, where), options


def _wants(formats: list[Any], name: str) -> bool:
    return not formats or any(_type_of(one) == name for one in formats)


def _type_of(one: Any) -> str:
    return str(one.get("type")) if isinstance(one, dict) else str(one)


def _formats(given: list[Any], where: str) -> Formats:
    """Reads the formats of a page. Raises InvalidField."""
    found: dict[str, Any] = {} if given else {"markdown": True}
    for one in given:
        name = _type_of(one)
        if name in REFUSED_FORMATS:
            raise InvalidField(f"{where}formats: {name}: {REFUSED_FORMATS[name]}", "/formats")
        if name not in FORMATS:
            hint = nearest(name, [*FORMATS, *REFUSED_FORMATS])
            raise InvalidField(f"{where}formats: {SERVICE} has no format {name[:100]!r}{hint}", "/formats")
        if name == "screenshot":
            options = one if isinstance(one, dict) else {}
            refused = {"quality": "a screenshot is a PNG", "viewport": "the settings of serve decide"}
            refuse_unknown(options, ("type", "fullPage"), refused, SERVICE, f"{where}formats.screenshot.")
            found["screenshot"] = "full" if options.get("fullPage") else "page"
        else:
            found["raw_html" if name == "rawHtml" else name] = True
    return Formats(**found)


def crawl_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Translates the options of a crawl to those of the operation `crawl_start`. Raises InvalidField."""
    refuse_unknown(given, names_of(FirecrawlCrawl), REFUSED_CRAWL, SERVICE)
    options = converted(given, FirecrawlCrawl)
    if options.sitemap == "only":
        site = urlsplit(options.url)
        targets, scope = [f"sitemap:{site.scheme}://{site.netloc}/sitemap.xml"], "page"
    else:
        targets, scope = [options.url], _scope(options)
    below = urlsplit(options.url).path if scope == "host" and not options.crawl_entire_domain else ""
    below = below.rstrip("/") and below
    whole = options.regex_on_full_url
    include = [_pattern(one, whole, "includePaths", below) for one in options.include_paths]
    return {
        "targets": targets,
        "scope": scope,
        "limit": options.limit,
        "depth": options.max_discovery_depth,
        "include": include or ([_HOST + re.escape(below)] if below else []),
        "exclude": [_pattern(one, whole, "excludePaths") for one in options.exclude_paths],
        "sitemaps": options.sitemap == "include",
        "delay": options.delay,
        "concurrency": options.max_concurrency,
        **page_fields(options.scrape_options, "scrapeOptions."),
    }


def page_fields(given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Translates the options of pages to those of the operation `crawl_start`. Raises InvalidField."""
    formats, options = scrape_options(given, where)
    if formats.screenshot or formats.raw_html:
        raise InvalidField(
            f"{where}formats: {'screenshot' if formats.screenshot else 'rawHtml'}: only for single pages (/v2/scrape); "
            "serve -o pages.warc.gz stores complete pages of crawls",
            "/formats",
        )
    if options.timeout is not None and where:
        raise InvalidField(f"{where}timeout: the setting timeout of serve decides in crawls", "/timeout")
    return {"markdown": formats.markdown, "links": formats.links}


def _scope(options: FirecrawlCrawl) -> str:
    if options.allow_external_links:
        return "any"
    return "domain" if options.allow_subdomains else "host"


def _pattern(text: str, on_full_url: bool, name: str, below: str = "") -> str:
    """Returns a pattern for URLs that does what a pattern for paths does, for paths that begin with `below`. Raises
    InvalidField if `^` or `$` stand elsewhere than at the ends, because they would then mean the ends of the URL."""
    if on_full_url and not below:
        return text
    starts = text.startswith("^")
    ends = text.endswith("$") and not text.endswith(r"\$")
    middle = text[1 if starts else 0 : -1 if ends else None]
    if re.search(r"(?<!\\)(?<!\[)[\^$]", middle) or ((starts or ends) and "|" in middle):
        advice = "" if on_full_url else "; set regexOnFullURL for patterns of whole URLs"
        raise InvalidField(
            f"{name}: {text[:100]!r}: ^ and $ stand only at the ends of a pattern without |{advice}",
            f"/{name}",
        )
    path = f"(?={re.escape(below or '/')})"  # a pattern must not match within the host
    if on_full_url:
        return f"^(?={_HOST[1:]}{path}){'' if starts else '.*?'}(?:{middle}){'$' if ends else ''}"
    return f"{_HOST}{path}{'' if starts else '[^?#]*?'}(?:{middle}){'(?:[?#]|$)' if ends else ''}"
