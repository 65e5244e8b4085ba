"""Scrapfly (its SDK's `scrape_config.py` and `api_response.py`, and scrapfly.io's documentation). The page is
in JSON, as text or base64. `ERR::SCRAPE::BAD_UPSTREAM_RESPONSE` means that the status is the target's own, so
the response is a page. Scrapfly responds within 155 s. The parameter `cost_budget` limits the cost of a
call."""

from __future__ import annotations

from typing import Any

from gossamer.collectors.unlocker.interface import (
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
    endpoint_url,
    flatten_headers,
    json_of,
    provider_message,
    refuse_other_methods,
    retry_after,
    whole_credits,
)

_EXTRA = (
    "asp",
    "proxy_pool",
    "rendering_wait",
    "rendering_stage",
    "js",
    "js_scenario",
    "cache",
    "cache_ttl",
    "cache_clear",
    "retry",
    "format",
    "auto_scroll",
    "tags",
    "correlation_id",
    "lang",
    "os",
    "geolocation",
    "session_sticky_proxy",
)
UPSTREAM = "ERR::SCRAPE::BAD_UPSTREAM_RESPONSE"
STATUSES = {401: KEY, 402: CREDIT, 403: KEY, 429: BUSY}
FAMILIES = (
    ("BUDGET", NEEDS),
    ("COST", NEEDS),
    ("ERR::THROTTLE::", BUSY),
    ("ERR::SESSION::CONCURRENT", BUSY),
    ("ERR::SCRAPE::DNS", TARGET),
)
"""Maps parts of Scrapfly's error codes to kinds of refusal. If an error code contains one of these parts, the
kind is taken from this table, and otherwise from the status of the response."""


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call `GET|POST|PUT|PATCH /scrape?key=K&url=...`. Scrapfly passes the method and the
    body to the target."""
    refuse_other_methods(("GET", "POST", "PUT", "PATCH"), needs, "scrapfly")
    if needs.wait_for and not needs.render:
        raise ValueError("wait_for needs render=true")
    parameters = [
        ("key", key),
        ("url", needs.url),
        *((f"headers[{name.lower()}]", value) for name, value in needs.headers.items()),
        ("country", needs.country or ""),
        ("render_js", "true" if needs.render else ""),
        ("wait_for_selector", needs.wait_for or ""),
        ("session", needs.session or ""),
        ("cost_budget", str(needs.cost)),
        *needs.extra.items(),
    ]
    return Call(endpoint_url(endpoint, parameters), needs.method, {}, needs.body)


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Builds the page from `result.content`, `result.status_code`, `result.response_headers` and
    `result.url`. Reads the cost from `context.cost`."""
    reply = json_of(found.body)
    result: dict[str, Any] = reply["result"] if isinstance(reply.get("result"), dict) else {}
    code = found.header("x-scrapfly-reject-code") or _code(result) or _code(reply)
    charged = _charged(found, reply)
    if (found.status < 300 and not code) or (code == UPSTREAM and isinstance(result.get("status_code"), int)):
        page = _page(result, needs.cost if charged is None else charged)
        return page or Refusal(RETRY, "its response does not match its documentation", needs.cost)
    kind = next((meaning for part, meaning in FAMILIES if part in code), None) or STATUSES.get(found.status)
    if kind is None:
        again = (found.header("x-scrapfly-reject-retryable") or "").lower()
        kind = RETRY if again == "yes" or (not again and found.status >= 500) else TARGET
    words = found.header("x-scrapfly-reject-description") or provider_message(found, "message")
    reason = "dns" if "DNS" in code else "blocked"
    after = retry_after(found.header("retry-after"))
    return Refusal(kind, " ".join(f"{code} {words}".split())[:200], charged or 0, after, reason)


def cost(needs: ApiCall) -> int:
    """Returns the maximum number of credits that a call costs. A plain call costs 1, and a call from a
    residential address costs 25. Rendering costs 5 more. If protections are bypassed (`asp`), Scrapfly may
    use the most expensive option."""
    if needs.extra.get("asp") == "true":
        return 30
    return (25 if "residential" in needs.extra.get("proxy_pool", "") else 1) + (5 if needs.render else 0)


def _page(result: dict[str, Any], charged: int) -> FetchedPage | None:
    content, status, url = result.get("content"), result.get("status_code"), result.get("url")
    headers = flatten_headers(result.get("response_headers"))
    if result.get("format") == "BINARY":
        body = bytes_of(content)
    else:
        body = content.encode("utf-8", "replace") if isinstance(content, str) else None
        headers = as_text(headers)
    if body is None or not isinstance(status, int):
        return None
    return FetchedPage(status, headers, body, url if isinstance(url, str) else None, charged)


def _code(found: dict[str, Any]) -> str:
    error = found.get("error")
    code = error.get("code") if isinstance(error, dict) else found.get("code")
    return code if isinstance(code, str) and code.startswith("ERR::") else ""


def _charged(found: ApiAnswer, reply: dict[str, Any]) -> int | None:
    """Returns the reported cost, or None if none is reported."""
    context = reply.get("context")
    told = context.get("cost") if isinstance(context, dict) else None
    told = told.get("total") if isinstance(told, dict) else told
    cost = whole_credits(found.header("x-scrapfly-api-cost"), whole_credits(told, -1))
    return None if cost < 0 else cost


PROVIDER = Provider("scrapfly", "https://api.scrapfly.io/scrape", 160.0, request, answer, cost, _EXTRA)
