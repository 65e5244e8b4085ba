"""ZenRows (its SDK's `client.py`, and the OpenAPI description of api-evangelist/zenrows). An error of ZenRows
is JSON with a `code`. All other responses are the target's. A cancelled call still counts as a concurrent
call until the server finishes the call."""

from __future__ import annotations

import re

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
    endpoint_url,
    json_of,
    provider_message,
    refuse_other_methods,
    retry_after,
    session_number,
    whole_credits,
)

_EXTRA = (
    "mode",
    "premium_proxy",
    "wait",
    "block_resources",
    "js_instructions",
    "css_extractor",
    "autoparse",
    "response_type",
    "device",
    "window_width",
    "window_height",
)
_CODE = re.compile(r"[A-Z]{3,5}\d{3,4}")
_HERS = ("concurrency-limit", "concurrency-remaining", "x-request-cost", "x-request-id", "zr-final-url")
CODES = {
    "REQS001": (TARGET, "blocked"),
    "REQS002": (NEEDS, ""),
    "REQS004": (TARGET, "http-4xx"),
    "RESP004": (TARGET, "blocked"),
    "RESP008": (TARGET, "blocked"),
    "RESP007": (TARGET, "dns"),
    "RESP005": (TARGET, "too-large"),
    "RESP006": (TARGET, "blocked"),
    "RESP001": (RETRY, ""),
    "RESP003": (RETRY, ""),
    "CTX0002": (RETRY, ""),
    "AUTH001": (KEY, ""),
    "AUTH002": (KEY, ""),
    "AUTH003": (KEY, ""),
    "AUTH009": (KEY, ""),
    "AUTH010": (KEY, ""),
    "AUTH004": (CREDIT, ""),
    "AUTH005": (CREDIT, ""),
    "AUTH011": (CREDIT, ""),
    "AUTH012": (CREDIT, ""),
    "AUTH006": (BUSY, ""),
    "AUTH008": (BUSY, ""),
    "BLK0001": (BANNED, ""),
}
"""Maps each of ZenRows's error codes to a kind of refusal, and to a reason if the target failed. The code
RESP002 is not in this table, because it means that the target answered 404, which counts as a page."""
STATUSES = {
    401: KEY,
    402: CREDIT,
    403: KEY,
    422: RETRY,
    429: BUSY,
    500: RETRY,
    502: RETRY,
    503: RETRY,
    504: RETRY,
}
"""The meanings of statuses, for errors with an unknown code."""


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call `GET|POST|PUT /v1/?apikey=K&url=...`. If the target responds with the status 404
    or 410, ZenRows returns the page."""
    refuse_other_methods(("GET", "POST", "PUT"), needs, "zenrows")
    if needs.wait_for and not needs.render:
        raise ValueError("wait_for needs render=true")
    proxied = (
        {"premium_proxy": "true"} if needs.country else {}
    )  # countries are only available with premium proxies
    parameters = [
        ("apikey", key),
        ("url", needs.url),
        ("js_render", "true" if needs.render else ""),
        ("wait_for", needs.wait_for or ""),
        ("proxy_country", needs.country or ""),
        ("session_id", session_number(needs.session)),
        ("custom_headers", "true" if needs.headers else ""),
        ("original_status", "true"),
        ("allowed_status_codes", "404,410"),
        *(dict(needs.extra) | proxied).items(),
    ]
    return Call(endpoint_url(endpoint, parameters), needs.method, needs.headers, needs.body)


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns the page, or a refusal. Unless the response contains an error code, its body and status are
    those of the target."""
    charged = whole_credits(found.header("x-request-cost"), needs.cost)
    code = _code(found)
    if code is None:
        headers = [row for row in found.headers if row[0] not in _HERS]
        return FetchedPage(found.status, headers, found.body, found.header("zr-final-url"), charged)
    if code == "RESP002":
        return FetchedPage(404, [], b"", found.header("zr-final-url"), charged)
    kind, reason = CODES.get(code) or (STATUSES.get(found.status, TARGET), "blocked")
    told = whole_credits(found.header("x-request-cost"), 0)
    return Refusal(
        kind,
        f"{code} {provider_message(found, 'title', 'detail')}"[:200],
        told,
        retry_after(found.header("retry-after")),
        reason,
    )


def cost(needs: ApiCall) -> int:
    """Returns the maximum number of credits that a call costs. A plain call costs 1. A rendered call costs 5,
    and a call with a premium proxy costs 10. A rendered call with a premium proxy costs 25. With `mode=auto`
    ZenRows chooses, so the maximum is 25."""
    premium = needs.extra.get("premium_proxy") == "true" or needs.country is not None
    if needs.extra.get("mode") == "auto":
        return 25
    return (25 if premium else 5) if needs.render else (10 if premium else 1)


def _code(found: ApiAnswer) -> str | None:
    """Returns the error code if the response is an error of ZenRows itself, otherwise None."""
    if found.status < 400 or "json" not in (found.header("content-type") or "").lower():
        return None
    code = json_of(found.body).get("code")
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None


PROVIDER = Provider("zenrows", "https://api.zenrows.com/v1/", 180.0, request, answer, cost, _EXTRA)
