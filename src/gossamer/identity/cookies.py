"""Cookies as in RFC 6265bis. If the test suites of browsers differ from the RFC, the test suites take
precedence. The number and the size of cookies are limited.

A cookie is sent back only to the registered domain that set it, and no cookie can be set for a public suffix.
`Secure` cookies are never sent over http and cannot be set or replaced over http. The attribute `SameSite` is
ignored. `SameSite` protects users against requests that the pages of other sites make, and a crawler does not
need such protection. `HttpOnly` is stored, so that a browser hides the cookie from scripts. A cookie without
a name is not stored.
"""

from __future__ import annotations

import time
from calendar import monthrange, timegm
from collections.abc import Callable
from typing import Any

import msgspec

from gossamer import url as urls
from gossamer.model.lazy_pattern import lazy_pattern

MAX_COOKIE_BYTES = 4096
"""The maximum number of bytes of a cookie's name and value together."""
MAX_ATTRIBUTE_BYTES = 1024
MAX_COOKIES_PER_DOMAIN = 50
MAX_DOMAINS = 1000
MAX_LIFETIME_S = 400 * 86_400
"""The maximum lifetime of a cookie in seconds."""

_CONTROL = lazy_pattern(r"[\x01-\x08\x0b-\x1f\x7f]")
_END = lazy_pattern(r"[\x00\r\n]")
_DELIMITER = lazy_pattern(r"[\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = lazy_pattern(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D.*)?")
_DAY = lazy_pattern(r"(\d{1,2})(?:\D.*)?")
_YEAR = lazy_pattern(r"(\d{2,4})(?:\D.*)?")
_SECONDS = lazy_pattern(r"-?\d+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

Key = tuple[str, str, bool, str]


class Cookie(msgspec.Struct):
    """A cookie. Texts are latin-1, one character per byte."""

    name: str
    value: str
    domain: str
    host_only: bool
    path: str
    secure: bool
    expires: float | None
    """The time when the cookie expires, in seconds since the epoch. None means that the cookie lasts until
    the cookie jar is dropped."""
    created: int
    """The cookie's position in the order of creation."""
    http_only: bool = False
    """Whether the cookie is hidden from the scripts of a page."""

    def suits(self, host: str, path: str, https: bool) -> bool:
        """Returns whether the cookie is sent with a request."""
        if self.secure and not https:
            return False
        if host != self.domain and (self.host_only or not host.endswith(f".{self.domain}")):
            return False
        return path_matches(path, self.path)


class Jar:
    """The cookies of one identity. `clock` returns seconds since the epoch.

    >>> jar = Jar()
    >>> jar.take("https://example.com/a", b"id=1; Path=/; Domain=example.com; Max-Age=60")
    >>> jar.header("https://www.example.com/b"), jar.header("https://example.org/")
    ('id=1', '')
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._domains: dict[str, dict[Key, Cookie]] = {}
        self._count = 0

    def take(self, url: str | None, set_cookie: bytes | str | None) -> None:
        """Stores, replaces or removes a cookie. `set_cookie`: the value of a Set-Cookie header. `url`: the
        URL whose response contains the header."""
        set_cookie = (
            set_cookie.encode("utf-8", "replace") if isinstance(set_cookie, str) else bytes(set_cookie or b"")
        )
        where = _where(url)
        parsed = parse_set_cookie(set_cookie, self._clock()) if where else None
        if where is None or parsed is None:
            return
        cookie = _owned(parsed, *where)
        if cookie is None:
            return
        site = urls.registered_domain(where[1])
        kept = self._domains.setdefault(site, {})
        if not where[0] and any(_shadows(cookie, old) for old in kept.values()):
            return
        key = (cookie.name, cookie.domain, cookie.host_only, cookie.path)
        old = kept.get(key)
        self._count += 1
        cookie.created = old.created if old else self._count
        if cookie.expires is not None and cookie.expires <= self._clock():
            kept.pop(key, None)
        else:
            kept[key] = cookie
        self._bound(site)

    def header(self, url: str | None) -> str:
        """Returns the value of the Cookie header for a request to `url` (latin-1 text), "" if there are no
        cookies. Longer paths come first, then older cookies (RFC 6265, 5.4)."""
        where = _where(url) if self._domains else None
        kept = self._domains.get(urls.registered_domain(where[1])) if where else None
        if where is None or not kept:
            return ""
        https, host, path = where
        now = self._clock()
        for key in [
            key for key, cookie in kept.items() if cookie.expires is not None and cookie.expires <= now
        ]:
            del kept[key]
        fit = [one for one in kept.values() if one.suits(host, path, https)]
        fit.sort(key=lambda one: (-len(one.path), one.created))
        return "; ".join([f"{one.name}={one.value}" for one in fit])

    def dump(self) -> dict[str, Any]:
        """Returns all cookies as a JSON-compatible value."""
        cookies = [cookie for kept in self._domains.values() for cookie in kept.values()]
        return {"version": 1, "cookies": msgspec.to_builtins(cookies)}

    def shown(self) -> list[dict[str, Any]]:
        """Returns all cookies in the form that browser APIs use: name, value, domain (a leading dot includes
        subdomains), path, secure, httpOnly, expires (seconds since the epoch, -1 for a session cookie)."""
        now = self._clock()
        return [
            {
                "name": _text(one.name),
                "value": _text(one.value),
                "domain": "." * (not one.host_only) + one.domain,
                "path": one.path,
                "secure": one.secure,
                "httpOnly": one.http_only,
                "expires": -1 if one.expires is None else one.expires,
            }
            for kept in self._domains.values()
            for one in kept.values()
            if one.expires is None or one.expires > now
        ]

    def load(self, state: Any) -> None:
        """Replaces all cookies by the cookies that `dump` returned. Raises ValueError if the data has another
        version or another form."""
        if not isinstance(state, dict) or state.get("version") != 1:
            raise ValueError("the stored cookies have an unsupported version")
        try:
            cookies = msgspec.convert(state.get("cookies"), list[Cookie])
        except msgspec.ValidationError as error:
            raise ValueError(f"the stored cookies are invalid: {error}") from error
        self._domains = {}
        for cookie in cookies:
            key = (cookie.name, cookie.domain, cookie.host_only, cookie.path)
            self._domains.setdefault(urls.registered_domain(cookie.domain), {})[key] = cookie
            self._count = max(self._count, cookie.created)
        for site in list(self._domains):
            self._bound(site)

    def _bound(self, site: str) -> None:
        """Drops the oldest cookies beyond 50 per domain, and the oldest domain beyond 1,000."""
        kept = self._domains[site]
        while len(kept) > MAX_COOKIES_PER_DOMAIN:
            del kept[min(kept, key=lambda key: (kept[key].secure, kept[key].created))]
        if not kept:
            del self._domains[site]
        while len(self._domains) > MAX_DOMAINS:
            del self._domains[next(iter(self._domains))]


class SetCookie(msgspec.Struct):
    """The contents of a Set-Cookie header. Empty texts and False stand for absent attributes."""

    name: str
    value: str
    domain: str = ""
    path: str = ""
    secure: bool = False
    expires: float | None = None
    http_only: bool = False


def parse_set_cookie(header: bytes, now: float) -> SetCookie | None:
    """Parses the value of a Set-Cookie header (RFC 6265bis, 5.6). Returns None if the header sets no cookie.

    >>> parse_set_cookie(b"a=b; Path=/x; Secure", 0)
    SetCookie(name='a', value='b', domain='', path='/x', secure=True, expires=None, http_only=False)
    """
    text = header.decode("latin-1")
    if end := _END.search(text):
        text = text[: end.start()]
    if _CONTROL.search(text):
        return None
    pair, _, rest = text.partition(";")
    name, equals, value = pair.partition("=")
    name, value = name.strip(" \t"), value.strip(" \t")
    if not equals or not name or len(name) + len(value) > MAX_COOKIE_BYTES:
        return None
    cookie = SetCookie(name, value)
    age: float | None = None
    for attribute in rest.split(";"):
        key, _, said = attribute.partition("=")
        key, said = key.strip(" \t").lower(), said.strip(" \t")
        if len(said) > MAX_ATTRIBUTE_BYTES:
            continue
        if key == "expires" and (when := parse_date(said)) is not None:
            cookie.expires = min(when, now + MAX_LIFETIME_S)
        elif key == "max-age" and _SECONDS.fullmatch(said):
            seconds = int(said)
            age = now + min(seconds, MAX_LIFETIME_S) if seconds > 0 else 0.0
        elif key == "domain" and said:
            cookie.domain = _domain(said)
        elif key == "path":
            cookie.path = said if said.startswith("/") else ""
        elif key == "secure":
            cookie.secure = True
        elif key == "httponly":
            cookie.http_only = True
    if age is not None:
        cookie.expires = age
    return cookie


def _domain(said: str) -> str:
    """Returns a Domain attribute without its leading dot, in lower case, with an internationalized name in
    its ASCII form."""
    found = None if said.isascii() else urls.parse(f"https://{_text(said.removeprefix('.'))}/")
    return urls.host(found) if found else said.removeprefix(".").lower()


def parse_date(text: str) -> float | None:
    """Parses a cookie date in any form (RFC 6265, 5.1.1) to seconds since the epoch. Returns None if the date
    is invalid.

    >>> parse_date("Fri, 07-Aug-19 08:04:19 GMT")
    1565165059.0
    """
    clock: tuple[int, ...] | None = None
    day = month = year = None
    for token in _DELIMITER.split(text):
        if clock is None and (found := _TIME.fullmatch(token)):
            clock = tuple(map(int, found.groups()))
        elif day is None and (found := _DAY.fullmatch(token)):
            day = int(found[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (found := _YEAR.fullmatch(token)):
            year = int(found[1])
    if clock is None or day is None or month is None or year is None:
        return None
    year += 1900 if 70 <= year <= 99 else 2000 if year <= 69 else 0
    if (
        year < 1601
        or not 1 <= day <= monthrange(year, month)[1]
        or clock[0] > 23
        or clock[1] > 59
        or clock[2] > 59
    ):
        return None
    return float(timegm((year, month, day, *clock)))


def path_matches(path: str, cookie_path: str) -> bool:
    """Returns whether a request's path is equal to or below a cookie's path (RFC 6265, 5.1.4).

    >>> path_matches("/a/b", "/a"), path_matches("/ab", "/a")
    (True, False)
    """
    if not path.startswith(cookie_path):
        return False
    return len(path) == len(cookie_path) or cookie_path.endswith("/") or path[len(cookie_path)] == "/"


def _where(url: str | None) -> tuple[bool, str, str] | None:
    """Splits a URL into three values. The first value states whether the scheme is https. The second value is
    the host without the port, and the third value is the path. Returns None if the URL is not an http(s)
    URL."""
    found = urls.parse(url)
    if found is None or not found.startswith(urls.WEB):
        return None
    scheme, _, rest = found.partition("://")
    authority, _, path = rest.partition("/")
    host = authority.rpartition("@")[2]
    name = host if host.endswith("]") or ":" not in host else host.rpartition(":")[0]
    return scheme == "https", name, "/" + path.partition("#")[0].partition("?")[0]


def _owned(said: SetCookie, https: bool, host: str, path: str) -> Cookie | None:
    """Returns the cookie if this host may set it, otherwise None (RFC 6265bis, 5.7)."""
    domain, host_only = said.domain, not said.domain
    if domain == host:
        # the names below a public suffix belong to other owners, so the cookie is only for this host
        host_only = urls.is_public_suffix(host)
    elif domain:
        address = host.rpartition(".")[2].isdecimal()
        if address or not host.endswith(f".{domain}") or urls.is_public_suffix(domain):
            return None
    if said.secure and not https:
        return None
    prefix = said.name.lower()
    if prefix.startswith(("__secure-", "__host-")) and not said.secure:
        return None
    if prefix.startswith("__host-") and (said.domain or said.path != "/"):
        return None
    path = said.path or path[: path.rfind("/")] or "/"
    return Cookie(
        said.name, said.value, domain or host, host_only, path, said.secure, said.expires, 0, said.http_only
    )


def _text(latin: str) -> str:
    """Decodes the bytes of a header as browsers do."""
    return latin.encode("latin-1").decode("utf-8", "replace")


def _shadows(cookie: Cookie, old: Cookie) -> bool:
    """Returns whether a cookie that was set over http would hide a secure cookie. This rule is called "leave
    secure cookies alone"."""
    if not old.secure or cookie.name != old.name:
        return False
    a, b = cookie.domain, old.domain
    return (a == b or a.endswith(f".{b}") or b.endswith(f".{a}")) and path_matches(cookie.path, old.path)
