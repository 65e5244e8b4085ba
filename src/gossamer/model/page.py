"""A page: a response that a collector received, or the failure if it received none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

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
    """A request and its response as sent over the wire. With TLS and HTTP/2: as HTTP/1.1 would have sent
    them."""

    sent: bytes
    """The request's head and body, with secrets masked."""
    head: bytes
    """The final head of the response, up to its empty line."""
    body: bytes
    """The body without transfer coding, with content coding. Cut where the page is cut."""


class Spooled(NamedTuple):
    """A body that is not in memory. `file`: an open binary file of this process alone. `size`: bytes."""

    file: Any
    size: int
    sha256: str


class Page(msgspec.Struct):
    """One HTTP response with its content-coding decoded. A redirect is also a page. Collectors follow none."""

    url: str
    """The requested URL. A redirect target is a request of its own."""
    status: int
    headers: Headers
    """Headers in the order received: names in lower case, values as latin-1 text. At most 100, 64 KiB."""
    body: bytes
    fetched_at: float
    """Start of the request, seconds since the epoch."""
    elapsed: float
    """Seconds from the start to the last byte."""
    wire: int
    """Bytes of the body as received, before content decoding."""
    collector: str = "http"
    version: str = "1.1"
    """HTTP version of the response."""
    address: str | None = None
    """The IP address that answered."""
    requests: int = 1
    """Number of requests sent for this page: 2 if the server closed a kept connection and the GET was sent
    again."""
    lag: float = 0.0
    """Seconds from the start until the request was sent (name lookup, connection). The host's delay counts
    from there."""
    rung: str = "plain"
    """The rung of the ladder that fetched the page."""
    block: str | None = None
    """The block in one line: vendor, kind, signs (`gossamer.blocks`). None for a normal page."""
    session: str | None = None
    """The session that fetched the page, such as `chrome150/494103`."""
    credits: int | None = None
    """Credits that an unlocker charged."""
    proxy: str | None = None
    """The id of the proxy that was used."""
    before: tuple[Page | Failure, ...] = ()
    """Earlier tries of the same visit: through other proxies, or (for robots.txt) on lower rungs."""
    late: str = ""
    """What did not appear in a browser before the timeout, '' if nothing is missing."""
    captured: tuple[Captured, ...] = ()
    """Responses to the page's scripts that were configured to be kept."""
    screenshot: str | None = None
    """Path of the screenshot."""
    cookies: tuple[tuple[str, str], ...] = ()
    """URL and Set-Cookie of other hosts of the page's domain, in a browser with a logged-in account."""
    console: tuple[str, ...] = ()
    """Console messages and errors of its scripts, if they were configured to be kept."""
    exchange: Exchange | None = None
    """The exchange on the wire, if the collector was configured to keep it."""
    spooled: Spooled | None = None
    """The body of a file. `body` then contains only the first bytes."""
    text: str | None = None
    """The page's text, if it was already extracted from the body (for a PDF)."""
    router: bool = False
    """Whether scripts of the page handle routes in the fragment, as seen in a browser."""
    unrendered: str | None = None
    """Why the page needs a browser, because it is empty until its scripts ran. '' if it does not. None: not
    judged."""

    def __repr__(self) -> str:
        return f"<Page {self.status} {self.url}, {len(self.body)} bytes, {self.content_type}>"

    def header(self, name: str) -> str | None:
        """Returns the first value of a header (name in lower case), or None."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    @property
    def content_type(self) -> str | None:
        """Returns the Content-Type header as sent, or None."""
        return self.header("content-type")


class Response(msgspec.Struct, frozen=True):
    """What a site's own collector returns (`Site(collector=...)`).

    >>> Response("<h1>Tea</h1>").status, Response(b"", 404).status
    (200, 404)
    """

    body: bytes | str
    """The content, decoded. Text is encoded in UTF-8."""
    status: int = 200
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    """The response headers. Without a Content-Type, the type is detected from the body, and unknown text
    counts as HTML."""


class Failure(msgspec.Struct, frozen=True):
    """A request without a response. `reason` is one of the words of docs/glossary.md: dns, connect, tls,
    timeout, reset, too-large, collector, private (a refused address), content-type, filter."""

    reason: str
    detail: str
    """One line for people, without secrets."""
    fetched_at: float
    elapsed: float
    wire: int = 0
    final: bool = False
    """Whether no retry can help (a name that does not exist, a body over the limit, a refused address)."""
    collector: str = "http"
    status: int | None = None
    sent: bool = True
    """False if nothing was sent: the request was refused before a connection was made."""
    lag: float = 0.0
    """See Page."""
    session: str | None = None
    """See Page."""
    rung: str = "plain"
    """See Page."""
    credits: int | None = None
    """See Page. If it is unknown, the credits that may have been charged."""
    later: float | None = None
    """Seconds after which the request may be made. Nothing was done yet, so the request counts as not tried.
    """
    proxy: str | None = None
    """See Page."""
    before: tuple[Page | Failure, ...] = ()
    """See Page."""
    noted: bool = False
    """Whether the failed request belongs to a log-in and is already in the attempts log."""
    short: str = ""
    """The resource of which this process ran short (`errors.OWN_LIMITS`). '' if the request failed for
    another reason."""
    blame: str = ""
    """Through a proxy: `proxy` if the proxy failed, `path` if the proxy or the host failed."""
