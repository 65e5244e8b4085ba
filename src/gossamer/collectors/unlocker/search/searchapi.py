"""SearchApi (searchapi.io/docs: google, bing): `GET /api/v1/search` with a bearer token. Successful searches are
billed."""

from __future__ import annotations

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
    endpoint_url,
    json_of,
    provider_message,
    retry_after,
)
from gossamer.collectors.unlocker.search.search_query import PAGE_RESULTS, SAMPLE, read_search

JSON = [("content-type", "application/json")]


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the call of a search."""
    search = read_search(needs)
    parameters = [("engine", search.engine), ("q", search.words)]
    parameters.append(("device", "mobile" if search.mobile else "desktop"))
    page = str(search.page) if search.page > 1 else ""
    if search.engine == "google":
        parameters += [
            ("google_domain", search.domain),
            ("gl", search.country),
            ("hl", search.language),
            ("location", search.location),
            ("uule", "" if search.location else search.uule),
            ("page", page),
        ]
    else:
        first = str((search.page - 1) * PAGE_RESULTS + 1) if search.page > 1 else ""
        parameters += [("country_code", search.country), ("language", search.language), ("first", first)]
    url = endpoint_url(endpoint, [*parameters, *needs.extra.items()])
    return Call(url, "GET", {"Authorization": f"Bearer {key}", "Accept": "application/json"})


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns the JSON of a search, or a refusal."""
    words = provider_message(found, "error", "message")
    if found.status == 200:
        reply = json_of(found.body)
        state = (reply.get("search_metadata") or {}).get("status") if reply else None
        if state == "Success":
            return FetchedPage(200, JSON, found.body, None, needs.cost)
        return Refusal(RETRY, f"{words} (search status {state})"[:200])
    if found.status in (401, 403):
        return Refusal(KEY, words)
    if found.status == 429:
        lower = found.body[:2000].lower()
        if b"used all" in lower or b"credit" in lower or b"run out" in lower:
            return Refusal(CREDIT, words)
        return Refusal(BUSY, words, after=retry_after(found.header("retry-after")))
    return Refusal(TARGET, words, reason="http-4xx") if found.status < 500 else Refusal(RETRY, words)


def cost(needs: ApiCall) -> int:
    """Returns 1 search per page."""
    return 1


PROVIDER = Provider(
    "searchapi",
    "https://www.searchapi.io/api/v1/search",
    90.0,
    request,
    answer,
    cost,
    ("safe", "nfpr", "filter"),
    (),
    ("render", "country", "wait_for", "session"),
    sample=SAMPLE,
    searches=True,
)
