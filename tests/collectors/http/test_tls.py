"""Tests of TLS: a server whose certificate does not prove its identity is refused with the error word
`tls`."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from collectors.http.http2_server import ADDRESS, made
from gossamer.model.request import Request
from support.byte_servers import answer, bad, collecting, good, names_of, saying, serving

OK = answer(b"<p>ok")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[ssl.SSLContext, str]]:
    folder = tmp_path_factory.mktemp("certs")
    found = {fault: made(folder / fault, fault) for fault in ("ok", "self-signed", "expired", "wrong-host")}
    return {**found, "h2": made(folder / "h2", "ok", ("h2", "http/1.1"))}


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
async def test_who_is_not_who_he_says_is_refused(
    fault: str, kinds: dict[str, tuple[ssl.SSLContext, str]]
) -> None:
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
        assert (
            bad(await collector.collect(Request(server.url().replace("https:", "http:")), {})).reason
            == "reset"
        )


async def test_http2_can_be_switched_off(kinds: dict[str, tuple[ssl.SSLContext, str]]) -> None:
    context, ca = kinds["h2"]
    async with (
        serving(saying(OK), ADDRESS, tls=context) as server,
        collecting(ca_file=ca, http2=False) as collector,
    ):
        assert good(await collector.collect(Request(server.url()), {})).version == "1.1"
