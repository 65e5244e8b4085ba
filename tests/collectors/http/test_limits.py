"""Tests of limits that apply to idle handles, error bodies and kept connections."""

from __future__ import annotations

import asyncio
import gc
import gzip

import pytest

from gossamer.collectors.http.transfer import MAX_DRAINED_BYTES, MAX_ERROR_BODY_BYTES
from gossamer.model.request import Request
from support.byte_servers import Asked, answer, bad, collecting, get, good, names_of, saying, serving

OK = answer(b"<p>ok")


async def test_a_handle_that_waits_holds_no_body() -> None:
    async def reply(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"waiting " * 500_000))

    async with serving(reply) as server, collecting() as collector:
        assert len(good(await collector.collect(Request(server.url()), {})).body) == 4_000_000
        gc.collect()
        held = [
            one
            for one in gc.get_objects()
            if type(one) is list and any(type(x) is bytes and x[:8] == b"waiting " for x in one)
        ]
        assert held == []


@pytest.mark.parametrize(
    ("status", "most"), [(404, MAX_ERROR_BODY_BYTES), (500, MAX_ERROR_BODY_BYTES), (302, MAX_DRAINED_BYTES)]
)
async def test_the_bomb_of_an_error_unpacks_no_further_than_its_body_is_read(status: int, most: int) -> None:
    bomb = gzip.compress(bytes(8 << 20))
    page = good(await get(answer(bomb, status, "Content-Encoding: gzip", "Location: /")))
    assert (page.status, len(page.body)) == (status, most)


@pytest.mark.parametrize("name", ["Content-Length", "content-length", "Transfer-Encoding"])
async def test_a_request_does_not_say_where_it_ends(name: str) -> None:
    value = "chunked" if name[0] == "T" else "40"
    async with serving(saying(OK)) as server, collecting() as collector:
        failure = bad(await collector.collect(Request(server.url("/first")), {name: value}))
        assert (failure.reason, failure.sent) == ("filter", False)
        good(await collector.collect(Request(server.url("/second")), {}))
        assert server.lines == ["GET /second HTTP/1.1"], "it was not taken for the body of the first"


@pytest.mark.parametrize(
    "url", ["mailto:a@example.com", "javascript:1", "data:text/html,x", "", "/path", "file:///etc/passwd"]
)
async def test_what_is_no_web_address_is_a_failure_not_a_surprise(url: str) -> None:
    async with collecting() as collector:
        failure = bad(await collector.collect(Request(url), {}))
        assert (failure.reason, failure.final, failure.sent) == ("filter", True, False)


async def test_many_header_lines_of_middle_size_are_too_large() -> None:
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %b\r\n" % (n, b"a" * 16_000) for n in range(640))
    failure = bad(await get(head + b"Content-Length: 1\r\n\r\nx"))
    assert (failure.reason, failure.final) == ("too-large", True)


async def test_times_of_a_host_with_several_addresses_do_not_stay_with_the_handle() -> None:
    async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.4 if "slow" in asked.line else 0)
        writer.write(OK)

    table = {"two.example": ["127.0.0.9", "127.0.0.1"], "one.example": ["127.0.0.1"]}
    async with serving(slow) as server, collecting(names_of(table), total=5.0) as collector:
        for _ in range(3):
            assert (
                good(await collector.collect(Request(server.url(host="two.example")), {})).address
                == "127.0.0.1"
            )
        assert len(collector._free) == 1, "a handle serves both kinds of hosts"
        good(await collector.collect(Request(server.url("/slow", host="one.example")), {}))
        failing = [collector.collect(Request(server.url("/slow", host="two.example")), {}) for _ in range(3)]
        done = await asyncio.gather(*(asyncio.wait_for(one, 0.1) for one in failing), return_exceptions=True)
        assert all(isinstance(one, TimeoutError) for one in done)
        assert good(await collector.collect(Request(server.url(host="two.example")), {})).body == b"<p>ok"
