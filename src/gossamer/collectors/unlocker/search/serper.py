"""Serper (serper.dev): `POST /search` with JSON. Serper searches only Google. The field `credits` of the
answer contains the cost of the search."""

from __future__ import annotations

from typing import Any

from gossamer.collectors.unlocker.interface import (
    RETRY,
    ApiAnswer,
    ApiCall,
    Call,
    FetchedPage,
    Provider,
    Refusal,
    json_of,
    to_json,
    whole_credits,
)
from gossamer.collectors.unlocker.search.search_answers import UNDOCUMENTED, http_refusal, json_page
from gossamer.collectors.unlocker.search.search_query import SAMPLE, read_search


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call that makes a search. Serper supports neither Bing nor the results for phones."""
    search = read_search(needs)
    if search.engine != "google":
        raise ValueError("serper searches Google alone")
    if search.mobile:
        raise ValueError("serper has no mobile results: use device=desktop")
    wanted: dict[str, Any] = {"q": search.words, "page": search.page}
    given = {"gl": search.country, "hl": search.language, "location": search.location}
    wanted |= {name: value for name, value in given.items() if value} | dict(needs.extra)
    headers = {"X-API-KEY": key, "Content-Type": "application/json"}
    return Call(endpoint, "POST", headers, to_json(wanted))


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns a page with the results of a search as JSON, or a refusal."""
    if found.status != 200:
        return http_refusal(
            found, "message", "error", no_credit=(b"not enough credits",), no_credit_status=400
        )
    if reply := json_of(found.body):
        return json_page(found.body, whole_credits(reply.get("credits"), needs.cost))
    return Refusal(RETRY, UNDOCUMENTED, needs.cost)


def cost(needs: ApiCall) -> int:
    """Returns 1 credit per page of 10 results."""
    return 1


PROVIDER = Provider(
    "serper",
    "https://google.serper.dev/search",
    60.0,
    request,
    answer,
    cost,
    ("autocorrect", "tbs"),
    (),
    ("render", "country", "wait_for", "session"),
    sample=SAMPLE,
    searches=True,
)
