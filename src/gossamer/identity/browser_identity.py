"""The identities of sessions and accounts that use a real browser. The browser creates most headers itself.
Therefore only the cookies and the remaining headers are passed to the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from gossamer.identity.account_identity import AccountIdentity
from gossamer.identity.headers import OWN
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.page import Page
from gossamer.model.request import Request, split


class SessionOwner(Protocol):
    """Provides the identity of each session (`identity.sessions`)."""

    def lend(self, request: Request) -> Lent: ...

    def took(self, page: Page, guise: Guise | None) -> None: ...

    def forget(self, domain: str) -> None: ...


class BrowserIdentity:
    """Provides the cookies of a request, and those of its headers that the browser does not create itself.
    `given`: returns the headers that the user configured for a request."""

    def __init__(self, sessions: SessionOwner, given: Callable[[Request], Mapping[str, str]]) -> None:
        self._sessions, self._given = sessions, given
        self.took, self.forget = sessions.took, sessions.forget

    def lend(self, request: Request) -> Lent:
        """Returns the cookies and the configured headers. Leaves out configured headers that would contradict
        the browser's identity (`headers.OWN`)."""
        lent = self._sessions.lend(request)
        own = {name.lower() for name in self._given(request)} - OWN | {"cookie"}
        return Lent({name: value for name, value in lent.headers.items() if name.lower() in own}, lent.guise)


class PerBrowserIdentity:
    """The identity of the browser rung if Firefox loads the pages of some hosts. Firefox imitates no other
    browser, so these hosts get the plain identity, and other hosts get the disguise. `in_firefox`: returns
    whether Firefox loads the pages of a host."""

    def __init__(
        self, disguise: SessionOwner, plain: SessionOwner, in_firefox: Callable[[str], bool]
    ) -> None:
        self._disguise, self._plain, self._in_firefox = disguise, plain, in_firefox

    def _of(self, url: str) -> SessionOwner:
        return self._plain if self._in_firefox(split(url)[1]) else self._disguise

    def lend(self, request: Request) -> Lent:
        """Returns the headers and the guise for a request."""
        return self._of(request.url).lend(request)

    def took(self, page: Page, guise: Guise | None) -> None:
        """Stores the cookies of a response."""
        self._of(page.url).took(page, guise)

    def forget(self, domain: str) -> None:
        """Ends the sessions of a registered domain."""
        self._disguise.forget(domain)
        self._plain.forget(domain)


class BrowserAccount:
    """The identity of an account in a real browser. The browser gets all cookies of the account. `given`: as
    in `BrowserIdentity`."""

    def __init__(self, member: AccountIdentity, given: Callable[[Request], Mapping[str, str]]) -> None:
        self.member = member
        self._driven = BrowserIdentity(member, lambda request: {**given(request), **member.headers})
        self.took, self.forget = member.took, member.forget

    def lend(self, request: Request) -> Lent:
        """Returns the account's headers without those that the browser sends itself."""
        headers, guise = (self._driven if self.member.browser is not None else self.member).lend(request)
        return Lent(
            headers, msgspec.structs.replace(guise or Guise(), cookies=tuple(self.member.jar.shown()))
        )
