"""DataForSEO (docs.dataforseo.com: serp/google/organic/live/advanced, appendix/errors). A call runs a live
task, which is described in JSON.

The key is `LOGIN:PASSWORD`. A task always begins at the first result page, and returns all results up to
`depth`. DataForSEO bills each page of 10 results. The first page costs the full price, and each further page
costs 75% of that price. gossamer counts each page as one credit, so a request for page 3 costs 3. The API's
response has the status 200, and each task in the response has its own `status_code`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
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
    to_json,
)
from gossamer.collectors.unlocker.search.search_answers import UNDOCUMENTED, http_refusal, json_page
from gossamer.collectors.unlocker.search.search_query import PAGE_RESULTS, SAMPLE, read_search
from gossamer.data import sections

MAX_DEPTH = 200
"""Maximum number of results that one live task returns (since September 2025)."""
OK, NO_RESULTS = 20000, 40102
CODES = {
    **dict.fromkeys((40100, 40104, 40201, 40204, 40207), KEY),
    **dict.fromkeys((40200, 40203, 40210), CREDIT),
    **dict.fromkeys((40202, 40209), BUSY),
    **dict.fromkeys((40101, 40103, 40601, 40602), RETRY),
}
"""The meanings of DataForSEO's error codes.

- KEY: the account is not verified, is paused or has no access, or the client's IP address is not allowed.
- CREDIT: the account has no money left, or the user's own daily limit is reached.
- BUSY: the client sends too many requests per minute, or too many requests at the same time.
- RETRY: the search engine failed, or the task is not finished.

All other codes mean TARGET if they are below 50000, and RETRY otherwise."""
COUNTRY_BASE = 2000
"""Google's numeric ID of a country is COUNTRY_BASE plus the country's numeric ISO 3166-1 code."""


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call that runs a live task. DataForSEO decodes `%` and `+` in `keyword`, so these
    characters are encoded here."""
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
    return Call(url, "POST", headers, to_json([task | _values(needs.extra)]))


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns a page with the results of a task as JSON, or a refusal."""
    if found.status != 200:
        return http_refusal(found, "status_message")
    reply = json_of(found.body)
    tasks = reply.get("tasks")
    task = tasks[0] if isinstance(tasks, list) and tasks and isinstance(tasks[0], dict) else reply
    code = task.get("status_code")
    if not isinstance(code, int):
        return Refusal(RETRY, UNDOCUMENTED, needs.cost)
    if code in (OK, NO_RESULTS):
        return json_page(found.body, needs.cost)
    charged = needs.cost if task.get("cost") else 0
    kind = CODES.get(code, RETRY if code >= 50000 else TARGET)
    return Refusal(kind, f"{code} {task.get('status_message', '')}"[:200], charged, reason="http-4xx")


def cost(needs: ApiCall) -> int:
    """Returns the cost of a call: 1 credit for each page of 10 results, up to and including the wanted
    page."""
    return read_search(needs).page


def _values(extra: Mapping[str, str]) -> dict[str, str | int | bool]:
    """Returns options with the types that they have in JSON."""
    return {
        name: text == "true" if text in ("true", "false") else int(text) if text.isdecimal() else text
        for name, text in extra.items()
    }


def location_code(country: str) -> int:
    """Returns Google's numeric ID of a country. Raises ValueError for a country that is not in ISO 3166-1.

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
    ("os", "max_crawl_pages", "calculate_rectangles"),
    (),
    ("render", "country", "wait_for", "session"),
    sample=SAMPLE,
    searches=True,
)
