"""Checks of canonical URLs, robots directives and language versions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Final

from gossamer.uses.audit.checks.audit_check import BROKEN, ERROR, NOTICE, WARNING, AuditCheck
from gossamer.uses.audit.link_graph import CLICKS
from gossamer.uses.audit.model import PageFacts, read_date, url_id
from gossamer.uses.numbers import counted

_CANONICAL: Final = """
SELECT u.url, c.url, {detail} FROM pages p JOIN urls u ON u.id = p.id JOIN urls c ON c.id = p.canonical
JOIN targets t ON t.id = p.canonical WHERE p.status = 200 AND p.canonical != p.id AND {where}
"""
_VERSION: Final = """
SELECT DISTINCT u.url, h.url, h.code || ': ' || {detail} FROM hreflangs h JOIN pages p ON p.id = h.page
JOIN urls u ON u.id = h.page JOIN targets t ON t.id = h.target WHERE p.status = 200 AND {where}
"""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@cache
def _codes() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    text = files("gossamer.uses.audit").joinpath("language_codes.json").read_text(encoding="utf-8")
    table = json.loads(text)
    languages, regions, scripts = (table[name].split() for name in ("languages", "regions", "scripts"))
    return frozenset(languages), frozenset(regions), frozenset(one.title() for one in scripts)


def language_fault(code: str, *, hreflang: bool = False) -> str:
    """Returns the problem of a language code, or ''. With `hreflang`, Google's rules apply: `x-default`, or
    an ISO 639-1 language with an optional script and ISO 3166-1 region. Without `hreflang`, any well-formed
    BCP 47 tag with a known two-letter language is valid.

    >>> language_fault("en-UK", hreflang=True), language_fault("de-AT", hreflang=True), language_fault("en_US")
    ("there is no region 'UK'", '', "write 'en-US'")
    """
    if hreflang and code.lower() == "x-default":
        return ""
    if "_" in code:
        return f"write {code.replace('_', '-')!r}"
    parts = code.split("-")
    languages, regions, scripts = _codes()
    if not all(part.isascii() and part.isalnum() and len(part) <= 8 for part in parts):
        return "it is not a language code"
    if len(parts[0]) == 2 or hreflang:
        if parts[0].lower() not in languages:
            return f"there is no language {parts[0]!r}"
    elif len(parts[0]) != 3 and parts[0].lower() not in ("x", "i"):
        return f"there is no language {parts[0]!r}"
    for part in parts[1:]:
        if len(part) == 2 and part.isalpha() and part.upper() not in regions:
            return f"there is no region {part!r}"
        if len(part) == 4 and part.isalpha() and part.title() not in scripts:
            return f"there is no script {part!r}"
        if hreflang and len(part) not in (2, 3, 4):
            return f"{part!r} is not a region"
    return ""


def _is_absolute(href: str) -> bool:
    return href.lower().startswith(("http://", "https://"))


def canonical_relative(facts: PageFacts) -> Iterator[str]:
    """Finds a relative canonical URL."""
    for href in (*facts.canonicals, *facts.header_canonicals):
        if href and not _is_absolute(href) and not _SCHEME.match(href):
            yield f"it is written as {href[:150]}"


def canonical_invalid(facts: PageFacts) -> Iterator[str]:
    """Finds a canonical URL that is not an http(s) URL."""
    for href in (*facts.canonicals, *facts.header_canonicals):
        if not href or (_SCHEME.match(href) and not _is_absolute(href)):
            yield f"it is written as {href[:150] or 'an empty text'}"


def canonical_missing(facts: PageFacts) -> Iterator[str]:
    """Finds a page without a canonical URL."""
    if not facts.canonicals and not facts.header_canonicals:
        yield "none in the head, none in the header"


def canonical_fragment(facts: PageFacts) -> Iterator[str]:
    """Finds a canonical URL with a fragment."""
    for href in (*facts.canonicals, *facts.header_canonicals):
        if "#" in href:
            yield f"it is written as {href[:150]}"


def unavailable_after(facts: PageFacts) -> Iterator[str]:
    """Finds a date of `unavailable_after` that has passed or that cannot be read."""
    for text in facts.unavailable_after:
        date = read_date(text)
        if date is None:
            yield f"{text or 'an empty text'}: it is not a date that search engines read"
        elif date <= datetime.now(UTC):
            yield f"{text}: it has passed"


def _said_where(facts: PageFacts, words: set[str]) -> Iterator[str]:
    """Yields `X-Robots-Tag` or `meta robots`, depending on which of them contains one of the given
    directives."""
    if words & {*facts.header_robots}:
        yield "X-Robots-Tag"
    elif words & {*facts.robots}:
        yield "meta robots"


def canonical_multiple(facts: PageFacts) -> Iterator[str]:
    """Finds a page, or response headers, with several canonical URLs."""
    if len(facts.canonicals) > 1:
        yield f"{len(facts.canonicals)} in the page: {', '.join(facts.canonicals)[:200]}"
    if len(facts.header_canonicals) > 1:
        yield f"{len(facts.header_canonicals)} in the header: {', '.join(facts.header_canonicals)[:200]}"


def canonical_mismatch(facts: PageFacts) -> Iterator[str]:
    """Finds a page whose canonical URL differs from the canonical URL in the response headers."""
    if (
        facts.canonicals
        and facts.header_canonicals
        and url_id(facts.canonical) != url_id(facts.header_canonical)
    ):
        yield f"page: {facts.canonical}, header: {facts.header_canonical}"


def hreflang_invalid(facts: PageFacts) -> Iterator[str]:
    """Finds hreflang codes that search engines ignore."""
    for code in dict.fromkeys(code for code, _, _ in facts.hreflangs):
        if fault := language_fault(code, hreflang=True):
            yield f"{code or 'an empty code'}: {fault}"


def hreflang_self(facts: PageFacts) -> Iterator[str]:
    """Finds a list of language versions that does not include the page itself."""
    own = url_id(facts.url) if facts.hreflangs else 0
    if facts.hreflangs and all(url_id(url) != own for _, _, url in facts.hreflangs):
        yield f"{counted(len(facts.hreflangs), 'version')}, and the page itself is missing"


def hreflang_duplicate(facts: PageFacts) -> Iterator[str]:
    """Finds an hreflang code with several URLs."""
    seen: dict[str, str] = {}
    told: set[str] = set()
    for code, _, url in facts.hreflangs:
        known = seen.setdefault(code.lower(), url)
        if known != url and code.lower() not in told:
            told.add(code.lower())
            yield f"{code}: {known} and {url}"


def hreflang_default(facts: PageFacts) -> Iterator[str]:
    """Finds several language versions without a default (`x-default`)."""
    codes = {code.lower() for code, _, _ in facts.hreflangs}
    if len(codes) > 1 and "x-default" not in codes:
        yield f"{len(codes)} languages"


def hreflang_relative(facts: PageFacts) -> Iterator[str]:
    """Finds relative URLs of language versions."""
    for code, href, _ in facts.hreflangs:
        if not _is_absolute(href):
            yield f"{code}: {href[:150]}"


def robots_conflict(facts: PageFacts) -> Iterator[str]:
    """Finds robots directives that contradict one another."""
    given = facts.directives
    for one, other in (("index", "noindex"), ("follow", "nofollow"), ("all", "none"), ("all", "noindex")):
        if one in given and other in given:
            yield f"{one} and {other}: the stricter one applies"


CHECKS: Final = (
    AuditCheck(
        id="noindex",
        group="indexability",
        severity=NOTICE,
        title="Pages that forbid indexing",
        fix="Remove noindex from the pages that should be found.",
        test=lambda facts: _said_where(facts, {"noindex", "none"}),
        over="html",
    ),
    AuditCheck(
        id="nofollow-page",
        group="indexability",
        severity=NOTICE,
        title="Pages whose links must not be followed",
        fix="Remove nofollow, unless the links of the page should count nothing.",
        test=lambda facts: _said_where(facts, {"nofollow", "none"}),
        over="html",
    ),
    AuditCheck(
        id="robots-conflict",
        group="indexability",
        severity=WARNING,
        title="Robots directives that contradict one another",
        fix="Keep one of the directives.",
        test=robots_conflict,
        over="html",
    ),
    AuditCheck(
        id="snippet-blocked",
        group="indexability",
        severity=NOTICE,
        title="Pages that forbid snippets or their images",
        fix="Remove nosnippet or noimageindex if results should show them.",
        test=lambda facts: sorted(facts.directives & {"nosnippet", "noimageindex"}),
        over="html",
    ),
    AuditCheck(
        id="unavailable-after",
        group="indexability",
        severity=WARNING,
        title="Pages whose unavailable_after has passed or is not a date",
        fix="Remove unavailable_after, or write a later date: after the date, search engines drop the page.",
        test=unavailable_after,
        over="html",
    ),
    AuditCheck(
        id="canonical-missing",
        group="indexability",
        severity=NOTICE,
        title="Pages without a canonical URL",
        fix='Add <link rel="canonical"> with the absolute URL of the page itself.',
        test=canonical_missing,
    ),
    AuditCheck(
        id="canonical-multiple",
        group="indexability",
        severity=ERROR,
        title="Pages with several canonical URLs",
        fix="Keep one: search engines ignore all of them if they differ.",
        test=canonical_multiple,
        over="html",
    ),
    AuditCheck(
        id="canonical-relative",
        group="indexability",
        severity=NOTICE,
        title="Canonical URLs that are relative",
        fix="Write the absolute URL, with scheme and host.",
        test=canonical_relative,
        over="html",
    ),
    AuditCheck(
        id="canonical-invalid",
        group="indexability",
        severity=ERROR,
        title="Canonical URLs that are not web addresses",
        fix="Write the https address of the page. Often the address of a file or of the build machine was left.",
        test=canonical_invalid,
        over="html",
    ),
    AuditCheck(
        id="canonical-fragment",
        group="indexability",
        severity=WARNING,
        title="Canonical URLs with a fragment",
        fix="Remove the part from the # on: search engines ignore a canonical URL with a fragment.",
        test=canonical_fragment,
        over="html",
    ),
    AuditCheck(
        id="canonical-mismatch",
        group="indexability",
        severity=ERROR,
        title="Different canonical URLs in the page and the header",
        fix="Keep one of them.",
        test=canonical_mismatch,
        over="html",
    ),
    AuditCheck(
        id="canonical-in-body",
        group="indexability",
        severity=WARNING,
        title="Canonical URLs outside the head",
        fix="Move the element into the head: search engines ignore it in the body.",
        test=lambda facts: f"{facts.body_canonicals} in the body" if facts.body_canonicals else "",
        over="html",
    ),
    AuditCheck(
        id="canonical-to-error",
        group="indexability",
        severity=ERROR,
        title="Canonical URLs that do not work",
        fix="Name a page that exists.",
        sql=_CANONICAL.format(detail="said(t.status, t.error)", where=BROKEN),
    ),
    AuditCheck(
        id="canonical-to-redirect",
        group="indexability",
        severity=WARNING,
        title="Canonical URLs that redirect",
        fix="Name the target of the redirect.",
        sql=_CANONICAL.format(detail="said(t.status, NULL)", where="t.location IS NOT NULL"),
    ),
    AuditCheck(
        id="canonical-to-noindex",
        group="indexability",
        severity=ERROR,
        title="Canonical URLs that forbid indexing",
        fix="Remove noindex from the canonical page, or name another one.",
        sql=_CANONICAL.format(detail="'noindex'", where="t.noindex"),
    ),
    AuditCheck(
        id="canonical-other-site",
        group="indexability",
        severity=NOTICE,
        title="Canonical URLs of another site",
        fix="If this site should be found, name its own URLs. If it is a copy of the other site, this is as intended.",
        sql="SELECT u.url, c.url, '' FROM targets t JOIN urls u ON u.id = t.id JOIN urls c ON c.id = t.canonical "
        "WHERE t.internal AND t.is_page AND t.status = 200 AND c.host NOT IN (SELECT host FROM hosts)",
    ),
    AuditCheck(
        id="canonical-chain",
        group="indexability",
        severity=WARNING,
        title="Canonical URLs that name another canonical URL",
        fix="Name the last one at once.",
        sql=_CANONICAL.format(
            detail="'its canonical URL is ' || (SELECT url FROM urls WHERE id = t.canonical)",
            where="t.status = 200 AND t.canonical IS NOT NULL AND t.canonical != t.id",
        ),
    ),
    AuditCheck(
        id="nofollow-internal",
        group="indexability",
        severity=NOTICE,
        title="Links within the site with nofollow",
        fix="Remove nofollow: it does not save anything, and crawlers do not find the page.",
        sql=f"SELECT s.url, d.url, l.text FROM links l JOIN urls s ON s.id = l.source JOIN urls d ON d.id = l.target "
        f"JOIN pages p ON p.id = l.source WHERE l.nofollow AND l.kind IN {CLICKS} AND d.host IN (SELECT host FROM hosts) "
        "AND NOT p.nofollow AND p.status = 200 GROUP BY l.source, l.target",
        thing="links",
    ),
    AuditCheck(
        id="hreflang-invalid",
        group="hreflang",
        severity=ERROR,
        title="Language versions with an invalid code",
        fix="Write an ISO 639-1 language, and after a hyphen an ISO 3166-1 region if needed: en, en-GB, x-default.",
        test=hreflang_invalid,
        over="html",
    ),
    AuditCheck(
        id="hreflang-self-missing",
        group="hreflang",
        severity=WARNING,
        title="Pages that are missing in their own language versions",
        fix="Add the page itself to its language versions.",
        test=hreflang_self,
        over="html",
    ),
    AuditCheck(
        id="hreflang-return-missing",
        group="hreflang",
        severity=ERROR,
        title="Language versions that do not link back",
        fix="Add this page to the language versions of the other page: search engines ignore one-sided ones.",
        sql=_VERSION.format(
            detail="'it does not name this page'",
            where="h.target != h.page AND t.internal AND t.is_page AND t.status = 200 AND t.location IS NULL "
            "AND NOT EXISTS (SELECT 1 FROM hreflangs b WHERE b.page = h.target AND b.target = h.page)",
        ),
    ),
    AuditCheck(
        id="hreflang-default-missing",
        group="hreflang",
        severity=NOTICE,
        title="Language versions without x-default",
        fix="Add x-default for visitors of all other languages.",
        test=hreflang_default,
        over="html",
    ),
    AuditCheck(
        id="hreflang-duplicate",
        group="hreflang",
        severity=WARNING,
        title="Several language versions with one code",
        fix="Keep one URL for each code.",
        test=hreflang_duplicate,
        over="html",
    ),
    AuditCheck(
        id="hreflang-relative",
        group="hreflang",
        severity=WARNING,
        title="Language versions with relative URLs",
        fix="Write absolute URLs, with scheme and host.",
        test=hreflang_relative,
        over="html",
    ),
    AuditCheck(
        id="hreflang-to-error",
        group="hreflang",
        severity=ERROR,
        title="Language versions that are broken links",
        fix="Correct the URL, or remove the version.",
        sql=_VERSION.format(detail="said(t.status, t.error)", where=BROKEN),
    ),
    AuditCheck(
        id="hreflang-to-redirect",
        group="hreflang",
        severity=WARNING,
        title="Language versions that redirect",
        fix="Name the target of the redirect.",
        sql=_VERSION.format(detail="said(t.status, NULL)", where="t.location IS NOT NULL"),
    ),
    AuditCheck(
        id="hreflang-to-noindex",
        group="hreflang",
        severity=WARNING,
        title="Language versions that forbid indexing",
        fix="Remove noindex from the version, or remove the version.",
        sql=_VERSION.format(detail="'noindex'", where="t.noindex AND t.status = 200"),
    ),
    AuditCheck(
        id="hreflang-to-noncanonical",
        group="hreflang",
        severity=WARNING,
        title="Language versions that are not canonical",
        fix="Name the canonical URL of the version.",
        sql=_VERSION.format(
            detail="'its canonical URL is ' || (SELECT url FROM urls WHERE id = t.canonical)",
            where="t.status = 200 AND t.canonical IS NOT NULL AND t.canonical != t.id AND NOT t.noindex",
        ),
    ),
)
