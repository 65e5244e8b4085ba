"""Zyte API (docs.zyte.com: usage, reference, errors, and the retry policy of its official client).

The body of the response contains the target's status. If the target's status is 404, the API's own status is
still 200. Zyte truncates bodies at 10 MB without reporting it. Only responses with status 200 are billed. A
call counts as one credit unless `cost` has another value. With `serp=true`, the page contains the results of
a search as JSON.
"""

from __future__ import annotations

import uuid
from base64 import b64encode
from typing import Any

from gossamer.collectors.unlocker.interface import (
    BUSY,
    CREDIT,
    KEY,
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
)

CUT_LENGTHS = (10_000_000, 10 << 20)
"""The lengths to which Zyte truncates bodies."""
THROTTLED_PAUSE_S = 30.0
"""Seconds to wait when Zyte throttles. The official client first waits 20 to 40 s."""
STATUSES = {
    400: (TARGET, "http-4xx"),
    422: (TARGET, "http-4xx"),
    451: (TARGET, "blocked"),
    401: (KEY, ""),
    403: (KEY, ""),
    402: (CREDIT, ""),
    429: (BUSY, ""),
    503: (BUSY, ""),
    520: (RETRY, ""),
    521: (TARGET, "blocked"),
}


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call `POST /v1/extract`, with a JSON body. The call requests the unchanged body or, if
    the page is to be rendered, the browser's HTML."""
    wanted: dict[str, Any] = {"url": needs.url} | dict(needs.extra)
    if wanted.pop("serp", "") == "true":
        if needs.headers or needs.render or needs.body is not None:
            raise ValueError("zyte's serp=true sends no headers or body, and renders nothing")
        wanted["serp"] = True
    elif needs.render:
        wanted["browserHtml"] = True
        if needs.method != "GET" or needs.body is not None:
            raise ValueError("zyte renders only GET requests without a body")
        if others := [name for name in needs.headers if name.lower() != "referer"]:
            raise ValueError(f"zyte's browser sends no {others[0][:40]} of ours")
        if needs.headers:
            wanted["requestHeaders"] = {"referer": next(iter(needs.headers.values()))}
        if needs.wait_for:
            selector = {"type": "css", "value": needs.wait_for}
            wanted["actions"] = [{"action": "waitForSelector", "selector": selector}]
    else:
        if needs.wait_for:
            raise ValueError("wait_for needs render=true")
        wanted |= {"httpResponseBody": True, "httpResponseHeaders": True}
        if needs.method != "GET":
            wanted["httpRequestMethod"] = needs.method
        if needs.body is not None:
            wanted["httpRequestText"] = needs.body
        if needs.headers:
            wanted["customHttpRequestHeaders"] = [{"name": k, "value": v} for k, v in needs.headers.items()]
    if needs.country:
        wanted["geolocation"] = needs.country.upper()
    if needs.session:
        wanted["session"] = {"id": str(uuid.uuid5(uuid.NAMESPACE_URL, needs.session))}
    basic = b64encode(f"{key}:".encode()).decode()
    return Call(
        endpoint,
        "POST",
        {"Authorization": f"Basic {basic}", "Content-Type": "application/json"},
        to_json(wanted),
    )


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Builds the page from the fields `statusCode` and `url` and from the body. The body is in base64, or is
    the browser's HTML."""
    if found.status != 200:
        kind, reason = STATUSES.get(found.status, (RETRY, "") if found.status >= 500 else (TARGET, "blocked"))
        after = retry_after(found.header("retry-after")) or (THROTTLED_PAUSE_S if kind == BUSY else 0.0)
        return Refusal(kind, provider_message(found, "type", "title", "detail"), after=after, reason=reason)
    reply = json_of(found.body)
    if needs.extra.get("serp") == "true":
        if not isinstance(reply.get("serp"), dict):
            return Refusal(RETRY, "its response does not match its documentation", needs.cost)
        return FetchedPage(200, [("content-type", "application/json")], found.body, None, needs.cost)
    status, url, html = reply.get("statusCode"), reply.get("url"), reply.get("browserHtml")
    body = (
        html.encode("utf-8", "replace") if isinstance(html, str) else bytes_of(reply.get("httpResponseBody"))
    )
    if not isinstance(status, int) or body is None:
        return Refusal(RETRY, "its response does not match its documentation", needs.cost)
    if html is None and len(body) in CUT_LENGTHS:
        return Refusal(TARGET, "the body is 10 MB or more: it was cut", needs.cost, reason="too-large")
    headers = flatten_headers(reply.get("httpResponseHeaders"))
    return FetchedPage(
        status,
        as_text(headers) if html is not None else headers,
        body,
        url if isinstance(url, str) else None,
        needs.cost,
    )


def cost(needs: ApiCall) -> int:
    """Returns 1 credit per call."""
    return 1


PROVIDER = Provider(
    "zyte", "https://api.zyte.com/v1/extract", 200.0, request, answer, cost, ("ipType", "device", "serp")
)
