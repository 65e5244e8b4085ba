"""A request: one URL to visit with what it needs, and the compact form it has in the store.

In the frontier a request lies in the queue of its host, so scheme, host and priority are not repeated in it:
an entry is `scheme byte, attempt byte, crashes byte, msgpack array [path, depth, referrer, extra]`. Trailing
defaults are left out. A referrer on the same host is kept as its path. The scheme byte (h, s) is a capital
letter where the URL was visited before and is only read again, as a shorter way to it was found. The store's
version (`frontier.keys.VERSION`) guards the form; a newer gossamer may put more into `extra`, and who does
not know that leaves the request to it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer.errors import ConfigError

PLAIN = b"00"  # no attempt, no crash yet
FILE = "@file"
"""`use` of a request for what is kept as it is; what is asked for by another name with `@` is no page (a
sitemap)."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class KnownPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a URL since it was visited last, in a pass that visits it again."""

    status: int = 0
    """0: no answer came, or none was asked for."""
    etag: str = ""
    modified: str = ""
    """Last-Modified, as it was sent."""
    body: str = ""
    """XXH3-64 of the body, hex."""
    said: str = ""
    """XXH3-64 of what its page record says of its content, hex."""
    error: str = ""
    end: str = ""
    """The URL that it was redirected to."""
    by: str = ""
    """The versions of the site files that read it, as a hash; '' without any."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """A URL to visit. `url` is the fetch form: WHATWG-serialized, no fragment, no credentials."""

    url: str
    depth: int = 0
    priority: int = 0
    """Higher is claimed first."""
    referrer: str | None = None
    hops: tuple[str, ...] = ()
    """The URLs that were passed by redirects on the way here, the first one asked for first."""
    method: str = "GET"
    headers: dict[str, str] | None = None
    body: str | None = None
    use: str | None = None
    """Name of the site function that parses the page; None: the first whose pattern matches."""
    carry: Any = None
    """JSON value handed on to the page function, at most 4 KiB."""
    id: str | None = None
    country: str | None = None
    region: str | None = None
    """Only a worker of this region makes it."""
    proxy: str | None = None
    rung: str | None = None
    added_at: float | None = None
    """Seconds since the epoch, as given by the producer."""
    known: KnownPage | None = None
    rule: Any = None
    """Of a file: what it may be (`assets.Rule`)."""


EXTRA = (
    "hops",
    "method",
    "headers",
    "body",
    "use",
    "carry",
    "id",
    "country",
    "region",
    "proxy",
    "rung",
    "added_at",
    "known",
    "rule",
)
_EXTRA = frozenset(EXTRA)


def infrastructure(request: Request) -> bool:
    """Whether it is for no page: it is not counted as found."""
    return request.use is not None and request.use.startswith("@") and request.use != FILE


def split(url: str) -> tuple[str, str, str]:
    """Take a serialized http(s) URL apart: scheme, host (authority without credentials), path with query.

    >>> split("https://example.com:8443/a?b=1")
    ('https', 'example.com:8443', '/a?b=1')
    """
    scheme, rest = url.split("://", 1)
    slash = rest.find("/")
    if slash < 0:
        return scheme, rest, "/"
    return scheme, rest[:slash], rest[slash:]


def pack(request: Request) -> tuple[str, bytes]:
    """Return the request's host and its entry for the queue of that host."""
    scheme, host, path = split(request.url)
    extra = {name: value for name in EXTRA if (value := getattr(request, name)) not in (None, (), "GET")}
    referrer = request.referrer
    if referrer and referrer.startswith(prefix := f"{scheme}://{host}/"):
        referrer = referrer[len(prefix) - 1 :]
    return host, entry(scheme, path, request.depth, referrer, extra or None)


def entry(
    scheme: str, path: str, depth: int, referrer: str | None, extra: dict[str, Any] | None = None
) -> bytes:
    """The stored form of a request, made from its parts: the hot path for the links of a page."""
    body: tuple[Any, ...] = (path, depth, referrer, extra) if extra else (path, depth, referrer)
    try:
        packed = _encode(body)
    except UnicodeEncodeError:  # half a surrogate pair in what a site function made of a page
        packed = _encode(_whole(body))
    return (b"s" if scheme == "https" else b"h") + PLAIN + packed


def _whole(value: Any) -> Any:
    """A value whose texts can be encoded: half a surrogate pair becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(name): _whole(part) for name, part in value.items()}
    return [_whole(part) for part in value] if isinstance(value, list | tuple) else value


def unpack(host: str, stored: bytes, priority: int = 0) -> Request:
    """The request of an entry that lay in the queue of `host`. ConfigError when it needs what this gossamer
    does not know."""
    scheme = "https" if stored[:1] in b"sS" else "http"
    fields = _decode(stored[3:])
    path, depth, referrer = fields[:3]
    if referrer and referrer.startswith("/"):
        referrer = f"{scheme}://{host}{referrer}"
    extra = fields[3] if len(fields) > 3 else {}
    if extra and (strange := extra.keys() - _EXTRA):
        raise ConfigError(
            f"the request of {scheme}://{host}{path} needs {', '.join(sorted(strange))}, which this gossamer does not know: "
            "run the same gossamer everywhere"
        )
    if "hops" in extra:
        extra["hops"] = tuple(extra["hops"])
    if "known" in extra:
        extra["known"] = msgspec.convert(extra["known"], KnownPage)
    return Request(f"{scheme}://{host}{path}", depth, priority, referrer, **extra)
