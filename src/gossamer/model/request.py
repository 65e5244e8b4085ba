"""A request, that is, one URL to visit with its options, and the compact form of a request in the store.

A stored request is an entry in the queue of its host, so host and priority are not repeated in it. An entry
is `scheme byte, attempt byte, crashes byte, msgpack array [path, depth, referrer, extra]`. Trailing default
values are left out. A referrer on the same host is stored as its path. The scheme byte is `h` or `s`. An
upper-case scheme byte means that the URL was already visited, and that its page is only read again because a
shorter path to the URL was found. If the form of an entry changes, the store's version (`store.keys.VERSION`)
changes, too. A newer version of gossamer may only add fields to `extra`. A worker that does not know a field
of `extra` leaves the request to newer workers.
"""

from __future__ import annotations

import json as _json
from typing import Any

import msgspec

from gossamer.errors import ConfigError

PLAIN = b"00"  # no attempt, no crash yet
FILE = "@file"
"""If the `use` of a request is FILE, the response is a file that is stored unchanged. Other values of `use`
that begin with `@` also mark requests for something other than a page, for example a sitemap."""
MAX_KEY_CHARS = 500
"""Maximum length of a request's `key`. Keys that gossamer makes begin with `@`."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class KnownPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored data of a URL's last visit. A later pass of the crawl uses the stored data when it visits
    the URL again."""

    status: int = 0
    """The HTTP status of the last visit, or 0 if the visit received no response or made no request."""
    etag: str = ""
    modified: str = ""
    """The Last-Modified header as it was sent."""
    body: str = ""
    """The XXH3-64 hash of the body, in hex."""
    said: str = ""
    """The XXH3-64 hash of the content that the page record describes, in hex."""
    error: str = ""
    end: str = ""
    """The URL to which the page redirected."""
    by: str = ""
    """A hash of the versions of the site files that read the page, or '' if no site file read the page."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """A URL to visit. `url` is in fetch form, which means that it is serialized as the WHATWG URL Standard
    defines and has no credentials. The URL has no fragment, except a route of a single-page application
    (`url.routes`)."""

    url: str
    depth: int = 0
    priority: int = 0
    """Requests with a higher priority are claimed first."""
    referrer: str | None = None
    hops: tuple[str, ...] = ()
    """The earlier URLs of the redirect chain, beginning with the first requested URL."""
    method: str = "GET"
    headers: dict[str, str] | None = None
    body: str | None = None
    use: str | None = None
    """Name of the page function that parses the page. If `use` is None, the first function whose pattern
    matches the URL parses the page."""
    carry: Any = None
    """A JSON value that is passed to the page function, at most 4 KiB."""
    id: str | None = None
    country: str | None = None
    region: str | None = None
    """Only workers of this region make the request. None: any worker."""
    proxy: str | None = None
    rung: str | None = None
    added_at: float | None = None
    """The time when a producer added the request, in seconds since the epoch."""
    known: KnownPage | None = None
    rule: Any = None
    """For a request for a file: the rule that the file must satisfy (`assets.FileRule`)."""
    key: str | None = None
    """A key that identifies the request on its host. Without a key, the method, the URL and the body identify
    the request. If several requests have the same key, only one of them is made."""
    temporary: bool | None = None
    """Whether one of the redirects in `hops` was temporary (302, 303 or 307). `temporary` is set only for a
    request with a `key`."""
    json: Any = None
    """A value that is sent as JSON. Only the constructor takes it: `body`, the header `Content-Type` and the
    method POST replace it. Raises ValueError for a value that JSON cannot express."""

    def __post_init__(self) -> None:
        if self.json is not None:
            given = {"body": self.body} if self.body is not None else {}
            given |= {} if self.method == "GET" else {"method": self.method}
            for name, value in with_json({**given, "headers": self.headers}, self.json).items():
                msgspec.structs.force_setattr(self, name, value)
            msgspec.structs.force_setattr(self, "json", None)


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
    "key",
    "temporary",
)
_EXTRA = frozenset(EXTRA)


def with_json(fields: dict[str, Any], value: Any) -> dict[str, Any]:
    """Returns a request's fields with a JSON body. Without `method`, the method becomes POST. Raises
    ValueError."""
    if "body" in fields:
        raise ValueError("give body= or json=, not both")
    try:
        body = _json.dumps(value, ensure_ascii=False, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"json={value!r}: {error}") from None
    headers = {"Content-Type": "application/json", **(fields.get("headers") or {})}
    return {"method": "POST", **fields, "body": body, "headers": headers}


def is_infrastructure(request: Request) -> bool:
    """Returns whether the request is for something other than a page or file (robots.txt, a sitemap).
    Infrastructure requests are not counted as found URLs."""
    return request.use is not None and request.use.startswith("@") and request.use != FILE


def check_key(key: Any) -> None:
    """Raises ValueError if the value cannot be the key of a request."""
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_CHARS or key.startswith("@"):
        raise ValueError(
            f"key={key!r} is not a text of 1 to {MAX_KEY_CHARS} characters that begins without @"
        )


def split(url: str) -> tuple[str, str, str]:
    """Splits a serialized http(s) URL into scheme, host (authority without credentials), and path with query.

    >>> split("https://example.com:8443/a?b=1")
    ('https', 'example.com:8443', '/a?b=1')
    """
    scheme, rest = url.split("://", 1)
    slash = rest.find("/")
    if slash < 0:
        return scheme, rest, "/"
    return scheme, rest[:slash], rest[slash:]


def pack(request: Request) -> tuple[str, bytes]:
    """Returns the host of a request, and the entry that stores the request in the host's queue."""
    scheme, host, path = split(request.url)
    extra = {name: value for name in EXTRA if (value := getattr(request, name)) not in (None, (), "GET")}
    referrer = request.referrer
    if referrer and referrer.startswith(prefix := f"{scheme}://{host}/"):
        referrer = referrer[len(prefix) - 1 :]
    return host, make_entry(scheme, path, request.depth, referrer, extra or None)


def make_entry(
    scheme: str, path: str, depth: int, referrer: str | None, extra: dict[str, Any] | None = None
) -> bytes:
    """Returns the stored form of a request, given its parts. This function is called for every link of a
    page, so its speed matters."""
    body: tuple[Any, ...] = (path, depth, referrer, extra) if extra else (path, depth, referrer)
    try:
        packed = _encode(body)
    except UnicodeEncodeError:  # a site function produced text with an unpaired surrogate
        packed = _encode(_whole(body))
    return (b"s" if scheme == "https" else b"h") + PLAIN + packed


def _whole(value: Any) -> Any:
    """Makes all texts in a value encodable: an unpaired surrogate becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(name): _whole(part) for name, part in value.items()}
    return [_whole(part) for part in value] if isinstance(value, list | tuple) else value


def unpack(host: str, stored: bytes, priority: int = 0) -> Request:
    """Decodes an entry from the queue of `host` to a request. Raises ConfigError if the request needs a newer
    version of gossamer."""
    scheme = "https" if stored[:1] in b"sS" else "http"
    fields = _decode(stored[3:])
    path, depth, referrer = fields[:3]
    if referrer and referrer.startswith("/"):
        referrer = f"{scheme}://{host}{referrer}"
    extra = fields[3] if len(fields) > 3 else {}
    if extra and (strange := extra.keys() - _EXTRA):
        raise ConfigError(
            f"the request of {scheme}://{host}{path} needs {', '.join(sorted(strange))}, which "
            "this gossamer does not know: "
            "run the same gossamer everywhere"
        )
    if "hops" in extra:
        extra["hops"] = tuple(extra["hops"])
    if "known" in extra:
        extra["known"] = msgspec.convert(extra["known"], KnownPage)
    return Request(f"{scheme}://{host}{path}", depth, priority, referrer, **extra)
