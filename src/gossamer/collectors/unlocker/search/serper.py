"""Serper (serper.dev): `POST /search` with JSON. Serper searches only Google. The answer contains the
`credits` that the search cost."""

from __future__ import annotations

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
    json_of,
    provider_message,
    retry_after,
    to_json,
    whole_credits,
)
from gossamer.collectors.unlocker.search.search_query import SAMPLE, read_search

JSON = [("content-type", "application/json")]


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the call of a search. Serper supports neither Bing nor the results for phones."""
    search = read_search(needs)
    if search.engine != "google":
        raise ValueError("serper searches Google alone")
    if search.mobile:
        raise ValueError("serper has no results of a phone: use device=desktop")
    wanted: dict[str, Any] = {"q": search.words, "page": search.page}
    given = {"gl": search.country, "hl": search.language, "location": search.location}
    wanted |= {name: value for name, value in given.items() if value} | dict(needs.extra)
    headers = {"X-API-KEY": key, "Content-Type": "application/json"}
    return Call(endpoint, "POST", headers, to_json(wanted))


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns the JSON of a search, or a refusal."""
    words = provider_message(found, "message", "error")
    if found.status == 200:
        if reply := json_of(found.body):
            return FetchedPage(200, JSON, found.body, None, whole_credits(reply.get("credits"), needs.cost))
        return Refusal(RETRY, "its answer does not match its documentation", needs.cost)
    if b"not enough credits" in found.body[:2000].lower() or found.status == 402:
        return Refusal(CREDIT, words)
    if found.status in (401, 403):
        return Refusal(KEY, words)
    if found.status == 429:
        return Refusal(BUSY, words, after=retry_after(found.header("retry-after")))
    return Refusal(TARGET, words, reason="http-4xx") if found.status < 500 else Refusal(RETRY, words)


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
