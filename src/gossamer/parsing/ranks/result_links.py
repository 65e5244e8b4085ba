"""Returns the targets of links on result pages, without the engine's redirects."""

from __future__ import annotations

import base64
import binascii
from typing import Final
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

MAX_URL_CHARS: Final = 8192
"""Maximum number of characters of a result's link. A link with more characters is ignored."""
_MAX_REDIRECTS: Final = 3
_PARAMETERS: Final = ("q", "url", "u", "adurl", "imgrefurl")


def target(href: str, base: str) -> str:
    """Returns the http(s) URL to which a link leads, or '' for any other link. If a redirect link of Google
    (`/url?q=`, `/aclk?adurl=`) or Bing (`/ck/a?u=a1...`, `/aclick?u=...`) contains its target, returns the
    target.

    >>> target("/url?q=https://example.com/a&sa=U", "https://www.google.com/search")
    'https://example.com/a'
    >>> target("https://www.bing.com/ck/a?!&&p=1&u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8&ntb=1", "")
    'https://example.com/'
    """
    url = href.strip()
    for _ in range(_MAX_REDIRECTS):
        if not url or len(url) > MAX_URL_CHARS or url[0] == "#":
            return ""
        try:
            url = url if url.startswith(("http://", "https://")) else urljoin(base, url)
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            return ""
        if parts.scheme not in ("http", "https") or not host:
            return ""
        inner = _inner(host, parts.path, parts.query)
        if not inner:
            return url
        url = inner
    return url


def is_own(url: str, base: str, paths: frozenset[str]) -> bool:
    """Whether a URL leads to one of the engine's own search pages, for example its next page or its maps.
    Other pages of the company, such as `www.google.com/account/about/`, are ordinary results. `base`: the
    engine's search URL. `paths`: the paths of the engine's own search pages."""
    host, path = host_and_path(url)
    return engine_of(host) == engine_of(host_and_path(base)[0]) and (path.rstrip("/") or "/") in paths


def result_target(href: str, base: str, paths: frozenset[str]) -> str:
    """Returns the URL that a link of a result leads to, or '' if the link leads to the engine's own pages. A
    relative link leads to the engine's own pages, unless the link is a redirect."""
    url = target(href, base)
    if not url or is_own(url, base, paths):
        return ""
    is_relative = href.lstrip()[:1] in ("/", "?") and not href.lstrip().startswith("//")
    return "" if is_relative and host_and_path(url)[0] == host_and_path(base)[0] else url


def engine_of(host: str) -> str:
    """Returns `google` or `bing` if a host name is the engine's search host in any country, otherwise ''.

    >>> engine_of("www.google.co.uk"), engine_of("bing.com"), engine_of("play.google.com")
    ('google', 'bing', '')
    """
    labels = host.lower().removeprefix("www.").removeprefix("cn.").split(".")
    if (
        labels[0] in ("google", "bing")
        and len(labels) in (2, 3)
        and all(len(part) <= 3 for part in labels[1:])
    ):
        return labels[0]
    return ""


def host_and_path(url: str) -> tuple[str, str]:
    """Returns the host name and the path of a URL, or ('', '') if the URL is malformed."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.path
    except ValueError:
        return "", ""


def _inner(host: str, path: str, query: str) -> str:
    """Returns the target inside a redirect link of an engine, or ''."""
    if "google" not in host and "bing" not in host:
        return ""
    if not path.endswith(("/url", "/aclk", "/imgres", "/ck/a", "/alink/link", "/aclick", "/interstitial")):
        return ""
    values = parse_qs(query, max_num_fields=100) if query.count("&") < 100 else {}
    for name in _PARAMETERS:
        value = values.get(name, [""])[0]
        if value.startswith(("http://", "https://")):
            return value
        if value.startswith("a1") and (found := _decoded(value[2:])):
            return found
        if value.startswith("aHR0") and (found := _decoded(value)):
            return found
    return ""


def _decoded(value: str) -> str:
    """Returns the URL in a base64url text, or ''. In links of ads, the URL is percent-encoded too."""
    try:
        text = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""
    text = unquote(text) if text[:9].lower().startswith(("http%3a", "https%3a")) else text
    return text if text.startswith(("http://", "https://")) else ""
