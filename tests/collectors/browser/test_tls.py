"""Sites over TLS in Chromium and in Firefox: servers that speak only HTTP/2, servers that ask for a client certificate,
and proxies with a user and a password. The browsers of these tests accept the certificates of the test servers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import h2.connection
import pytest
import pytest_asyncio

from collectors.browser.conftest import IN_MODULE, TOTAL_S, here
from collectors.http.http2_server import Multiplexed, made, multiplexed
from gossamer.collectors.browser import chromium
from gossamer.collectors.browser.bidi_connection import BidiConnection
from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request
from support.light_proxies import Light, lights
from support.processes import free_port

pytestmark = IN_MODULE

FETCH = b"<ul></ul><script>fetch('/rows').then(r => r.text()).then(t => { document.querySelector('ul').innerHTML = t })</script>"


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=[None, "firefox-esr"], ids=["chromium", "firefox"]
)
async def trusting(request: pytest.FixtureRequest) -> AsyncIterator[BrowserCollector]:
    """Yield a collector whose browser accepts all certificates."""
    send = BidiConnection.send

    async def sends(self: BidiConnection, method: str, /, **params: Any) -> dict[str, Any]:
        if method == "session.new":
            params["capabilities"]["alwaysMatch"]["acceptInsecureCerts"] = True
        return await send(self, method, **params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chromium, "FLAGS", (*chromium.FLAGS, "--ignore-certificate-errors"))
        patch.setattr(BidiConnection, "send", sends)
        collector = BrowserCollector(
            Resolver(["127.0.0.0/8"], lookup=here),
            agent="test/1",
            domain=lambda host: host,
            total=TOTAL_S,
            program=request.param,
            render=lambda _: Render(),
        )
        yield collector
        await collector.close()


def secure(folder: Path, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
    """Return the context of a server with a certificate."""
    return made(folder / "tls", "ok", alpn)[0]


async def rows(conn: h2.connection.H2Connection, stream: int, server: Multiplexed) -> None:
    """Send the page, or the rows that its script asks for."""
    path = server.seen[-1][b":path"]
    conn.send_headers(stream, [(":status", "200"), ("content-type", "text/html")])
    conn.send_data(stream, b"<li>row</li>" if path == b"/rows" else FETCH, end_stream=True)


async def test_a_server_that_speaks_only_http2(tmp_path: Path, trusting: BrowserCollector) -> None:
    async def say(conn: h2.connection.H2Connection, stream: int, _: asyncio.StreamWriter) -> None:
        await rows(conn, stream, server)

    async with multiplexed(secure(tmp_path, ("h2",)), say) as server:
        got = await trusting.collect(Request(server.url), {})
        assert isinstance(got, Page), got
        assert (got.status, got.version, b"<li>row</li>" in got.body) == (200, "2", True)
        assert server.accepts == 1, "its requests share a connection"


@contextlib.contextmanager
def asking(context: ssl.SSLContext) -> Iterator[int]:
    """Run a server that ends each connection without a client certificate with an alert. Yield its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        plain = connection.dup()  # `wrap_socket` closes its socket if the handshake fails
        with plain, contextlib.suppress(OSError):
            try:
                context.wrap_socket(connection, server_side=True)
            except ssl.SSLError:
                plain.shutdown(socket.SHUT_WR)
                while plain.recv(4096):
                    pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2], ids=["1.3", "1.2"])
async def test_a_server_that_asks_for_a_client_certificate(
    tmp_path: Path, trusting: BrowserCollector, version: ssl.TLSVersion
) -> None:
    """The outcome names what is missing, and the visit is not repeated."""
    context, authority = made(tmp_path / "tls", "ok")
    context.verify_mode, context.maximum_version = ssl.CERT_REQUIRED, version
    context.load_verify_locations(authority)
    with asking(context) as port:
        got = await trusting.collect(Request(f"https://127.0.0.1:{port}/"), {})
    assert isinstance(got, Failure), got
    assert got.reason == "tls", got
    if got.detail != "SSL_ERROR_HANDSHAKE_FAILURE_ALERT":  # in Firefox, TLS 1.2 does not tell what is missing
        assert ("client certificate" in got.detail, got.final) == (True, True), got


@pytest.mark.parametrize("secret", ["joe:s3cret", "joe:wrong"])
async def test_a_proxy_with_a_user_and_a_password(
    tmp_path: Path, trusting: BrowserCollector, secret: str
) -> None:
    async def say(conn: h2.connection.H2Connection, stream: int, _: asyncio.StreamWriter) -> None:
        await rows(conn, stream, server)

    proxy = Light("127.0.7.9", free_port(), secret="joe:s3cret")
    async with multiplexed(secure(tmp_path, ("h2",)), say) as server, lights(proxy):
        guise = Guise(proxy=f"http://{secret}@{proxy.address}:{proxy.port}")
        got = await trusting.collect(Request(server.url), {}, guise)
        assert proxy.users == {secret}
        if secret == proxy.secret:
            assert isinstance(got, Page), got
            assert (got.version, b"<li>row</li>" in got.body) == ("2", True)
        else:
            assert isinstance(got, Failure), got
            assert (got.reason, got.blame, server.accepts) == ("proxy", "proxy", 0)
