"""Documents that are costly to parse: families of markup and tree-construction cases, mixed, repeated and
mutated. `document(n)` is deterministic. `Feeder` reads the documents as a worker does, and measures the
cost."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from gossamer import url as urls
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim
from gossamer.url.scope import Scope
from gossamer.worker.link_intake import LinkIntake, UrlPlaces
from gossamer.worker.page_process_messages import ProcessSettings
from gossamer.worker.page_reader import PageReader
from gossamer.worker.reader import Reader, ReadSettings

URL = "https://www.example.com/a/"
CASES = (
    b"<a>1<p>2</a>3</p>",
    b"<a>1<button>2</a>3</button>",
    b"<a>1<b>2</a>3</b>",
    b"<a>1<div>2<div>3</a>4</div>5</div>",
    b"<table><a>1<p>2</a>3</p>",
    b"<b><b><a><p></a>",
    b"<b><a><b><p></a>",
    b"<a><b><b><p></a>",
    b"<p>1<s id=A>2<b id=B>3</p>4</s>5</b>",
    b"<table><a>1<td>2</td>3</table>",
    b"<table>A<td>B</td>C</table>",
    b"<a><svg><tr><input></a>",
    b"<p><b><b><b><b><p>x",
    b"<b><em><foo><foob><fooc><aside></b></em>",
    b"<table><tr><tr><td><td><span><th><span>X</table>",
    b"<body><body><base><link>",
    b"<table><tr></strong></b></em></i></u></strike></s></blink></tt></pre></big></small></font></select></h1></p>",
    b"<select><b><option><select><option></b></select>X",
    b"<frameset><frame></frameset><noframes>",
    b"<template><tr><td><template>",
    b"<math><mi><b></math><p>",
    b"<svg><foreignObject><div><svg></div>",
    b"<select><optgroup><option><table>",
    b"<!doctype html><!--><!-->",
    b"<title>x<textarea></title></textarea>",
    b"<script><!--<script></script>--></script>",
    b"<form><div></form><form>",
    b"<isindex>",
    b"<ruby>a<rb>b<rt>c<rp>",
    b"<nobr><nobr><nobr><p>",
    b"<marquee><b></marquee>x",
    b"<applet><object><a></applet>",
    b"<plaintext>",
    b"<caption><col><colgroup><tbody>",
    b"<h1><h2></h1>",
    b"<li><p><li>",
    b"<dd><dt><dd>",
    b"<br></br></p>",
    b"&amp;&#0;&#x10ffff;&notit;",
    b"<div a=1 a=2 =3 <'\">",
    b"<p/a=1/>",
    b"<?php ?>",
    b"<![CDATA[x]]>",
    b"</",
    b"<base href=/x/><a href=y>z",
    b"<input type=hidden>",
)
"""Fragments that resemble conformance tests of HTML tree construction."""
FORMATS = (
    b"b",
    b"i",
    b"u",
    b"s",
    b"em",
    b"tt",
    b"big",
    b"code",
    b"font",
    b"nobr",
    b"small",
    b"strike",
    b"strong",
    b"a",
)
Chance = random.Random


def _opened(chance: Chance, count: int) -> bytes:
    """Return formatting elements that are never closed and differ from one another."""
    tags = chance.choices(FORMATS, k=4)
    between = chance.choice((b"<p>", b"<div>", b"<li>", b"x<p>", b"<td>", b"</p>", b"<table>x", b""))
    return b"".join(b"<%b c%d=%d>%b" % (tags[n % 4], n % 7, n, between) for n in range(count))


def _agency(chance: Chance, count: int) -> bytes:
    tag, block = chance.choice(FORMATS), chance.choice((b"div", b"p", b"aside", b"table", b"ul"))
    return (b"<%b><%b>" % (tag, block)) * count + (b"</%b>" % tag) * chance.randrange(count + 1)


def _table(chance: Chance, count: int) -> bytes:
    parts = (
        b"<table>",
        b"<tr>",
        b"<td>",
        b"<th colspan=9>",
        b"x",
        b"<caption>",
        b"<tbody>",
        b"</table>",
        b"<b id=%d>" % count,
        b"</tr>",
        b"<col>",
    )
    return b"<table>" + b"".join(chance.choices(parts, k=count))


def _nested(chance: Chance, count: int) -> bytes:
    return (
        b"".join(
            b"<%b>" % tag
            for tag in chance.choices(
                (b"template", b"select", b"option", b"svg", b"math", b"button", b"form"), k=2
            )
        )
        * count
    )


def _attributes(chance: Chance, count: int) -> bytes:
    tag = chance.choice((b"p", b"body", b"html", b"a", b"b", b"meta"))
    one = b"".join(b" a%d=%d" % (n, n) for n in range(count))
    return (
        b"<%b%b>" % (tag, one)
        if chance.random() < 0.5
        else b"".join(b"<%b a%d=1>" % (tag, n) for n in range(count))
    )


def _base(chance: Chance, count: int) -> bytes:
    return b"<base href='/%b/'>" % (b"a" * chance.randrange(4 * count)) + b"".join(
        b"<a href=x%d>y</a>" % n for n in range(count)
    )


def _entities(chance: Chance, count: int) -> bytes:
    return b"".join(
        chance.choices(
            (b"&amp;", b"&#65;", b"&notit;", b"&", b"&#x", b"&CounterClockwiseContourIntegral;"), k=count
        )
    )


def _comments(chance: Chance, count: int) -> bytes:
    return b"".join(
        chance.choices((b"<!--", b"-->", b"--!>", b"<!", b"<?", b"-", b"<![CDATA[", b"]]>"), k=count)
    )


def _scripts(chance: Chance, count: int) -> bytes:
    parts = (
        b"<script>",
        b"</script>",
        b"<!--",
        b"<script type=application/ld+json>{",
        b"a={b:1};",
        b'"',
        b"\\",
        b"[[",
        b"<style>",
        b"<textarea>",
    )
    return b"".join(chance.choices(parts, k=count))


def _cases(chance: Chance, count: int) -> bytes:
    return b"".join(chance.choices(CASES, k=max(1, count // 4)))


FAMILIES: dict[str, Callable[[Chance, int], bytes]] = {
    "adoption": _opened,
    "agency": _agency,
    "tables": _table,
    "nested": _nested,
    "attributes": _attributes,
    "base": _base,
    "entities": _entities,
    "comments": _comments,
    "scripts": _scripts,
    "cases": _cases,
}


def document(n: int, seed: int = 1) -> tuple[str, bytes]:
    """Return the family and the bytes of document `n`. One in 400 documents is large, and the others have
    up to 1,000 pieces."""
    chance = random.Random(f"{seed} {n}")
    family = chance.choice(list(FAMILIES))
    count = chance.randrange(5_000, 40_000) if n % 400 == 0 else int(10 ** chance.uniform(0.5, 3))
    body = FAMILIES[family](chance, count)
    if chance.random() < 0.4:
        body += FAMILIES[chance.choice(list(FAMILIES))](chance, min(count, 1000))
    if chance.random() < 0.3:
        body = _mutated(chance, body)
    return family, body


def _mutated(chance: Chance, body: bytes) -> bytes:
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(body) + 1)
        match chance.randrange(4):
            case 0:
                body = body[:at] + chance.choice(CASES) + body[at:]
            case 1:
                body = body[:at] + body[at + chance.randrange(1, 50) :]
            case 2:
                body = body[:at] + bytes((chance.randrange(256),)) + body[at + 1 :]
            case _:
                body = body[at:] + body[:at]
    return body


def resident(word: str = "VmRSS") -> int:
    """Return a memory figure of this process in bytes: the current memory ("VmRSS") or the peak memory
    ("VmHWM")."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(word))


class Feeder:
    """Reads documents. `held`: the longest CPU time for which the event loop was blocked, and the number
    of the document that blocked it."""

    def __init__(self) -> None:
        taker = LinkIntake(
            Scope.of([URL], "any"),
            UrlPlaces(7, lambda mark: (mark >> 32, mark & 0xFFFFFFFF), lambda _: 0, urls.key),
            own=lambda host: host == "www.example.com",
            room=5000,
        )
        taken = ReadSettings(pages=True, text=True, links=True)
        order = ProcessSettings([], [], {}, list(sys.path), (), taken, None)
        self.reader = Reader([], taker, urls.key, taken, apart=PageReader(lambda: order))
        self.start, self.largest, self.held, self.turn = resident(), 0, (0.0, -1), -1
        self.apart, self.errors, self.long = Counter[str](), Counter[str](), 0

    async def feed(self, numbers: Iterable[int], seed: int = 1) -> None:
        """Read the given documents one after the other."""
        watching = asyncio.create_task(self._watch())
        try:
            for n in numbers:
                family, body = document(n, seed)
                self.turn, self.largest = n, max(self.largest, len(body))
                page = Page(URL, 200, [("content-type", "text/html")], body, 1.0, 0.1, len(body))
                claim = Claim(1, 0, "www.example.com", Request(URL))
                await asyncio.sleep(0)
                self.apart[family] += self.reader.is_costly(page)
                read = await self.reader.reads(claim, page, None)
                if read.error is not None:
                    self.errors[read.error] += 1
                assert len(msgspec.json.encode(read.rows[0].data)) < 3_000_000 + 8 * len(body), n
                await asyncio.sleep(0)
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0 if self.turn < 0 else 0.0005)
            took = time.thread_time() - began
            if self.turn >= 0:
                self.long += took > 0.15
                self.held = max(self.held, (took, self.turn))

    @property
    def growth(self) -> int:
        """The bytes by which the peak memory of this process exceeds the memory at the start."""
        return resident("VmHWM") - self.start

    @property
    def allowed(self) -> int:
        """The bytes by which the memory may have grown."""
        return (64 << 20) + 8 * self.largest

    async def close(self) -> None:
        """End the page processes."""
        assert self.reader.apart is not None
        await self.reader.apart.close()
