"""SearchApi (searchapi.io/docs: google, bing): `GET /api/v1/search` with a bearer token. Successful searches are
billed."""

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
    """Returns the API call that makes a search."""
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
    """Returns a page with the results of a search as JSON, or a refusal."""
    if found.status == 200:
        return searched_page(found, needs.cost)
    return http_refusal(found, "error", "message", no_credit=(b"used all", b"credit", b"run out"))


def cost(needs: ApiCall) -> int:
    """Returns 1, because each page costs one search."""
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
