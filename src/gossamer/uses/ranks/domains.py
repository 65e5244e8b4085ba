"""Normalizes domain names that users enter, and matches the URLs of search results to domains."""

from __future__ import annotations

from urllib.parse import urlsplit

import gossamer


def plain_domain(text: str) -> str | None:
    """Returns the canonical form of a domain, in lower case and punycode, without scheme, `www.` and port. A
    path after the domain restricts the domain to pages below the path. A leading `=` excludes subdomains.
    Returns None if the text is not a valid domain.

    >>> plain_domain("https://www.Example.com/"), plain_domain("=münchen.de"), plain_domain("a.com/blog/")
    ('example.com', '=xn--mnchen-3ya.de', 'a.com/blog')
    """
    exact, rest = text.strip().startswith("="), text.strip().lstrip("=").strip()
    found = gossamer.url.parse(rest if "://" in rest else f"http://{rest}")
    if found is None or " " in rest:
        return None
    parts = urlsplit(found)
    host = (parts.hostname or "").rstrip(".")
    host = host.removeprefix("www.") if host.count(".") > 1 else host
    if parts.scheme not in ("http", "https") or "." not in host:
        return None
    return f"{'=' if exact else ''}{host}{parts.path.rstrip('/')}"


def shown_domain(domain: str) -> str:
    """Converts the punycode of a domain to Unicode for display.

    >>> shown_domain("xn--mnchen-3ya.de")
    'münchen.de'
    """
    labels = []
    for label in domain.split("."):
        try:
            labels.append(label.encode("ascii").decode("idna") if label.startswith("xn--") else label)
        except UnicodeError:
            labels.append(label)
    return ".".join(labels)


class DomainMatch:
    """Matches URLs to a followed domain. `domain`: a domain in the form that `plain_domain` returns."""

    def __init__(self, domain: str) -> None:
        plain = domain.removeprefix("=")
        self._exact = domain.startswith("=")
        self._host, slash, path = plain.partition("/")
        self._path = f"/{path}" if slash else ""

    def owns(self, url: str) -> bool:
        """Whether a URL belongs to the domain."""
        host, path = host_of(url)
        if host != self._host and (self._exact or not host.endswith(f".{self._host}")):
            return False
        return not self._path or path == self._path or path.startswith(f"{self._path}/")


def host_of(url: str) -> tuple[str, str]:
    """Returns the canonical host and the path of a URL. The host is '' if the URL contains no host. Both
    strings are empty if the URL is invalid."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return "", ""
    if not host.isascii():
        return host_of(gossamer.url.parse(url) or "")
    return host.removeprefix("www.") if host.count(".") > 1 else host, parts.path
