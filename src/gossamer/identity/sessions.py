"""Browser sessions. A registered domain sees one browser for the duration of a session, then another browser
with its own cookies. The choice is not stored: the browser is computed from the crawl, the domain and the
time, so all workers choose the same browser."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from gossamer.identity.browsers import browser_for
from gossamer.identity.cookies import Jar
from gossamer.identity.headers import browser_headers
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.page import Page
from gossamer.model.request import Request, split

MAX_JARS = 2000


class Sessions:
    """Provides a browser identity for each request. `wanted`: returns the names of the browsers that may be
    chosen for a host. `seed`: a text that, together with the domain and the session, determines which browser
    is chosen. `length`: the duration of a session in seconds. `given`: returns the headers that the user
    configured for a request. `domain`: returns a host's registered domain. `now`: returns seconds since the
    epoch."""

    def __init__(
        self,
        wanted: Callable[[str], Sequence[str]],
        seed: str,
        length: float,
        domain: Callable[[str], str],
        *,
        given: Callable[[Request], Mapping[str, str]] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._wanted, self._seed, self._length, self._domain = wanted, seed, length, domain
        self._given, self._now = given, now
        self._jars: OrderedDict[tuple[str, str], Jar] = OrderedDict()

    def lend(self, request: Request) -> Lent:
        """Returns the headers of a request and the browser identity (guise) under which it is sent."""
        host = split(request.url)[1]
        domain = self._domain(host)
        drawn = hashlib.blake2b(f"{self._seed} {domain}".encode(), digest_size=8).digest()
        # an offset per domain, because otherwise the sessions of all sites would change at the same time
        began = int.from_bytes(drawn, "big") % 997 / 997
        session = str(int(self._now() / self._length + began))
        browser = browser_for(self._wanted(host), f"{self._seed} {domain} {session}")
        jar = self._jars.get((domain, f"{browser.name}/{session}"))
        headers = browser_headers(
            browser,
            request.url,
            referrer=request.referrer,
            passed=request.hops,
            domain=self._domain,
            given=None if self._given is None else self._given(request),
            cookies=jar.header(request.url) if jar else "",
        )
        return Lent(headers, Guise(browser.name, browser.target, browser.http2, session))

    def forget(self, domain: str) -> None:
        """Ends the session at a registered domain, and drops its cookies."""
        for place in [place for place in self._jars if place[0] == domain]:
            del self._jars[place]

    def took(self, page: Page, guise: Guise | None) -> None:
        """Stores the cookies of a response in the session that sent the request."""
        for name, value in page.headers:
            if name == "set-cookie" and guise is not None:
                place = (self._domain(split(page.url)[1]), f"{guise.browser}/{guise.session}")
                if (jar := self._jars.get(place)) is None:
                    jar = self._jars[place] = Jar()
                    if len(self._jars) > MAX_JARS:
                        self._jars.popitem(last=False)
                jar.take(page.url, value.encode("latin-1"))
