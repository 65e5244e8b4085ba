"""Tests of outgoing requests: headers, methods and bodies, without any way to smuggle data in."""

from __future__ import annotations

import asyncio
import re

import pytest

from gossamer.model.request import Request
from support.byte_servers import answer, bad, collecting, good, saying, serving

OK = answer(b"<p>ok")


async def test_a_get_says_who_asks() -> None:
    async with serving(saying(OK)) as server, collecting() as collector:
        good(await collector.collect(Request(server.url("/a/../b?x=%20&y")), {}))
        asked = server.asked[0]
    assert asked.line == "GET /a/../b?x=%20&y HTTP/1.1", "the URL goes out as it is"
    assert asked.headers["user-agent"] == "test/1"
    assert set(asked.headers) == {"host", "user-agent", "accept", "accept-language", "accept-encoding"}
    assert "gzip" in asked.headers["accept-encoding"]
    assert "br;" in asked.headers["accept-encoding"]


async def test_headers_of_a_request_are_its_own() -> None:
    async with serving(saying(OK)) as server, collecting(headers={"X-All": "1"}) as collector:
        good(
            await collector.collect(
                Request(server.url()),
                {"Cookie": "a=b", "user-agent": "other", "X-Empty": "", "X-Name": "Zoë", "X-U": "日"},
            )
        )
        good(await collector.collect(Request(server.url()), {}))
        first, second = (asked.headers for asked in server.asked)
    assert (first["cookie"], first["user-agent"], first["x-empty"], first["x-all"]) == (
        "a=b",
        "other",
        "",
        "1",
    )
    assert (first["x-name"], first["x-u"].encode("latin-1").decode()) == ("Zoë", "日")
    assert "cookie" not in second
    assert (second["user-agent"], second["x-all"]) == ("test/1", "1")
    assert server.accepts == 1


async def test_methods_and_bodies() -> None:
    async with serving(saying(OK)) as server, collecting() as collector:
        await collector.collect(
            Request(server.url("/p"), method="POST", body="naïve=1"), {"Content-Type": "application/json"}
        )
        await collector.collect(Request(server.url("/f"), method="POST", body="a=1"), {})
        await collector.collect(Request(server.url("/e"), method="POST", body=""), {})
        await collector.collect(Request(server.url("/n"), method="POST", body="a\0b"), {})
        await collector.collect(Request(server.url("/d"), method="DELETE"), {})
        await collector.collect(Request(server.url("/o"), method="PROPFIND", body="<x/>"), {})
        await collector.collect(Request(server.url("/g")), {})
        asked = server.asked
    assert [one.line.rpartition(" ")[0] for one in asked] == [
        "POST /p",
        "POST /f",
        "POST /e",
        "POST /n",
        "DELETE /d",
        "PROPFIND /o",
        "GET /g",
    ]
    assert [one.body for one in asked] == ["naïve=1".encode(), b"a=1", b"", b"a\0b", b"", b"<x/>", b""]
    assert asked[0].headers["content-type"] == "application/json"
    assert asked[1].headers["content-type"] == "application/x-www-form-urlencoded"
    assert not any("expect" in one.headers for one in asked)
    assert "content-type" not in asked[-1].headers


async def test_a_head_has_no_body() -> None:
    async with (
        serving(
            saying(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n")
        ) as server,
        collecting() as collector,
    ):
        page = good(await collector.collect(Request(server.url(), method="HEAD"), {}))
    assert (page.status, page.body, page.wire) == (200, b"", 0)


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X": "a\nb"},
        {"X": "a\0"},
        {"X\r\nY": "b"},
        {"X: Y": "b"},
        {"": "b"},
        {"X Y": "b"},
        {"X": "a\r"},
        {"Ünï": "b"},
    ],
)
async def test_no_header_is_smuggled_in(headers: dict[str, str]) -> None:
    async with serving(saying(OK)) as server, collecting() as collector:
        failure = bad(await collector.collect(Request(server.url()), headers))
        assert (failure.reason, failure.final, failure.sent) == ("filter", True, False)
        good(await collector.collect(Request(server.url()), {}))
        assert len(server.asked) == 1
        assert "y" not in server.asked[0].headers


@pytest.mark.parametrize(
    "method", ["GET /other HTTP/1.1\r\nX: y\r\n\r\nGET", "PO ST", "", "GÉT", "A\0B", "A\nB"]
)
async def test_no_method_is_smuggled_in(method: str) -> None:
    async with serving(saying(OK)) as server, collecting() as collector:
        assert bad(await collector.collect(Request(server.url(), method=method), {})).reason == "filter"
        assert server.asked == []


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/a\0b", "/\x7f", "/ü"])
async def test_no_url_is_smuggled_in(path: str) -> None:
    async with serving(saying(OK)) as server, collecting() as collector:
        result = await collector.collect(Request(server.url(path)), {})
        assert "x" not in (server.asked[0].headers if server.asked else {})
        if path != "/\x7f":
            assert bad(result).reason == "filter"
        good(await collector.collect(Request(server.url()), {}))


async def test_only_http_is_spoken() -> None:
    async with serving(saying(OK)) as server, collecting() as collector:
        for scheme in ("ftp", "gopher", "file", "dict", "smb", "ws", "xyz"):
            failure = bad(
                await collector.collect(Request(f"{scheme}://127.0.0.1:{server.port}/etc/passwd"), {})
            )
            assert (failure.reason, failure.final, failure.sent) == ("filter", True, False), scheme
        assert server.accepts == 0


async def test_what_is_kept_of_an_exchange_is_what_went_over_the_wire() -> None:
    """The recorded request is assembled from curl's debug lines, so this test compares it with the bytes
    on the socket."""
    got: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"(?i)content-length: (\d+)", head)
        got.append(head + (await reader.readexactly(int(size[1])) if size else b""))
        early = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
        writer.write(
            early
            + b"HTTP/1.1 200 Okay Dokay\r\nX-A:  b \r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        writer.write(b"3\r\nabc\r\n0\r\nLate: 1\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a?b=1"
    asked = [
        (Request(url), {}),
        (Request(url), {"X-Empty": "", "accept": "t/x", "connection": "close"}),
        (Request(url, method="POST", body="a=bé"), {}),
        (Request(url, method="POST", body="{}"), {"Content-Type": "text/x"}),
        (Request(url, method="DELETE"), {}),
    ]
    async with server, collecting(keep=True) as collector:
        for request, headers in asked:
            page = good(await collector.collect(request, headers))
            assert page.exchange is not None
            assert page.exchange.sent == got[-1]
            head = b"HTTP/1.1 200 Okay Dokay\r\nX-A:  b \r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            assert (page.exchange.head, page.exchange.body) == (head, b"abc")
        page = good(await collector.collect(Request(url), {"Cookie": "secret=1"}))
        assert page.exchange is not None
        assert b"Cookie: secret=1" in got[-1]
        assert b"Cookie: ***" in page.exchange.sent
