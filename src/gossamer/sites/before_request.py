"""Calls the `@site.before` function of a site with each request just before it is sent, for example to sign
it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from gossamer import url as urls
from gossamer.config import value_parsers
from gossamer.config.stdout_redirect import stdout_to_stderr
from gossamer.model.item import exception_message, is_ctrl_c
from gossamer.model.page import Failure
from gossamer.model.request import Request
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import match

Prepared = tuple[Request, dict[str, str]]
"""A tuple of a request and the HTTP headers that are sent with the request."""
Prepare = Callable[[Request, Mapping[str, str]], Prepared | Failure]


class OutgoingRequest(msgspec.Struct):
    """A request just before it is sent. The function may change `url` (not its host), `headers` and
    `body`."""

    url: str
    method: str
    headers: dict[str, str]
    """The headers that the user, the site and the request set, and the header with the cookies. Header names
    in this mapping are in lower case. The collector adds more request headers later, for example
    User-Agent."""
    body: str | None
    request: Request
    """The request as the crawl made it, with its `carry`, `use` and other options."""


def preparer(sites: Sequence[LoadedSite]) -> Prepare | None:
    """Returns a function that passes each request to the `@site.before` function of its site. Returns None if
    no site has such a function."""
    if all(one.site.before_function is None for one in sites):
        return None
    return partial(_prepare, sites)


def _prepare(sites: Sequence[LoadedSite], request: Request, headers: Mapping[str, str]) -> Prepared | Failure:
    """Calls the site's function, and returns the request and headers to send. If the function raises an
    error, returns a Failure."""
    site = match(sites, request.url)
    call = None if site is None else site.site.before_function
    if site is None or call is None:
        return request, dict(headers)
    shown = {name.lower(): value for name, value in headers.items()}
    out = OutgoingRequest(request.url, request.method, shown, request.body, request)
    try:
        with stdout_to_stderr:  # stdout is reserved for data
            call(out)
        return _changed(request, headers, out)
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        why = f"{site.name}: @site.before: {type(error).__name__}: {exception_message(error)}"
        return Failure("collector", why, time.time(), 0.0, final=True, sent=False)


def _changed(request: Request, headers: Mapping[str, str], out: OutgoingRequest) -> Prepared:
    """Returns the request and headers with the changes that the function made. The names of unchanged headers
    keep their upper and lower case. Raises ValueError."""
    url = request.url
    if out.url != request.url:
        url = (urls.parse(out.url) or "").partition("#")[0]
        if not url or urls.origin(url) != urls.origin(request.url):
            raise ValueError(f"the URL {out.url!r} is not on {urls.origin(request.url)}")
    spelled = {name.lower(): name for name in headers}
    given = {spelled.get(name, name): value for name, value in value_parsers.headers(out.headers).items()}
    return msgspec.structs.replace(request, url=url, body=out.body), given
