"""Converts the JSON answers of search providers to the data types of `gossamer.parsing.ranks`. Accepts any
bytes as an answer. Reads no file except `provider_fields.json`.

`provider_fields.json` contains the field names from the providers' documentation. Only the JSON of DataForSEO
contains the position of a feature on the page. For other providers, the `position` of a feature is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.ranks.model import ASSUMED_END

MAX_RESULTS = 2000
CUMULATIVE = ("dataforseo",)
"""The providers whose answers contain all results from page 1 up to the requested page."""
_NOTHING = "the provider answered without results, and does not say that there are none"


class Places(msgspec.Struct, frozen=True):
    """The location of one type of results in a provider's JSON. `path`: the path of an object or a list, with
    dots between names. `title`, `url` and `text`: the names or paths of fields. The first field that has a
    value is used."""

    type: str
    path: str
    title: tuple[str, ...] = ("title",)
    url: tuple[str, ...] = ("link",)
    text: tuple[str, ...] = ("snippet",)


class ProviderFields(msgspec.Struct, frozen=True):
    """The contents of the data file `provider_fields.json`. `dataforseo_types`: maps a type of DataForSEO to
    the type of a `Result`."""

    serpapi: tuple[Places, ...]
    searchapi: tuple[Places, ...]
    serper: tuple[Places, ...]
    dataforseo_types: dict[str, str]


@cache
def provider_fields() -> ProviderFields:
    """Loads the data file `provider_fields.json` of this package."""
    path = Path(__file__).with_name("provider_fields.json")
    return msgspec.json.decode(path.read_bytes(), type=ProviderFields)


def read_answer(provider: str, body: bytes, engine: str, page: int = 1) -> ResultPage:
    """Parses a provider's answer. `page`: the number of the requested page. The verdict is `layout_unknown`
    if the answer does not have the documented format. An answer without organic results gets the verdict
    `no_results` or `soft_block`. The verdict is `no_results` if the provider reports that there are no
    results. The verdict is also `no_results` for an empty page after page 1, unless the provider is in
    `CUMULATIVE`."""
    try:
        reply = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        return ResultPage(engine, "layout_unknown", "the answer is not a JSON object", data_version=provider)
    read = READERS[provider](reply)
    if read is None:
        reason = "the answer does not have the documented form"
        return ResultPage(engine, "layout_unknown", reason, data_version=provider)
    found, is_empty, query = read
    results = tuple(found)[:MAX_RESULTS]
    if any(one.type == "organic" for one in results):
        return ResultPage(engine, "ok", "", results, 0, provider, query, page)
    if is_empty or (page > 1 and provider not in CUMULATIVE):
        reason = "the engine has no results" if is_empty else ASSUMED_END
        return ResultPage(engine, "no_results", reason, (), 0, provider, query, page)
    return ResultPage(engine, "soft_block", _NOTHING, (), 0, provider, query, page)


_Read = tuple[list[Result], bool, str | None]
"""The data of a provider's answer: the results, whether the provider reports that there are no results, and
the query."""


def _serpapi(reply: dict[str, Any]) -> _Read | None:
    if "search_metadata" not in reply and "organic_results" not in reply:
        return None
    told = _of(reply, "search_information.organic_results_state") or ""
    error = str(reply.get("error") or "")
    is_empty = "empty" in str(told).lower() or "any results" in error
    found = [*_organic(reply.get("organic_results"), "link"), *_features(reply, provider_fields().serpapi)]
    return found, is_empty, _of(reply, "search_parameters.q")


def _searchapi(reply: dict[str, Any]) -> _Read | None:
    if "search_metadata" not in reply and "organic_results" not in reply:
        return None
    is_empty = "any results" in str(reply.get("error") or "") or bool(
        _of(reply, "search_information.no_results") or _of(reply, "search_information.has_no_results_for")
    )
    found = [*_organic(reply.get("organic_results"), "link"), *_features(reply, provider_fields().searchapi)]
    return found, is_empty, _of(reply, "search_parameters.q")


def _serper(reply: dict[str, Any]) -> _Read | None:
    if "organic" not in reply and "searchParameters" not in reply:
        return None
    found = [*_organic(reply.get("organic"), "link"), *_features(reply, provider_fields().serper)]
    return found, False, _of(reply, "searchParameters.q")


def _zyte(reply: dict[str, Any]) -> _Read | None:
    serp = reply.get("serp")
    if not isinstance(serp, dict):
        return None
    found = list(_organic(serp.get("organicResults"), "url", "name", "description"))
    total = _of(serp, "metadata.totalOrganicResults")
    query = _of(serp, "metadata.searchedQuery")
    return found, total == 0 and "organicResults" in serp, query


def _dataforseo(reply: dict[str, Any]) -> _Read | None:
    task = _first(reply.get("tasks"))
    if not task:
        return None
    if task.get("status_code") == 40102:
        return [], True, _of(task, "data.keyword")
    result = _first(task.get("result"))
    if not result or not isinstance(result.get("items"), list | None):
        return None
    found: list[Result] = []
    for item in result.get("items") or []:
        if isinstance(item, dict):
            found += _dataforseo_item(item)
    return found, result.get("se_results_count") == 0, _str(result.get("keyword"))


def _dataforseo_item(item: dict[str, Any]) -> Iterator[Result]:
    kind = provider_fields().dataforseo_types.get(str(item.get("type")), "unknown")
    place, group = _int(item.get("rank_absolute")), _int(item.get("rank_group"))
    top = _of(item, "rectangle.y")
    pixel = float(top) if isinstance(top, int | float) else None
    own = Result(
        kind,
        group if kind == "organic" else None,
        place,
        _str(item.get("title")) or "",
        _http(item.get("url")),
        _str(item.get("description")) or "",
        pixel=pixel,
    )
    entries = item.get("references") or item.get("items") or []
    if own.url or (own.title and not entries):
        yield own
    for sub, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, str):
            yield Result(kind, None, place, entry, sub=sub, pixel=pixel)
        elif isinstance(entry, dict):
            url = _http(entry.get("url")) or _http(_of(_first(entry.get("expanded_element")) or {}, "url"))
            yield Result(kind, None, place, _str(entry.get("title")) or "", url, sub=sub, pixel=pixel)
    links = item.get("links")
    for sub, entry in enumerate(links if isinstance(links, list) and kind == "organic" else []):
        if isinstance(entry, dict):
            title = _str(entry.get("title")) or ""
            yield Result("sitelink", None, place, title, _http(entry.get("url")), sub=sub, pixel=pixel)


READERS: Mapping[str, Callable[[dict[str, Any]], _Read | None]] = {
    "serpapi": _serpapi,
    "searchapi": _searchapi,
    "serper": _serper,
    "zyte": _zyte,
    "dataforseo": _dataforseo,
}
"""The functions that read a provider's JSON, keyed by provider."""


def _organic(found: Any, link: str, title: str = "title", text: str = "snippet") -> Iterator[Result]:
    """Yields the organic results and their sitelinks. This function numbers the organic results of each page
    from 1. The ranks in the provider's answer are not used, because the ranks may continue from the previous
    page."""
    rank = 0
    for one in found if isinstance(found, list) else []:
        url = _http(one.get(link)) if isinstance(one, dict) else ""
        if not url:
            continue
        rank += 1
        yield Result("organic", rank, rank, _str(one.get(title)) or "", url, _str(one.get(text)) or "")
        more = one.get("sitelinks")
        lists = list(more.values()) if isinstance(more, dict) else [more]
        entries = [entry for each in lists if isinstance(each, list) for entry in each]
        for sub, entry in enumerate(entries):
            if isinstance(entry, dict):
                yield Result(
                    *("sitelink", None, rank, _str(entry.get("title")) or "", _http(entry.get("link"))),
                    sub=sub,
                )


def _features(reply: dict[str, Any], table: tuple[Places, ...]) -> Iterator[Result]:
    for places in table:
        found = _of(reply, places.path)
        is_list = not isinstance(found, dict) or any(
            isinstance(found.get(name), list) for name in ("places", "jobs")
        )
        entries = found if is_list else [] if found.keys() == {"error"} else [found]
        for sub, one in enumerate(entries if isinstance(entries, list) else []):
            if isinstance(one, dict):
                title, url, text = (
                    next((value for name in names if (value := _of(one, name))), "")
                    for names in (places.title, places.url, places.text)
                )
                words = _str(title) or "", _http(url), _str(text) or ""
                yield Result(places.type, None, 0, *words, sub if is_list else None)


def _of(found: Any, path: str) -> Any:
    """Returns the value at a path such as `a.b`, or None if the path does not exist."""
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _first(found: Any) -> dict[str, Any]:
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}


def _str(value: Any) -> str | None:
    return " ".join(value.split())[:2000] if isinstance(value, str) else None


def _http(value: Any) -> str:
    return value[:8192] if isinstance(value, str) and value.startswith(("http://", "https://")) else ""


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0
