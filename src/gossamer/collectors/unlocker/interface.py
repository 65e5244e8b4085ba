"""The values that are passed to and from a provider, and helpers that several providers share."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

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
"""Reasons why there is no page: a retry may work; too many concurrent calls; the key or the plan is refused;
the account is empty; gossamer is banned for a while; the target failed permanently; the provider cannot do
what the request needs."""


class ApiCall(NamedTuple):
    """One page to fetch. `cost`: the most credits that the call may cost. `extra`: parameters of the
    provider."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: str | None = None
    render: bool = False
    country: str | None = None
    wait_for: str | None = None
    """A CSS selector that must match before the page is returned."""
    session: str | None = None
    """Session name. Requests of one session use the same address."""
    cost: int = 1
    extra: Mapping[str, str] = {}


class Call(NamedTuple):
    """A call of an API. Its URL and headers may contain the key."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: str | None = None


class ApiAnswer(NamedTuple):
    """The response of the API: its own status, headers (lower case), and body without content coding."""

    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """Returns the first value of a header (name in lower case), or None."""
        return next((value for key, value in self.headers if key == name), None)


class FetchedPage(NamedTuple):
    """The target's page, as if it had been fetched directly. `url`: the final URL, None for the requested
    one."""

    status: int
    headers: Headers
    body: bytes
    url: str | None = None
    credits: int = 1


class Refusal(NamedTuple):
    """A call that returned no page. `kind`: one of the words above. `credits`: what the call cost. `after`:
    seconds to wait, if the provider gave a time. `reason`: for TARGET, the error word of the outputs."""

    kind: str
    detail: str
    credits: int = 0
    after: float = 0.0
    reason: str = "blocked"


class Provider(NamedTuple):
    """One provider. `request` raises ValueError with what the provider cannot do. `cost` returns the most
    that a call costs if the user sets no cost. `timeout`: seconds that its documentation asks a client to
    wait."""

    name: str
    endpoint: str
    timeout: float
    request: Callable[[ApiCall, str, str], Call]
    """Called with the needs, the endpoint and the key."""
    answer: Callable[[ApiAnswer, ApiCall], FetchedPage | Refusal]
    cost: Callable[[ApiCall], int]
    extra: tuple[str, ...] = ()
    """Parameters of the provider that may be given."""
    needed: tuple[str, ...] = ()
    """Parameters that must be given."""
    lacks: tuple[str, ...] = ()
    """Options that the provider does not support."""
    keyless: bool = False
    """Whether it works without a key."""


def endpoint_url(endpoint: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Returns the endpoint with parameters. Those without a value are left out.

    >>> endpoint_url("https://api.example/", [("url", "http://e.com/?a=1&b"), ("country", "")])
    'https://api.example/?url=http%3A%2F%2Fe.com%2F%3Fa%3D1%26b'
    """
    query = "&".join(
        f"{quote(name, safe='[]')}={quote(value, safe='')}" for name, value in parameters if value != ""
    )
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"


def refuse_other_methods(methods: tuple[str, ...], needs: ApiCall, who: str) -> None:
    """Raises ValueError for a method that the provider does not forward."""
    if needs.method not in methods:
        raise ValueError(f"{who} forwards {', '.join(methods)}, not {needs.method[:20]}")


def session_number(session: str | None) -> str:
    """Returns a session's name as the integer that some providers require. The same name gives the same
    integer.

    >>> session_number("shop"), session_number(None)
    ('2647875', '')
    """
    return "" if session is None else str(zlib.crc32(session.encode()) % 9_999_999)


def json_of(body: bytes) -> dict[str, Any]:
    """Parses a JSON object. Returns {} if the body is not one."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def to_json(value: Any) -> str:
    """Returns a value as JSON text."""
    return msgspec.json.encode(value).decode()


def provider_message(answer: ApiAnswer, *places: str) -> str:
    """Returns the provider's message in one line: the fields at the places of a JSON response, otherwise the
    beginning of the text."""
    found = json_of(answer.body)
    words = [value for place in places if isinstance(value := found.get(place), str) and value]
    if not words and not found and (answer.header("content-type") or "text/plain").startswith("text/plain"):
        words = [answer.body[:200].decode("utf-8", "replace")]
    return " ".join(" ".join([f"HTTP {answer.status}", *words]).split())[:200]


def retry_after(value: str | None) -> float:
    """Returns the seconds of a Retry-After header, 0 if there is none."""
    return float(value[:6]) if value and value.strip().isdecimal() else 0.0


def whole_credits(value: Any, otherwise: int) -> int:
    """Returns the number of credits in a response, or `otherwise` if the value is not an integer, such as a
    price.

    >>> whole_credits("25", 1), whole_credits(5.0, 1), whole_credits("0.0028", 1), whole_credits(None, 1)
    (25, 5, 1, 1)
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        return otherwise
    return int(found) if 0 <= found < 1e9 and found == int(found) else otherwise


def bytes_of(text: Any) -> bytes | None:
    """Decodes base64. Returns None if it is invalid."""
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
    """Returns the headers for a page that arrived as text and is now in UTF-8, with the charset changed
    accordingly."""
    kind = (
        next((value for name, value in headers if name == "content-type"), "text/html")
        .partition(";")[0]
        .strip()
    )
    rest = [
        (name, value)
        for name, value in headers
        if name not in ("content-type", "content-encoding", "content-length")
    ]
    return [("content-type", f"{kind or 'text/html'}; charset=utf-8"), *rest]
