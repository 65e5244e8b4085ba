"""The parser accepts any bytes: broken, deeply nested, huge and malicious pages."""

from __future__ import annotations

import random

import pytest

from gossamer.parsing.ranks import TYPES, result_page
from gossamer.parsing.ranks.result_page import MAX_BYTES
from parsing.ranks.ranks_pages import GOOGLE_ERAS, WALLS, bing, bing_items
from support.repetitions import repetitions

PIECES = (
    *(
        b"<",
        b">",
        b'"',
        b"</div>",
        b"<div id=rso>",
        b"<h3>",
        b"</h3>",
        b"<a href=",
        b"<table>",
        b"<a href='/url?q=http://[' >",
    ),
    *(
        b"\0",
        b"\xff\xfe",
        b"<!--",
        b"<svg>",
        b"<template>",
        b"<li class=b_algo>",
        b"<ol id=b_results>",
        b"&#0;",
        b"]]>",
        b"<select>",
    ),
)


@pytest.mark.parametrize("seed", range(repetitions(40)))
def test_changed_pages_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    pages = [*(make() for make in GOOGLE_ERAS.values()), bing(bing_items()), *WALLS.values()]
    for _ in range(5):
        body = bytearray(chance.choice(pages))
        for _ in range(chance.randint(1, 60)):
            at = chance.randrange(len(body) + 1)
            if chance.random() < 0.5:
                body[at:at] = chance.choice(PIECES)
            else:
                del body[at : at + chance.randint(1, 40)]
        for engine in ("google", "bing"):
            page = result_page(bytes(body), engine)
            ranks = [one.rank for one in page.results if one.rank]
            assert ranks == list(range(1, len(ranks) + 1))
            assert {one.type for one in page.results} <= set(TYPES)
            assert page.writes_positions or not page.results


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 100_000,
        b"<div id=rso>" + b"<a href=https://a.example/><table>" * 2000,
        b"<div id=search><div id=rso>" + b"<a href=https://a.example/><h3>x</h3></a>" * 5000,
        b"<b><i>" * 50_000,
        b"<h3>" * 20_000,
        bytes(range(256)) * 100,
        b"\xff\xfe" + "<div id=rso>".encode("utf-16-le"),
        b"<html>" + b" " * (MAX_BYTES + 1),
    ],
    ids=["deep", "tables in links", "many results", "open formats", "headings", "bytes", "utf-16", "huge"],
)
def test_malicious_pages_never_raise(body: bytes) -> None:
    for engine in ("google", "bing"):
        assert result_page(body, engine).engine == engine
