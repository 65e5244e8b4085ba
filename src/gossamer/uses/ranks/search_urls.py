"""Builds and parses the URLs of result pages. The URL of a result page contains the keyword, country,
language, location and page number."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote_plus, urlsplit

from gossamer.uses.ranks.model import PAGE_RESULTS, Search

HOSTS = {"google": "https://www.google.com", "bing": "https://www.bing.com"}
REFERERS = {"google": "https://www.google.com/", "bing": "https://www.bing.com/"}
_LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def search_url(search: Search, page: int = 1, hosts: Mapping[str, str] = HOSTS) -> str:
    """Returns the URL of a result page. `hosts`: the base URL of each engine.

    >>> search_url(Search(keyword='"a b" site:c.de', country="de", language="de"), 2)
    'https://www.google.com/search?q=%22a+b%22+site%3Ac.de&gl=de&hl=de&start=10'
    """
    at = (page - 1) * PAGE_RESULTS
    given = [("q", search.keyword)]
    if search.engine == "google":
        given += [("gl", search.country), ("hl", search.language), ("uule", uule(search.location))]
        given.append(("start", str(at) if at else ""))
    else:
        given += [("cc", search.country), ("setlang", search.language), ("first", str(at + 1) if at else "")]
    query = "&".join(f"{name}={quote_plus(value)}" for name, value in given if value)
    return f"{hosts[search.engine]}/search?{query}"


def read_search_url(url: str) -> tuple[Search, int] | None:
    """Returns the search and the page number from the URL of a result page, or None for any other URL."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        given = dict(parse_qsl(parts.query, max_num_fields=100))
    except ValueError:
        return None
    engine = next((name for name in HOSTS if name in host.split(".")[:-1]), "")
    words = " ".join(given.get("q", "").split())
    if not engine or parts.path != "/search" or not words:
        return None
    number = given.get("start" if engine == "google" else "first", "0")
    at = int(number) if number.isdecimal() and len(number) < 5 else 0
    search = Search(
        keyword=words,
        engine=engine,
        country=(given.get("gl") or given.get("cc") or "").lower(),
        language=(given.get("hl") or given.get("setlang") or "").lower(),
    )
    return search, (at if engine == "google" else max(0, at - 1)) // PAGE_RESULTS + 1


def uule(location: str) -> str:
    """Encodes the canonical name of a location for Google's URL parameter `uule`. Returns '' if the name is
    empty or too long.

    >>> uule("Berlin")
    'w+CAIQICIGQmVybGlu'
    """
    raw = location.encode()
    if not raw or len(raw) >= len(_LENGTHS):
        return ""
    return f"w+CAIQICI{_LENGTHS[len(raw)]}{base64.urlsafe_b64encode(raw).decode().rstrip('=')}"
