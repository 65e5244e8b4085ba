"""Fetches each odd response of the test web. Each result must agree with the row that describes the
response."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from support.byte_servers import collecting
from web import Web, preset, serve
from web.odd import Odd, odds


@pytest.fixture(scope="module")
def hostile() -> Iterator[Web]:
    with serve(preset("hostile", hosts=1)) as web:
        yield web


def as_it_should(one: Odd, result: Page | Failure) -> bool:
    if one.fate == "failing" and one.status and one.status >= 500:
        return isinstance(result, Page) and result.status == one.status
    if one.fate == "failing":
        return isinstance(result, Failure) and result.reason in {*one.errors, "content-type"}
    if isinstance(result, Failure):
        return one.fate in ("may", "again") and result.reason in {*one.errors, "reset", "content-type"}
    return True


async def test_every_odd_answer_ends_as_its_row_says(hostile: Web) -> None:
    rows = odds(hostile.plan, 0)
    assert len(rows) > 50
    async with collecting(total=4.0, first_byte=1.0, wire=1 << 20, decoded=2 << 20) as collector:
        results = await asyncio.gather(
            *(collector.collect(Request(hostile.url(0, one.path)), {}) for one in rows)
        )
    strange = {
        one.path: result for one, result in zip(rows, results, strict=True) if not as_it_should(one, result)
    }
    assert strange == {}


async def test_closed_kept_connections_are_met_once_more(hostile: Web) -> None:
    hostile.reset()
    async with collecting() as collector:
        for _ in range(2):
            for path in ("/", "/ka/0.html", "/", "/ka/1.html"):
                result = await collector.collect(Request(hostile.url(0, path)), {})
                assert isinstance(result, Failure) or result.requests <= 2
    hits = [hit for hit in hostile.log() if hit.path.startswith("/ka/")]
    assert len(hits) <= 8
