"""Defines the *guise* of a request: the properties, besides the headers, by which a site recognizes a
visitor. The guise stays the same for a whole session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from gossamer.model.rendering import Render


class Guise(msgspec.Struct, frozen=True):
    """Describes the visitor that a site sees when it receives a request. Only requests with the same
    `target`, `session` and proxy share connections."""

    browser: str = ""
    """The browser that the visitor appears to use (`identity.browsers`), for example `chrome150`. '': no
    browser."""
    target: str = ""
    """The client's name for the browser whose TLS and HTTP/2 the client imitates."""
    http2: str = ""
    """The browser's HTTP/2 settings, if they differ from the settings of the browser that `target` names."""
    session: str = ""
    """The name of the session at a registered domain. To the site, each session looks like a different
    visitor."""
    proxy: str | None = None
    """URL of the proxy with credentials. None: no proxy. If the proxy fails, the request fails, too, and is
    never sent without the proxy."""
    member: str = ""
    """The logged-in account, '' for none. Responses for an account are not cached."""
    cookies: tuple[Mapping[str, Any], ...] | None = None
    """All cookies of the logged-in account (`identity.cookies.Jar.shown`). Only browsers use this field. If
    `cookies` is None, the browser sends the cookies in the request's headers."""
    render: Render | None = None
    """The rendering of this page in a browser. If `render` is None, the browser uses the rendering that the
    site configures."""


class Lent(NamedTuple):
    """The headers and the guise that an identity adds to a request. The headers are in the order in which
    they are sent. `guise` is None if the identity has none."""

    headers: dict[str, str]
    guise: Guise | None = None
