"""Parses URLs as browsers do (WHATWG) and derives their canonical forms, hosts and fingerprints. Each URL is
parsed only once, when it enters the crawler. All other code works with the serialized form.

A URL has three forms:

- The *fetch form* is the WHATWG serialization without fragment. `HrefResolver` returns the fetch form, and
  the crawler requests URLs in fetch form. A fragment is kept only if it is a route of a single-page
  application (`url.routes`).
- The *canonical form* identifies a URL for deduplication (`canonical`, `key`). The canonical form is the
  fetch form without credentials, tracking parameters and session ids. The query parameters are sorted by
  name.
- The *host* is the authority `host[:port]` (`host`). The function `registered_domain` returns the registered
  domain of a host.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

import xxhash
from upa_url import URL

from gossamer.url.domains import is_public_suffix, psl_hash, registered_domain
from gossamer.url.tracking import DEFAULT_DROP, DroppedParameters

__all__ = [
    "DEFAULT_DROP",
    "DroppedParameters",
    "HrefResolver",
    "canonical",
    "fingerprint",
    "host",
    "is_public_suffix",
    "key",
    "origin",
    "parse",
    "psl_hash",
    "registered_domain",
    "split_credentials",
]

WEB = ("http://", "https://")
_parse = URL.parse
_hash = xxhash.xxh3_64_intdigest


def parse(text: str | None, base: str | None = None) -> str | None:
    """Returns the WHATWG serialization of `text` (URL Standard, 4.4 and 4.5), resolved against `base`.
    Returns None if `text` is not a valid URL.

    >>> parse("../b c?d", "http://Example.com:80/x/y/")
    'http://example.com/x/b%20c?d'
    >>> parse("http://127.1\\\\@example.com/")
    'http://127.0.0.1/@example.com/'
    """
    parsed = _of(text, base)
    return None if parsed is None else parsed.href


def canonical(
    text: str | None, base: str | None = None, drop: DroppedParameters = DEFAULT_DROP
) -> str | None:
    """Returns the canonical form of `text`, or None if it is not a valid URL. Idempotent.

    The canonical form has no fragment, no credentials, no tracking parameters and no session ids (`drop`).
    The query parameters are sorted by name. Parameters with equal names keep their order.

    The canonical form is used only for deduplication. The crawler requests the URL in the form in which it
    was found, because sorting breaks signed URLs.

    >>> canonical("HTTP://example.com:80/a?utm_source=x&b=2&a=#top")
    'http://example.com/a?a=&b=2'
    """
    url = parse(text, base)
    if url is None:
        return None
    if not url.startswith(WEB):
        # The serialization of an opaque path depends on whether a fragment follows, so it is parsed again
        # without the fragment.
        return parse(url.partition("#")[0]) if "#" in url else url
    return key(url.partition("#")[0] if "#" in url else url, drop)


def key(url: str, drop: DroppedParameters = DEFAULT_DROP) -> str:
    """Returns the canonical form of a URL that is already in fetch form. The call costs almost nothing for a
    URL without a query. A route in the fragment is kept as it is.

    >>> key("https://example.com/a?gclid=1&b=2")
    'https://example.com/a?b=2'
    """
    if "?" not in url and ";" not in url and "@" not in url and "/(" not in url:
        return url
    if "#" in url:
        document, _, route = url.partition("#")
        return f"{key(document, drop)}#{route}"
    head, mark, query = url.partition("?")
    if mark:
        query = drop.query(query)
    if "@" in head:
        head = _bare(head)
    before = ""
    while head != before and (";" in head or "/(" in head):
        # One pass is not enough, because the rest of the path may contain a dot segment or another session
        # id, as in `/(S(x));sid=1/..;jsessionid=1/b`.
        before, start = head, head.index("/", 8)  # a host may contain `;`
        head = head[:start] + drop.path(head[start:])
        head = parse(head) or head
    return f"{head}?{query}" if query else head


class HrefResolver:
    """Resolves the hrefs of one page. The base URL is parsed only once.

    >>> HrefResolver("http://example.com/a/").links(["b", "#top", "b#x", "mailto:a@example.com", "/c?d"])
    ['http://example.com/a/b', 'http://example.com/a/', 'http://example.com/c?d']
    """

    __slots__ = ("_base",)

    def __init__(self, base: str) -> None:
        """`base` is the page's URL, or its resolved `<base href>`. If `base` is not a valid URL, only
        absolute hrefs can be resolved."""
        self._base = _of(base, None)

    def resolve(self, href: str) -> str | None:
        """Returns the fetch form of an href, or None if it is not a valid http or https URL."""
        return self._fetch(_cut(href) if "#" in href else href)

    def links(self, hrefs: Iterable[str]) -> list[str]:
        """Returns the distinct fetch forms of a page's hrefs, in order. Skips hrefs that are not http(s)
        URLs."""
        resolve = self._fetch
        # Most hrefs of a page are repeated, and many differ only by fragment. Removing fragments and
        # duplicates first avoids resolving the same URL several times.
        distinct = dict.fromkeys([_cut(href) if "#" in href else href for href in hrefs])
        found = dict.fromkeys([resolve(href) for href in distinct])
        found.pop(None, None)
        return list(found)  # type: ignore[arg-type]  # None is gone

    def _fetch(self, href: str) -> str | None:
        try:
            parsed = _parse(href, self._base)
        except TypeError:
            parsed = _of(href, self._base)
        if parsed is None:
            return None
        url: str = parsed.href
        if not url.startswith(WEB):
            return None
        return url.partition("#")[0] if "#" in url else url


def host(url: str) -> str:
    """Returns the authority `host[:port]` of a serialized http(s) URL. Credentials are left out. The port is
    present only if it is not the scheme's default port.

    >>> host("https://u:p@example.com:8443/a")
    'example.com:8443'
    """
    parts = url.split("/", 3)
    if len(parts) < 3:
        return ""
    authority = parts[2]
    return authority.rpartition("@")[2] if "@" in authority else authority


def origin(url: str) -> str:
    """Returns `scheme://host[:port]` of a serialized http(s) URL.

    >>> origin("https://example.com/a")
    'https://example.com'
    """
    return f"{url.partition(':')[0]}://{host(url)}"


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """Splits a serialized URL into the URL without userinfo and the percent-decoded pair (user, password).
    The pair is None if the URL has no userinfo.

    >>> split_credentials("https://me:s%40c@example.com/a")
    ('https://example.com/a', ('me', 's@c'))
    """
    scheme, mark, rest = url.partition("://")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    userinfo, at, authority = rest[:end].rpartition("@")
    if not at:
        return url, None
    user, _, password = userinfo.partition(":")
    return f"{scheme}{mark}{authority}{rest[end:]}", (unquote(user), unquote(password))


def fingerprint(canonical_url: str, seed: int) -> int:
    """Returns the 64-bit fingerprint of a canonical URL: XXH3 of its UTF-8 bytes with the store's seed.

    >>> fingerprint("http://example.com/", 7) == fingerprint("http://example.com/", 7)
    True
    """
    return _hash(canonical_url.encode(), seed)


def _of(text: str | None, base: URL | str | None) -> URL | None:
    try:
        return _parse(text, base)
    except TypeError:
        if not isinstance(text, str) or isinstance(base, bytes):
            return None
        # Browsers replace lone surrogates with U+FFFD, because a lone surrogate is not a Unicode scalar
        # value.
        if isinstance(base, str):
            base = _scalar(base)
        return _parse(_scalar(text), base)


def _scalar(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cut(href: str) -> str:
    """Returns an href without its fragment. If white space precedes the `#`, the `#` is kept, because the URL
    parser would strip white space at the end of the href."""
    at = href.index("#")
    return href[:at] if at == 0 or href[at - 1] > " " else href[: at + 1]


def _bare(head: str) -> str:
    scheme, mark, rest = head.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}"
