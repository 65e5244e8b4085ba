"""SerpApi (serpapi.com: search-api, bing-search-api, api-status-and-error-codes). Searches with the status
`Success` are billed, even if they have no results. If the same search was made within the last hour, SerpApi
answers from its cache and does not bill the search."""

from __future__ import annotations

from gossamer.collectors.unlocker.interface import (
    ApiAnswer,
    ApiCall,
    Call,
    FetchedPage,
    Provider,
    Refusal,
    endpoint_url,
)
from gossamer.collectors.unlocker.search.search_answers import http_refusal, searched_page
from gossamer.collectors.unlocker.search.search_query import PAGE_RESULTS, SAMPLE, read_search


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call `GET /search.json?engine=google&q=...`. A call must not contain both `location`
    and `uule`."""
    search = read_search(needs)
    at = (search.page - 1) * PAGE_RESULTS
    parameters = [("engine", search.engine), ("q", search.words)]
    if search.engine == "google":
        parameters += [
            ("google_domain", search.domain),
            ("gl", search.country),
            ("hl", search.language),
            ("location", search.location),
            ("uule", "" if search.location else search.uule),
            ("start", str(at) if at else ""),
        ]
    else:
        parameters += [("cc", search.country), ("first", str(at + 1) if at else "")]
    parameters += [("device", "mobile" if search.mobile else "desktop"), *needs.extra.items()]
    return Call(endpoint_url(endpoint, [*parameters, ("api_key", key)]))


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns a page with the results of a search as JSON, or a refusal."""
    if found.status == 200:
        return searched_page(found, needs.cost)
    return http_refusal(found, "error", no_credit=(b"run out",))


def cost(needs: ApiCall) -> int:
    """Returns 1, because each page costs one search."""
    return 1


PROVIDER = Provider(
    "serpapi",
    "https://serpapi.com/search.json",
    90.0,
    request,
    answer,
    cost,
    ("no_cache", "safe", "filter", "nfpr"),
    (),
    ("render", "country", "wait_for", "session"),
    sample=SAMPLE,
    searches=True,
)
