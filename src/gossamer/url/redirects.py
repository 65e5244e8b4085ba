"""Resolves the target of a redirect, for pages, robots.txt, log-ins and all other requests."""

from __future__ import annotations

from gossamer.url import WEB, parse
from gossamer.url.routes import with_route


def redirect_target(location: str, url: str) -> str | None:
    """Returns the redirect target in fetch form, or None if the target is not an http(s) URL. `location`: the
    bytes of the Location header, written as latin-1 text. Bytes beyond ASCII are percent-encoded as they are, as
    in browsers. If `url` has no fragment, the returned target has no fragment. If `url` has a fragment (a
    route), the returned target has the fragment of `location`, or the fragment of `url` if `location` has no
    fragment (RFC 9110 section 10.2.2).

    >>> redirect_target("/caf\\xe9", "https://example.com/"), redirect_target("mailto:a@b", "https://example.com/")
    ('https://example.com/caf%E9', None)
    """
    if not location.isascii():
        try:
            octets = location.encode("latin-1")
        except UnicodeEncodeError:  # text of a browser or an API
            octets = location.encode("utf-8", "replace")
        location = "".join([chr(one) if one < 0x80 else f"%{one:02X}" for one in octets])
    found = parse(location, url)
    if found is None or not found.startswith(WEB):
        return None
    document, mark, _ = found.partition("#")
    return with_route(document, found if mark else url) if "#" in url else document
