"""The plain rung: HTTP/1.1 and HTTP/2 over libcurl, at addresses that the egress guard has checked.

curl resolves nothing: each transfer is pinned to a checked address (CONNECT_TO keeps Host and SNI, and makes the address part
of what a kept connection is found by), and a second lock on the socket refuses any other. curl decodes nothing either: bodies
are counted as they come and decoded here under a limit. Redirects, cookies, proxies and credentials are not curl's business.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pycurl

from gossamer.collectors.decoding import BadCoding, TooLarge, decode
from gossamer.egress.resolver import Refused, Resolver
from gossamer.page import Failure, Headers, Page
from gossamer.request import Request, split

ACCEPT = (
    "text/", "application/xhtml+xml", "application/xml", "application/json", "application/rss+xml", "application/atom+xml",
    "application/ld+json", "application/javascript", "application/x-javascript", "application/gzip", "application/x-gzip",
)  # fmt: skip
"""Beginnings of content types that are read; a page without one is read, too."""
MOST_HEADER_LINES, MOST_HEADER_BYTES, MOST_CHUNKS = 100, 64 << 10, 200_000
DRAINED = 64 << 10
"""Bytes of the body of a redirect that are read for the sake of the connection."""
_VERSIONS = {1: "1.0", 2: "1.1", 3: "2", 30: "3"}
_REASONS = {
    pycurl.E_COULDNT_RESOLVE_HOST: "dns", pycurl.E_COULDNT_CONNECT: "connect", pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_SSL_CONNECT_ERROR: "tls", pycurl.E_PEER_FAILED_VERIFICATION: "tls", pycurl.E_SSL_CACERT_BADFILE: "tls",
    pycurl.E_SSL_CIPHER: "tls", pycurl.E_SSL_CERTPROBLEM: "tls", pycurl.E_URL_MALFORMAT: "filter",
}  # fmt: skip


class Transfer:
    """One reusable curl handle and what its callbacks gather."""

    __slots__ = (
        "accept", "chunks", "closed", "curl", "headers", "lines", "pin", "pool", "problem", "sent", "size", "status", "wire", "wired",
    )  # fmt: skip

    def __init__(self, accept: Callable[[str], bool] | None, wire: int) -> None:
        self.curl = pycurl.Curl()
        self.accept, self.wire = accept, wire
        self.pin = ""
        self.wired = False
        self.begin()
        curl = self.curl
        curl.setopt(pycurl.WRITEFUNCTION, self.body)
        curl.setopt(pycurl.HEADERFUNCTION, self.header)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self.open)
        curl.setopt(pycurl.PREREQFUNCTION, self.before)

    def begin(self) -> None:
        """Forget the transfer before."""
        self.chunks: list[bytes] = []
        self.lines: list[bytes] = []
        self.size = self.headers = self.sent = self.status = 0
        self.problem = ""

    def open(self, _purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> socket.socket | int:
        """The second lock: only the pinned address is dialled."""
        family, kind, protocol, place = address
        if place[0] != self.pin:
            self.problem = "private"
            return pycurl.SOCKET_BAD
        return socket.socket(family, kind, protocol)

    def before(self, there: str, _here: str, _port: int, _local: int) -> int:
        """Called when the request is about to go out, also on a kept connection and when curl sends it again."""
        self.sent += 1
        if there != self.pin or self.sent > 2:
            self.problem = "private" if there != self.pin else "reset"
            return pycurl.PREREQFUNC_ABORT
        return pycurl.PREREQFUNC_OK

    def header(self, line: bytes) -> int | None:
        """A header line; 64 KiB and 100 lines at most. Interim answers (1xx) are forgotten when the next one begins."""
        if line[:5] == b"HTTP/":
            self.lines = []
            code = line[9:12] if line[5:6] == b"1" else line.split(b" ")[1][:3] if b" " in line else b""
            self.status = int(code) if code.isdigit() else 0
            return None
        self.headers += len(line)
        self.lines.append(line)
        if self.headers > MOST_HEADER_BYTES or len(self.lines) > MOST_HEADER_LINES + 1:
            self.problem = "headers"
            return 0
        return None

    def body(self, data: bytes) -> int | None:
        """A piece of the body: the first one meets the content-type gate, all are counted."""
        if not self.size and self.accept is not None and not self.accept(self.content_type()):
            self.problem = "content-type"
            return 0
        self.size += len(data)
        self.chunks.append(data)
        if self.size > self.wire or len(self.chunks) > MOST_CHUNKS:
            self.problem = "too-large"
            return 0
        return None

    def content_type(self) -> str:
        """The content type of the answer, in lower case, '' when there is none or the answer is no page."""
        if self.status >= 300:
            return ""
        for line in self.lines:
            if line[:13].lower() == b"content-type:":
                return line[13:].strip().lower().decode("latin-1")
        return ""


class HttpCollector:
    """Collects over HTTP. Times in seconds, sizes in bytes. `truncate`: what is over the size is cut, not refused."""

    name = "http"

    def __init__(
        self, resolver: Resolver, *, user_agent: str, connect: float = 10.0, first_byte: float = 20.0, total: float = 30.0,
        wire: int = 16 << 20, decoded: int = 32 << 20, http2: bool = True, ca_file: str | None = None, verify: bool = True,
        connections: int = 1024, accept: tuple[str, ...] | None = ACCEPT, truncate: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._resolver, self._decoded, self._wire, self._truncate = resolver, decoded, wire, truncate
        self._accept = None if accept is None else _gate(accept)
        plain = {
            "User-Agent": user_agent, "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language": "en;q=0.9,*;q=0.5", "Accept-Encoding": "gzip, deflate, br;q=0.8, zstd;q=0.8", "Expect": "",
        }  # fmt: skip
        self._headers = plain | dict(headers or {})
        self._lines = [f"{name}: {value}" for name, value in self._headers.items()]
        self._options: list[tuple[int, object]] = [
            (pycurl.NOSIGNAL, 1), (pycurl.FOLLOWLOCATION, 0), (pycurl.PROXY, ""), (pycurl.NETRC, 0), (pycurl.PATH_AS_IS, 1),
            (pycurl.HTTP_CONTENT_DECODING, 0), (pycurl.CONNECTTIMEOUT_MS, round(connect * 1000)),
            (pycurl.TIMEOUT_MS, round(total * 1000)), (pycurl.LOW_SPEED_LIMIT, 1024),
            (pycurl.LOW_SPEED_TIME, max(1, round(first_byte))), (pycurl.HTTPHEADER, self._lines),
            (pycurl.SSL_VERIFYPEER, int(verify)), (pycurl.SSL_VERIFYHOST, 2 * int(verify)),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS), (pycurl.TCP_NODELAY, 1),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if http2 else pycurl.CURL_HTTP_VERSION_1_1),
        ]  # fmt: skip
        if verify and (bundle := ca_file or ca_bundle()):
            self._options.append((pycurl.CAINFO, bundle))
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)
        self._free: list[Transfer] = []

    async def collect(self, request: Request, headers: Mapping[str, str]) -> Page | Failure:
        """Fetch one URL, no redirect followed."""
        began, now = time.perf_counter(), time.time()
        authority = split(request.url)[1]
        found = self._resolver.known(authority) or await self._resolver.resolve(authority)
        if isinstance(found, Refused):
            return Failure(
                found.reason, found.detail, now, time.perf_counter() - began, final=found.final, sent=False
            )
        transfer = self._free.pop() if self._free else self._transfer()
        if (problem := self._set_up(transfer, request, headers, found.addresses[0])) is not None:
            return Failure("filter", problem, now, 0.0, final=True, sent=False)
        try:
            await self._multi.add_handle(transfer.curl)
        except pycurl.error as error:
            return self._failed(transfer, error, now, time.perf_counter() - began)
        except BaseException:
            transfer.wired = False  # cancelled: the handle is still being let go, so it is not used again
            raise
        return self._page(transfer, request, now, time.perf_counter() - began)

    async def close(self) -> None:
        """End all transfers and connections."""
        await self._multi.aclose()
        for transfer in self._free:
            transfer.curl.close()
        self._free.clear()

    def _transfer(self) -> Transfer:
        transfer = Transfer(self._accept, self._wire)
        for option, value in self._options:
            transfer.curl.setopt(option, value)
        return transfer

    def _set_up(self, transfer: Transfer, request: Request, headers: Mapping[str, str], address: str) -> str | None:
        """Everything that differs between transfers; returns what is wrong with the request."""
        curl = transfer.curl
        transfer.begin()
        curl.setopt(pycurl.URL, request.url)
        if address != transfer.pin:
            transfer.pin = address
            curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
        if headers:
            for name, value in headers.items():
                if any(c in "\r\n\0" for c in name + value) or not name or ":" in name:
                    self._free.append(transfer)
                    return f"the header {name[:40]!r} is malformed"
            given = {name.lower() for name in headers}
            lines = [f"{k}: {v}" for k, v in self._headers.items() if k.lower() not in given]
            curl.setopt(pycurl.HTTPHEADER, lines + [f"{k}: {v}" if v else f"{k};" for k, v in headers.items()])
        if request.method != "GET":
            curl.setopt(pycurl.CUSTOMREQUEST, request.method)
            if request.method == "HEAD":
                curl.setopt(pycurl.NOBODY, 1)
            elif request.body is not None:
                curl.setopt(pycurl.POSTFIELDS, request.body.encode())
                curl.setopt(pycurl.CUSTOMREQUEST, request.method)
        transfer.wired = bool(headers) or request.method != "GET"
        return None

    def _give_back(self, transfer: Transfer) -> None:
        """Keep a handle for the next transfer; one with options of its own is thrown away (connections are the multi's)."""
        if transfer.wired:
            transfer.curl.close()
        else:
            self._free.append(transfer)

    def _page(self, transfer: Transfer, request: Request, now: float, elapsed: float) -> Page | Failure:
        curl = transfer.curl
        headers = _headers(transfer.lines)
        coding = ""
        for name, value in headers:
            if name == "content-encoding":
                coding = f"{coding},{value}" if coding else value
        body = transfer.chunks[0] if len(transfer.chunks) == 1 else b"".join(transfer.chunks)
        size, sent = transfer.size, transfer.sent
        status, version = transfer.status, curl.getinfo(pycurl.INFO_HTTP_VERSION)
        self._give_back(transfer)
        try:
            body = decode(body, coding, self._decoded, cut=self._truncate) if coding else body
        except TooLarge:
            return Failure("too-large", f"decoded it is larger than {self._decoded} bytes", now, elapsed, size, True, status=status)
        except BadCoding as error:
            return Failure("content-type", f"content-coding {error} is none we know", now, elapsed, size, True, status=status)
        return Page(
            request.url, status, headers, body, now, elapsed, size, version=_VERSIONS.get(version, "1.1"),
            address=transfer.pin, requests=max(1, sent),
        )  # fmt: skip

    def _failed(self, transfer: Transfer, error: pycurl.error, now: float, elapsed: float) -> Page | Failure:
        """Map a curl error; what our own callbacks ended says why."""
        code, text = error.args[0], str(error.args[1])
        problem, sent = transfer.problem, transfer.sent
        status = transfer.status or None
        size = transfer.size
        if problem == "too-large" and (self._truncate or (status is not None and 300 <= status < 400)):
            return self._page(transfer, Request(transfer.curl.getinfo(pycurl.EFFECTIVE_URL)), now, elapsed)
        self._give_back(transfer)
        reason, detail, final = {
            "too-large": ("too-large", f"the body is larger than {self._wire} bytes", True),
            "headers": ("too-large", "the headers are larger than 64 KiB or 100 lines", True),
            "content-type": ("content-type", f"its content type is {transfer.content_type() or 'none'}", True),
            "private": ("private", "the connection led to another address than the checked one", True),
            "reset": ("reset", "the server closed the connection twice", False),
        }.get(problem, (_REASONS.get(code, "reset"), _plain(text), code == pycurl.E_PEER_FAILED_VERIFICATION))  # fmt: skip
        return Failure(reason, detail, now, elapsed, size, final, status=status, sent=sent > 0)


def ca_bundle() -> str | None:
    """The system's trusted certificates, else certifi's; None: curl's own default."""
    import ssl

    paths = ssl.get_default_verify_paths()
    for path in (paths.cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"):
        if path and Path(path).is_file():
            return path
    try:
        import certifi
    except ImportError:
        return None
    return certifi.where()


def _gate(accept: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda kind: not kind or kind.startswith(accept) or "+xml" in kind or "+json" in kind


def _headers(lines: list[bytes]) -> Headers:
    out: Headers = []
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            out.append((name.lower().strip(), value.strip()))
        elif line[:1] in b" \t" and out and line.strip():  # a folded line (RFC 9112 section 5.2)
            out[-1] = (out[-1][0], f"{out[-1][1]} {line.strip().decode('latin-1')}")
    return out


def _plain(text: str) -> str:
    """curl's own words, without addresses of buffers and the like."""
    return text[:200] or "the transfer failed"
