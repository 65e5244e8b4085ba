"""A guise: what a request is lent besides its headers, so that a site sees one and the same visitor during a session."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Guise(msgspec.Struct, frozen=True):
    """Whom a request appears to come from. Connections are shared only by requests of the same `target`, `session` and proxy."""

    browser: str = ""
    """The browser it appears as (`identity.browsers`), as `chrome150`; '': itself."""
    target: str = ""
    """What the impersonating client calls that browser's TLS and HTTP/2."""
    http2: str = ""
    """HTTP/2 settings where the target's are not the browser's."""
    session: str = ""
    """The session's name at a registered domain: another session is another visitor."""
    proxy: str | None = None
    """URL of the proxy it goes through, with credentials; None: none. There is no way around it."""
    member: str = ""
    """The account it is logged in as; '': nobody's. What such a request brings is in no cache."""


class Lent(NamedTuple):
    """What an identity lends to a request: headers in the order to send, and whom it appears to come from (None: itself)."""

    headers: dict[str, str]
    guise: Guise | None = None
