"""Defines the *guise* of a request: the properties, besides the headers, by which a site recognizes a
visitor. The guise stays the same for a whole session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from gossamer.model.rendering import Render


class Guise(msgspec.Struct, frozen=True):
    """The visitor that a request appears to come from. Only requests with the same `target`, `session` and
    proxy share connections."""

    browser: str = ""
    """The browser that the visitor appears to use (`identity.browsers`), for example `chrome150`. '': no
    browser.
    """
    target: str = ""
    """The name under which the impersonating client imitates that browser's TLS and HTTP/2."""
    http2: str = ""
    """The browser's HTTP/2 settings, if they differ from the settings of the browser that `target` names."""
    session: str = ""
    """The name of the session at a registered domain. Each session appears as a different visitor."""
    proxy: str | None = None
    """URL of the proxy with credentials. None: no proxy. A request with a proxy never goes out without it."""
    member: str = ""
    """The logged-in account, '' for none. Responses for an account are not cached."""
    cookies: tuple[Mapping[str, Any], ...] | None = None
    """Only in a browser: all cookies of the logged-in account (`identity.cookies.Jar.shown`). None: the
    browser uses the cookies in the request's headers."""
    render: Render | None = None
    """Only in a browser: how this page is rendered. None: the page is rendered as its site configures."""


class Lent(NamedTuple):
    """The headers and the guise that an identity adds to a request. The headers are in the order in which
    they are sent. `guise` is None if the identity has none."""

    headers: dict[str, str]
    guise: Guise | None = None
