"""A proxy of the crawl as the way out of a browser: http, https, socks5(h) or socks4(a), dialled at its
checked address.

What is plain HTTP goes to an HTTP proxy as that expects it, each request with the whole URL; all else through
CONNECT or SOCKS.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import unquote

from gossamer.collectors.http.request_options import ca_bundle, proxy_of

HEAD = 64 << 10
"""Bytes of a head, and of a piece that is passed on."""
TOWARDS = (404, 500, 502, 503, 504)
"""Answers to CONNECT that may speak of the target."""
_UNREACHED = (3, 4, 5, 6)  # RFC 1928 section 6: network, host, refused, too far

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ProxyRefused(Exception):
    """The proxy did not lead there. `blame`: `proxy`, or `path` where it or the host failed."""

    def __init__(self, detail: str, blame: str = "proxy") -> None:
        super().__init__(detail)
        self.blame = blame


class Upstream(NamedTuple):
    """A proxy: `authority` is `host:port`."""

    scheme: str
    authority: str
    user: str = ""
    password: str = ""

    @property
    def http(self) -> bool:
        """Whether it speaks HTTP."""
        return self.scheme in ("http", "https")

    @property
    def basic(self) -> bytes:
        """The header by which it knows us, with the end of its line; nothing where nobody named a user."""
        if not self.user:
            return b""
        return b"Proxy-Authorization: Basic " + b64encode(f"{self.user}:{self.password}".encode()) + b"\r\n"

    async def dial(self, address: str, ca_file: str | None, limit: int) -> Stream:
        """A connection to it at its checked address. Raises OSError."""
        host, _, port = self.authority.rpartition(":")
        if self.scheme != "https":
            return await asyncio.open_connection(address, int(port), limit=limit)
        context = ssl.create_default_context(cafile=ca_file or ca_bundle())
        return await asyncio.open_connection(
            address, int(port), limit=limit, ssl=context, server_hostname=host.strip("[]")
        )

    async def lead(self, stream: Stream, target: str, addresses: tuple[str, ...]) -> None:
        """Make it lead to `host:port`, or to one of the host's checked addresses where it is not to look up
        names.

        Raises Refused, OSError, EOFError.
        """
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
            raise ProxyRefused("the proxy's answer is no HTTP")
        if found[1][:1] != b"2":
            blame = "path" if int(found[1]) in TOWARDS else "proxy"
            raise ProxyRefused(f"the proxy refuses: CONNECT tunnel failed, response {int(found[1])}", blame)


def upstream(url: str) -> Upstream | None:
    """The proxy of a URL, None where it is none that is used.

    >>> upstream("http://joe:p%3Aw@proxy.example:3128")
    Upstream(scheme='http', authority='proxy.example:3128', user='joe', password='p:w')
    """
    authority = proxy_of(url)
    if authority is None:
        return None
    scheme, _, rest = url.partition("://")
    user, _, password = rest.rpartition("@")[0].partition(":")
    return Upstream(scheme, authority, unquote(user), unquote(password))


async def whole(
    reader: asyncio.StreamReader, first: bytes, target: str, basic: bytes
) -> AsyncIterator[bytes]:
    """What a browser sends over one connection to `host:port`, each request with the whole URL as an HTTP
    proxy wants it.

    Raises EOFError, ValueError for what is no request.
    """
    while True:
        head = first + await _head(reader)
        first = b""
        line, _, rest = head.partition(b"\r\n")
        method, path, version = line.split(b" ")
        if not path.startswith(b"/"):
            raise ValueError("no request of a browser")
        yield b"%b http://%b%b %b\r\n%b%b" % (method, target.encode(), path, version, basic, rest)
        found = re.search(rb"\r\ncontent-length: *(\d+)\r\n", head, re.IGNORECASE)
        left = int(found[1]) if found else 0
        while left:
            piece = await reader.read(min(left, HEAD))
            if not piece:
                raise EOFError
            left -= len(piece)
            yield piece


async def _head(reader: asyncio.StreamReader) -> bytes:
    """The lines of a request or answer, to the empty one. Raises EOFError, ValueError where they are too
    long."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise ValueError("its head is too long") from None


async def _socks5(proxy: Upstream, stream: Stream, host: str, port: bytes) -> None:
    """RFC 1928, with the user and password of RFC 1929."""
    reader, writer = stream
    writer.write(b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00")
    version, method = await reader.readexactly(2)
    if version != 5 or method not in (0, 2) or (method == 2 and not proxy.user):
        raise ProxyRefused("the proxy refuses us")
    if method == 2:
        user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
        writer.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if (await reader.readexactly(2))[1]:
            raise ProxyRefused("the proxy refuses user and password")
    writer.write(b"\x05\x01\x00" + _place(host) + port)
    version, code, _, kind = await reader.readexactly(4)
    if version != 5 or code:
        raise ProxyRefused(f"the proxy's answer is SOCKS {code}", "path" if code in _UNREACHED else "proxy")
    length = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
    await reader.readexactly(length + 2)


async def _socks4(proxy: Upstream, stream: Stream, host: str, port: bytes) -> None:
    """SOCKS 4, and 4a with a name."""
    reader, writer = stream
    user = proxy.user.encode() + b"\0"
    try:
        place = ip_address(host)
    except ValueError:
        request = b"\0\0\0\x01" + user + host.encode() + b"\0"
    else:
        if place.version != 4:
            raise ProxyRefused("SOCKS 4 leads to no IPv6", "path")
        request = place.packed + user
    writer.write(b"\x04\x01" + port + request)
    answer = await reader.readexactly(8)
    if answer[1] != 90:
        raise ProxyRefused(f"the proxy's answer is SOCKS {answer[1]}", "path" if answer[1] == 91 else "proxy")


def _place(host: str) -> bytes:
    """A host as SOCKS 5 writes it."""
    try:
        place = ip_address(host)
    except ValueError:
        name = host.encode()
        return b"\x03" + bytes([len(name)]) + name
    return (b"\x01" if place.version == 4 else b"\x04") + place.packed
