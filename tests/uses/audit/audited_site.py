"""Sites to audit, on loopback: a clean site, and a copy of it with three planted instances of every check.
`truth` lists the pages that each check must find, and a check must find no other page."""

from __future__ import annotations

import http.server
import random
import socket
import ssl
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

NAME, OTHER = "www.audit.example", "other.example"
TIMES = 3
"""The number of planted instances of each check."""
VOCABULARY = [
    "the",
    "river",
    "house",
    "garden",
    "morning",
    "people",
    "water",
    "light",
    "small",
    "travel",
    "winter",
    "summer",
    "road",
    "market",
    "kitchen",
    "letter",
    "music",
    "window",
    "paper",
    "story",
    "village",
    "mountain",
    "teacher",
    "doctor",
    "friend",
    "family",
    "evening",
    "bread",
    "coffee",
    "apple",
    "silver",
    "copper",
    "wooden",
    "strong",
    "quiet",
    "early",
    "often",
    "never",
    "always",
    "between",
    "under",
    "along",
    "through",
    "before",
    "after",
    "while",
    "because",
    "although",
    "however",
    "carries",
    "follows",
    "watches",
    "builds",
    "paints",
    "writes",
    "answers",
    "remembers",
    "discovers",
    "explains",
    "measures",
    "collects",
    "returns",
    "bridge",
    "station",
    "island",
    "harbour",
    "forest",
    "valley",
    "meadow",
    "castle",
    "library",
    "museum",
    "theatre",
    "factory",
    "workshop",
    "painter",
    "sailor",
    "farmer",
    "baker",
    "captain",
    "engineer",
    "student",
    "neighbour",
    "journey",
    "weather",
    "season",
    "history",
    "science",
    "language",
    "picture",
    "number",
    "beautiful",
    "careful",
    "simple",
    "bright",
    "narrow",
    "gentle",
    "heavy",
    "ancient",
    "modern",
    "famous",
    "common",
    "private",
    "public",
    "second",
    "distant",
]
SECURITY = {
    "Strict-Transport-Security": "max-age=31536000",
    "Content-Security-Policy": "default-src 'self'",
    "X-Content-Type-Options": "nosniff",
}


@dataclass
class Answer:
    """The server's answer for a path. With `reset`, the server closes the connection instead."""

    body: bytes = b""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False
    length: int = 0
    """The Content-Length of a HEAD answer, if it must differ from the length of the body."""


class AuditedSite:
    """A site with its answers by path. `base` is the address of the site."""

    def __init__(self, base: str, other: str, plain: str = "") -> None:
        self.base, self.other, self.plain = base, other, plain
        self.answers: dict[str, Answer] = {}
        self.others: dict[str, Answer] = {}
        self.truth: dict[str, set[str]] = defaultdict(set)
        self.listed: list[str] = []
        self.linked: list[str] = []
        self.disallowed: list[str] = []
        self.near: list[set[str]] = []
        self.security: dict[str, str] = {}
        self.redirects_http = False
        """Whether http redirects to https."""
        self.asked: list[str] = []
        """The requested paths of the site itself."""
        self.rng = random.Random(7)

    def url(self, path: str) -> str:
        return f"{self.base}{path}"

    def expect(self, check: str, path: str) -> None:
        """Records that a check must find a page."""
        self.truth[check].add(path if "://" in path else self.url(path))

    def words(self, n: int) -> str:
        return " ".join(self.rng.choice(VOCABULARY) for _ in range(n))

    def html(self, path: str, **parts: str) -> str:
        """Returns a clean page, with some of its parts replaced. An empty part is left out."""
        number = len(self.answers)
        own = {
            "lang": ' lang="en"',
            "title": f"<title>{self.words(4).title()} and more, part {number}</title>",
            "description": f'<meta name="description" content="Part {number}: {self.words(14)}.">',
            "canonical": f'<link rel="canonical" href="{escape(self.url(path))}">',
            "viewport": '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "head": "",
            "h1": f"<h1>Notes {number} on {self.words(3)}</h1>",
            "text": f"<p>{self.words(60).capitalize()}.</p><h2>{self.words(3)}</h2><p>{self.words(90).capitalize()}.</p>",
            "image": '<img src="/logo.png" alt="The sign of the house" width="10" height="10">',
            "nav": f'<a href="{self.url("/")}">The first page</a> <a href="/list-a.html">All of part one</a>',
            "body": "",
        } | parts
        return (
            f"<!DOCTYPE html><html{own['lang']}><head><meta charset=utf-8>{own['title']}{own['description']}"
            f"{own['canonical']}{own['viewport']}{own['head']}</head><body>{own['h1']}{own['text']}{own['image']}"
            f"{own['body']}{own['nav']}</body></html>"
        )

    def add(
        self,
        path: str,
        *,
        linked: bool = True,
        listed: bool = True,
        headers: dict[str, str] | None = None,
        **parts: str,
    ) -> str:
        """Adds a page. With `linked`, the lists link to the page. With `listed`, the sitemap contains it."""
        self.answers[path] = Answer(self.html(path, **parts).encode(), headers=headers or {})
        self.note(path, linked, listed)
        return path

    def answer(self, path: str, answer: Answer, *, linked: bool = True, listed: bool = False) -> str:
        self.answers[path] = answer
        self.note(path, linked, listed)
        return path

    def note(self, path: str, linked: bool, listed: bool) -> None:
        if linked:
            self.linked.append(path)
        if listed:
            self.listed.append(path)

    def redirect(
        self, path: str, target: str, status: int = 301, *, linked: bool = True, listed: bool = False
    ) -> str:
        return self.answer(
            path, Answer(status=status, headers={"Location": target}), linked=linked, listed=listed
        )

    def finish(self, robots: str = "", sitemap: bool = True) -> None:
        """Adds the first page, the lists that link to all pages, robots.txt and the sitemap."""
        links = "".join(
            f'<p><a href="{escape(path)}">{self.words(2)} {n}</a></p>' for n, path in enumerate(self.linked)
        )
        for name in ("a", "b"):
            self.add(f"/list-{name}.html", linked=False, body=links)
        lists = '<a href="/list-a.html">The first list</a> <a href="/list-b.html">The second list</a>'
        self.add("/", linked=False, body=lists)
        self.answers["/list-a.html"].body += b'<a href="/list-b.html">The second list of all</a>'
        self.answers["/logo.png"] = Answer(b"\x89PNG" + b"0" * 500, kind="image/png")
        self.answers["/style.css"] = Answer(b"p{color:red}", kind="text/css")
        rules = "".join(f"Disallow: {path}\n" for path in self.disallowed)
        text = f"User-agent: *\n{rules}{robots}\n"
        if sitemap:
            text += f"Sitemap: {self.url('/sitemap.xml')}\n"
            self.answers["/sitemap.xml"] = self.sitemap(self.listed)
        self.answers["/robots.txt"] = Answer(text.encode(), kind="text/plain")

    def sitemap(self, paths: list[str]) -> Answer:
        rows = "".join(
            f"<url><loc>{escape(path if '://' in path else self.url(path))}</loc><lastmod>2026-05-01</lastmod></url>"
            for path in paths
        )
        text = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
        return Answer(text.encode(), kind="application/xml")


def clean_site(base: str, other: str, plain: str = "") -> AuditedSite:
    """Returns a site without faults."""
    site = AuditedSite(base, other, plain)
    for n in range(8):
        site.add(f"/page-{n}.html", body=f'<a href="{other}/good-{n}.html">A page of another site</a>')
        site.others[f"/good-{n}.html"] = Answer(b"<title>good</title>good")
    versions = "".join(
        f'<link rel="alternate" hreflang="{code}" href="{base}/{code}.html">'
        for code in ("en-GB", "de-AT", "x-default")
    )
    for code in ("en-GB", "de-AT", "x-default"):
        site.add(f"/{code}.html", head=versions)
    data = '{"@context": "https://schema.org", "@type": "Product", "name": "Lamp", "offers": {"@type": "Offer", "price": "9.90"}}'
    site.add(
        "/data.html",
        head=f'<script type="application/ld+json">{data}</script><link rel="stylesheet" href="/style.css">'
        '<script src="/late.js" defer></script>',
        body='<p class="price">A lamp for EUR 9,90, in stock</p>',
    )
    site.answers["/late.js"] = Answer(b"1", kind="text/javascript")
    article = (
        '{"@type": "Article", "headline": "A light in the house", "datePublished": "2026-05-12T08:00:00Z"}'
    )
    site.add(
        "/article.html",
        head=f'<script type="application/ld+json">{article}</script>',
        h1="<h1>A light in the house</h1>",
        body="<p>Published: May 12, 2026</p>",
    )
    site.add(
        "/parts.html",
        body='<h2 id="second">Part two</h2><a href="#second">See part two</a><img src="/logo.png" alt="" width=1 height=1>',
    )
    _add_twins(site)
    site.finish()
    site.redirects_http = True
    return site


QUIET_SCRIPT = """
function go() { location.href = "/page-1.html" }
// location.href = "/page-1.html"
var text = "location.replace('/page-1.html')", here = window.location.href;
if (here === "about:blank") location.replace("/page-1.html");
if (!text) { window.location = "/page-1.html" } else { location.hash = "second" }
document.body.onclick = function () { location.assign("/page-1.html") }
button.addEventListener("click", () => { location.href = "/page-1.html" });
setTimeout(function () { text = location.href }, 100)
"""
"""A script that sends no visitor away on its own."""


def _add_twins(site: AuditedSite) -> None:
    """Adds pages that look like faults of checks, and are none."""
    site.add("/twin-script.html", body=f"<script>{QUIET_SCRIPT}</script>")
    images = '<img src="/logo.png" srcset="/logo.png 1x, data:image/gif;base64,R0l 2x" alt="Sign" width=9 height=9>'
    preview = f'<meta property="og:image" content="{site.url("/logo.png")}">'
    site.add("/twin-media.html", head=preview, body=images)
    latin = site.html("/twin-latin.html", body="<p>un caf\xe9</p>").replace("charset=utf-8", "charset=latin1")
    site.answer(
        "/twin-latin.html",
        Answer(latin.encode("cp1252"), kind='text/html; charset="windows-1252"'),
        listed=True,
    )
    zoom = '<meta name="viewport" content="width=device-width, maximum-scale=5, user-scalable=yes">'
    site.add("/twin-zoom.html", viewport=zoom)
    for path in ("/twin-list.html?page=2", "/twin-caf%C3%A9%2Dbar.html", f"/twin-{'long-' * 12}url.html"):
        site.add(path)
    links = (
        '<a href="/parts.html#second:~:text=Part%20two">Part two of it</a><a href="/page-1.html">The page one</a>'
        '<a href="/page-1.html">Again the page one</a><noscript><a href="/page-2.html">The page two</a></noscript>'
    )
    site.add("/twin-links.html", body=links)
    site.add(
        "/twin-dates.html",
        headers={"X-Robots-Tag": "unavailable_after: Saturday, 25-Jul-2099 15:00:00 GMT, max-snippet:20"},
        head='<meta name="robots" content="unavailable_after: 2099-07-25T15:00:00+02:00, index">',
    )


def planted_site(base: str, other: str, plain: str = "") -> AuditedSite:
    """Returns a copy of the clean site with TIMES instances of each possible fault of a page. A crawl can see
    the whole site."""
    site = clean_site(base, other, plain)
    site.redirects_http = False
    for path in ("/", "/list-a.html", "/list-b.html"):
        site.listed.remove(path)
    for n in range(TIMES):
        _plant_statuses(site, n)
        _plant_redirects(site, n)
        _plant_indexability(site, n)
        _plant_versions(site, n)
        _plant_titles(site, n)
        _plant_content(site, n)
        _plant_media(site, n)
        _plant_loading(site, n)
        _plant_links(site, n)
        _plant_sitemaps(site, n)
        _plant_unlinked(site, n)
        _plant_loaded(site, n)
        _plant_urls(site, n)
        _plant_dates(site, n)
    site.finish(robots="".join(f"Sitemap: {site.url(f'/bad-sitemap-{n}.xml')}\n" for n in range(TIMES)))
    return site


def failing_site(base: str, other: str, plain: str = "") -> AuditedSite:
    """Returns a copy of the clean site with pages that fail, so that no crawl can see the whole site."""
    site = clean_site(base, other, plain)
    site.redirects_http = False
    for path in ("/", "/list-a.html", "/list-b.html"):
        site.listed.remove(path)
    for n in range(TIMES):
        failing = site.answer(f"/failing-{n}.html", Answer(b"failed", 500), linked=False)
        silent = site.answer(f"/silent-{n}.html", Answer(reset=True), linked=False)
        site.expect("page-5xx", failing)
        site.expect("page-no-response", silent)
        for place, target in enumerate((failing, silent)):
            source = site.add(
                f"/links-to-broken-{n}-{place}.html", body=f'<a href="{target}">The broken page</a>'
            )
            site.expect("broken-link", source)
        script = f'<div id="root"></div><script src="/app-{n}.js"></script>'
        site.answers[f"/app-{n}.js"] = Answer(b"1", kind="text/javascript")
        path = site.add(f"/script-{n}.html", h1="", text="", image="", nav="", body=script)
        site.expect("javascript-needed", path)
        site.expect("orphan", site.add(f"/orphan-{n}.html", linked=False))
    site.finish()
    return site


def _plant_statuses(site: AuditedSite, n: int) -> None:
    gone = site.answer(f"/gone-{n}.html", Answer(b"gone", 404), linked=False)
    site.expect("page-4xx", gone)
    site.expect(
        "broken-link", site.add(f"/links-to-gone-{n}.html", body=f'<a href="{gone}">The broken page</a>')
    )
    soft = f"<title>Page not found in the house of words {n}</title>"
    path = site.add(f"/soft-{n}.html", title=soft, h1=f"<h1>Error 404 number {n}</h1>")
    site.expect("soft-404", path)
    site.disallowed.append(f"/closed-{n}")
    site.expect("robots-blocked-linked", site.add(f"/closed-{n}.html", listed=False))
    site.expect("large-page", site.add(f"/large-{n}.html", body=f"<!-- {'x' * 2_100_000} -->"))
    site.others[f"/moved-{n}.html"] = Answer(status=301, headers={"Location": f"/new-{n}.html"})
    site.others[f"/new-{n}.html"] = Answer(b"new")
    site.others[f"/refused-{n}.html"] = Answer(b"no", 403)
    for check, name in (
        ("external-broken", "none"),
        ("external-refused", "refused"),
        ("external-moved", "moved"),
    ):
        path = site.add(f"/{check}-{n}.html", body=f'<a href="{site.other}/{name}-{n}.html">Another site</a>')
        site.expect(check, path)


def _plant_redirects(site: AuditedSite, n: int) -> None:
    good = f"/page-{n}.html"
    chain = site.redirect(f"/chain-{n}.html", f"/chain-{n}-b.html", linked=False)
    site.redirect(f"/chain-{n}-b.html", good, linked=False)
    site.redirect(f"/loop-{n}.html", f"/loop-{n}-b.html", linked=False)
    site.redirect(f"/loop-{n}-b.html", f"/loop-{n}.html", linked=False)
    site.redirect(f"/to-error-{n}.html", f"/missing-{n}.html", linked=False)
    site.redirect(f"/temporary-{n}.html", good, 302, linked=False)
    site.expect("redirect-chain", chain)
    for path in (f"/loop-{n}.html", f"/loop-{n}-b.html"):
        site.expect("redirect-loop", path)
    site.expect("redirect-to-error", f"/to-error-{n}.html")
    site.expect("page-4xx", f"/missing-{n}.html")
    site.expect("redirect-temporary", f"/temporary-{n}.html")
    for name in ("chain", "loop", "to-error", "temporary"):
        source = site.add(
            f"/links-to-{name}-{n}.html", body=f'<a href="/{name}-{n}.html">The page that moved</a>'
        )
        if name != "loop":
            site.expect("link-to-redirect", source)
    refresh = f'<meta http-equiv="refresh" content="5; url={good}">'
    site.expect("meta-refresh", site.add(f"/refresh-{n}.html", head=refresh))


def _canonical(href: str) -> str:
    return f'<link rel="canonical" href="{href}">'


def _plant_indexability(site: AuditedSite, n: int) -> None:
    good = site.url(f"/page-{n}.html")
    hidden = site.add(f"/hidden-{n}.html", listed=False, head='<meta name="robots" content="noindex">')
    site.expect("noindex", hidden)
    tagged = site.add(
        f"/tagged-{n}.html", listed=False, headers={"X-Robots-Tag": "googlebot: noindex, nosnippet"}
    )
    site.expect("noindex", tagged)
    site.expect("snippet-blocked", tagged)
    site.expect(
        "nofollow-page", site.add(f"/nofollow-{n}.html", head='<meta name="robots" content="nofollow">')
    )
    path = site.add(f"/conflict-{n}.html", listed=False, head='<meta name="robots" content="index, noindex">')
    site.expect("robots-conflict", path)
    site.expect("noindex", path)
    site.expect("canonical-missing", site.add(f"/canonical-missing-{n}.html", canonical=""))
    path = f"/canonical-multiple-{n}.html"
    site.add(path, canonical=_canonical(site.url(path)) + _canonical(good))
    site.expect("canonical-multiple", path)
    site.expect(
        "canonical-relative", site.add(f"/relative-{n}.html", canonical=_canonical(f"/relative-{n}.html"))
    )
    path = site.add(f"/file-{n}.html", canonical=_canonical("file:///srv/build/index.html"))
    site.expect("canonical-invalid", path)
    path = site.add(f"/mismatch-{n}.html", headers={"Link": f'<{good}>; rel="canonical"'})
    site.expect("canonical-mismatch", path)
    path = f"/in-body-{n}.html"
    site.add(path, canonical="", body=_canonical(site.url(path)))
    site.expect("canonical-in-body", path)
    site.expect("canonical-missing", path)
    for check, target in (
        ("canonical-to-error", f"/gone-{n}.html"),
        ("canonical-to-redirect", f"/temporary-{n}.html"),
        ("canonical-to-noindex", f"/hidden-{n}.html"),
        ("canonical-chain", f"/variant-{n}.html"),
    ):
        site.expect(
            check, site.add(f"/{check}-{n}.html", listed=False, canonical=_canonical(site.url(target)))
        )
    site.add(f"/variant-{n}.html", listed=False, canonical=_canonical(good))
    path = site.add(
        f"/nofollow-link-{n}.html", body=f'<a rel="nofollow" href="/secret-{n}.html">A page apart</a>'
    )
    site.add(f"/secret-{n}.html", linked=False, listed=False)
    site.expect("nofollow-internal", path)
    site.expect(
        "canonical-other-site",
        site.add(
            f"/copy-of-other-{n}.html", listed=False, canonical=_canonical(f"{site.other}/good-{n}.html")
        ),
    )


def version(code: str, href: str) -> str:
    """Returns the link element of a language version."""
    return f'<link rel="alternate" hreflang="{code}" href="{href}">'


def _plant_versions(site: AuditedSite, n: int) -> None:
    def plant(check: str, code: str, target: str, *more: str, own: bool = True, default: bool = True) -> str:
        path = f"/{check}-{n}.html"
        head = version(code, target) + "".join(more)
        head += version("en", site.url(path)) if own else ""
        head += version("x-default", site.url(path)) if default else ""
        site.expect(check, site.add(path, head=head))
        return path

    path = f"/hreflang-invalid-{n}.html"
    code = ("en-UK", "xx", "de_DE")[n]
    head = (
        version(code, site.url(path)) + version("en", site.url(path)) + version("x-default", site.url(path))
    )
    site.expect("hreflang-invalid", site.add(path, head=head))
    path = f"/hreflang-self-missing-{n}.html"
    partner = f"/partner-{n}.html"
    site.add(path, head=version("de", site.url(partner)) + version("x-default", site.url(partner)))
    site.expect("hreflang-self-missing", path)
    both = (
        version("de", site.url(partner))
        + version("en", site.url(path))
        + version("x-default", site.url(partner))
    )
    site.add(partner, head=both)
    path = plant("hreflang-return-missing", "de", site.url(f"/page-{n}.html"))
    path = f"/hreflang-default-missing-{n}.html"
    pair = version("en", site.url(path)) + version("de", site.url(f"/german-{n}.html"))
    for one in (path, f"/german-{n}.html"):
        site.expect("hreflang-default-missing", site.add(one, head=pair))
    path = f"/hreflang-duplicate-{n}.html"
    twice = (
        version("en", site.url(path))
        + version("en", site.url(f"/second-{n}.html"))
        + version("x-default", site.url(path))
    )
    for one in (path, f"/second-{n}.html"):
        site.expect("hreflang-duplicate", site.add(one, head=twice))
    path = f"/hreflang-relative-{n}.html"
    site.add(path, head=version("en", path) + version("x-default", site.url(path)))
    site.expect("hreflang-relative", path)
    plant("hreflang-to-error", "de", site.url(f"/gone-{n}.html"))
    plant("hreflang-to-redirect", "de", site.url(f"/temporary-{n}.html"))
    for check, canonical, robots in (
        ("hreflang-to-noindex", "", '<meta name="robots" content="noindex">'),
        ("hreflang-to-noncanonical", _canonical(site.url(f"/page-{n}.html")), ""),
    ):
        path, target = f"/{check}-{n}.html", f"/{check}-target-{n}.html"
        links = (
            version("de", site.url(target))
            + version("en", site.url(path))
            + version("x-default", site.url(path))
        )
        parts = {"canonical": canonical} if canonical else {}
        site.add(target, listed=False, head=links + robots, **parts)
        site.expect(check, site.add(path, head=links))
        site.expect(check, target)
        if robots:
            site.expect("noindex", target)


def _plant_titles(site: AuditedSite, n: int) -> None:
    site.expect(
        "title-missing",
        site.add(f"/title-missing-{n}.html", title=("", "<title></title>", "<title> </title>")[n]),
    )
    twice = f"<title>The first of the two titles {n}</title><title>The other one of both {n}</title>"
    site.expect("title-multiple", site.add(f"/title-multiple-{n}.html", title=twice))
    for letter in "ab":
        path = site.add(
            f"/title-same-{n}-{letter}.html", title=f"<title>The same title on two pages {n}</title>"
        )
        site.expect("title-duplicate", path)
        shared = f'<meta name="description" content="One description for two pages, number {n}, which tells them not apart.">'
        site.expect(
            "description-duplicate", site.add(f"/description-same-{n}-{letter}.html", description=shared)
        )
        site.expect(
            "h1-duplicate", site.add(f"/h1-same-{n}-{letter}.html", h1=f"<h1>One heading for two {n}</h1>")
        )
    site.expect("title-short", site.add(f"/title-short-{n}.html", title=f"<title>Tea {n}</title>"))
    site.expect("title-long", site.add(f"/title-long-{n}.html", title=f"<title>{site.words(30)} {n}</title>"))
    same = f"The title and the heading {n}"
    path = site.add(f"/title-heading-{n}.html", title=f"<title>{same}</title>", h1=f"<h1>{same}</h1>")
    site.expect("title-same-as-h1", path)
    site.expect("description-missing", site.add(f"/description-missing-{n}.html", description=""))
    meta = '<meta name="description" content="{}">'
    two = meta.format(f"First text: {site.words(14)}") + meta.format(f"Second text: {site.words(14)}")
    site.expect("description-multiple", site.add(f"/description-multiple-{n}.html", description=two))
    site.expect(
        "description-short", site.add(f"/description-short-{n}.html", description=meta.format(f"Short {n}"))
    )
    path = site.add(f"/description-long-{n}.html", description=meta.format(site.words(50)))
    site.expect("description-long", path)
    site.expect("h1-missing", site.add(f"/h1-missing-{n}.html", h1=f"<p>Without a heading {n}</p>"))
    path = site.add(f"/h1-multiple-{n}.html", h1=f"<h1>One of two {n}</h1><h1>Two of two {n}</h1>")
    site.expect("h1-multiple", path)
    site.expect("heading-order", site.add(f"/heading-order-{n}.html", body="<h4>Too deep</h4>"))
    late = f'<meta name="robots" content="index"><p>{site.words(5)}</p>'
    site.expect("meta-in-body", site.add(f"/meta-in-body-{n}.html", body=late))


def _plant_content(site: AuditedSite, n: int) -> None:
    path = site.add(f"/thin-{n}.html", text="<p>Only a few words.</p>")
    site.expect("thin-page", path)
    text, h1 = f"<p>{site.words(120)}</p>", f"<h1>One text for two addresses {n}</h1>"
    title = "<title>{}</title>"
    site.add(f"/copy-{n}.html", text=text, h1=h1)
    copy = site.add(f"/copy-{n}-second.html", text=text, h1=h1)
    site.expect("duplicate-exact", copy)
    for one in (f"/copy-{n}.html", copy):
        site.expect("h1-duplicate", one)
    long = site.words(400)
    near = [site.add(f"/near-{n}-{letter}.html", text=f"<p>{long} {letter * 3}</p>") for letter in "ab"]
    site.near.append({site.url(one) for one in near})  # one of the two is the original
    site.expect("lorem-ipsum", site.add(f"/lorem-{n}.html", body="<p>Lorem ipsum dolor sit amet</p>"))
    site.expect("language-missing", site.add(f"/language-missing-{n}.html", lang=""))
    site.expect(
        "language-invalid",
        site.add(f"/language-invalid-{n}.html", lang=f' lang="{("english", "en_US", "qq")[n]}"'),
    )
    german = (
        "Der alte Mann wohnt seit vielen Jahren in einem kleinen Haus am Rande des Dorfes, und jeden Morgen geht er mit "
        "seinem Hund durch den Wald, bis die Sonne über den Bergen steht. Danach kocht er sich einen Kaffee, liest die "
        "Zeitung und schreibt Briefe an seine Kinder, die schon lange in der großen Stadt leben und nur selten kommen. "
        "Im Winter ist es hier sehr still, aber er mag die Ruhe und den Schnee auf den Dächern der Häuser. "
    )
    path = site.add(
        f"/german-text-{n}.html",
        text=f"<p>{german * 2} Seite {n} {site.rng.random()}</p>",
        title=title.format(f"Ein Haus am Rande des Dorfes {n}"),
    )
    site.expect("language-mismatch", path)
    lamp = '{{"@type": "Product", "name": "Lamp", "offers": {{"@type": "Offer", "price": "{}", "availability": "{}"}}}}'
    shown = (
        '<h2>Lamp</h2><p class="price">EUR 12.90</p>',
        '<h2>Lamp</h2><p class="price">EUR 9.90</p><p class="stock">Sold out</p>',
        '<h2>Chair</h2><p class="price">EUR 9.90</p>',
    )[n]
    data = f'<script type="application/ld+json">{lamp.format("9.90", "InStock")}</script>'
    site.expect("structured-contradiction", site.add(f"/contradiction-{n}.html", head=data, body=shown))
    site.expect("duplicate-id", site.add(f"/id-{n}.html", body='<p id="x">one</p><p id="x">two</p>'))
    for check, data in (
        ("structured-invalid", '{"@type": "Product", "name": "Lamp",}'),
        ("structured-incomplete", '{"@type": "Event", "name": "Fair", "startDate": "2026-05-01"}'),
        (
            "structured-value",
            '{"@type": "Product", "name": "Lamp", "offers": {"@type": "Offer", "price": "about 5"}}',
        ),
    ):
        script = f'<script type="application/ld+json">{data}</script>'
        path = site.add(f"/{check}-{n}.html", head=script, body="<p>A lamp of the fair</p>")
        site.expect(check, path)
    site.expect("viewport-missing", site.add(f"/viewport-{n}.html", viewport=""))


def _plant_media(site: AuditedSite, n: int) -> None:
    size = "width=5 height=5"
    site.expect("alt-missing", site.add(f"/alt-{n}.html", body=f'<img src="/logo.png" {size}>'))
    site.expect(
        "alt-long",
        site.add(f"/alt-long-{n}.html", body=f'<img src="/logo.png" alt="{site.words(40)}" {size}>'),
    )
    site.expect("image-size-missing", site.add(f"/size-{n}.html", body='<img src="/logo.png" alt="A sign">'))
    path = site.add(f"/picture-{n}.html", body='<picture><source srcset="/logo.png"></picture>')
    site.expect("picture-without-img", path)
    site.expect(
        "image-broken", site.add(f"/image-{n}.html", body=f'<img src="/none-{n}.png" alt="none" {size}>')
    )
    site.answers[f"/big-{n}.png"] = Answer(b"0" * 600_000, kind="image/png")
    site.expect(
        "image-large", site.add(f"/image-large-{n}.html", body=f'<img src="/big-{n}.png" alt="big" {size}>')
    )
    path = site.add(f"/resource-{n}.html", head=f'<link rel="stylesheet" href="/none-{n}.css">')
    site.expect("resource-broken", path)
    path = site.add(f"/mixed-{n}.html", body=f'<img src="http://{OTHER}/x.png" alt="mixed" {size}>')
    site.expect("mixed-content", path)
    site.expect("image-broken", path)
    site.expect(
        "insecure-form", site.add(f"/form-{n}.html", body=f'<form action="http://{OTHER}/send"></form>')
    )


def _plant_loading(site: AuditedSite, n: int) -> None:
    script = (
        "<script src={}>",
        "<script type=text/javascript src={}>",
        "<meta charset=utf-8><script src={}>",
    )[n]
    site.answers[f"/first-{n}.js"] = Answer(b"1", kind="text/javascript")
    path = site.add(f"/blocking-{n}.html", head=f"{script.format(f'/first-{n}.js')}</script>")
    site.expect("blocking-script", path)
    site.answers["/wide.png"] = Answer(b"0" * 900, kind="image/png")
    late = ("loading=lazy src", "loading=LAZY width=900 height=300 src", "src='data:image/gif,x' data-src")[n]
    size = "" if "width" in late else " width=900 height=300"
    path = site.add(
        f"/late-{n}.html", text=f'<img alt="Wide" {late}="/wide.png"{size}><p>{site.words(90)}</p>'
    )
    site.expect("late-picture", path)
    for one in range(13):
        site.answers[f"/part-{one}.png"] = Answer(b"0", kind="image/png", length=400_000)
    parts = "".join(f'<img src="/part-{one}.png" alt="Part" width=5 height=5>' for one in range(13))
    site.expect("heavy-page", site.add(f"/heavy-{n}.html", body=parts))


def _plant_links(site: AuditedSite, n: int) -> None:
    site.expect("orphan", site.add(f"/orphan-{n}.html", linked=False))
    site.expect("dead-end", site.add(f"/end-{n}.html", nav=""))
    site.add(f"/step-{n}-3.html", linked=False, body=f'<a href="/step-{n}-4.html">The next step</a>')
    site.add(f"/step-{n}-2.html", body=f'<a href="/step-{n}-3.html">The next step</a>')
    site.expect("deep-page", site.add(f"/step-{n}-4.html", linked=False))
    for step in (3, 4):
        site.expect("single-inlink", f"/step-{n}-{step}.html")
    many = "".join(
        f'<a href="{site.other}/many/{one}">Page {one} of the other site</a>' for one in range(510)
    )
    site.others |= {f"/many/{one}": Answer(b"one of many") for one in range(510)}
    site.expect("many-links", site.add(f"/many-{n}.html", body=many))
    site.expect("anchor-empty", site.add(f"/empty-{n}.html", body='<a href="/page-0.html"></a>'))
    text = ("click here", "Read more…", "hier")[n]
    site.expect("anchor-generic", site.add(f"/generic-{n}.html", body=f'<a href="/page-0.html">{text}</a>'))
    site.expect(
        "fragment-missing", site.add(f"/fragment-{n}.html", body='<a href="/parts.html#third">Part three</a>')
    )
    local = ("http://localhost:3000/", "http://192.168.1.5/", "http://intranet.local/")[n]
    path = site.add(f"/local-{n}.html", body=f'<a href="{local}">The page on my machine</a>')
    site.expect("localhost-link", path)
    followed = site.add(f"/followed-{n}.html")
    path = site.add(f"/half-{n}.html", body=f'<a rel="nofollow" href="{followed}">The page with both</a>')
    site.expect("mixed-follow", followed)
    site.expect("nofollow-internal", path)
    path = site.add(f"/pages-{n}.html", head=f'<link rel="next" href="/none-next-{n}.html">')
    for check in ("pagination-broken", "broken-link"):
        site.expect(check, path)
    site.expect("page-4xx", f"/none-next-{n}.html")
    site.expect(
        "http-link",
        site.add(f"/http-link-{n}.html", body=f'<a href="{site.plain}/">The same without https</a>'),
    )


def _plant_sitemaps(site: AuditedSite, n: int) -> None:
    site.answers[f"/bad-sitemap-{n}.xml"] = (
        Answer(b"none", 404),
        Answer(b"<html><body>Nothing</body></html>", kind="application/xml"),
        Answer(
            f"<?xml version='1.0'?><urlset><url><loc>{site.url('/')}</loc></url>".encode(),
            kind="application/xml",
        ),
    )[n]
    site.expect("sitemap-broken", f"/bad-sitemap-{n}.xml")
    gone = site.answer(f"/listed-gone-{n}.html", Answer(b"gone", 410), linked=False, listed=True)
    site.expect("sitemap-error", gone)
    site.expect("page-4xx", gone)
    site.expect(
        "sitemap-redirect",
        site.redirect(f"/listed-moved-{n}.html", f"/page-{n}.html", linked=False, listed=True),
    )
    path = site.add(f"/listed-hidden-{n}.html", head='<meta name="robots" content="noindex">')
    site.expect("sitemap-noindex", path)
    site.expect("noindex", path)
    path = site.add(f"/listed-variant-{n}.html", canonical=_canonical(site.url(f"/page-{n}.html")))
    site.expect("sitemap-noncanonical", path)
    site.disallowed.append(f"/listed-closed-{n}")
    path = site.add(f"/listed-closed-{n}.html", linked=False)
    site.expect("sitemap-blocked", path)
    foreign = f"https://elsewhere-{n}.example/"
    site.listed.append(foreign)
    site.expect("sitemap-other-host", foreign)
    site.expect("sitemap-page-missing", site.add(f"/unlisted-{n}.html", listed=False))


def _plant_unlinked(site: AuditedSite, n: int) -> None:
    """Plants canonical URLs and language versions to which no link leads."""
    gone = [f"/named-gone-{n}-{place}.html" for place in range(2)]
    for path in gone:
        site.answer(path, Answer(b"gone", 404), linked=False)
        site.expect("page-4xx", path)
    path = site.add(f"/names-gone-{n}.html", listed=False, canonical=_canonical(site.url(gone[0])))
    site.expect("canonical-to-error", path)
    path = f"/speaks-gone-{n}.html"
    head = "".join(version(code, site.url(path)) for code in ("en", "x-default"))
    site.expect("hreflang-to-error", site.add(path, head=head + version("de", site.url(gone[1]))))
    hidden = f"/named-hidden-{n}.html"
    site.add(hidden, linked=False, listed=False, head='<meta name="robots" content="noindex">')
    site.expect("noindex", hidden)
    path = site.add(f"/names-hidden-{n}.html", listed=False, canonical=_canonical(site.url(hidden)))
    site.expect("canonical-to-noindex", path)
    other = f"{site.other}/named-{n}.html"
    path = site.add(f"/names-other-{n}.html", listed=False, canonical=_canonical(other))
    for check in ("canonical-to-error", "canonical-other-site"):
        site.expect(check, path)
    path = f"/canonical-part-{n}.html"
    site.expect("canonical-fragment", site.add(path, canonical=_canonical(site.url(f"{path}#part"))))


def _plant_loaded(site: AuditedSite, n: int) -> None:
    script = (
        "location.replace('/page-1.html')",
        'setTimeout(function () { window.location.href = "/page-1.html" }, 3000)',
        "window.onload = () => { window.location = '/page-1.html' }",
    )[n]
    path = site.add(f"/script-moves-{n}.html", listed=False, body=f"<script>{script}</script>")
    site.expect("script-redirect", path)
    site.redirect(f"/old-{n}.html", "/", (301, 302, 308)[n], linked=False)
    site.expect("redirect-to-home", f"/old-{n}.html")
    site.redirect(f"/{n}/index.html", f"/page-{n}.html", linked=False)
    source = site.add(
        f"/links-to-old-{n}.html",
        body=f'<a href="/old-{n}.html">The old page</a><a href="/{n}/index.html">The other index</a>',
    )
    site.expect("link-to-redirect", source)
    if n == 1:
        site.expect("redirect-temporary", f"/old-{n}.html")
    elif n == 2:
        site.redirect("/index.html", "/", linked=False)
        site.expect(
            "link-to-redirect", site.add("/home.html", body='<a href="/index.html">The home page</a>')
        )
    site.disallowed.append(f"/closed-script-{n}.js")
    path = site.add(f"/loads-closed-{n}.html", body=f'<script src="/closed-script-{n}.js"></script>')
    site.expect("resource-blocked", path)
    wide = f'<img src="/logo.png" srcset="/logo.png 1x, /none-wide-{n}.png 2x" alt="Sign" width=9 height=9>'
    site.expect("image-broken", site.add(f"/srcset-{n}.html", body=wide))
    preview = f'<meta property="og:image" content="{site.url(f"/none-preview-{n}.png")}">'
    site.expect("image-broken", site.add(f"/preview-{n}.html", head=preview))
    path = f"/charset-{n}.html"
    text = site.html(path, body="<p>un caf\xe9</p>")
    kind = ("text/html; charset=iso-8859-1", "text/html; charset=utf-8", "text/html; charset=utf-9")[n]
    site.answer(path, Answer(text.encode("cp1252" if n == 1 else "utf-8"), kind=kind), listed=True)
    site.expect("charset-wrong", path)
    lock = ("user-scalable=no", "initial-scale=1,maximum-scale=1.0", "user-scalable = 0")[n]
    meta = f'<meta name="viewport" content="width=device-width, {lock}">'
    site.expect("viewport-locked", site.add(f"/zoom-{n}.html", viewport=meta))


def _plant_urls(site: AuditedSite, n: int) -> None:
    for check, path in (
        ("url-uppercase", f"/About-{n}.html"),
        ("url-underscore", f"/a_page-{n}.html"),
        ("url-parameters", f"/sorted-{n}.html?sort=up&page=2"),
        ("url-long", f"/{'very-' * 22}long-{n}.html"),
        ("url-double-slash", f"/folder//page-{n}.html"),
    ):
        site.expect(check, site.add(path))
    both = site.add(f"/both-{n}.html", linked=False)
    path = site.add(
        f"/links-both-{n}.html",
        body=f'<a href="{both}">The page of both</a><a rel="nofollow" href="{both}">The page again</a>',
    )
    site.expect("mixed-follow", both)
    site.expect("single-inlink", both)
    site.expect("nofollow-internal", path)
    marked = site.add(f"/marked-{n}.html", body='<a href="/parts.html#fourth:~:text=Part">The part four</a>')
    site.expect("fragment-missing", marked)
    gone = site.answer(f"/gone-quietly-{n}.html", Answer(b"gone", 404), linked=False)
    site.expect("page-4xx", gone)
    path = site.add(
        f"/noscript-{n}.html", body=f'<noscript><a href="{gone}">The page without scripts</a></noscript>'
    )
    site.expect("broken-link", path)


def _plant_dates(site: AuditedSite, n: int) -> None:
    path = f"/dated-{n}.html"
    if n == 0:
        value = "unavailable_after: Saturday, 25-Jul-2009 15:00:00 PST, nosnippet"
        site.add(path, listed=False, headers={"X-Robots-Tag": value})
        site.expect("snippet-blocked", path)
    elif n == 1:
        meta = '<meta name="robots" content="unavailable_after: 2009-07-25T15:00:00+02:00">'
        site.add(path, listed=False, head=meta)
    else:
        site.add(path, headers={"X-Robots-Tag": "googlebot: unavailable_after: next week"})
    site.expect("unavailable-after", path)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing."""


def _handler(site: AuditedSite) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        site_: AuditedSite = site

        def do_GET(self) -> None:
            self.reply(with_body=True)

        def do_HEAD(self) -> None:
            self.reply(with_body=False)

        def reply(self, *, with_body: bool) -> None:
            site = self.server.site  # type: ignore[attr-defined]
            is_other = self.headers.get("Host", "").startswith(OTHER)
            found = (site.others if is_other else site.answers).get(self.path)
            answer = found or Answer(b"<title>none</title>none", 404, kind="text/html")
            if not is_other:
                site.asked.append(self.path)
            if answer.reset:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if site.redirects_http and not isinstance(self.connection, ssl.SSLSocket) and not is_other:
                answer = Answer(status=301, headers={"Location": site.url(self.path)})
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            length = answer.length if answer.length and not with_body else len(answer.body)
            self.send_header("Content-Length", str(length))
            for name, value in (site.security | answer.headers).items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler


def certificate(folder: Path) -> Path:
    """Creates a file with a key and a self-signed certificate for both names."""
    file = folder / "own.pem"
    names = f"subjectAltName=DNS:{NAME},DNS:{OTHER}"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "30",
    ]
    key = folder / "own.key"
    subprocess.run(
        [*command, "-subj", "/CN=audited", "-addext", names, "-keyout", key, "-out", file],
        check=True,
        capture_output=True,
    )
    (folder / "both.pem").write_text(key.read_text() + file.read_text())
    return file


@contextmanager
def serving(
    make: Any, folder: Path, *, secure: bool = True, security: dict[str, str] | None = None
) -> Iterator[AuditedSite]:
    """Serves a site over https and, on another port, over http."""
    servers = [_Server(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) for _ in range(2)]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    servers[0].socket = context.wrap_socket(
        servers[0].socket, server_side=True, do_handshake_on_connect=False
    )
    secured, plain = (server.server_port for server in servers)
    address = f"https://{NAME}:{secured}" if secure else f"http://{NAME}:{plain}"
    other = f"https://{OTHER}:{secured}"
    site = make(address, other, f"http://{NAME}:{plain}")
    site.security = SECURITY if security is None else security
    threads = []
    for server in servers:
        server.site = site  # type: ignore[attr-defined]
        server.RequestHandlerClass = _handler(site)
        threads.append(threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True))
        threads[-1].start()
    try:
        yield site
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
