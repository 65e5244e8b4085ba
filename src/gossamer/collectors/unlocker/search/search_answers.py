"""Helpers that all search providers use to convert an answer to a page or to a refusal."""

from __future__ import annotations

from gossamer.collectors.unlocker.interface import (
    BUSY,
    CREDIT,
    KEY,
    RETRY,
    TARGET,
    ApiAnswer,
    FetchedPage,
    Refusal,
    json_of,
    provider_message,
    retry_after,
)

UNDOCUMENTED = "its response does not match its documentation"


def json_page(body: bytes, paid: int) -> FetchedPage:
    """Returns a page whose body is the JSON of a provider's answer. `paid`: the credits that the search
    cost."""
    return FetchedPage(200, [("content-type", "application/json")], body, None, paid)


def searched_page(found: ApiAnswer, paid: int) -> FetchedPage | Refusal:
    """Converts an answer with status 200 to a page, or to a refusal if the search has not succeeded. The
    field `search_metadata.status` of the answer contains the state of the search. Unfinished and failed
    searches are not billed."""
    metadata = json_of(found.body).get("search_metadata")
    state = metadata.get("status") if isinstance(metadata, dict) else None
    if state == "Success":
        return json_page(found.body, paid)
    return Refusal(RETRY, f"{provider_message(found, 'error')} (search status {state})"[:200])


def http_refusal(
    found: ApiAnswer, *fields: str, no_credit: tuple[bytes, ...] = (), no_credit_status: int = 429
) -> Refusal:
    """Converts an answer with an error status to a refusal. `fields`: the JSON fields that contain the
    provider's message.

    Status 402 means that no credit is left. Some providers report this error with the status
    `no_credit_status`, and with a body that contains one of the texts in `no_credit`. These texts are in
    lower case."""
    words = provider_message(found, *fields)
    lower = found.body[:2000].lower()
    if found.status == 402 or (found.status == no_credit_status and any(text in lower for text in no_credit)):
        return Refusal(CREDIT, words)
    if found.status in (401, 403):
        return Refusal(KEY, words)
    if found.status == 429:
        return Refusal(BUSY, words, after=retry_after(found.header("retry-after")))
    return Refusal(TARGET, words, reason="http-4xx") if found.status < 500 else Refusal(RETRY, words)
