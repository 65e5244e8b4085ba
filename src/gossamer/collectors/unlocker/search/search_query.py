"""Reads the URL of a result page: the search words, the country and place of the search, and the number of
the result page."""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from gossamer.collectors.unlocker.interface import ApiCall

SAMPLE = "https://www.google.com/search?q=x"
"""A URL that every provider of this package accepts."""
PAGE_RESULTS = 10
"""The number of organic results on a result page. Since September 2025, Google has ignored requests for a
different number of results."""
MAX_PAGE = 100
_HOST = re.compile(r"(?:www\.|cn\.)?(google|bing)((?:\.[a-z]{2,3}){1,2})")


class SearchQuery(NamedTuple):
    """A search. `country`, `language`, `location` and `uule` are '' if the URL does not contain them.

    `domain`: the engine's domain, such as `google.co.uk`. `uule`: Google's encoded location. `location`: the
    canonical name of the location, as in `Austin,Texas,United States`. `page`: the number of the result page,
    starting at 1.
    """

    engine: str
    domain: str
    words: str
    country: str
    language: str
    location: str
    uule: str
    mobile: bool
    page: int


def read_search(needs: ApiCall) -> SearchQuery:
    """Returns the search that a request for a result page describes. The header `Sec-CH-UA-Mobile: ?1`
    requests the results for phones. Raises ValueError if the URL is not the URL of a result page.

    >>> read_search(ApiCall("https://www.bing.com/search?q=a+b&cc=de&first=11"))[:4]
    ('bing', 'bing.com', 'a b', 'de')
    """
    parts = urlsplit(needs.url)
    host = _HOST.fullmatch(parts.hostname or "")
    given = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100))
    if host is None or parts.path != "/search" or not given.get("q"):
        raise ValueError("it fetches result pages alone: https://www.google.com/search?q=... or www.bing.com")
    engine = host[1]
    at = _number(given.get("start")) if engine == "google" else max(0, _number(given.get("first")) - 1)
    uule = given.get("uule", "") if engine == "google" else ""
    return SearchQuery(
        engine,
        engine + host[2],
        given["q"],
        (given.get("gl") or given.get("cc") or "").lower(),
        (given.get("hl") or given.get("setlang") or "").lower(),
        location_of(uule),
        uule,
        any(name.lower() == "sec-ch-ua-mobile" and value == "?1" for name, value in needs.headers.items()),
        min(at // PAGE_RESULTS + 1, MAX_PAGE),
    )


def location_of(uule: str) -> str:
    """Returns the canonical name that a `uule` of version 1 contains, or ''. Such a `uule` consists of
    `w+CAIQICI`, a length, and the name in base64.

    >>> location_of("w+CAIQICIGQmVybGlu")
    'Berlin'
    """
    text = uule.replace(" ", "+")
    if not text.startswith("w+CAIQICI") or len(text) < 11:
        return ""
    try:
        rest = text[10:]
        return base64.urlsafe_b64decode(rest + "=" * (-len(rest) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 6 else 0
