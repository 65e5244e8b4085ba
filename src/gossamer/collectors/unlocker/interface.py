"""The types that are passed to and from a provider, and helpers that several providers share."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from gossamer.model.content_type import essence
from gossamer.model.page import Headers

RETRY, BUSY, KEY, CREDIT, BANNED, TARGET, NEEDS = (
    "retry",
    "busy",
    "key",
    "credit",
    "banned",
    "target",
    "needs",
)
"""The kinds of refusal, which explain why a call returned no page. RETRY means that the same call may succeed
later. BUSY means that too many calls are running concurrently. KEY means that the provider refuses the key or
the plan. CREDIT means that the account has no credit left. BANNED means that the provider bans gossamer for
some time. TARGET means that the target failed permanently. NEEDS means that the provider does not support an
option of the request."""


class ApiCall(NamedTuple):
    """One page to fetch, and the options with which the page is fetched. `cost`: the maximum number of
    credits that the call may cost. `extra`: parameters that only this provider knows."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: str | None = None
    render: bool = False
    country: str | None = None
    wait_for: str | None = None
    """A CSS selector that must match before the page is returned."""
    session: str | None = None
    """The name of a session, or None. All requests of a session come from the same IP address."""
    cost: int = 1
    extra: Mapping[str, str] = {}


class Call(NamedTuple):
    """An HTTP request to a provider's API. The URL and the headers of the call may contain the key."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: str | None = None


class ApiAnswer(NamedTuple):
    """The response of the API: its status, its headers with names in lower case, and its body without content
    coding."""

    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """Returns the first value of a header (name in lower case), or None."""
        return next((value for key, value in self.headers if key == name), None)


class FetchedPage(NamedTuple):
    """The target's page, as if it had been fetched directly. `url`: the final URL, or None if the final URL
    is the requested URL."""

    status: int
    headers: Headers
    body: bytes
    url: str | None = None
    credits: int = 1


class Refusal(NamedTuple):
    """A call that returned no page. `kind`: one of the constants from RETRY to NEEDS. `credits`: the credits
    that the provider charged for the call. `after`: the number of seconds to wait, or 0 if the provider
    requests no wait. `reason`: the failure reason that the outputs show if `kind` is TARGET."""

    kind: str
    detail: str
    credits: int = 0
    after: float = 0.0
    reason: str = "blocked"


class Provider(NamedTuple):
    """One provider. `request` returns the API call that fetches a page. `request` raises ValueError, with the
    reason, if the provider does not support the call. `answer` interprets the response. `cost` returns the
    maximum cost of a call, for users who set no cost. `timeout`: the seconds that a client should wait
    according to the provider's documentation."""

    name: str
    endpoint: str
    timeout: float
    request: Callable[[ApiCall, str, str], Call]
    """A function that builds the HTTP request to the API. The function takes the ApiCall, the endpoint and
    the key."""
    answer: Callable[[ApiAnswer, ApiCall], FetchedPage | Refusal]
    cost: Callable[[ApiCall], int]
    extra: tuple[str, ...] = ()
    """Additional parameters of the provider that users may give."""
    needed: tuple[str, ...] = ()
    """Parameters of the provider that users must give."""
    lacks: tuple[str, ...] = ()
    """Options that the provider does not support."""
    keyless: bool = False
    """Whether the provider works without a key."""
    sample: str = "http://example.com/"
    """An example of a URL that the provider accepts. To check the options, gossamer builds a call for this
    URL."""
    searches: bool = False
    """Whether the provider fetches only result pages of search engines. gossamer does not resolve the host in
    the URL of a request to such a provider, because no connection to this host is made."""


def endpoint_url(endpoint: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Returns the endpoint's URL with parameters. Parameters without a value are left out.

    >>> endpoint_url("https://api.example/", [("url", "http://e.com/?a=1&b"), ("country", "")])
    'https://api.example/?url=http%3A%2F%2Fe.com%2F%3Fa%3D1%26b'
    """
    query = "&".join(
        f"{quote(name, safe='[]')}={quote(value, safe='')}" for name, value in parameters if value != ""
    )
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"


def refuse_other_methods(methods: tuple[str, ...], needs: ApiCall, who: str) -> None:
    """Raises ValueError if the provider does not forward the request's method."""
    if needs.method not in methods:
        raise ValueError(f"{who} forwards {', '.join(methods)}, not {needs.method[:20]}")


def session_number(session: str | None) -> str:
    """Converts a session's name to the integer that some providers require. The same name always results in
    the same integer.

    >>> session_number("shop"), session_number(None)
    ('2647875', '')
    """
    return "" if session is None else str(zlib.crc32(session.encode()) % 9_999_999)


def json_of(body: bytes) -> dict[str, Any]:
    """Parses a body as a JSON object. Returns {} if the body is not a JSON object."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def to_json(value: Any) -> str:
    """Returns a value as JSON text."""
    return msgspec.json.encode(value).decode()


def provider_message(answer: ApiAnswer, *places: str) -> str:
    """Returns the provider's message in one line. If the response is JSON, the message consists of the values
    of the fields in `places`. If the response is plain text, the message is the beginning of the text."""
    found = json_of(answer.body)
    words = [value for place in places if isinstance(value := found.get(place), str) and value]
    if not words and not found and (answer.header("content-type") or "text/plain").startswith("text/plain"):
        words = [answer.body[:200].decode("utf-8", "replace")]
    return " ".join(" ".join([f"HTTP {answer.status}", *words]).split())[:200]


def retry_after(value: str | None) -> float:
    """Returns the seconds of a Retry-After header, or 0 if there is none."""
    return float(value[:6]) if value and value.strip().isdecimal() else 0.0


def whole_credits(value: Any, otherwise: int) -> int:
    """Converts the number of credits in a response to an integer. Returns `otherwise` if the value is not a
    whole number, for example if the value is a price.

    >>> whole_credits("25", 1), whole_credits(5.0, 1), whole_credits("0.0028", 1), whole_credits(None, 1)
    (25, 5, 1, 1)
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        return otherwise
    return int(found) if 0 <= found < 1e9 and found == int(found) else otherwise


def bytes_of(text: Any) -> bytes | None:
    """Decodes base64. Returns None if the text is not valid base64."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None


def flatten_headers(headers: Any) -> Headers:
    """Returns headers from a JSON response in any of the usual forms: an object (of texts or lists), or a
    list of {name, value}."""
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(headers, dict):
        pairs = headers.items()
    elif isinstance(headers, list):
        pairs = [(one.get("name"), one.get("value")) for one in headers if isinstance(one, dict)]
    out: Headers = []
    for name, values in pairs:
        for value in values if isinstance(values, list) else [values]:
            if isinstance(name, str) and isinstance(value, str | int | float):
                out.append((name.lower(), str(value).encode("utf-8", "replace").decode("latin-1")))
    return out[:100]


def as_text(headers: Headers) -> Headers:
    """Sets the charset in the headers of a page to UTF-8. The provider returned the page as text, and
    gossamer stores text as UTF-8."""
    kind = essence(next((value for name, value in headers if name == "content-type"), None))
    rest = [
        (name, value)
        for name, value in headers
        if name not in ("content-type", "content-encoding", "content-length")
    ]
    return [("content-type", f"{kind or 'text/html'}; charset=utf-8"), *rest]
