"""DataForSEO (docs.dataforseo.com: serp/google/organic/live/advanced, appendix/errors). A call runs a live
task, which is described in JSON.

The key is `LOGIN:PASSWORD`. A task cannot begin at a later page. A task returns all results up to `depth`.
Each page of 10 results is billed: the first page in full, and each further page with 75 %. A page counts as
one credit, so a request for page 3 costs 3. The status of the API's response is 200. Each task has a
`status_code` of its own.
"""

from __future__ import annotations

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
    json_of,
    provider_message,
    retry_after,
    to_json,
)
from gossamer.collectors.unlocker.search.search_query import PAGE_RESULTS, SAMPLE, read_search
from gossamer.data import sections

JSON = [("content-type", "application/json")]
MAX_DEPTH = 200
"""The maximum number of results of a live task (since September 2025)."""
OK, NO_RESULTS = 20000, 40102
CODES = {40100: KEY, 40104: KEY, 40200: CREDIT, 40210: CREDIT, 40202: BUSY, 40209: BUSY, 40501: TARGET}
"""The meanings of DataForSEO's error codes. All other codes 4xxxx mean TARGET, and codes 5xxxx mean RETRY."""
COUNTRY_BASE = 2000
"""Google's number of a country is the country's ISO 3166-1 number plus this."""


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the call of a live task. DataForSEO decodes `%` and `+` in `keyword`, so these characters are
    encoded here."""
    search = read_search(needs)
    if search.page * PAGE_RESULTS > MAX_DEPTH:
        raise ValueError(f"dataforseo returns at most {MAX_DEPTH} results")
    task: dict[str, Any] = {
        "keyword": search.words.replace("%", "%25").replace("+", "%2B"),
        "device": "mobile" if search.mobile else "desktop",
        "depth": search.page * PAGE_RESULTS,
        "language_code": search.language or "en",
    }
    if search.location:
        task["location_name"] = search.location
    else:
        task["location_code"] = location_code(search.country or "us")
    if search.engine == "google":
        task["se_domain"] = search.domain
    url = endpoint.replace("{engine}", search.engine)
    basic = b64encode(key.encode()).decode()
    headers = {"Authorization": f"Basic {basic}", "Content-Type": "application/json"}
    return Call(url, "POST", headers, to_json([task | dict(needs.extra)]))


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns the JSON of a task, or a refusal."""
    words = provider_message(found, "status_message")
    if found.status == 401:
        return Refusal(KEY, words)
    if found.status == 402:
        return Refusal(CREDIT, words)
    if found.status == 429:
        return Refusal(BUSY, words, after=retry_after(found.header("retry-after")))
    if found.status != 200:
        return Refusal(TARGET, words, reason="http-4xx") if found.status < 500 else Refusal(RETRY, words)
    reply = json_of(found.body)
    tasks = reply.get("tasks")
    task = tasks[0] if isinstance(tasks, list) and tasks and isinstance(tasks[0], dict) else reply
    code = task.get("status_code")
    if not isinstance(code, int):
        return Refusal(RETRY, "its answer does not match its documentation", needs.cost)
    if code in (OK, NO_RESULTS):
        return FetchedPage(200, JSON, found.body, None, needs.cost)
    charged = needs.cost if task.get("cost") else 0
    kind = CODES.get(code, RETRY if code >= 50000 else TARGET)
    return Refusal(kind, f"{code} {task.get('status_message', '')}"[:200], charged, reason="http-4xx")


def cost(needs: ApiCall) -> int:
    """Returns the cost of a call: 1 credit for each page of 10 results, up to and including the wanted
    page."""
    return read_search(needs).page


def location_code(country: str) -> int:
    """Returns Google's number of a country. Raises ValueError for a country that is not in ISO 3166-1.

    >>> location_code("us"), location_code("uk")
    (2840, 2826)
    """
    numbers = dict(line.split() for line in sections("countries")["countries"])
    number = numbers.get("gb" if country == "uk" else country)
    if number is None:
        raise ValueError(f"the country {country[:8]!r} is unknown: write two letters (ISO 3166-1)")
    return COUNTRY_BASE + int(number)


PROVIDER = Provider(
    "dataforseo",
    "https://api.dataforseo.com/v3/serp/{engine}/organic/live/advanced",
    130.0,
    request,
    answer,
    cost,
    ("os", "max_crawl_pages"),
    (),
    ("render", "country", "wait_for", "session"),
    sample=SAMPLE,
    searches=True,
)
