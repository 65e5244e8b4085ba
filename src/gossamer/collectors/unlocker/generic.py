"""An unlocker for which gossamer has no module of its own. Two settings describe its API: `unlocker` is a URL
template, and `unlocker_shape` is a list of `NAME=VALUE` about the request and the response.

The template may contain the placeholders `{url}`, `{key}`, `{country}`, `{render}`, `{wait_for}` and
`{session}`. The value of `{render}` is `true` or `false`. The template or `post=` must contain `{url}`. The
values of `header=NAME: VALUE` (repeatable) and `post=BODY` may contain the same placeholders. `forward=true`
passes on the request's method, headers and body. `status=`, `url=` and `credits=` specify where the response
contains these values, in the form `header NAME` or `json a.b`. `headers=` specifies where the response
contains the headers, in the form `json a.b`. `body=` specifies where the response contains the page's body.
Its value is `raw`, `json a.b` or `base64 a.b`. `errors=403:credit,422:retry` defines the meanings of the
provider's own statuses. `cost=`, `at_once=`, `timeout=`, `country=`, `render=`, `wait_for=` and `session=`
have the same meaning as for any unlocker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from gossamer.collectors.unlocker.interface import (
    BANNED,
    BUSY,
    CREDIT,
    KEY,
    NEEDS,
    RETRY,
    TARGET,
    ApiAnswer,
    ApiCall,
    Call,
    FetchedPage,
    Provider,
    Refusal,
    as_text,
    bytes_of,
    flatten_headers,
    json_of,
    provider_message,
    retry_after,
    to_json,
    whole_credits,
)

NAMES = ("header", "post", "forward", "status", "url", "credits", "headers", "body", "errors")
STATUSES = {401: KEY, 407: KEY, 402: CREDIT, 429: BUSY, 500: RETRY, 502: RETRY, 503: RETRY, 504: RETRY}
_KINDS = (RETRY, BUSY, KEY, CREDIT, BANNED, TARGET, NEEDS)
_PLACE = re.compile(r"\{(url|key|country|render|wait_for|session)\}")


class ApiDescription(NamedTuple):
    """A parsed description of an API. `places` maps the name of each value, such as `status`, to its place in
    the response. A place is a pair. The first element of the pair is `header`, `json` or `base64`. The second
    element is the name of the header or the path in the JSON."""

    template: str
    headers: tuple[tuple[str, str], ...] = ()
    post: str | None = None
    forward: bool = False
    places: Mapping[str, tuple[str, str]] = {}
    errors: Mapping[int, str] = STATUSES


def provider(template: str, lines: Sequence[tuple[str, str]]) -> Provider:
    """Creates a provider from a URL template and the setting `unlocker_shape`. `lines`: the (name, value)
    pairs of this setting. Raises ValueError with the reason."""
    headers, places, errors = [], dict[str, tuple[str, str]](), dict(STATUSES)
    post, forward = None, False
    for name, value in lines:
        if name == "header":
            key, colon, text = value.partition(":")
            if not colon or not re.fullmatch(r"[A-Za-z0-9-]+", key.strip()):
                raise ValueError("header= is NAME: VALUE")
            headers.append((key.strip(), text.strip()))
        elif name == "post":
            post = value
        elif name == "forward":
            forward = value == "true"
        elif name == "errors":
            errors |= _errors(value)
        else:
            if (place := _place(name, value))[0]:
                places[name] = place
    shape = ApiDescription(template, tuple(headers), post, forward, places, errors)
    if "{url}" not in template + (post or ""):
        raise ValueError("its template has no {url}")
    endpoint = _PLACE.sub("", template)
    keyless = "{key}" not in "".join([template, post or "", *(text for _, text in headers)])
    return Provider(
        "generic",
        endpoint,
        120.0,
        partial(request, shape),
        partial(answer, shape),
        lambda _: 1,
        keyless=keyless,
    )


def request(shape: ApiDescription, needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the call that results from filling in the template. Values in the URL are percent-encoded.
    Values in a body are JSON strings."""
    if not shape.forward and (needs.headers or needs.body is not None or needs.method != "GET"):
        raise ValueError("this unlocker forwards no method, headers or body (its shape has no forward=true)")
    values = {
        "url": needs.url,
        "key": key,
        "country": needs.country or "",
        "render": "true" if needs.render else "false",
        "wait_for": needs.wait_for or "",
        "session": needs.session or "",
    }
    fill = partial(_filled, values)
    headers = dict(needs.headers) | {name: fill(text, str) for name, text in shape.headers}
    url = fill(shape.template, partial(quote, safe=""))
    if shape.post is not None:
        headers.setdefault("Content-Type", "application/json")
        return Call(url, "POST", headers, fill(shape.post, lambda text: to_json(text)[1:-1]))
    return Call(url, needs.method, headers, needs.body)


def answer(shape: ApiDescription, found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns the page, or a refusal. The page's status is read from the place that `status=` specifies.
    Without `status=`, the page has the status of the provider's response. If `errors` gives a meaning to this
    status, the function returns a refusal instead."""
    reply = json_of(found.body) if any(how != "header" for how, _ in shape.places.values()) else {}

    def at(name: str) -> Any:
        how, which = shape.places.get(name, ("", ""))
        return found.header(which) if how == "header" else _deep(reply, which) if how else None

    status = (
        whole_credits(at("status"), 0)
        if "status" in shape.places
        else 0
        if found.status in shape.errors
        else found.status
    )
    charged = whole_credits(at("credits"), needs.cost)
    if not 100 <= status <= 599:
        kind = shape.errors.get(found.status, TARGET if 400 <= found.status < 500 else RETRY)
        told = whole_credits(at("credits"), 0 if found.status >= 400 else needs.cost)
        return Refusal(
            kind,
            provider_message(found, "message", "error", "detail"),
            told,
            retry_after(found.header("retry-after")),
        )
    body: Any = found.body
    headers = flatten_headers(at("headers")) if "headers" in shape.places else found.headers
    if "body" in shape.places:
        text = at("body")
        base64 = shape.places["body"][0] == "base64"
        body = (
            bytes_of(text) if base64 else text.encode("utf-8", "replace") if isinstance(text, str) else None
        )
        if "headers" not in shape.places:
            headers = []
        headers = headers if base64 else as_text(headers)
    if body is None:
        return Refusal(RETRY, "the response has no body at the place that unlocker_shape names", charged)
    url = at("url")
    return FetchedPage(status, headers, body, url if isinstance(url, str) else None, charged)


def _filled(values: Mapping[str, str], text: str, form: Callable[[str], str]) -> str:
    return _PLACE.sub(lambda found: form(values[found[1]]), text)


def _place(name: str, value: str) -> tuple[str, str]:
    how, _, which = value.strip().partition(" ")
    if name == "body" and how == "raw":
        return "", ""
    ways = ("json", "base64") if name == "body" else ("json",) if name == "headers" else ("header", "json")
    if how not in ways or not which.strip():
        raise ValueError(
            f"{name}= is {' or '.join(f'{way} ...' for way in ways)}" + (" or raw" if name == "body" else "")
        )
    return how, which.strip().lower() if how == "header" else which.strip()


def _errors(value: str) -> dict[int, str]:
    out = {}
    for part in value.split(","):
        status, _, kind = part.strip().partition(":")
        if not re.fullmatch(r"[1-5]\d\d", status) or kind not in _KINDS:
            raise ValueError(f"errors= is STATUS:WHAT,..., WHAT one of {', '.join(_KINDS)}")
        out[int(status)] = kind
    return out


def _deep(reply: Any, path: str) -> Any:
    for name in path.split("."):
        reply = reply.get(name) if isinstance(reply, dict) else None
    return reply
