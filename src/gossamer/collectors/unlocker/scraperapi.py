"""ScraperAPI (docs.scraperapi.com: making-requests, responses-and-formats). Only responses 200 and 404 are
billed. ScraperAPI itself retries for up to 70 s."""

from __future__ import annotations

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
    endpoint_url,
    provider_message,
    refuse_other_methods,
    retry_after,
    session_number,
    whole_credits,
)

_EXTRA = (
    "premium",
    "ultra_premium",
    "device_type",
    "autoparse",
    "output_format",
    "binary_target",
    "retry_404",
)
_HERS = ("sa-final-url", "sa-statuscode", "sa-credit-cost")


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call `GET|POST /?api_key=K&url=...`."""
    refuse_other_methods(("GET", "POST"), needs, "scraperapi")
    if needs.wait_for and not needs.render:
        raise ValueError("wait_for needs render=true")
    if _on(needs, "premium") and _on(needs, "ultra_premium"):
        raise ValueError("premium and ultra_premium exclude each other")
    if needs.headers and _on(needs, "ultra_premium"):
        raise ValueError("ultra_premium forwards no headers")
    parameters = [
        ("api_key", key),
        ("url", needs.url),
        ("render", "true" if needs.render else ""),
        ("wait_for_selector", needs.wait_for or ""),
        ("country_code", needs.country or ""),
        ("session_number", session_number(needs.session)),
        ("keep_headers", "true" if needs.headers else ""),
        ("max_cost", str(needs.cost)),
        *needs.extra.items(),
    ]
    return Call(endpoint_url(endpoint, parameters), needs.method, needs.headers, needs.body)


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns the page, which is the body of the response. The target's status is in `sa-statuscode`."""
    status = found.status
    if status < 400 or status == 404:
        own = found.header("sa-statuscode") or ""
        real = int(own) if own.isdecimal() and 100 <= int(own) <= 599 else status
        headers = [row for row in found.headers if row[0] not in _HERS]
        charged = whole_credits(found.header("sa-credit-cost"), needs.cost)
        return FetchedPage(real, headers, found.body, found.header("sa-final-url"), charged)
    words = provider_message(found, "error", "message")
    if status == 429:
        return Refusal(BUSY, words, after=retry_after(found.header("retry-after")))
    if status == 401:
        return Refusal(KEY, words)
    if status == 403:
        lower = found.body[:2000].lower()
        if b"max_cost" in lower or b"max cost" in lower:
            return Refusal(NEEDS, f"{words}: raise the limit with cost=N")
        return Refusal(CREDIT, words) if b"credit" in lower else Refusal(RETRY, words)
    return Refusal(TARGET, words, reason="http-4xx") if status < 500 else Refusal(RETRY, words)


def cost(needs: ApiCall) -> int:
    """Returns the number of credits that a call costs. A plain call costs 1. A rendered call costs 10. A
    premium call costs 10. A rendered premium call costs 25. An ultra premium call costs 30. A rendered ultra
    premium call costs 75."""
    if _on(needs, "ultra_premium"):
        return 75 if needs.render else 30
    if _on(needs, "premium"):
        return 25 if needs.render else 10
    return 10 if needs.render else 1


def _on(needs: ApiCall, name: str) -> bool:
    return needs.extra.get(name) == "true"


PROVIDER = Provider("scraperapi", "https://api.scraperapi.com/", 80.0, request, answer, cost, _EXTRA)
