"""A page: what a collector brought back, or the reason why it brought nothing."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

Headers = list[tuple[str, str]]


class Captured(NamedTuple):
    """An answer that a script of a page got in a browser."""

    url: str
    status: int
    content_type: str
    body: bytes

    def json(self) -> Any:
        """The body as JSON. Raises ValueError."""
        return json.loads(self.body)


class Exchange(msgspec.Struct, frozen=True):
    """A request and its answer as they went over the wire, of TLS and HTTP/2 what HTTP/1.1 would have sent."""

    sent: bytes
    """The request's head and body; secrets in it are masked."""
    head: bytes
    """The final head of the answer, up to its empty line."""
    body: bytes
    """Transfer coding taken off, content coding left on; cut where the page is."""


class Spooled(NamedTuple):
    """A body that is not in memory. `file`: a binary file, open, of this process alone; `size`: bytes."""

    file: Any
    size: int
    sha256: str


class Page(msgspec.Struct):
    """One HTTP response, its body decoded from its content-coding. Redirects are pages, too: nobody follows
    them inside."""

    url: str
    """The URL that was asked for (redirects are requests of their own)."""
    status: int
    headers: Headers
    """In the order received, names in lower case, values as latin-1 text; at most 100, 64 KiB."""
    body: bytes
    fetched_at: float
    """Start of the request, seconds since the epoch."""
    elapsed: float
    """Seconds from the start to the last byte."""
    wire: int
    """Bytes of the body as received, before content decoding."""
    collector: str = "http"
    version: str = "1.1"
    """HTTP version of the answer."""
    address: str | None = None
    """The IP address that answered."""
    requests: int = 1
    """Requests really sent for this page (2 when a kept connection was closed under us and the GET was sent
    again)."""
    lag: float = 0.0
    """Seconds from the start until the request went out (look-up, connection): the host's delay counts from
    there."""
    rung: str = "plain"
    """The rung of the ladder by which it was got."""
    block: str | None = None
    """What shuts us out, in one line: vendor, kind, signs (`politeness.blocks`); None for a page."""
    session: str | None = None
    """The session it was got in, as `chrome150/494103`."""
    credits: int | None = None
    """What an unlocker charged."""
    proxy: str | None = None
    """The id of the proxy that it came through."""
    before: tuple[Page | Failure, ...] = ()
    """Earlier tries of the same visit: through other proxies, and (of robots.txt) pages of lower rungs."""
    late: str = ""
    """What never came on it in a browser; '': nothing was missed."""
    captured: tuple[Captured, ...] = ()
    """Answers to its scripts that were to be kept."""
    screenshot: str | None = None
    """Path of its picture."""
    cookies: tuple[tuple[str, str], ...] = ()
    """URL and Set-Cookie of other hosts of its domain whose cookies changed with it, in a browser where one
    is logged in."""
    console: tuple[str, ...] = ()
    """What its scripts said and where they failed, when that was to be kept."""
    exchange: Exchange | None = None
    """As it was on the wire, where the collector was asked to keep that."""
    spooled: Spooled | None = None
    """Of a file: its body, of which `body` has the first bytes alone."""
    text: str | None = None
    """Its text, where that was taken out of its body beforehand (of a PDF)."""

    def header(self, name: str) -> str | None:
        """The first value of a header (name in lower case), or None."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    @property
    def content_type(self) -> str | None:
        """The Content-Type header as sent, or None."""
        return self.header("content-type")


class Failure(msgspec.Struct, frozen=True):
    """A request that brought no page. `reason` is one of the words of docs/glossary.md:
    dns connect tls timeout reset too-large, private (a refused address), content-type, filter."""

    reason: str
    detail: str
    """One line for a person, no secrets in it."""
    fetched_at: float
    elapsed: float
    wire: int = 0
    final: bool = False
    """No retry can help (a name that does not exist, a body over the limit, a refused address)."""
    collector: str = "http"
    status: int | None = None
    sent: bool = True
    """False when nothing went out: refused before a connection was made."""
    lag: float = 0.0
    """As of a page."""
    session: str | None = None
    """As of a page."""
    rung: str = "plain"
    """As of a page."""
    credits: int | None = None
    """As of a page; what may have been charged where nobody knows."""
    later: float | None = None
    """Nothing was done: it may be asked again after so many seconds, and counts as not asked."""
    proxy: str | None = None
    """As of a page."""
    before: tuple[Page | Failure, ...] = ()
    """As of a page."""
    noted: bool = False
    """Its request was another one (of a log-in), and is in the attempts log already."""
    short: str = ""
    """What of its own this process ran short of (`errors.OWN_LIMITS`); '' when the failure is not ours."""
    blame: str = ""
    """Through a proxy: `proxy`, it failed; `path`, it or the host, who knows."""
