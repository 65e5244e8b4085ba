"""Parses lists of proxies, with lines in the forms that providers use. Malformed lines are rejected with a
reason.

A line has one of these forms:

- `scheme://user:pass@host:port` or `scheme://host:port`. User and password are percent-encoded. Only this
  form supports IPv6 addresses, in brackets.
- `host:port`, `user:pass@host:port`, `host:port@user:pass`, `host:port:user:pass` or `user:pass:host:port`.
  The scheme is http. User and password are not percent-encoded.
- `{"url": ..., "type": ...}`: a JSON object with the same fields.

After the address, `type=residential country=de,fr provider=NAME scheme=socks5h` may follow in any order. A
line that can be parsed in two ways is rejected. The form with a scheme is unambiguous.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote

from gossamer.config import value_parsers
from gossamer.config.redaction import register_pair
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.proxy import SCHEMES, Proxy, country, kind, provider

TAGS = ("type", "country", "provider", "scheme")
MAX_LINE_CHARS = 2000
_HOST = lazy_pattern(r"[\w{}-]+(?:\.[\w{}-]+)*\.?")
_URL = lazy_pattern(r"([a-z0-9]+)://(?:([^@/]*)@)?(\[[0-9A-Fa-f:.]+\]|[^:/@\[\]]+):(\d{1,5})/?")
_AGAIN = "write it as scheme://user:password@host:port"


class NotAProxy(NamedTuple):
    """A line that cannot be parsed as a proxy, with the reason."""

    line: int
    reason: str


def read(
    lines: Iterable[str], check: Callable[[Proxy], None] = lambda _: None
) -> tuple[list[Proxy], list[NotAProxy]]:
    """Returns the proxies of a list without duplicates, and the rejected lines. Blank lines and lines that
    begin with `#` are ignored. `check`: a function that raises ValueError for a proxy that cannot be used."""
    found: dict[str, Proxy] = {}
    bad: list[NotAProxy] = []
    for number, text in enumerate(lines, 1):
        text = text.strip().lstrip("\ufeff")
        if not text or text.startswith("#"):
            continue
        try:
            proxy = line(text)
            check(proxy)
        except ValueError as error:
            bad.append(NotAProxy(number, str(error)))
        else:
            found.setdefault(proxy.id, proxy)
    return list(found.values()), bad


def line(text: str) -> Proxy:
    """Parses one line. Raises ValueError with a message that contains no secrets.

    >>> line("1.2.3.4:8080:joe:secret type=mobile country=DE provider=acme")  # doctest: +ELLIPSIS
    <proxy acme/1.2.3.4:8080#...>
    """
    if len(text) > MAX_LINE_CHARS:
        raise ValueError(f"the line is longer than {MAX_LINE_CHARS} characters")
    if re.match(r"\{\s*[\"}]", text):
        address, tags = _of_json(text)
    else:
        address, *words = text.split()
        tags = dict(_tag(word) for word in words)
    for name in tags:
        if name not in TAGS:
            raise ValueError(f"there is no {name!r}{value_parsers.nearest(name, TAGS)}")
    scheme, host, port, user, password = _address(address)
    register_pair(user, password)
    said = tags.get("scheme")
    if said is not None and "://" in address:
        raise ValueError("the scheme is given twice")
    several = tags.get("country", ())
    proxy = Proxy(
        value_parsers.one_of(SCHEMES, said or scheme),
        _host(host),
        _port(port),
        user,
        password,
        kind(tags.get("type", "datacenter")),
        tuple(country(one) for one in (several.split(",") if isinstance(several, str) else several)),
        provider(tags["provider"]) if "provider" in tags else "",
    )
    for name in re.findall(r"\{([^}]*)\}", f"{host} {user} {password}"):
        if name not in ("country", "session"):
            raise ValueError("a template can only contain {country} and {session}")
    if re.search(r"[\x00-\x1f\x7f]", user + password):
        raise ValueError("the user or the password contains a control character")
    return proxy


def _of_json(text: str) -> tuple[str, dict[str, Any]]:
    try:
        found = json.loads(text)
        url = found.pop("url")
    except (ValueError, KeyError, AttributeError):
        raise ValueError('the line is not a JSON object with a "url"') from None
    if not isinstance(url, str) or not url:
        raise ValueError('"url" must be a non-empty text')
    return url, found


def _tag(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not value:
        raise ValueError("only tags of the form name=value may follow the address, for example country=de")
    return name, value


def _address(text: str) -> tuple[str, str, str, str, str]:
    """Returns scheme, host, port, user and password."""
    if "://" in text:
        found = _URL.fullmatch(text)
        if found is None:
            raise ValueError(_AGAIN)
        user, _, password = (found[2] or "").partition(":")
        return found[1], found[3].strip("[]"), found[4], unquote(user), unquote(password)
    ways = _with_at(text) if "@" in text else _with_colons(text)
    if len(ways) != 1:
        raise ValueError(f"the line can be read in two ways: {_AGAIN}" if ways else _AGAIN)
    host, port, user, password = ways[0]
    return "http", host, port, user, password


Way = tuple[str, str, str, str]


def _with_at(text: str) -> list[Way]:
    """Parses `user:pass@host:port` and `host:port@user:pass`."""
    first = text.rpartition("@")[::2]
    ways = (
        [(*place, *first[0].partition(":")[::2])] if (place := _place(first[1])) and ":" in first[0] else []
    )
    last = text.partition("@")[::2]
    if (place := _place(last[0])) and ":" in last[1]:
        ways.append((*place, *last[1].partition(":")[::2]))
    return _likely(ways)


def _with_colons(text: str) -> list[Way]:
    """Parses `host:port`, `host:port:user:pass` and `user:pass:host:port`."""
    parts = text.split(":")
    if len(parts) == 2:
        return [(*place, "", "")] if (place := _place(text)) else []
    if len(parts) != 4:
        return []
    one, two, three, four = parts
    ways = [(one, two, three, four)] if _place(f"{one}:{two}") else []
    if _place(f"{three}:{four}"):
        ways.append((three, four, one, two))
    return _likely(ways)


def _likely(ways: list[Way]) -> list[Way]:
    """Chooses between the results of two ways to parse a line. If the two results differ, keeps each result
    whose host contains a dot or is `localhost`. If neither host contains a dot or is `localhost`, keeps both
    results."""
    if len(ways) == 2 and ways[0] != ways[1]:
        return [way for way in ways if "." in way[0] or way[0] == "localhost"] or ways
    return ways[:1]


def _place(text: str) -> tuple[str, str] | None:
    host, _, port = text.rpartition(":")
    return (host, port) if _HOST.fullmatch(host) and port.isdecimal() and 0 < int(port[:6]) < 65536 else None


def _host(text: str) -> str:
    if not (_HOST.fullmatch(text) or ":" in text):
        raise ValueError("the host is neither a name nor an IP address")
    return text.lower() if "{" not in text else text


def _port(text: str) -> int:
    if not 0 < int(text) < 65536:
        raise ValueError(f"the port must be from 1 to 65535, not {text}")
    return int(text)
