"""Somebody who is logged in: one account with its cookies, its browser and its headers, the same at each
request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gossamer.identity.browsers import Browser
from gossamer.identity.cookies import Jar
from gossamer.identity.headers import dress
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.page import Page
from gossamer.model.request import Request


class Member:
    """The identity of an account. `browser`: as whom it appears, None: as itself; `given`: the headers that
    people gave for a request; `domain`: host -> registered domain; `session`: names its connections, so that
    no other visitor uses them."""

    def __init__(
        self,
        name: str,
        session: str,
        browser: Browser | None,
        given: Callable[[Request], Mapping[str, str]],
        domain: Callable[[str], str],
    ) -> None:
        self.name, self.session, self.browser = name, session, browser
        self.jar, self.headers = Jar(), dict[str, str]()
        self.news: list[tuple[str, bytes]] = []
        """Cookies that answers set, and that the store does not know yet: the URL, the header."""
        self._given, self._domain = given, domain

    def lend(self, request: Request) -> Lent:
        """The headers of this request, and its guise."""
        mine = {name.lower() for name in self.headers}
        given = {
            name: value for name, value in self._given(request).items() if name.lower() not in mine
        } | self.headers
        cookies = self.jar.header(request.url)
        if self.browser is None:
            if cookies:
                name = next((name for name in given if name.lower() == "cookie"), "Cookie")
                given[name] = f"{given[name]}; {cookies}" if name in given else cookies
            return Lent(given, Guise(session=self.session, member=self.name))
        headers = dress(
            self.browser,
            request.url,
            referrer=request.referrer,
            passed=request.hops,
            domain=self._domain,
            given=given,
            cookies=cookies,
        )
        guise = Guise(
            self.browser.name, self.browser.target, self.browser.http2, self.session, member=self.name
        )
        return Lent(headers, guise)

    def took(self, page: Page, _guise: Guise | None = None) -> None:
        """Keep the cookies of an answer."""
        own = [(page.url, value) for name, value in page.headers if name == "set-cookie"]
        for url, value in (*own, *page.cookies):
            self.news.append((url, value.encode("latin-1")))
            self.jar.take(*self.news[-1])

    def forget(self, domain: str) -> None:
        """Who is logged in stays so: that another session at the domain is over is nothing to it."""

    def state(self) -> dict[str, Any]:
        """All that makes it who it is, as a value that JSON can hold."""
        return {
            "browser": self.browser.name if self.browser else "",
            "headers": self.headers,
            "jar": self.jar.dump(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take back the cookies and headers of `state`; what answers set since is put over them."""
        self.jar.load(state["jar"])
        self.headers = dict(state["headers"])
        for url, header in self.news:
            self.jar.take(url, header)
