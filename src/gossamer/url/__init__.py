"""URLs: parsed once, at the edge, as browsers do; every client gets the serialized form and none parses on
its own.

Three forms of one URL:

- the *fetch form*: WHATWG serialization without fragment, what is requested (`HrefResolver`);
- the *canonical form*: the key under which a URL counts as known (`canonical`, `key`): the fetch form without
  credentials, tracking parameters and session ids, its query sorted by name;
- its *host*: the authority `host[:port]` (`host`), and the registered domain of that host
  (`registered_domain`).
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
    """The WHATWG serialization of `text` (URL Standard, 4.4 and 4.5), resolved against `base`; None when it
    is no URL.

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
    """The URL under which `text` counts as known; None when it is no URL. Idempotent.

    Parsed, no fragment, no credentials, no tracking parameters and session ids (`drop`), the query sorted by
    name with the order of equal names kept.

    Only for deduplication: what is fetched is the form that was found, for sorting breaks signed URLs.

    >>> canonical("HTTP://example.com:80/a?utm_source=x&b=2&a=#top")
    'http://example.com/a?a=&b=2'
    """
    url = parse(text, base)
    if url is None:
        return None
    if not url.startswith(WEB):
        # the serialization of an opaque path depends on whether a fragment follows, so once more without it
        return parse(url.partition("#")[0]) if "#" in url else url
    return key(url.partition("#")[0] if "#" in url else url, drop)


def key(url: str, drop: DroppedParameters = DEFAULT_DROP) -> str:
    """`canonical` of a URL that is in fetch form already; nearly free for a URL without a query.

    >>> key("https://example.com/a?gclid=1&b=2")
    'https://example.com/a?b=2'
    """
    if "?" not in url and ";" not in url and "@" not in url and "/(" not in url:
        return url
    head, mark, query = url.partition("?")
    if mark:
        query = drop.query(query)
    if "@" in head:
        head = _bare(head)
    before = ""
    while head != before and (";" in head or "/(" in head):
        # again: what is left may be a dot segment or a session id, as in `/(S(x));sid=1/..;jsessionid=1/b`
        before, start = head, head.index("/", 8)  # a host may hold `;` as well
        head = head[:start] + drop.path(head[start:])
        head = parse(head) or head
    return f"{head}?{query}" if query else head


class HrefResolver:
    """Resolves the hrefs of one page; its base URL is parsed once.

    >>> HrefResolver("http://example.com/a/").links(["b", "#top", "b#x", "mailto:a@example.com", "/c?d"])
    ['http://example.com/a/b', 'http://example.com/a/', 'http://example.com/c?d']
    """

    __slots__ = ("_base",)

    def __init__(self, base: str) -> None:
        """`base`: the page's URL, or its resolved `<base href>`; when it is no URL only absolute hrefs
        resolve."""
        self._base = _of(base, None)

    def resolve(self, href: str) -> str | None:
        """The fetch form of one href; None when it is no URL or its scheme is not http or https."""
        return self._fetch(_cut(href) if "#" in href else href)

    def links(self, hrefs: Iterable[str]) -> list[str]:
        """The fetch forms of a page's hrefs in order, each once; what is no http(s) URL is left out."""
        resolve = self._fetch
        # most hrefs of a page repeat, many differ by fragment alone: drop these before the costly step
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
    """The authority `host[:port]` of a serialized http(s) URL: no credentials, the scheme's default port left
    out.

    >>> host("https://u:p@example.com:8443/a")
    'example.com:8443'
    """
    parts = url.split("/", 3)
    if len(parts) < 3:
        return ""
    authority = parts[2]
    return authority.rpartition("@")[2] if "@" in authority else authority


def origin(url: str) -> str:
    """`scheme://host[:port]` of a serialized http(s) URL.

    >>> origin("https://example.com/a")
    'https://example.com'
    """
    return f"{url.partition(':')[0]}://{host(url)}"


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """A serialized URL without its userinfo, and the (user, password) that stood there, percent-decoded, or
    None.

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
    """64 bits that stand for a canonical URL: XXH3 of its UTF-8 bytes with the store's seed.

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
        # lone surrogates are no scalar values: browsers read them as U+FFFD
        if isinstance(base, str):
            base = _scalar(base)
        return _parse(_scalar(text), base)


def _scalar(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cut(href: str) -> str:
    """An href without its fragment; `#` stays behind white space, which is no end of the URL there."""
    at = href.index("#")
    return href[:at] if at == 0 or href[at - 1] > " " else href[: at + 1]


def _bare(head: str) -> str:
    scheme, mark, rest = head.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}"
