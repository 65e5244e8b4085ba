"""The plain identity, which imitates no browser. The plain identity sends the configured headers, the
credentials of seeds, and cookies. Each domain has its own cookie jar."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from gossamer.identity.cookies import Jar
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.page import Page
from gossamer.model.request import Request, split

SECRET = re.compile(r"auth|cookie|key|token|secret|session|signature|passw|credential", re.IGNORECASE)
"""Matches the names of secret headers, which are only sent to the origins of the seeds."""
MAX_JARS = 2000


class PlainIdentity:
    """Provides the headers of requests. `credentials`: maps an origin to (user, password). `seeds`: the URLs
    of the seeds. The crawl's secret headers may be sent to the origins of the seeds, with or without `www.`.
    If a seed is an http URL, the secret headers may also be sent to its host over https. If a seed is an
    https URL, the secret headers are not sent to its host over http. `domain`: maps a host to its registered
    domain. `of_host`: returns the headers that the configuration of a host's site contains. Headers of the
    crawl and of the request take precedence over the headers of the site."""

    def __init__(
        self,
        headers: Mapping[str, str],
        credentials: Mapping[str, tuple[str, str]],
        seeds: Iterable[str],
        domain: Callable[[str], str],
        of_host: Callable[[str], Mapping[str, str]] | None = None,
    ) -> None:
        self._open = {k: v for k, v in headers.items() if not SECRET.search(k)}
        self._secret = {k: v for k, v in headers.items() if SECRET.search(k)}
        self._basic = {
            origin: "Basic " + b64encode(f"{user}:{password}".encode()).decode()
            for origin, (user, password) in credentials.items()
        }
        self._own = {_place(*split(seed)[:2]) for seed in seeds} if self._secret else set[tuple[str, str]]()
        self._domain, self._of_host = domain, of_host
        self._jars: OrderedDict[str, Jar] = OrderedDict()

    def lend(self, request: Request) -> Lent:
        """Returns the request's headers, without a guise."""
        return Lent(self.headers(request), None)

    def headers(self, request: Request) -> dict[str, str]:
        """Returns the configured headers and the host's cookies. These headers are sent in addition to the
        collector's own headers."""
        out = self.given(request)
        if self._jars and (jar := self._jars.get(self._domain(split(request.url)[1]))):
            own = request.headers or {}
            if (cookies := jar.header(request.url)) and "cookie" not in map(str.lower, own):
                name = next((name for name in out if name.lower() == "cookie"), "Cookie")
                out[name] = f"{out[name]}; {cookies}" if name in out else cookies
        return out

    def given(self, request: Request) -> dict[str, str]:
        """Returns the headers that the user configured for the crawl, for the host (by its credentials and
        its site), and for the request."""
        if not (self._open or self._secret or self._basic or self._of_host or request.headers):
            return {}
        scheme, host, _ = split(request.url)
        out = dict(self._open)
        if self._secret and not self._own.isdisjoint(_places(*_place(scheme, host))):
            out |= self._secret
        if self._of_host is not None and (wanted := self._of_host(host)):
            out = _over(wanted, out)
        if self._basic:
            basic = next(
                (
                    self._basic[origin]
                    for origin in map("://".join, _places(scheme, host))
                    if origin in self._basic
                ),
                None,
            )
            if basic is not None:
                out = _over(out, {"Authorization": basic})
        return _over(out, request.headers) if request.headers else out

    def forget(self, domain: str) -> None:
        """Drops the cookies of a registered domain, because its session ended."""
        self._jars.pop(domain, None)

    def took(self, page: Page, _guise: Guise | None = None) -> None:
        """Stores the cookies of a response."""
        for name, value in page.headers:
            if name == "set-cookie":
                domain = self._domain(split(page.url)[1])
                if (jar := self._jars.get(domain)) is None:
                    jar = self._jars[domain] = Jar()
                    if len(self._jars) > MAX_JARS:
                        self._jars.popitem(last=False)
                jar.take(page.url, value.encode("latin-1"))


def _place(scheme: str, host: str) -> tuple[str, str]:
    """Returns an origin's scheme and authority, without `www.`."""
    return scheme, host.removeprefix("www.")


def _places(scheme: str, host: str) -> list[tuple[str, str]]:
    """Returns the origins whose secrets may be sent with a request. These are the request's origin and, for
    an https request, also the origin of the same host with http."""
    return [(scheme, host)] if scheme == "http" else [(scheme, host), ("http", host)]


def _over(under: Mapping[str, str], over: Mapping[str, str]) -> dict[str, str]:
    """Merges two sets of headers, `under` and `over`. Names are compared case-insensitively. If both sets
    contain the same header, the result contains the value from `over`."""
    given = {name.lower() for name in over}
    return {name: value for name, value in under.items() if name.lower() not in given} | dict(over)
