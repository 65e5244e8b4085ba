"""One transfer: a reusable curl handle and what its callbacks gather, bounded as it comes."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
import pycurl

from gossamer.collectors.http.request_options import sent
from gossamer.collectors.http.response_head import content_type, final, parse
from gossamer.collectors.http.spool import SLOWEST, Spool
from gossamer.errors import own_limit
from gossamer.items.assets import rule_of
from gossamer.model.page import Exchange, Headers
from gossamer.model.request import Request

MOST_HEADER_LINES, MOST_HEADER_BYTES, MOST_CHUNKS = 100, 64 << 10, 200_000
DRAINED, ERROR = 64 << 10, 1 << 20
"""Bytes of the body that are read of a redirect (for the sake of the connection) and of an error (for the
block detectors)."""
SUPPRESS_CONNECT_HEADERS = 265
"""curl's option for which pycurl has no name: the proxy's own answer is none of the site's."""
_OK: int = pycurl.PREREQFUNC_OK
_ABORT: int = pycurl.PREREQFUNC_ABORT
_REPEATABLE = ("GET", "HEAD", "OPTIONS")


ACCEPT = (
    "text/",
    "application/xhtml+xml",
    "application/xml",
    "application/json",
    "application/rss+xml",
    "application/atom+xml",
    "application/ld+json",
    "application/javascript",
    "application/x-javascript",
    "application/gzip",
    "application/x-gzip",
)
"""Beginnings of content types that are read; a page without one is read, too."""


class Bounds(msgspec.Struct, frozen=True):
    """What a body may be. `wire`: bytes as received; `truncate`: what is longer is cut, not refused."""

    wire: int
    accept: Callable[[str], bool] | None = None
    truncate: bool = False


class Dialled:
    """A new socket on its way to curl, which takes a duplicate of its descriptor: ours ends as soon as curl
    has looked at it."""

    __slots__ = ("socket",)

    def __init__(self, made: socket.socket) -> None:
        self.socket = made

    def fileno(self) -> int:
        """Its descriptor."""
        return self.socket.fileno()

    def __del__(self) -> None:
        self.socket.close()


class Transfer:
    """One reusable curl handle. `problem` is the word of what one of the callbacks ended the transfer for;
    `short`: what of its own this process had too little of to make a socket."""

    __slots__ = (
        "allowed",
        "asked",
        "bounds",
        "changed",
        "chunks",
        "code",
        "curl",
        "headed",
        "headers",
        "lines",
        "most",
        "pin",
        "problem",
        "proxy",
        "sent",
        "sent_at",
        "short",
        "size",
        "spool",
        "tries",
    )

    def __init__(self, bounds: Bounds, made: Callable[[], Any] = pycurl.Curl) -> None:
        """`made`: curl's handle, pycurl's or one with its face (`handles`)."""
        self.curl, self.bounds = made(), bounds
        self.pin, self.proxy, self.changed, self.headed, self.tries = "", "", False, False, 2
        self.allowed: tuple[str, ...] = ()
        self.asked: list[bytes] = []
        """Header lines that go out."""
        self.lines: list[bytes] = []
        self.spool: Spool | None = None
        """Where the body of a good answer goes instead, of a file."""
        self.begin()
        curl = self.curl
        curl.setopt(pycurl.WRITEFUNCTION, self.body)
        curl.setopt(
            pycurl.HEADERFUNCTION, self.lines.append
        )  # no code of ours per line: curl ends it at 300 KiB or 5,000 lines
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self.open)
        curl.setopt(pycurl.PREREQFUNCTION, self.before)

    def begin(self) -> None:
        """Forget the transfer before."""
        self.lines.clear()
        self.chunks: list[bytes] = []
        self.headers: Headers | None = None
        self.code = self.size = self.sent = self.most = 0
        self.sent_at = 0.0
        self.problem = self.short = ""

    def dial(self, address: str) -> None:
        """Pin the transfer to a checked address."""
        if address != self.pin:
            self.pin, self.allowed = address, (address,)
            self.curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])

    def through(
        self, proxy: str, authority: str, addresses: tuple[str, ...], target: tuple[str, ...]
    ) -> None:
        """Send it through a proxy, whose name stands for its checked addresses alone. The proxy resolves the
        target's name; one that is given an address instead (`socks5`, `socks4`) gets a checked one.

        The handle serves no other transfer: a direct one must not meet what is set here, nor this one what
        was set before.
        """
        self.proxy, self.allowed, self.changed = proxy, addresses, True
        name, _, port = authority.rpartition(":")
        places = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
        curl = self.curl
        if proxy.startswith("https:"):  # its certificate is in its name
            curl.setopt(pycurl.PROXY, proxy)
            curl.setopt(pycurl.RESOLVE, [f"{name.strip('[]')}:{port}:{places}"])
        else:  # connections are kept by the proxy's name, and not by its user: each has a name of its own
            own = f"p{blake2b(proxy.encode(), digest_size=12).hexdigest()}"
            scheme, _, rest = proxy.partition("://")
            user, at, _ = rest.rpartition("@")
            curl.setopt(pycurl.PROXY, f"{scheme}://{user}{at}{own}:{port}")
            curl.setopt(pycurl.RESOLVE, [f"{own}:{port}:{places}"])
        if proxy.startswith(("socks5:", "socks4:")):
            one = next((one for one in target if ":" not in one), target[0])
            curl.setopt(pycurl.CONNECT_TO, [f"::[{one}]:" if ":" in one else f"::{one}:"])
        elif self.pin:
            curl.setopt(pycurl.CONNECT_TO, [])
        curl.setopt(SUPPRESS_CONNECT_HEADERS, 1)

    def to(self, request: Request, most: int, folder: str | None, total: float) -> None:
        """It is for a file: any content type, and the body of a good answer into a spool in `folder`, where
        there is one. The handle serves no other transfer.
        """
        self.changed, self.bounds = True, Bounds(most)
        if folder is not None:
            self.spool = Spool(rule_of(request), most, folder)
            self.bounds = Bounds(self.spool.most)
            self.curl.setopt(pycurl.TIMEOUT_MS, round(1000 * max(total, self.spool.most / SLOWEST)))

    def close(self) -> None:
        """Let the handle go, and what it was to keep."""
        self.curl.close()
        if self.spool is not None:
            self.spool.drop()

    def meant_for(self, method: str, body: str | None) -> None:
        """A method or a body of its own. Only what is safe to repeat may be sent again when a kept connection
        turns out to be closed; the rest gets a new connection.
        """
        self.changed = True
        curl = self.curl
        if body is not None:
            curl.setopt(pycurl.POSTFIELDS, body.encode("utf-8", "surrogatepass"))
        if method == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
        curl.setopt(pycurl.CUSTOMREQUEST, method)
        if method not in _REPEATABLE:
            self.tries = 1
            curl.setopt(pycurl.FRESH_CONNECT, 1)

    def open(self, _purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> Dialled | int:
        """The second lock: only a checked address is dialled."""
        family, kind, protocol, place = address
        if place[0] not in self.allowed:
            self.problem = "private"
            refused: int = pycurl.SOCKET_BAD
            return refused
        try:
            return Dialled(socket.socket(family, kind, protocol))
        except OSError as error:
            self.short = own_limit(error)
            lacked: int = pycurl.SOCKET_BAD
            return lacked

    def before(self, there: str, _here: str, _port: int, _local: int) -> int:
        """Called when the request is about to go out, also on a kept connection and when curl sends it again."""
        if there not in self.allowed:
            self.problem = "private"
        elif self.sent >= self.tries:
            self.problem = "again"
        else:
            self.sent += 1
            self.sent_at = time.perf_counter()
            return _OK
        return _ABORT

    def body(self, data: bytes) -> int | None:
        """A piece of the body: the first one meets the gates of size and content type, all are counted."""
        if not self.most:
            self.most, self.problem = self._first()
            if self.problem:
                return 0
        self.size += len(data)
        if self.spool is not None and self.code < 300:
            self.problem = self.spool.write(data, content_type(self.head()))
            return 0 if self.problem else None
        self.chunks.append(data)
        if self.size > self.most or len(self.chunks) > MOST_CHUNKS:
            self.problem = "too-large" if self.size > self.most else "chunks"
            return 0
        return None

    def head(self) -> Headers:
        """The headers of the final answer."""
        if self.headers is None:
            self.code, self.headers = parse(self.lines)
        return self.headers

    def overlong(self) -> bool:
        """Whether the headers are over the bounds."""
        return len(self.lines) > MOST_HEADER_LINES + 2 or sum(map(len, self.lines)) > MOST_HEADER_BYTES

    def cut(self) -> bool:
        """Whether a body that is too large is kept as far as it was read."""
        return self.problem in ("too-large", "chunks") and (self.bounds.truncate or self.status() >= 300)

    def status(self) -> int:
        """Status of the final answer, or of the last interim one; 0 before there is one."""
        self.head()
        return self.code

    def _first(self) -> tuple[int, str]:
        """How many bytes the body may have, and why it is not read at all."""
        if self.overlong():
            return 0, "headers"
        status, bounds = self.status(), self.bounds
        if self.spool is not None:
            self.spool.coded = any(name == "content-encoding" for name, _ in self.head())
        if status >= 300:
            return min(bounds.wire, DRAINED if status < 400 else ERROR), ""
        if bounds.accept is not None and not bounds.accept(content_type(self.head())):
            return 0, "content-type"
        if not bounds.truncate:
            for name, value in self.head():
                if name == "content-length" and value.isdecimal() and int(value[:19]) > bounds.wire:
                    return 0, "too-large"
        return bounds.wire, ""


def gate(accept: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a content type is one of those, or none is said."""
    return lambda kind: not kind or kind.startswith(accept) or "+xml" in kind or "+json" in kind


def exchange(transfer: Transfer, request: Request, version: str, body: bytes) -> Exchange:
    """What went over the wire in a transfer that came through; `body` as received."""
    asked = sent(request, transfer.asked, version, transfer.proxy.startswith("http"))
    return Exchange(asked, final(transfer.lines), body)


def lag(transfer: Transfer, elapsed: float) -> float:
    """Seconds between the start of a collect, `elapsed` ago, and its request going out."""
    return max(0.0, transfer.sent_at - (time.perf_counter() - elapsed)) if transfer.sent else 0.0
