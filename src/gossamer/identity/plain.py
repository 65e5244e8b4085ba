"""The plain identity: the headers of the crawl and of the request, a seed's credentials, a cookie jar a domain."""

from __future__ import annotations

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping

from gossamer.identity.cookies import Jar
from gossamer.page import Page
from gossamer.request import Request, split

SECRET = ("authorization", "cookie", "proxy-authorization", "x-api-key")
"""Headers that go to the seeds' own hosts alone."""
JARS = 2000


class Plain:
    """Headers for a request. `credentials`: host -> (user, password); `domain`: host -> registered domain;
    `of_host`: headers that a host's site wants; those of the crawl and of the request go before them."""

    def __init__(
        self, headers: Mapping[str, str], credentials: Mapping[str, tuple[str, str]], own: Callable[[str], bool],
        domain: Callable[[str], str], of_host: Callable[[str], Mapping[str, str]] | None = None,
    ) -> None:  # fmt: skip
        self._open = {k: v for k, v in headers.items() if k.lower() not in SECRET}
        self._secret = {k: v for k, v in headers.items() if k.lower() in SECRET}
        self._basic = {
            host: "Basic " + b64encode(f"{user}:{password}".encode()).decode()
            for host, (user, password) in credentials.items()
        }
        self._own, self._domain, self._of_host = own, domain, of_host
        self._jars: OrderedDict[str, Jar] = OrderedDict()

    def headers(self, request: Request) -> dict[str, str]:
        """All headers that this request carries beyond the collector's own: what was given, and the host's own cookies."""
        out = self.given(request)
        if self._jars and (jar := self._jars.get(self._domain(split(request.url)[1]))):
            own = request.headers or {}
            if (cookies := jar.header(request.url)) and "cookie" not in map(str.lower, own):
                name = next((name for name in out if name.lower() == "cookie"), "Cookie")
                out[name] = f"{out[name]}; {cookies}" if name in out else cookies
        return out

    def given(self, request: Request) -> dict[str, str]:
        """The headers that people gave: for the crawl, for the host (credentials, its site) and for the request."""
        if not (self._open or self._secret or self._basic or self._of_host or request.headers):
            return {}
        host = split(request.url)[1]
        out = dict(self._open)
        if self._secret and self._own(host):
            out |= self._secret
        if self._of_host is not None and (wanted := self._of_host(host)):
            out = _over(wanted, out)
        if host in self._basic:
            out["Authorization"] = self._basic[host]
        return _over(out, request.headers) if request.headers else out

    def took(self, page: Page) -> None:
        """Keep the cookies of an answer."""
        for name, value in page.headers:
            if name == "set-cookie":
                domain = self._domain(split(page.url)[1])
                if (jar := self._jars.get(domain)) is None:
                    jar = self._jars[domain] = Jar()
                    if len(self._jars) > JARS:
                        self._jars.popitem(last=False)
                jar.take(page.url, value.encode("latin-1"))


def _over(under: Mapping[str, str], over: Mapping[str, str]) -> dict[str, str]:
    """Both; where a name is in both, in whatever case, the second counts."""
    given = {name.lower() for name in over}
    return {name: value for name, value in under.items() if name.lower() not in given} | dict(over)
