"""Tests of responses: bodies in all content codings and framings, response heads, and the content-type
gate."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import brotli
import pytest
import zstandard

from gossamer.model.request import Request
from support.byte_servers import Asked, answer, bad, collecting, get, good, saying, serving

TEXT = b"<p>Some text, and more of it. " * 2000
CODED = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("coding", CODED)
async def test_codings_are_undone_and_wire_bytes_counted(coding: str) -> None:
    packed = CODED[coding](TEXT)
    page = good(await get(answer(packed, 200, f"Content-Encoding: {coding}")))
    assert (page.body, page.wire, page.status, page.requests) == (TEXT, len(packed), 200, 1)
    assert (page.version, page.address, page.collector) == ("1.1", "127.0.0.1", "http")
    assert page.header("content-encoding") == coding


async def test_odd_gzip_bodies() -> None:
    members = gzip.compress(b"one ") + gzip.compress(b"two")
    assert good(await get(answer(members, 200, "Content-Encoding: gzip"))).body == b"one two"
    cut = good(await get(answer(gzip.compress(TEXT)[:150], 200, "Content-Encoding: gzip")))
    assert cut.body
    assert TEXT.startswith(cut.body)
    assert good(await get(answer(b"<p>plain", 200, "Content-Encoding: gzip"))).body == b"<p>plain"
    raw = zlib.compress(TEXT)[2:-4]
    assert good(await get(answer(raw, 200, "Content-Encoding: deflate"))).body == TEXT


async def test_double_gzip_is_bounded() -> None:
    packed = gzip.compress(gzip.compress(bytes(1 << 20)))
    for headers in (["Content-Encoding: gzip, gzip"], ["Content-Encoding: gzip", "Content-Encoding: gzip"]):
        assert good(await get(answer(packed, 200, *headers))).body == bytes(1 << 20)
        failure = bad(await get(answer(packed, 200, *headers), decoded=1 << 19))
        assert (failure.reason, failure.final, failure.status) == ("too-large", True, 200)


async def test_a_compressed_body_under_the_size_of_the_plain_one_is_whole() -> None:
    packed = gzip.compress(TEXT)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    assert good(await get(head % len(TEXT) + packed, end=True)).body == TEXT
    assert bad(await get(head % (len(TEXT) + 1) + packed, end=True)).reason == "reset"
    assert bad(await get(head % len(TEXT) + packed[:-60], end=True)).reason == "reset"


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
async def test_bombs_are_too_large(coding: str) -> None:
    packed = CODED[coding](bytes(8 << 20))
    assert len(packed) < 10_000
    failure = bad(await get(answer(packed, 200, f"Content-Encoding: {coding}"), decoded=1 << 20))
    assert (failure.reason, failure.final, failure.wire) == ("too-large", True, len(packed))
    cut = good(await get(answer(packed, 200, f"Content-Encoding: {coding}"), decoded=1 << 20, truncate=True))
    assert cut.body == bytes(1 << 20)


async def test_chunked_until_close_and_empty_bodies() -> None:
    chunked = answer(
        b"5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nLate: x\r\nContent-Encoding: gzip\r\n\r\n",
        200,
        "Transfer-Encoding: chunked",
        length=False,
    )
    page = good(await get(chunked))
    assert page.body == b"hello!"
    assert page.header("late") is None, "trailers are not headers"
    assert page.header("content-encoding") is None
    assert good(await get(answer(b"to the end", length=False), end=True)).body == b"to the end"
    for status in (204, 304):
        page = good(await get(f"HTTP/1.1 {status} x\r\nETag: y\r\n\r\n".encode()))
        assert (page.status, page.body, page.header("etag")) == (status, b"", "y")
    assert good(await get(answer(b""))).body == b""


async def test_heads() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    page = good(
        await get(
            interim
            + answer(
                b"x",
                200,
                "X-A: 1",
                "x-a:2",
                "X-Folded: one",
                " two",
                "Set-Cookie: \xe9=1",
            )
        )
    )
    assert page.status == 200
    assert page.header("link") is None
    assert [value for name, value in page.headers if name == "x-a"] == ["1", "2"]
    assert page.header("x-folded") == "one two"
    assert page.header("set-cookie") == "é=1"
    old = good(await get(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nold", end=True))
    assert (old.version, old.body) == ("1.0", b"old")


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        ("text/html", True),
        ("TEXT/HTML; charset=x", True),
        ("text/plain", True),
        ("application/json", True),
        ("application/atom+xml", True),
        ("image/svg+xml", True),
        ("application/vnd.api+json", True),
        ("", True),
        ("application/gzip", True),
        ("image/png", False),
        ("application/pdf", False),
        ("video/mp4", False),
        ("application/octet-stream", False),
    ],
)
async def test_the_content_type_is_looked_at_before_the_body(kind: str, taken: bool) -> None:
    result = await get(answer(b"\0" * 5000, 200, f"Content-Type: {kind}"))
    if taken:
        assert good(result).body == b"\0" * 5000
    else:
        failure = bad(result)
        assert (failure.reason, failure.final, failure.wire, failure.sent) == ("content-type", True, 0, True)
        assert kind in failure.detail
        assert good(await get(answer(b"\0", 404, f"Content-Type: {kind}"))).status == 404, (
            "an error is an error first"
        )
        assert good(await get(answer(b"\0", 200, f"Content-Type: {kind}"), accept=None)).body == b"\0"


async def test_redirects_are_pages_and_hardly_read() -> None:
    page = good(await get(answer(b"moved", 302, "Location: /there")))
    assert (page.status, page.header("location"), page.body) == (302, "/there", b"moved")
    large = good(await get(answer(b"x" * 4_000_000, 301, "Location: /there")))
    assert large.header("location") == "/there"
    assert len(large.body) <= 64 << 10
    assert large.wire < 1 << 20
    bomb = good(
        await get(
            answer(gzip.compress(bytes(8 << 20)), 301, "Location: /there", "Content-Encoding: gzip"),
            decoded=1 << 20,
        )
    )
    assert len(bomb.body) <= 1 << 20
    assert good(await get(answer(b"x", 301, "Location: /there", "Content-Encoding: gzip, gzip"))).body == b"x"
    async with serving(saying(answer(b"", 302, "Location: /loop"))) as server, collecting() as collector:
        good(await collector.collect(Request(server.url("/loop")), {}))
        assert len(server.asked) == 1, "nobody follows it here"


async def test_errors_keep_their_status_however_large_they_are() -> None:
    page = good(await get(answer(b"e" * 3_000_000, 500)))
    assert page.status == 500
    assert len(page.body) <= 1 << 20

    async def endless(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 503 x\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async with serving(endless) as server, collecting() as collector:
        assert good(await collector.collect(Request(server.url()), {})).status == 503
