"""A guise: what a request is lent besides its headers, so that a site sees one and the same visitor during a
session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from gossamer.model.rendering import Render


class Guise(msgspec.Struct, frozen=True):
    """Whom a request appears to come from. Connections are shared only by requests of the same `target`,
    `session` and proxy."""

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
    cookies: tuple[Mapping[str, Any], ...] | None = None
    """In a browser: all the cookies of who is logged in, as `identity.cookies.Jar.shown` has them; None:
    those of the headers."""
    render: Render | None = None
    """In a browser: how this page is rendered, whatever its site says."""


class Lent(NamedTuple):
    """What an identity lends to a request: headers in the order to send, and whom it appears to come from
    (None: itself)."""

    headers: dict[str, str]
    guise: Guise | None = None
