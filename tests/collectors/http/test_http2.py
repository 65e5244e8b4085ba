"""Tests of HTTP/2 over TLS: one connection per host, even for a burst at the start, and hostile servers."""

from __future__ import annotations

import asyncio
import ssl
import struct
from asyncio import StreamWriter as Writer
from pathlib import Path

import hpack
import pytest
from h2.connection import H2Connection as Conn

from collectors.http.http2_server import ADDRESS, Say, frame, made, multiplexed, without_end
from gossamer.model.request import Request
from support.byte_servers import Asked, answer, bad, collecting, good, serving

HEADERS, SETTINGS, PUSH, PING, GOAWAY, CONTINUATION = 1, 4, 5, 6, 7, 9
OPEN = [(":status", "200"), ("content-type", "text/html")]
Kind = tuple[ssl.SSLContext, str]


@pytest.fixture(scope="module")
def h2_kind(tmp_path_factory: pytest.TempPathFactory) -> Kind:
    return made(tmp_path_factory.mktemp("certs") / "h2", "ok", ("h2", "http/1.1"))


async def test_pages(h2_kind: Kind) -> None:
    context, ca = h2_kind
    async with multiplexed(context) as server, collecting(ca_file=ca) as collector:
        for _ in range(2):
            page = good(await collector.collect(Request(server.url), {}))
            assert (page.version, page.status, page.body, page.requests) == ("2", 200, b"<p>two", 1)
            assert (page.header("x-a"), page.address) == ("b", ADDRESS)
        pages = await asyncio.gather(
            *(collector.collect(Request(f"{server.url}{n}"), {"Cookie": f"n={n}"}) for n in range(30))
        )
        assert all(good(page).version == "2" for page in pages)
        assert {one[b"cookie"] for one in server.seen[2:]} == {b"n=%d" % n for n in range(30)}
        assert server.accepts == 1
        page = good(await collector.collect(Request(server.url, method="POST", body="x"), {}))
        assert (page.version, page.requests) == ("2", 1)


async def test_a_burst_at_the_start_takes_one_connection(h2_kind: Kind) -> None:
    context, ca = h2_kind
    async with multiplexed(context) as server, collecting(ca_file=ca) as collector:
        pages = await asyncio.gather(*(collector.collect(Request(f"{server.url}{n}"), {}) for n in range(60)))
        assert all(good(page).body == b"<p>two" for page in pages)
        assert server.accepts == 1
        assert len(server.seen) == 60


async def test_a_burst_over_the_streams_of_a_connection(h2_kind: Kind) -> None:
    context, ca = h2_kind
    async with multiplexed(context, streams=4) as server, collecting(ca_file=ca) as collector:
        pages = await asyncio.gather(*(collector.collect(Request(f"{server.url}{n}"), {}) for n in range(60)))
        assert all(good(page).body == b"<p>two" for page in pages)
        assert len(server.seen) == sum(good(page).requests for page in pages)


async def test_a_host_that_carries_one_at_a_time_gets_its_burst_at_once(tmp_path: Path) -> None:
    """After the first HTTP/1.1 response, concurrent requests no longer wait for a shared connection,
    because HTTP/1.1 connections cannot be shared."""
    context, ca = made(tmp_path / "h1", "ok", ("http/1.1",))
    begun = asyncio.Event()

    async def reply(asked: Asked, writer: Writer) -> bool:
        if server.accepts > 1:
            if len(server.asked) == 11:
                begun.set()
            await begun.wait()  # no request is answered before all ten have arrived
        writer.write(answer(b"<p>ok"))
        return True

    async with serving(reply, ADDRESS, tls=context) as server, collecting(ca_file=ca) as collector:
        good(await collector.collect(Request(server.url()), {}))
        pages = await asyncio.gather(
            *(collector.collect(Request(server.url(f"/{n}")), {}) for n in range(10))
        )
        assert [good(page).version for page in pages] == ["1.1"] * 10


async def test_plain_http_never_waits() -> None:
    everybody = asyncio.Event()

    async def reply(asked: Asked, writer: Writer) -> bool:
        if len(server.asked) == 10:
            everybody.set()
        await everybody.wait()
        writer.write(answer(b"<p>ok"))
        return False

    async with serving(reply) as server, collecting() as collector:
        pages = await asyncio.gather(
            *(collector.collect(Request(server.url(f"/{n}")), {}) for n in range(10))
        )
        assert all(good(page).status == 200 for page in pages)
        assert server.accepts == 10


async def test_a_handshake_that_hangs_holds_the_others_no_longer_than_itself(h2_kind: Kind) -> None:
    _, ca = h2_kind

    async def silent(reader: asyncio.StreamReader, writer: Writer) -> None:
        accepted.append(writer)

    accepted: list[Writer] = []
    listener = await asyncio.start_server(silent, ADDRESS, 0)
    async with listener, collecting(ca_file=ca, connect=2.0) as collector:
        url = f"https://{ADDRESS}:{listener.sockets[0].getsockname()[1]}/"
        results = await asyncio.gather(*(collector.collect(Request(f"{url}{n}"), {}) for n in range(20)))
        assert {(bad(one).reason, bad(one).final, bad(one).sent) for one in results} == {
            ("timeout", False, False)
        }
        # on a busy machine, some of them begin after the first handshake has ended
        assert len(accepted) < 5, "they do not take turns at it"
        for writer in accepted:
            writer.close()


def block(*headers: tuple[str, str]) -> bytes:
    return bytes(hpack.Encoder().encode(headers))


async def reset(conn: Conn, stream: int, writer: Writer) -> None:
    conn.reset_stream(stream, 2)


async def header_bomb(conn: Conn, stream: int, writer: Writer) -> None:
    """Send the same 4 KB header 15,000 times by its index in the header table: 19 KB expand to 60 MB."""
    whole = block((":status", "200"), ("x-a", "y" * 4000)) + bytes((0x80 | 62,)) * 15_000
    writer.write(conn.data_to_send() + frame(HEADERS, 0, stream, whole[:16_000]))
    writer.write(frame(CONTINUATION, 4, stream, whole[16_000:]))


async def many_headers(conn: Conn, stream: int, writer: Writer) -> None:
    conn.send_headers(stream, [*OPEN, *((f"x{n}", "y") for n in range(5000))], end_stream=True)


async def continuations(conn: Conn, stream: int, writer: Writer) -> None:
    writer.write(conn.data_to_send() + frame(HEADERS, 0, stream, block((":status", "200"))))
    await without_end(writer, frame(CONTINUATION, 0, stream) * 1000)


async def interim(conn: Conn, stream: int, writer: Writer) -> None:
    writer.write(conn.data_to_send())
    await without_end(writer, frame(HEADERS, 4, stream, block((":status", "103"), ("link", "x"))) * 100)


async def endless(conn: Conn, stream: int, writer: Writer) -> None:
    conn.send_headers(stream, OPEN)
    writer.write(conn.data_to_send())
    await without_end(writer, frame(0, 0, stream, b"x" * 16_000))


async def empty_data(conn: Conn, stream: int, writer: Writer) -> None:
    conn.send_headers(stream, OPEN)
    writer.write(conn.data_to_send())
    await without_end(writer, frame(0, 0, stream) * 1000)


async def drip(conn: Conn, stream: int, writer: Writer) -> None:
    conn.send_headers(stream, OPEN)
    writer.write(conn.data_to_send())
    while not writer.is_closing():
        writer.write(frame(0, 0, stream, b"x"))
        await writer.drain()
        await asyncio.sleep(0.05)


async def pings(conn: Conn, stream: int, writer: Writer) -> None:
    await without_end(writer, frame(PING, 0, 0, b"12345678") * 1000)


async def settings(conn: Conn, stream: int, writer: Writer) -> None:
    await without_end(writer, frame(SETTINGS, 0, 0) * 1000)


async def push(conn: Conn, stream: int, writer: Writer) -> None:
    asked = block((":method", "GET"), (":path", "/x"), (":scheme", "https"), (":authority", "other.example"))
    writer.write(conn.data_to_send() + frame(PUSH, 4, stream, struct.pack(">I", 2) + asked))


async def go_away(conn: Conn, stream: int, writer: Writer) -> None:
    writer.write(conn.data_to_send() + frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0)))


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (reset, "reset"),
        (header_bomb, "too-large"),
        (many_headers, "too-large"),
        (continuations, "reset"),
        (interim, "too-large"),
        (endless, "too-large"),
        (empty_data, "reset"),
        (drip, "timeout"),
        (pings, "reset"),
        (settings, "reset"),
        (push, "reset"),
        (go_away, "reset"),
    ],
)
async def test_hostile_servers(say: Say, reason: str, h2_kind: Kind) -> None:
    context, ca = h2_kind
    async with (
        multiplexed(context, say) as server,
        collecting(ca_file=ca, wire=1 << 20, total=5.0, first_byte=1.0) as collector,
    ):
        failure = bad(await collector.collect(Request(server.url), {}))
        assert (failure.reason, failure.final) == (reason, reason == "too-large")
    async with multiplexed(context) as server, collecting(ca_file=ca) as collector:
        good(await collector.collect(Request(server.url), {}))


async def test_no_descriptor_and_no_socket_is_left_behind() -> None:
    """Covers connections that are kept, closed by either side, or refused. In these tests, a
    ResourceWarning is an error."""

    async def reply(asked: Asked, writer: Writer) -> bool:
        number = len(server.asked)
        if number % 50 == 7:
            return True
        writer.write(answer(b"x", 200, *(["Connection: close"] if number % 3 == 0 else [])))
        return number % 3 == 0

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    async with serving(reply) as server:
        async with collecting() as collector:
            for _ in range(20):
                urls = [server.url(f"/{n}") if n % 17 else "http://127.0.0.1:9/" for n in range(100)]
                await asyncio.gather(*(collector.collect(Request(url), {}) for url in urls))
            assert descriptors() < before + 250
        for _ in range(100):
            if descriptors() <= before + 2:
                break
            await asyncio.sleep(0.05)
        assert descriptors() <= before + 2, "the listener's, and what the loop has of its own"
