"""Computes the headers that a browser sends with a request, with their values and their order. No side
effects.

The headers of a navigation differ from the headers of a request that a script makes. The headers of an https
request differ from the headers of an http request, because browsers send no client hints and no fetch
metadata to http sites. Sources: the captures named in `browsers`, and W3C Fetch Metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gossamer.identity.browsers import CHROMIUM, FIREFOX, Browser
from gossamer.model.request import split

PAGES = "text/html,application/xhtml+xml,application/xml;q=0.9,"
_TITLES = {"te": "TE"}
_CHROMIUM = (
    "connection",
    "cache-control",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "upgrade-insecure-requests",
    "content-type",
    "user-agent",
    "origin",
    "accept",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-user",
    "sec-fetch-dest",
    "referer",
    "accept-encoding",
    "accept-language",
    "*",
    "cookie",
    "priority",
)
_CHROMIUM_SCRIPT = (
    "connection",
    "sec-ch-ua-platform",
    "user-agent",
    "accept",
    "*",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "referer",
    "accept-encoding",
    "accept-language",
    "cookie",
    "priority",
)
_FIREFOX = (
    "user-agent",
    "accept",
    "accept-language",
    "accept-encoding",
    "referer",
    "*",
    "sec-gpc",
    "connection",
    "cookie",
    "upgrade-insecure-requests",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "priority",
    "te",
)
_SAFARI = (
    "sec-fetch-dest",
    "user-agent",
    "accept",
    "referer",
    "sec-fetch-site",
    "sec-fetch-mode",
    "upgrade-insecure-requests",
    "accept-language",
    "priority",
    "accept-encoding",
    "*",
    "cookie",
    "connection",
)
_SAFARI_17 = (
    "accept",
    "sec-fetch-site",
    "cookie",
    "upgrade-insecure-requests",
    "accept-encoding",
    "sec-fetch-mode",
    "user-agent",
    "referer",
    "accept-language",
    "sec-fetch-dest",
    "*",
    "connection",
)
_SAFARI_15 = (
    "cookie",
    "upgrade-insecure-requests",
    "user-agent",
    "accept",
    "referer",
    "accept-language",
    "accept-encoding",
    "*",
    "connection",
)
OWN = frozenset(
    name
    for order in (_CHROMIUM, _FIREFOX, _SAFARI)
    for name in order
    if name
    not in ("accept", "accept-language", "cache-control", "content-type", "cookie", "origin", "referer", "*")
)
"""Headers that a browser sends itself. Values that the user configures for these headers are left out,
because they would contradict the browser's identity."""


def browser_headers(
    browser: Browser,
    url: str,
    *,
    referrer: str | None = None,
    passed: Sequence[str] = (),
    given: Mapping[str, str] | None = None,
    cookies: str = "",
    domain: Callable[[str], str] = lambda host: host,
) -> dict[str, str]:
    """Returns names and values in the browser's order.

    `referrer`: the URL of the page with the link, or None if the user typed the URL. `passed`: the earlier
    URLs of the redirect chain that led to `url`. `domain`: maps a host to its registered domain. `given`: the
    user's own headers. If the user's headers contain an `Accept` without `text/html`, the function returns
    the headers of a request that a script makes. Headers that would contradict the browser (`OWN`) are left
    out.
    """
    extra = {name.lower(): (name, value) for name, value in (given or {}).items() if name.lower() not in OWN}
    accept = extra.pop("accept", ("", ""))[1]
    language = extra.pop("accept-language", ("", ""))[1]
    script = bool(accept) and "text/html" not in accept
    secure = url.startswith("https:")
    values = _values(browser, secure, script)
    if secure and "sec-fetch-site" in values:
        values["sec-fetch-site"] = (
            "same-origin" if script and not referrer else fetch_site(referrer, (*passed, url), domain)
        )
    if referrer and split(referrer)[:2] == split(url)[:2]:
        values["referer"] = referrer.partition("#")[0]
    if "referer" in extra:
        values["referer"] = extra.pop("referer")[1]
    jar = "; ".join(part for part in (extra.pop("cookie", ("", ""))[1], cookies) if part)
    if jar:
        values["cookie"] = jar
    values |= {"accept": accept or values["accept"], "accept-language": language or browser.language}
    places = header_order(browser, script)
    values |= _of_form(extra, places, never_cached=browser.engine == CHROMIUM and not script)
    out: dict[str, str] = {}
    for name in places:
        if name == "*":
            out |= dict(extra.values())
        elif name in values:
            out[title_case(name)] = values[name]
    return out


def _of_form(
    extra: dict[str, tuple[str, str]], places: Sequence[str], *, never_cached: bool
) -> dict[str, str]:
    """Returns the headers `cache-control`, `content-type` and `origin` of a form submission. The returned
    headers are removed from `extra`. Ignores headers that are not in the browser's order (`places`)."""
    if "origin" in extra and never_cached:
        extra.setdefault("cache-control", ("", "max-age=0"))
    return {
        name: extra.pop(name)[1]
        for name in ("cache-control", "content-type", "origin")
        if name in extra and name in places
    }


def header_order(browser: Browser, script: bool) -> tuple[str, ...]:
    """Returns the order of a browser's headers. `*` marks the place of all other headers."""
    if browser.engine == CHROMIUM:
        return _CHROMIUM_SCRIPT if script else _CHROMIUM
    if browser.engine == FIREFOX:
        return _FIREFOX
    return _SAFARI if browser.version >= 18 else _SAFARI_17 if browser.version == 17 else _SAFARI_15


def fetch_site(referrer: str | None, chain: Sequence[str], domain: Callable[[str], str]) -> str:
    """Returns the `sec-fetch-site` value of a request. `chain` contains the URLs of the redirects and, as the
    last element, the URL of the request. The value describes the most distant relation between the referrer
    and any URL of `chain`.

    >>> fetch_site("https://a.example/", ["https://a.example/x"], str), fetch_site(None, ["https://b.example/"], str)
    ('same-origin', 'none')
    """
    if not referrer:
        return "none"
    worst, (scheme, host, _) = "same-origin", split(referrer)
    for url in chain:
        there, other, _ = split(url)
        if (there, other) == (scheme, host):
            continue
        if there != scheme or domain(other) != domain(host):
            return "cross-site"
        worst = "same-site"
    return worst


def title_case(name: str) -> str:
    """Returns the name of a header with the capital letters that browsers use in HTTP/1.1. In HTTP/2, all
    header names are in lower case.

    >>> title_case("user-agent"), title_case("sec-ch-ua"), title_case("te")
    ('User-Agent', 'sec-ch-ua', 'TE')
    """
    return name if name.startswith("sec-ch-ua") else _TITLES.get(name) or name.title()


def _values(browser: Browser, secure: bool, script: bool) -> dict[str, str]:
    """Returns the headers that do not depend on the URL, with a placeholder for `sec-fetch-site`."""
    chromium, firefox = browser.engine == CHROMIUM, browser.engine == FIREFOX
    values = {
        "user-agent": browser.agent,
        "accept": "*/*" if script else PAGES + _pictures(browser),
        "connection": "keep-alive",
    }
    values["accept-encoding"] = browser.encodings if secure else "gzip, deflate"
    if not script and (chromium or firefox or not secure):
        values["upgrade-insecure-requests"] = "1"
    if browser.name.startswith("tor"):
        values["sec-gpc"] = "1"
    if secure:
        values |= dict(browser.hints)
        if browser.version >= 17 or chromium or firefox:
            values |= {
                "sec-fetch-site": "",
                "sec-fetch-mode": "cors" if script else "navigate",
                "sec-fetch-dest": "empty" if script else "document",
            }
        if not script and (chromium or firefox):
            values["sec-fetch-user"] = "?1"
        if firefox:
            values["te"] = "trailers"
    if (secure or firefox) and browser.version >= (124 if chromium else 128 if firefox else 18):
        values["priority"] = _priority(chromium, firefox) if script else "u=0, i"
    return values


def _pictures(browser: Browser) -> str:
    """Returns the end of the Accept header, which depends on the image formats that the browser supports."""
    if browser.engine != CHROMIUM:
        return "*/*;q=0.8"
    avif = "image/avif," if browser.family != "edge" or browser.version >= 121 else ""
    return f"{avif}image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.{7 if browser.version >= 110 else 9}"


def _priority(chromium: bool, firefox: bool) -> str:
    return "u=1, i" if chromium else "u=4" if firefox else "u=3, i"
