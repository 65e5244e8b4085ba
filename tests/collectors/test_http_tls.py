"""TLS: who is not who he says is refused with the word `tls`; HTTP/2 where both sides speak it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import pytest

from collectors.loopback import answer, bad, collecting, good, names_of, saying, serving
from gossamer.request import Request
from web import Plan, certs

OK = answer(b"<p>ok")
HEAD = [(":status", "200"), ("content-type", "text/html"), ("x-a", "b")]


def made(folder: Path, fault: str, alpn: tuple[str, ...] = ()) -> tuple[ssl.SSLContext, str]:
    """A server's context for 127.0.0.x, and the file of its authority."""
    folder.mkdir()
    ca, cert, key = certs.make(Plan("tls", hosts=1, pages=1, tls=fault), folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context, str(ca)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[ssl.SSLContext, str]]:
    folder = tmp_path_factory.mktemp("certs")
    found = {fault: made(folder / fault, fault) for fault in ("ok", "self-signed", "expired", "wrong-host")}
    return {**found, "h2": made(folder / "h2", "ok", ("h2", "http/1.1"))}


ADDRESS = Plan("tls", hosts=1, pages=1, tls="ok").name_of(0)


async def test_an_authority_of_ones_own_is_trusted_when_it_is_named(
    kinds: dict[str, tuple[ssl.SSLContext, str]],
) -> None:
    context, ca = kinds["ok"]
    async with serving(saying(OK), ADDRESS, tls=context) as server:
        async with collecting(ca_file=ca) as collector:
            for _ in range(3):
                assert good(await collector.collect(Request(server.url()), {})).version == "1.1"
            assert server.accepts == 1
        async with collecting() as collector:
            failure = bad(await collector.collect(Request(server.url()), {}))
            assert (failure.reason, failure.final, failure.sent) == ("tls", True, False)
        async with collecting(verify=False) as collector:
            good(await collector.collect(Request(server.url()), {}))


@pytest.mark.parametrize("fault", ["self-signed", "expired", "wrong-host"])
async def test_who_is_not_who_he_says_is_refused(fault: str, kinds: dict[str, tuple[ssl.SSLContext, str]]) -> None:
    context, ca = kinds[fault]
    async with (
        serving(saying(OK), ADDRESS, tls=context) as server,
        collecting(ca_file=kinds["ok"][1] if fault == "self-signed" else ca) as collector,
    ):
        failure = bad(await collector.collect(Request(server.url()), {}))
        assert (failure.reason, failure.final, failure.sent) == ("tls", True, False)
        assert any(word in failure.detail for word in ("certificate", "subject"))
        assert server.asked == []


async def test_a_name_is_checked_against_the_certificate_not_the_pin(
    kinds: dict[str, tuple[ssl.SSLContext, str]],
) -> None:
    context, ca = kinds["ok"]
    async with (
        serving(saying(OK), ADDRESS, tls=context) as server,
        collecting(names_of({"other.example": [ADDRESS]}), ca_file=ca) as collector,
    ):
        assert bad(await collector.collect(Request(server.url(host="other.example")), {})).reason == "tls"


async def test_a_server_that_speaks_no_tls(kinds: dict[str, tuple[ssl.SSLContext, str]]) -> None:
    async def plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer(b"what?", 400))
        writer.close()

    listener = await asyncio.start_server(plainly, ADDRESS, 0)
    async with listener, collecting() as collector:
        port = listener.sockets[0].getsockname()[1]
        failure = bad(await collector.collect(Request(f"https://{ADDRESS}:{port}/"), {}))
        assert (failure.reason, failure.sent) == ("tls", False)
    context, ca = kinds["ok"]
    async with serving(saying(OK), ADDRESS, tls=context) as server, collecting(ca_file=ca) as collector:
        assert bad(await collector.collect(Request(server.url().replace("https:", "http:")), {})).reason == "reset"


@contextlib.asynccontextmanager
async def multiplexed(
    context: ssl.SSLContext, seen: list[dict[bytes, bytes]], refuse: bool = False
) -> AsyncIterator[int]:
    """An HTTP/2 server."""
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
        conn.initiate_connection()
        writer.write(conn.data_to_send())
        try:
            while data := await reader.read(65536):
                for event in conn.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        seen.append(dict(event.headers))
                        if refuse:
                            conn.reset_stream(event.stream_id, 2)
                            continue
                        conn.send_headers(event.stream_id, HEAD)
                        conn.send_data(event.stream_id, b"<p>two", end_stream=True)
                writer.write(conn.data_to_send())
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError, ssl.SSLError):
                await writer.wait_closed()

    listener = await asyncio.start_server(talk, ADDRESS, 0, ssl=context)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_http2(kinds: dict[str, tuple[ssl.SSLContext, str]]) -> None:
    context, ca = kinds["h2"]
    seen: list[dict[bytes, bytes]] = []
    async with multiplexed(context, seen) as port:
        url = f"https://{ADDRESS}:{port}/"
        async with collecting(ca_file=ca) as collector:
            for _ in range(2):
                page = good(await collector.collect(Request(url), {}))
                assert (page.version, page.status, page.body, page.header("x-a"), page.requests) == (
                    "2",
                    200,
                    b"<p>two",
                    "b",
                    1,
                )
                assert page.address == ADDRESS
            pages = await asyncio.gather(
                *(collector.collect(Request(f"{url}{n}"), {"Cookie": f"n={n}"}) for n in range(30))
            )
            assert all(good(page).version == "2" for page in pages)
            assert {one[b"cookie"] for one in seen[2:]} == {b"n=%d" % n for n in range(30)}
            page = good(await collector.collect(Request(url, method="POST", body="x"), {}))
            assert (page.version, page.requests) == ("2", 1)


async def test_http2_can_be_switched_off(kinds: dict[str, tuple[ssl.SSLContext, str]]) -> None:
    context, ca = kinds["h2"]
    async with serving(saying(OK), ADDRESS, tls=context) as server, collecting(ca_file=ca, http2=False) as collector:
        assert good(await collector.collect(Request(server.url()), {})).version == "1.1"


async def test_a_reset_stream_is_a_reset(kinds: dict[str, tuple[ssl.SSLContext, str]]) -> None:
    context, ca = kinds["h2"]
    async with multiplexed(context, [], refuse=True) as port, collecting(ca_file=ca) as collector:
        failure = bad(await collector.collect(Request(f"https://{ADDRESS}:{port}/"), {}))
        assert (failure.reason, failure.final) == ("reset", False)
