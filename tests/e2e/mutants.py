"""Mutated input by the thousand: real pages, files and headers are changed at random, and are passed to
the parsers.

`mutant(kind, n)` returns the n-th mutant of a kind, which is always the same. `Eater().eat(kind, n)`
parses the mutant as the crawler does, and raises AssertionError if the result is invalid. Any other
exception is a bug."""

from __future__ import annotations

import gzip
import json
import math
import random
import time
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import brotli
import msgspec
import zstandard

from gossamer import url as urls
from gossamer.collectors.http import transfer
from gossamer.collectors.http.decoding import BadCoding, TooLarge, decode
from gossamer.identity.plain_identity import PlainIdentity
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim
from gossamer.parsing.sitemaps import entries
from gossamer.politeness import robots_access
from gossamer.url.redirects import redirect_target
from gossamer.url.scope import Scope
from gossamer.worker.decide import retry_after
from gossamer.worker.link_intake import LinkIntake, UrlPlaces
from gossamer.worker.reader import Reader, ReadSettings

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
LARGEST = 200_000
"""The maximum number of bytes of a mutant."""
LIMIT = 1_000_000
URL = "https://www.example.com/folder/page.html?q=1"
NASTY = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x92\xa9",
    b"\r",
    b"\r\n\r\n",
    b"<",
    b">",
    b"&#0;",
    b"&#xD800;",
    b"&#x110000;",
    b"&" * 99,
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<script>",
    b"<style>",
    b"<title>",
    b"<template>",
    b"<svg><title>",
    b"<math><mi>",
    b"<table><a href=/t>",
    b"<select><a href=/s>",
    b"<frameset>",
    b"<plaintext>",
    b"<base href='//['>",
    b"<base href=data:,>",
    b'<meta charset="utf-16">',
    b"<meta charset=x-user-defined>",
    b"<meta http-equiv=refresh content='0;url=//%'>",
    b"<meta name=robots content=none>",
    b"<a href='http://[::1'>",
    b"<a href='http://\xe2\x80\xae.example/'>",
    b"<a href='javascript:x'>",
    b"<a href='http://a@b:99999/'>",
    b"<a href='/%zz%00'>",
    b"<div>" * 3000,
    b"<a href=x>" * 300,
    b"<b><i>" * 500,
    b"<!DOCTYPE x [<!ENTITY a '&a;&a;'>]>",
    b"&a;",
    b"%" * 999,
    b"*" * 999,
    b"User-agent: *\n",
    b"Disallow: /*a*b*c*d$\n",
    b"Crawl-delay: 1e400\n",
    b"Crawl-delay: nan\n",
    b"Request-rate: 1/0\n",
    b"Sitemap: http://[\n",
    b"<url><loc>",
    b"</loc>",
    b"<lastmod>9999-99-99T99:99:99+99:99</lastmod>",
    b"<priority>nan</priority>",
    b"<sitemapindex>",
    b"<sitemap>",
    b"; Max-Age=99999999999999999999",
    b"; Expires=Thu, 99 Foo 99999 99:99:99 GMT",
    b"; Domain=.com",
    b"; Path=../..",
    b"=",
    b";" * 500,
    b", ",
    b"9" * 400,
    b"-1",
    b"1e999",
    b"charset=utf-7",
    b'charset="',
    b"//",
    b"\\\\",
    b"http:",
    b"@",
    b"#",
    b"?",
    b"xn--a-\xff",
    b"\xe3\x80\x82",
)


def decoded(value: Any) -> Iterable[bytes]:
    """Yield all byte strings in a row of the shared data."""
    if isinstance(value, dict):
        if set(value) == {"b64"}:
            yield b64decode(value["b64"])
        else:
            for inner in value.values():
                yield from decoded(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from decoded(inner)


def shared(name: str, most: int) -> list[bytes]:
    """Return byte strings from a file of the shared data, or an empty list if the file does not exist."""
    file = SHARED / f"{name}.jsonl.gz"
    if not file.exists():
        return []
    found: list[bytes] = []
    with gzip.open(file) as lines:
        for line in lines:
            found += [text for text in decoded(json.loads(line)) if len(text) <= LARGEST]
            if len(found) >= most:
                break
    return found[:most]


def _pages() -> list[bytes]:
    files = [
        *sorted(ROOT.glob("examples/*/pages/**/*.html")),
        *sorted(ROOT.glob(".sites/*/html/*.html"))[::40],
    ]
    found = [file.read_bytes() for file in files if file.stat().st_size <= LARGEST]
    made = b"<!doctype html><html lang=en><title>t</title><body><p>text<a href=/a rel=nofollow>a</a><a href='b?x=1#f'>b</a><area href=c>"
    return [made, *found, *shared("encoding-html5lib", 90), *shared("articles-zyte", 30)]


def _robots() -> list[bytes]:
    made = b"# x\nUser-agent: *\nDisallow: /private/\nAllow: /private/open$\nCrawl-delay: 2\nRequest-rate: 1/5\n\nUser-agent: gossamer\nSitemap: /s.xml\n"
    return [made, *shared("robots-google", 200), *shared("robots-spec", 200), *shared("robots-protego", 200)]


def _sitemaps() -> list[bytes]:
    ns = b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    made = [
        b'<?xml version="1.0"?><urlset '
        + ns
        + b"><url><loc>https://www.example.com/a?b&amp;c</loc><lastmod>2024-01-02</lastmod>"
        b"<priority>0.5</priority></url><url><loc><![CDATA[/d]]></loc></url></urlset>",
        b"<sitemapindex " + ns + b"><sitemap><loc>/s2.xml</loc></sitemap></sitemapindex>",
        b"<rss><channel><item><link>https://www.example.com/i</link><guid>x</guid><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item></channel></rss>",
        b"<feed><entry><link href='/e'/><updated>2024-01-02T03:04:05Z</updated></entry></feed>",
        b"https://www.example.com/1\nhttps://www.example.com/2\n",
    ]
    given = shared("sitemaps", 200)
    return [*made, *(gzip.compress(one) for one in made), *given]


def _headers() -> list[bytes]:
    made = [
        b'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset="utf-8"\r\nSet-Cookie: a=b; Path=/; Domain=example.com; Max-Age=60\r\n\r\n',
        b"HTTP/1.1 301 Moved\r\nLocation: //www.example.com/\xc3\xa4?x=1#y\r\nSet-Cookie: id=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT; Secure\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Encoding: gzip, br\r\nX: y\r\n folded\r\n\r\n",
        b"HTTP/2 429 \r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nX-Robots-Tag: otherbot: noindex, nofollow\r\nRefresh: 0; url=/x\r\n\r\n",
    ]
    return [*made, *(b"HTTP/1.1 200 OK\r\n" + one + b"\r\n\r\n" for one in shared("cookies", 300))]


def _bodies() -> list[bytes]:
    plain = [b"", b"short", *(page[:60_000] for page in _pages()[:12]), b"\0" * 150_000]
    squeeze: tuple[Callable[[bytes], bytes], ...] = (
        gzip.compress,
        zlib.compress,
        brotli.compress,
        zstandard.ZstdCompressor().compress,
        lambda body: zlib.compress(body)[2:-4],
        lambda body: gzip.compress(body[:99]) * 50,
    )
    return [pack(body) for body in plain for pack in squeeze]


_SEEDS = {"html": _pages, "robots": _robots, "sitemap": _sitemaps, "header": _headers, "coding": _bodies}
KINDS = tuple(_SEEDS)


@cache
def seeds(kind: str) -> list[bytes]:
    """Return the original texts from which the mutants of a kind are made."""
    return _SEEDS[kind]()


def mutant(kind: str, n: int, seed: int = 1) -> bytes:
    """Return the n-th mutant of a kind."""
    rng = random.Random(f"{seed}:{kind}:{n}")
    given = seeds(kind)
    data = bytearray(rng.choice(given))
    for _ in range(rng.choice((1, 1, 2, 4, 16, 64))):
        _change(rng, data, given)
    return bytes(data[:LARGEST])


def _change(rng: random.Random, data: bytearray, given: list[bytes]) -> None:
    """Make one random change in place."""
    size = len(data)
    at = rng.randrange(size + 1)
    end = min(size, at + rng.choice((1, 2, 8, 64, 1000)))
    what = rng.randrange(8)
    if what == 0 and size:
        data[at % size] = rng.randrange(256)
    elif what == 1:
        del data[at:end]
    elif what == 2:
        data[at:at] = rng.choice(NASTY)
    elif what == 3:
        data[at:at] = bytes(data[at:end]) * rng.choice((1, 2, 50))
    elif what == 4:
        other = rng.choice(given)
        begin = rng.randrange(len(other) + 1)
        data[at:end] = other[begin : begin + rng.choice((4, 40, 4000))]
    elif what == 5:
        data[at:end] = rng.randbytes(end - at)
    elif what == 6 and rng.random() < 0.2:
        del data[at:]
    else:
        data[at:end] = bytes(data[at:end]).swapcase()


class Eater:
    """The parsers of a worker, one method per kind of input. `claim` is the claim of the page that is
    read."""

    def __init__(self) -> None:
        self.identity = PlainIdentity({}, {}, [], urls.registered_domain)
        # after two crashes, the reader checks the nesting of a page before the page is parsed
        self.claim = Claim(1, 0, "www.example.com", Request(URL), crashes=2)
        taker = LinkIntake(
            Scope.of([URL], "any"),
            UrlPlaces(7, lambda mark: (mark >> 32, mark & 0xFFFFFFFF), lambda _: 0, urls.key),
            own=lambda host: host == "www.example.com",
            room=5000,
        )
        self.reader = Reader([], taker, urls.key, ReadSettings(pages=True, text=True, links=True))

    def eat(self, kind: str, n: int, seed: int = 1) -> float:
        """Parse one mutant, and return the CPU seconds used."""
        data, read = mutant(kind, n, seed), getattr(self, kind)
        began = time.thread_time()
        read(data)
        return time.thread_time() - began

    def html(self, data: bytes) -> None:
        """The page becomes a serializable row, and all its links are http(s) URLs."""
        kind, body = (
            (b"text/html", data)
            if len(data) % 5
            else (b"text/html;" + data[: len(data) % 64], data[len(data) % 64 :])
        )
        headers = [("content-type", kind.decode("latin-1")), ("x-robots-tag", data[:40].decode("latin-1"))]
        got = self.reader.read(self.claim, Page(URL, 200, headers, body, 1.0, 0.1, len(body)), None)
        assert len(got.rows) == 1
        row = msgspec.json.decode(msgspec.json.encode(got.rows[0].data))
        assert len(row["title"] or "") <= 2000
        for found in row.get("out_links", ()):
            assert found.startswith(("http://", "https://")), found
        for adds in got.taken.adds.values():
            assert all(isinstance(part, int | bytes) for part in adds)

    def robots(self, data: bytes) -> None:
        """Stored robots.txt rules give the same answers as the original file."""
        found = robots_access.read(data, "gossamer")
        assert math.isfinite(found.crawl_delay)
        assert found.crawl_delay >= 0
        if found.rules:
            kept, whole = robots_access.rules(found.rules), robots_access.Robots(data)
            for path in ("/", "/private/x", "/a%2Fb?c=d", "/" + "ab" * 200):
                assert kept.allows("gossamer", URL[:23] + path) == whole.allows("gossamer", URL[:23] + path)

    def sitemap(self, data: bytes) -> None:
        """All entries of a sitemap are http(s) URLs, and priorities are between 0 and 1."""
        pages, sitemaps = entries(data, URL)
        for entry in (*pages, *sitemaps):
            assert entry.startswith(("http://", "https://")), entry
            assert entry.priority is None or 0 <= entry.priority <= 1

    def header(self, data: bytes) -> None:
        """Cookies, content type, redirect target and Retry-After of a response head are handled without
        errors."""
        status, found = transfer.parse(data.splitlines(keepends=True))
        assert 0 <= status <= 999
        page = Page(URL, status, found, b"<p>", 1.0, 0.1, 3)
        self.identity.took(page)
        sent = self.identity.headers(Request(URL))
        assert all(
            "\n" not in value and "\r" not in value and "\0" not in value for value in sent.values()
        ), sent
        for _, value in found:
            assert 0 <= retry_after(value) < 1e12
            to = redirect_target(value, URL)
            assert to is None or urls.parse(to) == to
        self.reader.read(self.claim, page, None)

    def coding(self, data: bytes) -> None:
        """For any name of the coding, the decoded output stays within the limit."""
        for name in ("gzip", "deflate", "br", "zstd", "gzip, br", data[:9].decode("latin-1")):
            try:
                assert len(decode(data, name, LIMIT)) <= LIMIT
            except (TooLarge, BadCoding):
                pass
            if "," not in name:
                assert len(decode(data, name, 1000, cut=True)) <= max(1000, len(data))
