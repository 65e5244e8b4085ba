"""One HTTP transfer: a reusable curl handle, whose callbacks collect the response within limits. This module
also encodes the header lines that are sent, parses the header section that is received, checks proxy URLs,
finds the trusted certificates, and contains the spool for a file's body. The body of a file is counted and
hashed as it arrives. A file is refused as soon as its first bytes show that its type is not wanted. A small
body stays in memory. A larger body is written to an unnamed temporary file, which disappears when the process
ends.
"""

from __future__ import annotations

import hashlib
import re
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pycurl

from gossamer.collectors.http.decoding import BadCoding, TooLarge, decode
from gossamer.config.redaction import mask_head
from gossamer.errors import own_limit
from gossamer.items.assets import FileRule, rule_of
from gossamer.model.content_type import UNKNOWN, essence
from gossamer.model.media_types import HEAD_BYTES, media_type
from gossamer.model.page import Exchange, Headers, Spooled
from gossamer.model.request import Request, split

MAX_CACHED_LINE_BYTES = 200
"""The maximum number of bytes of a header line that is cached."""


def parse(lines: list[bytes]) -> tuple[int, Headers]:
    r"""Parses the final header section. Returns the status, and the header fields with names in lower case.
    Trailers (RFC 9110 section 6.5.1) are left out.

    >>> parse([b"HTTP/1.1 100 \r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b" c\r\n", b"\r\n", b"Late: x\r\n"])
    (200, [('a', 'b c')])
    """
    out: Headers = []
    status, begun = 0, False
    for line in lines:
        if not begun:
            if line[:1] in b"Hh" and line[:5].upper() == b"HTTP/":
                code = line.split(None, 2)[1:2]
                status = int(code[0][:3]) if code and code[0][:3].strip().isdigit() else 0
                out, begun = [], True
        elif line == b"\r\n" or line == b"\n":
            if status >= 200:
                break
            begun = False
        elif line[:1] in b" \t":  # a folded line (RFC 9112 section 5.2)
            if out:
                out[-1] = (out[-1][0], f"{out[-1][1]} {line.decode('latin-1').strip(_BLANKS)}".strip(_BLANKS))
        else:
            field = _field(line) if len(line) <= MAX_CACHED_LINE_BYTES else _read(line)
            if field is not None:
                out.append(field)
    return status, out


def _read(line: bytes) -> tuple[str, str] | None:
    """Returns the name and value of a field line, or None if the line is invalid."""
    name, colon, value = line.decode("latin-1").partition(":")
    return (name.strip(_BLANKS).lower(), value.strip(_BLANKS)) if colon else None


_BLANKS = " \t\r\n"
"""White space around the value of a header (RFC 9110 section 5.5). Values are bytes, written as latin-1 text, so
the bytes 85 and A0 are no white space."""


_field = lru_cache(2048)(_read)
"""A version of the function `_read` that caches its results. The cache is effective because a server sends
mostly the same header lines in each of its responses."""


def final_head(lines: list[bytes]) -> bytes:
    r"""Returns the final header section as received.

    >>> final_head([b"HTTP/1.1 100 \r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n", b"Late: x\r\n"])
    b'HTTP/1.1 200 OK\r\nA: b\r\n\r\n'
    >>> final_head([b"HTTP/1.1 200 OK\r\n", b"\r\n", b"\r\n"])
    b'HTTP/1.1 200 OK\r\n\r\n'
    """
    head = b"".join(lines)
    if 0 < head.find(b"\n\r\n") == len(head) - 3 and b"\n\n" not in head and head[:5].upper() == b"HTTP/":
        return head  # there is only one header section
    heads: list[list[bytes]] = []
    for line in lines:
        if (
            line[:1] in b"Hh"
            and line[:5].upper() == b"HTTP/"
            and (not heads or heads[-1][-1] in (b"\r\n", b"\n"))
        ):
            heads.append([])
        if heads and (len(heads[-1]) < 2 or heads[-1][-1] not in (b"\r\n", b"\n")):
            heads[-1].append(line)
    return b"".join(heads[-1]) if heads else b""


def content_type(headers: Headers) -> str:
    """Returns the Content-Type in lower case, or '' if it is missing. The values of several headers are joined
    by commas."""
    found = [value for name, value in headers if name == "content-type"]
    return ", ".join(found).lower() if found else ""


def http_version(line: bytes) -> str:
    r"""Returns the HTTP version of a status line.

    >>> http_version(b"HTTP/1.1 200 OK\r\n"), http_version(b"HTTP/2 200 \r\n")
    ('1.1', '2')
    """
    return line[5:8].decode("latin-1").split(" ")[0]


PROXIES = "a proxy is SCHEME://HOST:PORT, SCHEME being http, https, socks5h, socks5, socks4a or socks4"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_VALUE = re.compile(r"[\r\n\0]")
_FRAMING = ("content-length", "transfer-encoding")
"""Headers that define where a request ends. If such a header has a wrong value, the server may treat the next
request on the same connection as a part of the current request."""


def is_sendable(name: str, value: str) -> bool:
    """Returns whether a header may be sent. The header's name must be a token, and the value must be a single
    line. Content-Length and Transfer-Encoding may not be sent, because these headers delimit the request."""
    return bool(TOKEN.fullmatch(name)) and not _BAD_VALUE.search(value) and name.lower() not in _FRAMING


def ca_bundle() -> str | None:
    """Returns the path of the system's trusted certificates, or else the path of certifi's certificates. None
    means that curl's own default is used."""
    import ssl

    paths = ssl.get_default_verify_paths()
    for path in (
        paths.cafile,
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ):
        if path and Path(path).is_file():
            return path
    try:
        import certifi
    except ImportError:
        return None
    return certifi.where()


def proxy_of(url: str) -> str | None:
    """Returns `host:port` of a proxy's URL, or None if the URL cannot be used. The URL's scheme must be
    `http`, `https` or a socks scheme, and the URL must contain a port.

    >>> proxy_of("http://user:secret@proxy.example:3128"), proxy_of("ftp://proxy.example:21"), proxy_of("http://proxy.example")
    ('proxy.example:3128', None, None)
    """
    scheme, _, rest = url.partition("://")
    authority = rest.rstrip("/").rpartition("@")[2]
    found = re.fullmatch(r"([\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}", authority)
    return (
        authority if found and scheme in ("http", "https", "socks5", "socks5h", "socks4", "socks4a") else None
    )


def encode_line(name: str, value: str) -> bytes:
    """Encodes a header for curl: in latin-1 if possible, otherwise in UTF-8. A header without a value becomes
    `name;`, which makes curl send the header with an empty value.

    >>> encode_line("X-Name", "Zoë"), encode_line("X-Empty", "")
    (b'X-Name: Zo\\xeb', b'X-Empty;')
    """
    text = f"{name}: {value}" if value or name == "Expect" else f"{name};"
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def request_bytes(request: Request, lines: Sequence[bytes]) -> bytes:
    """Returns the request that curl sends over HTTP/1.1 with these header lines, with its secrets."""
    return sent_bytes(request, lines, "1.1", masked=False)


def sent_bytes(
    request: Request, lines: Sequence[bytes], version: str, through: bool = False, *, masked: bool = True
) -> bytes:
    r"""Returns the header section and body of the request that curl sends with these header lines. `through`:
    whether the request is sent to an HTTP proxy, which requires the full URL in the request line. `masked`:
    whether secrets are masked.

    >>> sent_bytes(Request("http://e.com/a"), [b"A: b", b"Expect:", b"C;"], "1.1")
    b'GET /a HTTP/1.1\r\nHost: e.com\r\nA: b\r\nC:\r\n\r\n'
    """
    scheme, host, path = split(request.url)
    path = path.partition("#")[0]
    said, names = _told(tuple(lines), masked)
    target = request.url.partition("#")[0] if through and scheme == "http" else path
    out = [f"{request.method} {target} HTTP/{version}".encode()]
    if b"host" not in names:
        out.append(b"Host: " + host.encode())
    out += said
    if through and scheme == "http" and b"proxy-connection" not in names:
        out.insert(2, b"Proxy-Connection: Keep-Alive")
    body = b"" if request.body is None else request.body.encode("utf-8", "surrogatepass")
    if request.body is not None:
        out.append(b"Content-Length: %d" % len(body))
        if b"content-type" not in names:
            out.append(b"Content-Type: application/x-www-form-urlencoded")
    return b"\r\n".join((*out, b"", body))


@lru_cache(maxsize=256)
def _told(lines: tuple[bytes, ...], masked: bool) -> tuple[list[bytes], frozenset[bytes]]:
    """Returns the header lines in the form that curl sends, and the header names. Secrets may be masked. The
    result is cached, because most requests of a crawl have the same header lines."""
    said = [_said(one) for one in lines if one.rstrip()[-1:] != b":"]
    names = frozenset(one.partition(b":")[0].lower() for one in said)
    return [mask_head(one) for one in said] if masked else said, names


def _said(one: bytes) -> bytes:
    """Returns a header line in the form that curl sends. The line `name;` becomes a header with an empty
    value, and `connection` becomes `Connection`."""
    if one.endswith(b";") and b":" not in one:
        return one[:-1] + b":"
    return b"C" + one[1:] if one[:11] == b"connection:" else one


MAX_MEMORY_BYTES = 256 << 10
"""Maximum number of bytes of a file that are kept in memory. A file that exceeds this limit is moved to
disk."""
MIN_FILE_RATE_BYTES = 256 << 10
"""Minimum transfer rate of a file in bytes per second. The time limit of a file is the maximum size of the
file divided by this rate, or the general time limit, whichever is longer."""
MAX_PIECES = 200_000
"""Maximum number of pieces in which a body may arrive, in addition to one piece per KiB of the body."""


class Spool:
    """Receives the body of one file. `most`: the maximum number of bytes. `folder`: the folder for the
    temporary file of a large body."""

    def __init__(self, rule: FileRule, most: int, folder: str) -> None:
        self.most, self._rule, self._folder = rule.size or most, rule, folder
        self.coded = False
        """Whether the body has a content coding, so that its first bytes do not show its type."""
        self._begin()

    def _begin(self) -> None:
        self.head, self.size, self._pieces, self._hash = b"", 0, 0, hashlib.sha256()
        self._file: Any = tempfile.SpooledTemporaryFile(max_size=MAX_MEMORY_BYTES, dir=self._folder)  # noqa: SIM115 - it outlives this

    def write(self, data: bytes, declared: str | None) -> str:
        """Writes a piece of the body. Returns the reason why the transfer must be aborted, or ''."""
        before = self.size
        self.size += len(data)
        self._pieces += 1
        if self.size > self.most:
            return "too-large"
        if self._pieces > MAX_PIECES + self.size // 1024:
            return "chunks"
        if before < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - before]
            if (
                self.size >= HEAD_BYTES
                and not self.coded
                and not self._rule.takes(media_type(self.head, declared))
            ):
                return "content-type"
        self._hash.update(data)
        self._file.write(data)
        return ""

    def again(self, body: bytes) -> None:
        """Replaces the stored bytes with the decoded body."""
        self._file.close()
        self._begin()
        self.write(body, None)

    def read(self) -> bytes:
        """Returns the whole body."""
        self._file.seek(0)
        data: bytes = self._file.read()
        return data

    def end(self) -> Spooled:
        """Returns the stored body. The caller must close the file of the stored body."""
        file, self._file = self._file, None
        return Spooled(file, self.size, self._hash.hexdigest())

    def drop(self) -> None:
        """Discards the body."""
        if self._file is not None:
            self._file.close()


def decoded_body(
    spool: Spool | None, body: bytes, coding: str, most: int, *, cut: bool
) -> tuple[bytes, Spooled | None]:
    """Removes the content coding of a body. Returns the pair (decoded body, None). If the body is in a spool,
    returns the pair (first bytes of the decoded body, stored body). A spooled body with a content coding is
    decoded in memory, so its size is limited. Raises TooLarge, BadCoding."""
    if spool is None:
        return decode(body, coding, most, cut=cut), None
    if coding:
        if spool.size > most:
            raise TooLarge
        spool.again(decode(spool.read(), coding, min(most, spool.most)))
    return spool.head, spool.end()


MAX_HEADER_LINES, MAX_HEADER_BYTES, MAX_CHUNKS = 1000, 64 << 10, 200_000
MAX_DRAINED_BYTES, MAX_ERROR_BODY_BYTES = 64 << 10, 1 << 20
"""MAX_DRAINED_BYTES is the maximum number of bytes that are read from a redirect's body, so that the
connection can be reused. MAX_ERROR_BODY_BYTES is the maximum number of bytes of an error's body that are read
for the block detectors."""
SUPPRESS_CONNECT_HEADERS = 265
"""The curl option that leaves out the proxy's own response to CONNECT. pycurl has no name for it."""
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
"""Prefixes of accepted content types. A page without a content type is also accepted."""


class BodyLimits(msgspec.Struct, frozen=True):
    """Limits for a body. `wire`: the maximum number of bytes received over the network. `accept`: a function
    that returns whether a content type is accepted. `truncate`: whether a longer body is truncated instead of
    refused."""

    wire: int
    accept: Callable[[str], bool] | None = None
    truncate: bool = False


class PinnedSocket:
    """A new socket for curl. curl uses a duplicate of the socket's descriptor, so the socket is closed when
    this object is deleted."""

    __slots__ = ("socket",)

    def __init__(self, made: socket.socket) -> None:
        self.socket = made

    def fileno(self) -> int:
        """Returns the socket's descriptor."""
        return self.socket.fileno()

    def __del__(self) -> None:
        self.socket.close()


class Transfer:
    """One reusable curl handle and the state of its transfer. `problem`: the reason why one of the callbacks
    aborted the transfer, or ''. `short`: the resource whose shortage prevented opening a socket, or ''."""

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
        "opened",
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

    def __init__(self, bounds: BodyLimits, made: Callable[[], Any] = pycurl.Curl) -> None:
        """`made`: a function that creates the curl handle, which has the interface of pycurl's Curl."""
        self.curl, self.bounds = made(), bounds
        self.pin, self.proxy, self.changed, self.headed, self.tries = "", "", False, False, 2
        self.allowed: tuple[str, ...] = ()
        self.asked: list[bytes] = []
        """The header lines that are sent."""
        self.lines: list[bytes] = []
        self.spool: Spool | None = None
        """The spool that receives the body of a successful response if the transfer fetches a file. `spool`
        is None if the transfer fetches a page."""
        self.begin()
        curl = self.curl
        curl.setopt(pycurl.WRITEFUNCTION, self.body)
        # no limit is checked per line, because curl itself stops at 300 KiB or 5,000 lines
        curl.setopt(pycurl.HEADERFUNCTION, self.lines.append)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self.open)
        curl.setopt(pycurl.PREREQFUNCTION, self.before)

    def begin(self) -> None:
        """Resets the state of the previous transfer."""
        self.lines.clear()
        self.chunks: list[bytes] = []
        self.headers: Headers | None = None
        self.code = self.size = self.sent = self.most = 0
        self.opened = False
        self.sent_at = 0.0
        self.problem = self.short = ""

    def dial(self, address: str) -> None:
        """Pins the transfer to a checked address, so that curl connects only to this address."""
        if address != self.pin:
            self.pin, self.allowed = address, (address,)
            self.curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])

    def through(
        self, proxy: str, authority: str, addresses: tuple[str, ...], target: tuple[str, ...]
    ) -> None:
        """Sends the transfer through a proxy. curl resolves the proxy's name only to the proxy's checked
        addresses. The proxy resolves the target's name, unless the scheme is `socks4` or `socks5`. Such a
        proxy receives a checked address of the target.

        The handle is discarded afterwards, because a direct transfer must not have the options of a transfer
        through a proxy.
        """
        self.proxy, self.allowed, self.changed = proxy, addresses, True
        name, _, port = authority.rpartition(":")
        places = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
        curl = self.curl
        if proxy.startswith("https:"):  # the proxy's certificate is checked against the proxy's name
            curl.setopt(pycurl.PROXY, proxy)
            curl.setopt(pycurl.RESOLVE, [f"{name.strip('[]')}:{port}:{places}"])
        else:  # curl shares a connection between users of a proxy name, so each proxy URL gets its own name
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
        """Prepares the handle for a file. Any content type is accepted. If `folder` is given, the body of a
        successful response is written to a spool in the folder. The handle is discarded after the
        transfer."""
        self.changed, self.bounds = True, BodyLimits(most)
        if folder is not None:
            self.spool = Spool(rule_of(request), most, folder)
            self.bounds = BodyLimits(self.spool.most)
            self.curl.setopt(
                pycurl.TIMEOUT_MS, round(1000 * max(total, self.spool.most / MIN_FILE_RATE_BYTES))
            )

    def close(self) -> None:
        """Frees the handle and discards its spool."""
        self.curl.close()
        if self.spool is not None:
            self.spool.drop()

    def meant_for(self, method: str, body: str | None) -> None:
        """Sets the request's method and body. If a reused connection turns out to be closed, curl sends the
        request again. Only requests with safe methods may be sent twice, so requests with other methods use a
        new connection."""
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

    def open(self, _purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> PinnedSocket | int:
        """Opens a socket for curl. This is the second check of the egress guard: sockets are opened only for
        checked addresses."""
        family, kind, protocol, place = address
        if place[0] not in self.allowed:
            self.problem = "private"
            refused: int = pycurl.SOCKET_BAD
            return refused
        self.opened = True
        try:
            return PinnedSocket(socket.socket(family, kind, protocol))
        except OSError as error:
            self.short = own_limit(error)
            lacked: int = pycurl.SOCKET_BAD
            return lacked

    def before(self, there: str, _here: str, _port: int, _local: int) -> int:
        """Decides whether curl may send the request. curl calls this method before each attempt to send the
        request, also on a reused connection."""
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
        """Handles a piece of the body. The declared size and the content type are checked at the first piece.
        The bytes of all pieces are counted."""
        if not self.most:
            self.most, self.problem = self._first()
            if self.problem:
                return 0
        self.size += len(data)
        if self.spool is not None and self.code < 300:
            self.problem = self.spool.write(data, content_type(self.head()))
            return 0 if self.problem else None
        self.chunks.append(data)
        if self.size > self.most or len(self.chunks) > MAX_CHUNKS:
            self.problem = "too-large" if self.size > self.most else "chunks"
            return 0
        return None

    def head(self) -> Headers:
        """Returns the headers of the final response."""
        if self.headers is None:
            self.code, self.headers = parse(self.lines)
        return self.headers

    def has_long_headers(self) -> bool:
        """Returns whether the headers exceed the limits."""
        return len(self.lines) > MAX_HEADER_LINES + 2 or sum(map(len, self.lines)) > MAX_HEADER_BYTES

    def is_whole(self, most: int) -> bool:
        """Returns whether a compressed body that ended early is complete: decoded, it has the declared size.
        `most`: the maximum number of decoded bytes."""
        known = dict(self.head())
        size, coding = known.get("content-length", ""), known.get("content-encoding", "")
        if self.problem or self.spool is not None or not coding or not size.isdecimal():
            return False
        try:
            return len(decode(b"".join(self.chunks), coding, most)) == int(size[:19])
        except (TooLarge, BadCoding):
            return False

    def cut(self) -> bool:
        """Returns whether the body exceeded a limit, and the part that was received is kept."""
        return self.problem in ("too-large", "chunks") and (self.bounds.truncate or self.status() >= 300)

    def status(self) -> int:
        """Returns the status of the final response, or of the last interim response so far. Returns 0 before
        the first response."""
        self.head()
        return self.code

    def _first(self) -> tuple[int, str]:
        """Returns two values. The first value is the maximum number of bytes of the body. The second value is
        the reason why the body is refused, or '' if the body is accepted."""
        if self.has_long_headers():
            return 0, "headers"
        status, bounds = self.status(), self.bounds
        if self.spool is not None:
            self.spool.coded = any(name == "content-encoding" for name, _ in self.head())
        if status >= 300:
            return min(bounds.wire, MAX_DRAINED_BYTES if status < 400 else MAX_ERROR_BODY_BYTES), ""
        if bounds.accept is not None and not bounds.accept(content_type(self.head())):
            return 0, "content-type"
        if not bounds.truncate:
            for name, value in self.head():
                if name == "content-length" and value.isdecimal() and int(value[:19]) > bounds.wire:
                    return 0, "too-large"
        return bounds.wire, ""


def content_type_gate(accept: tuple[str, ...]) -> Callable[[str], bool]:
    """Returns a function that decides whether a Content-Type header is accepted. A header that is missing or
    names no type is accepted, because the bytes determine the type."""

    def takes(value: str) -> bool:
        kind = essence(value)
        return kind in UNKNOWN or kind.startswith(accept) or kind.endswith(("+xml", "+json"))

    return lru_cache(256)(takes)


def exchange(transfer: Transfer, request: Request, version: str, body: bytes) -> Exchange:
    """Returns the bytes that a successful transfer sent and received. `body`: the received body, before
    decoding."""
    asked = sent_bytes(request, transfer.asked, version, transfer.proxy.startswith("http"))
    return Exchange(asked, final_head(transfer.lines), body)


def start_delay(transfer: Transfer, elapsed: float) -> float:
    """Returns the number of seconds between the start of a `collect` call and its request, or 0 if no request
    was sent. `elapsed`: the seconds since the start of the call."""
    return max(0.0, transfer.sent_at - (time.perf_counter() - elapsed)) if transfer.sent else 0.0
