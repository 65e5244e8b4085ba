"""Reads the responses that libcurl refuses and that browsers read: a header line without a colon, a NUL, an empty
or wrong Content-Length, bytes before the status line. A GET is sent again over a connection of its own. The response
passes the same limits, because the reader calls the same methods of the transfer as curl does.

The reader speaks HTTP/1.1. It connects only to the checked address of the transfer.
"""

from __future__ import annotations

import asyncio
import re
import ssl

import pycurl

from gossamer.collectors.http.transfer import MAX_HEADER_BYTES, Transfer, request_bytes
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.request import FILE, Request, split

Error = tuple[int, str] | None
"""curl's error number and message, or None after a success."""
WEIRD = 8
_REFUSED = (pycurl.E_UNSUPPORTED_PROTOCOL, WEIRD, pycurl.E_BAD_CONTENT_ENCODING)
"""curl's errors for a response that it does not read."""
_PIECE_BYTES = 64 << 10
MAX_JUNK_BYTES = 4
"""Maximum number of bytes before the status line, as in Chromium."""
MAX_INTERIM = 10
"""Maximum number of responses such as 100 and 103 before the final one."""
_HEAD_END = lazy_pattern(rb"\n\r?\n")
_STATUS = lazy_pattern(rb"http", re.IGNORECASE)
_STATUS_LINE = lazy_pattern(rb"http(?:/[01]\.[0-9])?(?:[\t ]+([0-9]{3})[^\r]*)?[\t ]*\r\n", re.IGNORECASE)
_CHUNK = lazy_pattern(rb"[\t ]*([0-9a-fA-F]{1,15})[\t ]*(?:;.*)?")


def may_read(transfer: Transfer, request: Request, error: Error, honest: bool) -> bool:
    """Returns whether a response that curl refused may be read by this module. `honest`: whether the transfer
    imitates no browser. A transfer that does is not repeated over TLS, because its TLS fingerprint would be
    another one. A transfer through a proxy and a file are not repeated."""
    return (
        error is not None
        and error[0] in _REFUSED
        and not transfer.problem
        and not transfer.proxy
        and request.method in ("GET", "HEAD")
        and request.body is None
        and request.use != FILE
        and (honest or request.url.startswith("http:"))
    )


async def perform(
    transfer: Transfer, request: Request, trust: tuple[bool, str | None], total: float
) -> Error:
    """Sends a request and reads the response into the transfer. Returns an error as curl does. `trust`: whether
    certificates are checked, and the path of the trusted ones. `total`: the time limit in seconds."""
    scheme, authority, _ = split(request.url)
    host, _, port = authority.rpartition("@")[2].partition(":" if "[" not in authority else "]:")
    tls = _context(*trust) if scheme == "https" else None
    sent = transfer.sent
    transfer.begin()
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(total):
            reader, writer = await asyncio.open_connection(
                transfer.pin,
                int(port or (443 if tls else 80)),
                ssl=tls,
                server_hostname=host.strip("[]") if tls else None,
            )
            if transfer.before(transfer.pin, "", 0, 0) != pycurl.PREREQFUNC_OK:
                return pycurl.E_ABORTED_BY_CALLBACK, ""
            writer.write(request_bytes(request, transfer.asked))
            return await _receive(_Stream(reader), transfer, request.method == "HEAD")
    except TimeoutError:
        return pycurl.E_OPERATION_TIMEDOUT, f"the response took more than {total:g} s"
    except ssl.SSLError as error:
        return pycurl.E_SSL_CONNECT_ERROR, str(error)
    except OSError as error:
        return pycurl.E_RECV_ERROR, str(error)
    finally:
        transfer.sent += sent
        if writer is not None:
            writer.transport.abort()


def _context(verify: bool, bundle: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=bundle)
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class _Stream:
    """The bytes of a response, read in pieces."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader, self.left = reader, b""

    async def more(self) -> bool:
        """Reads one piece. Returns False at the end."""
        data = await self._reader.read(_PIECE_BYTES)
        self.left += data
        return bool(data)

    async def line(self) -> bytes | None:
        """Returns the next line without its end, or None if there is none of at most 4 KiB."""
        while (at := self.left.find(b"\n")) < 0:
            if len(self.left) > 4096 or not await self.more():
                return None
        found, self.left = self.left[:at], self.left[at + 1 :]
        return found.rstrip(b"\r")


async def _receive(stream: _Stream, transfer: Transfer, is_head: bool) -> Error:
    for _ in range(MAX_INTERIM):
        transfer.lines.clear()
        transfer.headers = None
        if (error := await _head(stream, transfer)) is not None:
            return error
        status = transfer.status()
        if status == 101:
            return WEIRD, "the server switches protocols"
        if status >= 200:
            break
    else:
        return WEIRD, "there are too many interim responses"
    if is_head or status in (204, 304):
        return None
    fields = transfer.head()
    if any(name == "transfer-encoding" and "chunked" in value.lower() for name, value in fields):
        return await _chunks(stream, transfer)
    sizes = {
        one
        for name, value in fields
        if name == "content-length"
        for one in (part.strip() for part in value.split(","))
        if one.isascii() and one.isdigit()
    }
    if len(sizes) > 1:
        return WEIRD, "Content-Length has several values"
    return await _plain(stream, transfer, int(sizes.pop()[:19]) if sizes else None)


async def _head(stream: _Stream, transfer: Transfer) -> Error:
    """Reads one header section into the transfer."""
    at = 0
    while (end := _HEAD_END.search(stream.left, at)) is None or end.start() < MAX_JUNK_BYTES:
        if end is not None:  # blank lines before the status line
            at = end.end()
            continue
        if len(stream.left) >= 2 * MAX_JUNK_BYTES and not _STATUS.search(stream.left, 0, 2 * MAX_JUNK_BYTES):
            break  # another protocol, whose server may wait for an answer
        if len(stream.left) > MAX_HEADER_BYTES:
            transfer.problem = "headers"
            return pycurl.E_WRITE_ERROR, ""
        if not await stream.more():
            return pycurl.E_GOT_NOTHING if not stream.left else WEIRD, "the header section has no end"
    begin = _STATUS.search(stream.left, 0, 2 * MAX_JUNK_BYTES)
    if begin is None or end is None:
        return WEIRD, "there is no status line"
    head, stream.left = stream.left[begin.start() : end.start()], stream.left[end.end() :]
    lines = [line.rstrip(b"\r") + b"\r\n" for line in head.replace(b"\0", b"").split(b"\n")]
    first = _STATUS_LINE.fullmatch(lines[0])
    if first is None:
        return WEIRD, "its status line is malformed"
    lines[0] = b"HTTP/1.1 %b\r\n" % (first[1] or b"200")  # as in Chromium
    transfer.lines += [*lines, b"\r\n"]
    transfer.headers = None
    return None


def _keep(transfer: Transfer, data: bytes) -> bool:
    """Adds a piece of the body. Returns False if a limit was exceeded."""
    return not data or transfer.body(data) is None


async def _plain(stream: _Stream, transfer: Transfer, size: int | None) -> Error:
    """Reads a body of `size` bytes, or up to the end of the connection."""
    left = size
    while left != 0:
        if not stream.left and not await stream.more():
            break
        data, stream.left = (stream.left, b"") if left is None else (stream.left[:left], stream.left[left:])
        if not _keep(transfer, data):
            return pycurl.E_WRITE_ERROR, ""
        left = None if left is None else left - len(data)
    return (pycurl.E_PARTIAL_FILE, f"{left} bytes are missing") if left else None


async def _chunks(stream: _Stream, transfer: Transfer) -> Error:
    """Reads a body in chunks (RFC 9112 section 7.1). The trailer is ignored."""
    while True:
        line = await stream.line()
        found = None if line is None else _CHUNK.fullmatch(line)
        if found is None:
            return pycurl.E_PARTIAL_FILE, "a chunk has no size"
        size = int(found[1], 16)
        if not size:
            return None
        if (error := await _plain(stream, transfer, size)) is not None:
            return error
        await stream.line()
