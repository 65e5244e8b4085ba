"""Defines the two possible results of a collector. `Page` is a response that was received. `Failure` is the
reason why no response was received."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from gossamer.model.content_type import PLAIN, UNKNOWN, essence

REDIRECTS = (301, 302, 303, 307, 308)
"""Status codes of redirects."""
Headers = list[tuple[str, str]]


class Captured(NamedTuple):
    """A response that a page's script received in a browser."""

    url: str
    status: int
    content_type: str
    body: bytes

    def json(self) -> Any:
        """Returns the body as JSON. Raises ValueError."""
        return json.loads(self.body)


class Exchange(msgspec.Struct, frozen=True):
    """A request and its response as sent over the wire. The messages are written as HTTP/1.1 without
    encryption, even if TLS or HTTP/2 was used."""

    sent: bytes
    """The request's head and body, with secrets masked."""
    head: bytes
    """The head of the final response, up to the empty line after the headers."""
    body: bytes
    """The body after transfer decoding and before content decoding. If the body of the `Page` was cut, the
    body of the exchange is cut at the same position."""


class Spooled(NamedTuple):
    """A body that is in a file and not in memory. `file`: an open binary file that only this process uses.
    `size`: the size of the body in bytes."""

    file: Any
    size: int
    sha256: str


class Page(msgspec.Struct):
    """One HTTP response, with its content coding decoded. A redirect is also a page, because collectors do
    not follow redirects."""

    url: str
    """The requested URL. The target of a redirect is requested separately."""
    status: int
    headers: Headers
    """Headers in the order received: names in lower case, values as latin-1 text. A page has at most 1,000
    headers and 64 KiB of headers."""
    body: bytes
    fetched_at: float
    """The start of the request, in seconds since the epoch."""
    elapsed: float
    """Seconds from the start of the request to the last byte of the response."""
    wire: int
    """Bytes of the body as received, before content decoding."""
    collector: str = "http"
    version: str = "1.1"
    """HTTP version of the response."""
    address: str | None = None
    """The IP address that sent the response."""
    requests: int = 1
    """Number of requests sent for this page. A page takes 2 requests if the server closed a reused connection
    and the GET had to be sent again."""
    lag: float = 0.0
    """Seconds from the start of the fetch until the request was sent, for example for the name lookup and the
    connection. The host's delay begins when the request is sent."""
    rung: str = "plain"
    """The rung of the ladder that fetched the page."""
    block: str | None = None
    """Describes a block page in one line: the block's vendor, kind and signs (`gossamer.blocks`). None if the
    page is not a block page."""
    session: str | None = None
    """The session that fetched the page, such as `chrome150/494103`."""
    credits: int | None = None
    """The credits that an unlocker charged."""
    proxy: str | None = None
    """The id of the proxy that was used."""
    before: tuple[Page | Failure, ...] = ()
    """The results of earlier tries during the same visit. Earlier tries used other proxies or, for
    robots.txt, lower rungs."""
    late: str = ""
    """The content that did not appear in a browser before the timeout, or '' if no content is missing."""
    captured: tuple[Captured, ...] = ()
    """Responses to requests of the page's scripts, if the site's rendering keeps them (`capture`)."""
    screenshot: str | None = None
    """The path of the page's screenshot."""
    cookies: tuple[tuple[str, str], ...] = ()
    """The cookies that other hosts of the page's registered domain set while a browser with a logged-in
    account fetched the page. Each element is a pair of a URL and a Set-Cookie header."""
    console: tuple[str, ...] = ()
    """Console messages and errors of the page's scripts, if the site's rendering keeps them (`console`)."""
    exchange: Exchange | None = None
    """The request and response as sent over the wire, if the collector keeps them."""
    spooled: Spooled | None = None
    """The whole body, if the body is in a file and not in memory. If `spooled` is set, the field `body`
    contains only the first bytes."""
    text: str | None = None
    """The page's text, if it was already extracted from the body (for a PDF)."""
    router: bool = False
    """Whether a browser found that the page's scripts handle routes in the fragment."""
    settled: bool = False
    """Whether a browser has run the page's scripts, and the scripts did not reload the page again and again."""
    unrendered: str | None = None
    """The reason why the page needs a browser, or '' if the page needs no browser. A page needs a browser if
    the page is empty until its scripts have run. `unrendered` is None until the page has been checked."""

    def __repr__(self) -> str:
        return f"<Page {self.status} {self.url}, {len(self.body)} bytes, {self.content_type}>"

    def header(self, name: str) -> str | None:
        """Returns the first value of a header (name in lower case), or None."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    @property
    def location(self) -> str | None:
        """The first Location header of a redirect that is not empty, or None. A redirect without one is a page,
        as in browsers."""
        if self.status not in REDIRECTS:
            return None
        return next((value for name, value in self.headers if name == "location" and value), None)

    @property
    def content_type(self) -> str | None:
        """Returns the Content-Type header as sent, or None. The values of several headers are joined by
        commas (`model.content_type`)."""
        found = [value for name, value in self.headers if name == "content-type"]
        return found[0] if len(found) == 1 else ", ".join(found) or None

    @property
    def read_as(self) -> str:
        """The Content-Type by which the page is read: the header, or '' if the bytes decide. A page that names no type
        and forbids to detect one (`nosniff`) is a text, as in browsers."""
        said = self.content_type
        if essence(said) in UNKNOWN and (self.header("x-content-type-options") or "").lower() == "nosniff":
            return PLAIN
        return said or ""


class Response(msgspec.Struct, frozen=True):
    """A response that a site's own collector returns (`Site(collector=...)`).

    >>> Response("<h1>Tea</h1>").status, Response(b"", 404).status
    (200, 404)
    """

    body: bytes | str
    """The decoded content. A str is encoded in UTF-8."""
    status: int = 200
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    """The response headers. If the headers contain no Content-Type, the type is detected from the body. Text
    of an unknown type counts as HTML."""


class Failure(msgspec.Struct, frozen=True):
    """A request without a response. `reason` is one of the words of docs/glossary.md: dns, connect, tls,
    timeout, reset, too-large, collector, private (a refused address), content-type, filter."""

    reason: str
    detail: str
    """A message of one line, without secrets."""
    fetched_at: float
    elapsed: float
    wire: int = 0
    final: bool = False
    """Whether a retry cannot help, for example because the name does not exist, the body exceeds the limit,
    or the address is refused."""
    collector: str = "http"
    status: int | None = None
    sent: bool = True
    """False if the request was refused before a connection was made."""
    lag: float = 0.0
    """See Page."""
    session: str | None = None
    """See Page."""
    rung: str = "plain"
    """See Page."""
    credits: int | None = None
    """The credits that an unlocker charged, or may have charged if the charge is unknown."""
    later: float | None = None
    """If `later` is set, the request was not made and does not count as a try. The request may be made after
    `later` seconds."""
    proxy: str | None = None
    """See Page."""
    before: tuple[Page | Failure, ...] = ()
    """See Page."""
    noted: bool = False
    """Whether the failed request belongs to a log-in and is already in the attempts log."""
    short: str = ""
    """The resource of this process that ran out and made the request fail (`errors.OWN_LIMITS`), or '' if the
    request failed for another reason."""
    blame: str = ""
    """`proxy` if the proxy caused the failure, `path` if it is unknown whether the proxy or the host caused
    the failure, and '' for all other failures. Only requests through a proxy set `blame`."""
