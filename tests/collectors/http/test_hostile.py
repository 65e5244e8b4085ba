"""Tests of servers that lie, drip, flood or hang: each request ends within its limits, with the right
error word."""

from __future__ import annotations

import asyncio
import socket
import struct
import tracemalloc

import pytest

from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from support.byte_servers import Asked, Reply, answer, bad, collecting, get, good, saying, serving

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


async def meet(reply: Reply, **options: object) -> Page | Failure:
    async with serving(reply) as server, collecting(**{"total": 20.0, **options}) as collector:
        return await collector.collect(Request(server.url()), {})


def endless(head: bytes, piece: bytes) -> Reply:
    async def reply(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    return reply


def dripping(head: bytes, piece: bytes, pause: float) -> Reply:
    async def reply(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return reply


async def hanging(asked: Asked, writer: asyncio.StreamWriter) -> bool:
    await asyncio.sleep(60)
    return True


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (HEAD + b"\r\n", b"x" * 65536),
        (CHUNKED, b"8000\r\n" + b"x" * 32768 + b"\r\n"),
        (HEAD + b"Content-Length: 10000000000\r\n\r\n", b"x" * 9999),
    ],
)
async def test_an_endless_body_is_too_large(head: bytes, piece: bytes) -> None:
    failure = bad(await meet(endless(head, piece), wire=300_000))
    assert (failure.reason, failure.final, failure.status, failure.sent) == ("too-large", True, 200, True)
    assert failure.wire < 1_000_000


async def test_a_length_over_the_limit_is_not_read() -> None:
    failure = bad(await get(answer(b"x" * 70_000), wire=65_536))
    assert (failure.reason, failure.wire) == ("too-large", 0)
    page = good(await get(answer(b"x" * 70_000), wire=65_536, truncate=True))
    assert page.body == b"x" * 65_536
    assert good(await get(answer(b"x" * 65_536), wire=65_536)).wire == 65_536


async def test_a_million_tiny_chunks() -> None:
    data = CHUNKED + b"1\r\nx\r\n" * 1_000_000 + b"0\r\n\r\n"
    tracemalloc.start()
    try:
        failure = bad(await get(data))
        peak = tracemalloc.get_traced_memory()[1] - len(data)
    finally:
        tracemalloc.stop()
    assert failure.reason == "too-large"
    assert failure.wire <= 200_001
    assert peak < 64 << 20
    assert good(await get(CHUNKED + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")).body == b"x" * 50_000


@pytest.mark.parametrize(
    "head",
    [
        b"X: " + b"a" * 10_000_000 + b"\r\n",
        b"X: " + b"a" * 70_000 + b"\r\n",
        b"X: a\r\n" * 2000,
        b"X: a\r\n" * 6000,
        b"".join(b"X-%d: %b\r\n" % (n, b"a" * 1000) for n in range(90)),
        b"a" * 10_000_000,
        b"X: a\r\n" + b" folded\r\n" * 20_000,
    ],
    ids=["10 MB line", "70 kB line", "2000 lines", "6000 lines", "90 kB", "10 MB without an end", "folded"],
)
@pytest.mark.parametrize("body", [b"<p>x", b""])
async def test_heads_that_are_too_large(head: bytes, body: bytes) -> None:
    failure = bad(await get(HEAD + head + b"Content-Length: %d\r\n\r\n" % len(body) + body))
    assert (failure.reason, failure.final) == ("too-large", True)
    assert "header" in failure.detail


async def test_many_lines_are_fine() -> None:
    page = good(await get(HEAD + b"X: a\r\n" * 900 + b"Content-Length: 1\r\n\r\nx"))
    assert len(page.headers) == 902


async def test_interim_answers_without_end() -> None:
    failure = bad(await meet(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), total=5.0))
    assert failure.reason in ("too-large", "reset", "timeout")
    assert failure.sent


async def test_slow_servers_time_out() -> None:
    for reply in (hanging, dripping(HEAD, b"X: y\r\n", 0.2), dripping(HEAD + b"\r\n", b"x", 0.2)):
        failure = bad(await meet(reply, first_byte=1.0, total=4.0))
        assert (failure.reason, failure.final, failure.sent) == ("timeout", False, True), failure
        assert failure.elapsed < 3.5, "fewer than 1 KiB/s for the first second end it, not the whole time"


async def test_the_whole_has_a_time() -> None:
    failure = bad(await meet(dripping(HEAD + b"\r\n", b"x" * 4000, 0.05), total=0.5))
    assert (failure.reason, failure.final, failure.status) == ("timeout", False, 200)
    assert "0.5" in failure.detail or " 5" in failure.detail


async def test_bodies_that_are_not_what_was_announced() -> None:
    async with (
        serving(saying(HEAD + b"Content-Length: 100\r\n\r\nshort", end=True)) as server,
        collecting() as collector,
    ):
        failure = bad(await collector.collect(Request(server.url()), {}))
    assert (failure.reason, failure.final, failure.wire) == ("reset", False, 5)
    assert "before the body was complete" in failure.detail
    page = good(await get(HEAD + b"Content-Length: 5\r\n\r\nhello and more", end=True))
    assert page.body == b"hello", "what is behind the length is not ours"
    for lie in (
        b"Content-Length: -5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 99999999999999999999\r\n",
    ):
        result = await get(HEAD + lie + b"\r\nhello", end=True)
        assert isinstance(result, Page) or result.reason in ("reset", "too-large"), lie
    failure = bad(await get(CHUNKED + b"zz\r\nhello\r\n", end=True))
    assert failure.reason == "reset"
    failure = bad(await get(CHUNKED + b"5\r\nhel", end=True))
    assert failure.reason == "reset"


async def test_resets_and_no_answer() -> None:
    async def reset(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if asked.line.startswith("GET /half"):
            writer.write(HEAD + b"Content-Length: 100\r\n\r\nhalf")
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.transport.abort()
        return True

    async with serving(reset) as server, collecting() as collector:
        for path in ("/", "/half"):
            failure = bad(await collector.collect(Request(server.url(path)), {}))
            assert (failure.reason, failure.final, failure.sent) == ("reset", False, True)
        assert len(server.asked) == 2, "a new connection that breaks is not tried again here"
    failure = bad(await get(b"", end=True))
    assert (failure.reason, failure.detail) == (
        "reset",
        "the server closed the connection without a response",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"hello, I am no HTTP\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\nx",
        b"\0" * 500,
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"SSH-2.0-x\r\n",
    ],
)
async def test_what_is_no_http(data: bytes) -> None:
    failure = bad(await get(data, end=True))
    assert failure.reason == "reset"
    assert "not HTTP" in failure.detail


async def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with collecting() as collector:
        failure = bad(await collector.collect(Request(f"http://127.0.0.1:{port}/"), {}))
    assert (failure.reason, failure.final, failure.sent) == ("connect", False, False)
