"""The identity of a logged-in account. All requests of the account use the same browser, headers and cookie
jar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gossamer.identity.browsers import Browser
from gossamer.identity.cookies import Jar
from gossamer.identity.headers import browser_headers
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.page import Page
from gossamer.model.request import Request


class AccountIdentity:
    """The identity of an account. `browser`: the browser that the account appears to use. If `browser` is
    None, gossamer's own headers are sent. `given`: returns the headers that the user configured for a
    request. `domain`: returns a host's registered domain. `session`: the name under which the account's
    connections are kept, so that no other visitor uses them."""

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
        """The cookies that responses have set since cookies were last stored. Each element is a pair of a URL
        and a Set-Cookie header."""
        self._given, self._domain = given, domain

    def lend(self, request: Request) -> Lent:
        """Returns the headers of a request and the browser identity (guise) under which it is sent."""
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
        headers = browser_headers(
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
        """Stores the cookies of a response."""
        own = [(page.url, value) for name, value in page.headers if name == "set-cookie"]
        for url, value in (*own, *page.cookies):
            self.news.append((url, value.encode("latin-1")))
            self.jar.take(*self.news[-1])

    def forget(self, domain: str) -> None:
        """Does nothing. The account stays logged in when another session at the domain ends."""

    def state(self) -> dict[str, Any]:
        """Returns the account's state as a JSON-compatible value."""
        return {
            "browser": self.browser.name if self.browser else "",
            "headers": self.headers,
            "jar": self.jar.dump(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores the cookies and headers from `state`. Then applies the cookies that responses have set
        since `state` was stored."""
        self.jar.load(state["jar"])
        self.headers = dict(state["headers"])
        for url, header in self.news:
            self.jar.take(url, header)
