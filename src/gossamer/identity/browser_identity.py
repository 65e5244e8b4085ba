"""The sessions of the impersonated rung as the browser rung has them: the same visitor with the same cookies,
whose headers a real browser sends by itself; and somebody who is logged in, there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from gossamer.identity.account import Member
from gossamer.identity.headers import OWN
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.page import Page
from gossamer.model.request import Request


class SessionOwner(Protocol):
    """Whose sessions they are (`identity.sessions`)."""

    def lend(self, request: Request) -> Lent: ...

    def took(self, page: Page, guise: Guise | None) -> None: ...

    def forget(self, domain: str) -> None: ...


class Driven:
    """Lends what a browser does not say by itself. `given`: the headers that people gave for a request."""

    def __init__(self, sessions: SessionOwner, given: Callable[[Request], Mapping[str, str]]) -> None:
        self._sessions, self._given = sessions, given
        self.took, self.forget = sessions.took, sessions.forget

    def lend(self, request: Request) -> Lent:
        """Cookies, and headers that would not make it a mixed identity."""
        lent = self._sessions.lend(request)
        own = {name.lower() for name in self._given(request)} - OWN | {"cookie"}
        return Lent({name: value for name, value in lent.headers.items() if name.lower() in own}, lent.guise)


class BrowserMember:
    """A member in a browser, which is told of all its cookies. `given`: as of `Driven`."""

    def __init__(self, member: Member, given: Callable[[Request], Mapping[str, str]]) -> None:
        self.member = member
        self._driven = Driven(member, lambda request: {**given(request), **member.headers})
        self.took, self.forget = member.took, member.forget

    def lend(self, request: Request) -> Lent:
        """What the member lends, less what the browser says by itself."""
        headers, guise = (self._driven if self.member.browser is not None else self.member).lend(request)
        return Lent(
            headers, msgspec.structs.replace(guise or Guise(), cookies=tuple(self.member.jar.shown()))
        )
