"""The browser's only connection to the network: a SOCKS5 proxy (RFC 1928) that gossamer runs on loopback. The
proxy resolves each name with the egress guard, connects only to the checked address or to a proxy of the
crawl, and counts the received bytes. The browser can reach nothing that the guard refuses, and cannot bypass
the proxy.

A proxy of the crawl (http, https, socks5(h) or socks4(a)) is contacted at its checked address. If the proxy
is an HTTP proxy, requests for http URLs contain the full URL in the request line. All other traffic through a
proxy uses CONNECT or SOCKS.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import unquote

from gossamer.collectors.http.collector import AddressResolver, FailureCause
from gossamer.collectors.http.transfer import ca_bundle, proxy_of
from gossamer.config.redaction import mask

MAX_HEAD_BYTES = 64 << 10
"""Maximum size in bytes of a header section, and of each piece of data that the tunnel passes on."""
TARGET_STATUSES = (404, 500, 502, 503, 504)
"""Statuses of a proxy's response to CONNECT that may be caused by the target rather than by the proxy."""
_UNREACHED = (3, 4, 5, 6)  # RFC 1928 section 6: network unreachable, host unreachable, refused, TTL expired

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ProxyRefused(Exception):
    """The proxy did not connect to the target. `blame`: `path` if the target failed or the proxy could not
    reach the target, otherwise `proxy`."""

    def __init__(self, detail: str, blame: str = "proxy") -> None:
        super().__init__(detail)
        self.blame = blame


class Upstream(NamedTuple):
    """A proxy of the crawl. `authority` is `host:port`."""

    scheme: str
    authority: str
    user: str = ""
    password: str = ""

    @property
    def http(self) -> bool:
        """Returns whether the proxy is an HTTP proxy."""
        return self.scheme in ("http", "https")

    @property
    def basic(self) -> bytes:
        """Returns the header line with the credentials for the proxy, or b"" if the proxy has no user."""
        if not self.user:
            return b""
        return b"Proxy-Authorization: Basic " + b64encode(f"{self.user}:{self.password}".encode()) + b"\r\n"

    async def dial(self, address: str, ca_file: str | None, limit: int) -> Stream:
        """Opens a connection to the proxy at a checked address. Raises OSError."""
        host, _, port = self.authority.rpartition(":")
        if self.scheme != "https":
            return await asyncio.open_connection(address, int(port), limit=limit)
        context = ssl.create_default_context(cafile=ca_file or ca_bundle())
        return await asyncio.open_connection(
            address, int(port), limit=limit, ssl=context, server_hostname=host.strip("[]")
        )

    async def lead(self, stream: Stream, target: str, addresses: tuple[str, ...]) -> None:
        """Makes the proxy connect to the target `host:port`. A `socks4` or `socks5` proxy receives one of the
        host's checked addresses. All other proxies receive the host's name. Raises ProxyRefused, OSError,
        EOFError."""
        if self.http:
            await self._connect(stream, target)
            return
        host, _, port = target.rpartition(":")
        if not self.scheme.endswith(("h", "a")):
            host = next((one for one in addresses if ":" not in one), addresses[0])
        way = _socks5 if self.scheme.startswith("socks5") else _socks4
        await way(self, stream, host.strip("[]"), int(port).to_bytes(2, "big"))

    async def _connect(self, stream: Stream, target: str) -> None:
        name = target.encode()
        stream[1].write(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (name, name, self.basic))
        head = await _head(stream[0])
        found = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        if found is None:
            raise ProxyRefused("the proxy's response is not HTTP")
        if found[1][:1] != b"2":
            blame = "path" if int(found[1]) in TARGET_STATUSES else "proxy"
            raise ProxyRefused(f"the proxy refuses: CONNECT tunnel failed, response {int(found[1])}", blame)


def upstream(url: str) -> Upstream | None:
    """Parses a proxy's URL. Returns None if the scheme is not supported, or if the URL contains no port.

    >>> upstream("http://joe:p%3Aw@proxy.example:3128")
    Upstream(scheme='http', authority='proxy.example:3128', user='joe', password='p:w')
    """
    authority = proxy_of(url)
    if authority is None:
        return None
    scheme, _, rest = url.partition("://")
    user, _, password = rest.rpartition("@")[0].partition(":")
    return Upstream(scheme, authority, unquote(user), unquote(password))


async def full_url_requests(
    reader: asyncio.StreamReader, first: bytes, target: str, basic: bytes
) -> AsyncIterator[bytes]:
    """Yields the data that a browser sends over one connection to `target`, with the full URL in each request
    line, as an HTTP proxy requires. `first`: the first byte, which was already read. `basic`: the header line
    with the credentials for the proxy. Raises EOFError at the end of the data, and ValueError for data that
    is not an HTTP request."""
    while True:
        head = first + await _head(reader)
        first = b""
        line, _, rest = head.partition(b"\r\n")
        method, path, version = line.split(b" ")
        if not path.startswith(b"/"):
            raise ValueError("the request does not come from the browser")
        yield b"%b http://%b%b %b\r\n%b%b" % (method, target.encode(), path, version, basic, rest)
        found = re.search(rb"\r\ncontent-length: *(\d+)\r\n", head, re.IGNORECASE)
        left = int(found[1]) if found else 0
        while left:
            piece = await reader.read(min(left, MAX_HEAD_BYTES))
            if not piece:
                raise EOFError
            left -= len(piece)
            yield piece


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Returns the lines of a request or response up to the empty line. Raises EOFError if the data ends
    before the empty line, and ValueError if the lines are too long."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise ValueError("its head is too long") from None


async def _socks5(proxy: Upstream, stream: Stream, host: str, port: bytes) -> None:
    """Connects by SOCKS 5 (RFC 1928) with the user and password of RFC 1929."""
    reader, writer = stream
    writer.write(b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00")
    version, method = await reader.readexactly(2)
    if version != 5 or method not in (0, 2) or (method == 2 and not proxy.user):
        raise ProxyRefused("the proxy rejected the authentication method")
    if method == 2:
        user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
        writer.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if (await reader.readexactly(2))[1]:
            raise ProxyRefused("the proxy rejected the user and password")
    writer.write(b"\x05\x01\x00" + _place(host) + port)
    version, code, _, kind = await reader.readexactly(4)
    if version != 5 or code:
        raise ProxyRefused(f"the proxy's answer is SOCKS {code}", "path" if code in _UNREACHED else "proxy")
    length = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
    await reader.readexactly(length + 2)


async def _socks4(proxy: Upstream, stream: Stream, host: str, port: bytes) -> None:
    """Connects by SOCKS 4, or by SOCKS 4a if `host` is a name."""
    reader, writer = stream
    user = proxy.user.encode() + b"\0"
    try:
        place = ip_address(host)
    except ValueError:
        request = b"\0\0\0\x01" + user + host.encode() + b"\0"
    else:
        if place.version != 4:
            raise ProxyRefused("SOCKS 4 cannot connect to an IPv6 address", "path")
        request = place.packed + user
    writer.write(b"\x04\x01" + port + request)
    answer = await reader.readexactly(8)
    if answer[1] != 90:
        raise ProxyRefused(f"the proxy's answer is SOCKS {answer[1]}", "path" if answer[1] == 91 else "proxy")


def _place(host: str) -> bytes:
    """Encodes a host for SOCKS 5."""
    try:
        place = ip_address(host)
    except ValueError:
        name = host.encode()
        return b"\x03" + bytes([len(name)]) + name
    return (b"\x01" if place.version == 4 else b"\x04") + place.packed


CONNECT_TIMEOUT_S = 10.0
"""Seconds within which a connection to one address must be established."""
CHUNK_BYTES = 64 << 10
MAX_CONNECTIONS = 256
"""The maximum number of concurrent connections through a tunnel."""
OWN = ("connectivitycheck.gstatic.com",)
"""Hosts that Chromium itself contacts, to find out whether a captive portal is the cause of a bad
certificate. The tunnel refuses connections to these hosts."""
_USUAL = (80, 443)
_TLS = b"\x16"
_UNKNOWN = re.compile(rb"HTTP/1\.[01] 407")
_NO, _FAILED, _REFUSED, _COMMAND = 1, 4, 2, 7


class Tunnel:
    """The SOCKS proxy of one browser context. A tunnel is used by one page at a time. `begin(room)` must be
    called before each page. When the page is finished, `got` is the number of bytes that the page received.
    If a page receives more than `room` bytes, the tunnel aborts all connections and sets `over`. `proxy`: the
    proxy of the crawl through which all connections go. `ca_file`: the trusted certificates for a proxy that
    uses TLS."""

    def __init__(
        self, resolver: AddressResolver, proxy: Upstream | None = None, ca_file: str | None = None
    ) -> None:
        self._resolver, self.proxy, self._ca_file = resolver, proxy, ca_file
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.got = self._room = 0
        self.over = False
        self.refused: dict[str, FailureCause] = {}
        """Maps each authority that the tunnel could not reach to the reason. Contains only authorities of the
        current page."""
        self.blame: dict[str, str] = {}
        """Maps each `host:port` that could not be reached through a proxy to the culprit, which is `proxy` or
        `path`. `proxy` means that the proxy itself failed. `path` means that the target failed, or that the
        proxy could not reach the target."""
        self.addresses: dict[str, str] = {}
        """Maps each authority to the address to which the tunnel connected."""

    @property
    def url(self) -> str:
        """Returns the tunnel's URL, which is the browser's proxy setting."""
        assert self._server is not None
        return f"socks5://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def open(self) -> None:
        """Starts to listen on loopback."""

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self._server is None or not self._server.is_serving():
                return writer.close()
            task = asyncio.ensure_future(self._serve(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            # a task that is cancelled before its start does not close its connection itself
            task.add_done_callback(lambda _: writer.close())
            return None

        self._server = await asyncio.start_server(accept, "127.0.0.1", 0)

    def begin(self, room: int) -> None:
        """Resets the counters for a new page, which may receive `room` bytes."""
        self.got, self._room, self.over = 0, room, False
        self.refused.clear()
        self.blame.clear()

    def end(self) -> None:
        """Ends the page. Open connections may finish, and new connections are refused."""
        self._room = 0

    async def close(self) -> None:
        """Closes all connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection of the browser."""
        self._open.add(writer)
        authority = ""
        try:
            async with asyncio.timeout(2 * CONNECT_TIMEOUT_S):
                authority = await _asked(reader, writer)
                out = _bytes(reader)
                if not authority:
                    there = None
                elif self.proxy is None:
                    there = await self._dial(authority, writer)
                else:
                    there, out = await self._through(self.proxy, authority, reader, writer)
            if there is not None:
                self._open.add(there[1])
                await self._join(authority, out, writer, there)
        except (OSError, EOFError, TimeoutError, ValueError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _checked(self, authority: str, writer: asyncio.StreamWriter) -> tuple[str, ...]:
        """Returns the permitted addresses of `host:port`. If no address is permitted, sends a SOCKS error to
        the browser."""
        name = url_authority(authority)
        if not self._room or len(self._tasks) > MAX_CONNECTIONS or name in OWN:
            writer.write(_reply(_NO))
            return ()
        found = self._resolver.known(name) or await self._resolver.resolve(name)
        if not found.addresses:
            self.refused[name] = FailureCause(found.reason, found.detail, found.final)
            writer.write(_reply(_REFUSED if found.reason == "private" else _FAILED))
        return found.addresses

    async def _dial(self, authority: str, writer: asyncio.StreamWriter) -> Stream | None:
        problem = ""
        addresses = await self._checked(authority, writer)
        for address in addresses[:3]:
            try:
                port = int(authority.rpartition(":")[2])
                there = await asyncio.wait_for(
                    asyncio.open_connection(address, port, limit=CHUNK_BYTES), CONNECT_TIMEOUT_S
                )
            except (OSError, TimeoutError) as error:
                problem = f"{address}: {getattr(error, 'strerror', None) or 'no answer'}"
                continue
            self.addresses[url_authority(authority)] = address
            writer.write(_reply(0))
            return there
        if addresses:
            self.refused[url_authority(authority)] = FailureCause("connect", f"cannot connect to {problem}")
            writer.write(_reply(_FAILED))
        return None

    async def _through(
        self, proxy: Upstream, authority: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[Stream | None, AsyncIterator[bytes]]:
        """Opens a connection through the proxy. Returns two values. The first value is the connection, or
        None if the attempt failed. The second value yields the data that the browser sends. The browser's
        first byte shows whether the data is TLS or plain HTTP."""
        out, leads = _bytes(reader), False
        if not (addresses := await self._checked(authority, writer)):
            return None, out
        there: Stream | None = None
        try:
            found = self._resolver.known(proxy.authority) or await self._resolver.resolve(proxy.authority)
            if not found.addresses:
                raise ProxyRefused(f"the proxy's address is refused: {found.detail}")
            there = await asyncio.wait_for(
                proxy.dial(found.addresses[0], self._ca_file, CHUNK_BYTES), CONNECT_TIMEOUT_S
            )
            if not proxy.http:
                await asyncio.wait_for(proxy.lead(there, authority, addresses), CONNECT_TIMEOUT_S)
            writer.write(_reply(0))
            if proxy.http and (first := await reader.readexactly(1)) == _TLS:
                await asyncio.wait_for(proxy.lead(there, authority, addresses), CONNECT_TIMEOUT_S)
                out = _bytes(reader, first)
            elif proxy.http:
                out = full_url_requests(reader, first, url_authority(authority, 80), proxy.basic)
            leads = True
        except ProxyRefused as refused:
            self._blame(authority, refused.blame, str(refused))
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            detail = "the proxy does not answer" if there is None else "the proxy closed the connection"
            self._blame(authority, "proxy" if there is None else "path", f"{detail}: {type(error).__name__}")
        finally:
            if there is not None and not leads:
                there[1].close()
        return (there if leads else None), out

    def _blame(self, authority: str, whom: str, detail: str) -> None:
        name = url_authority(authority)
        self.refused[name] = FailureCause("proxy" if whom == "proxy" else "connect", mask(detail))
        self.blame[name] = whom

    async def _join(
        self, authority: str, out: AsyncIterator[bytes], here: asyncio.StreamWriter, there: Stream
    ) -> None:
        """Copies data in both directions until one direction ends. If a proxy rejects the credentials, the
        browser does not receive the proxy's response, because the browser would show the response as the
        host's page."""
        new = self.proxy is not None and self.proxy.http

        async def pour(data: AsyncIterator[bytes], writer: asyncio.StreamWriter, back: bool) -> None:
            nonlocal new
            with contextlib.suppress(OSError, EOFError, ValueError):
                async for piece in data:
                    if back:
                        if new and _UNKNOWN.match(piece):
                            return self._blame(
                                authority, "proxy", "the proxy rejected the user and password: HTTP 407"
                            )
                        new = False
                        self.got += len(piece)
                    if self._room and self.got > self._room:
                        self.over = True
                        for one in self._open:
                            one.transport.abort()
                        return None
                    writer.write(piece)
                    await writer.drain()
            return None

        ways = [
            asyncio.ensure_future(pour(out, there[1], False)),
            asyncio.ensure_future(pour(_bytes(there[0]), here, True)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            self._open.discard(there[1])
            there[1].close()
            await asyncio.gather(*ways, return_exceptions=True)


def url_authority(authority: str, *usual: int) -> str:
    """Returns an authority without the default port, as in a URL.

    >>> url_authority("e.com:443"), url_authority("e.com:443", 80)
    ('e.com', 'e.com:443')
    """
    host, _, port = authority.rpartition(":")
    return host if int(port) in (usual or _USUAL) else authority


async def _bytes(reader: asyncio.StreamReader, first: bytes = b"") -> AsyncIterator[bytes]:
    """Yields the data as it is received."""
    if first:
        yield first
    while data := await reader.read(CHUNK_BYTES):
        yield data


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """Reads a SOCKS request from the browser. Returns the requested `host:port`, or '' if the request is not
    a SOCKS 5 request to connect. Raises EOFError, ValueError."""
    version, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    if version != 5:
        return ""
    writer.write(b"\x05\x00")
    _, command, _, kind = await reader.readexactly(4)
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode("ascii")
        if ":" in host:
            host = f"[{host}]"
    else:
        address = ip_address(await reader.readexactly(16 if kind == 4 else 4))
        host = f"[{address}]" if kind == 4 else str(address)
    port = int.from_bytes(await reader.readexactly(2), "big")
    if command != 1:
        writer.write(_reply(_COMMAND))
        return ""
    return f"{host}:{port}"


def _reply(code: int) -> bytes:
    return bytes((5, code, 0, 1, 0, 0, 0, 0, 0, 0))
