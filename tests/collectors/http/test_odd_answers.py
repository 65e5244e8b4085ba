"""Fetches each odd response of the test web. Each result must agree with the row that describes the
response."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from support.byte_servers import bad, collecting, get, good, saying, serving
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


LINES = b"Content-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "data",
    [
        OK + b"a line without a colon\r\n" + LINES,
        OK + b"Content-Type: text/html\r\nContent-Length:\r\n\r\nhello",
        OK + b"Content-Type: text/html\r\nContent-Length: -1\r\n\r\nhello",
        OK + b"X: a\0b\r\n" + LINES,
        b"\r\n" + OK + LINES,
        b"\0" + OK + LINES,
        b"http/1.1 200 OK\r\n" + LINES,
        b"HTTP/1.1\t200\tOK\r\n" + LINES,
        b"HTTP/1.1\r\n" + LINES,
        OK + b"no colon\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.1 103 Early\r\nno colon\r\n\r\n" + OK + LINES,
    ],
)
async def test_what_browsers_read_is_read(data: bytes) -> None:
    page = good(await get(data, end=True))
    assert (page.status, page.body) == (200, b"hello")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"SSH-2.0-odd_server\r\n", "reset"),
        (OK + b"no colon\r\nContent-Length: 9\r\n\r\nhello", "reset"),
        (OK + b"no colon\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "reset"),
        (OK + b"no colon\r\nContent-Length: 2000000\r\n\r\nx", "too-large"),
        (OK + b"no colon\r\nContent-Type: image/png\r\n\r\nhello", "content-type"),
        (OK + b"no colon\r\n\r\n" + b"x" * 2_000_000, "too-large"),
        (b"HTTP/1.1 100 Continue\r\nno colon\r\n\r\n" * 20, "reset"),
    ],
)
async def test_what_curl_refuses_has_the_same_limits(data: bytes, reason: str) -> None:
    assert bad(await get(data, end=True, wire=1 << 20)).reason == reason


async def test_a_host_that_curl_refuses_is_asked_once_a_page() -> None:
    data = OK + b"no colon\r\nSet-Cookie: a=b\r\n" + LINES
    async with serving(saying(data)) as server, collecting() as collector:
        for _ in range(3):
            page = good(await collector.collect(Request(server.url("/a?b")), {"X-A": "secret"}))
    assert (page.requests, page.header("set-cookie")) == (1, "a=b")
    assert len(server.asked) == 4, "only the first page was asked for twice"
    assert server.asked[0].line == server.asked[-1].line == "GET /a?b HTTP/1.1"
    assert server.asked[0].headers == server.asked[-1].headers


async def test_header_values_are_bytes() -> None:
    page = good(await get(OK + b"X: \t/a\x85\xa0 \r\n" + LINES))
    assert page.header("x") == "/a\x85\xa0"
