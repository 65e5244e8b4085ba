"""Defines a proxy, and the requirements that a proxy must meet for a request, as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

import msgspec

from gossamer.config import value_parsers

KINDS = ("datacenter", "residential", "mobile")
ROTATIONS = ("request", "session", "host")
SCHEMES = ("http", "https", "socks5", "socks5h", "socks4", "socks4a")
_COUNTRY = re.compile(r"[a-z]{2}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class Proxy(msgspec.Struct, frozen=True):
    """A proxy, or (with `{country}` or `{session}` in user, password or host) a gateway to many proxies. The
    text form of a proxy contains no secrets."""

    scheme: str
    host: str
    """A host name or an IP address. An IPv6 address is written without brackets."""
    port: int
    user: str = ""
    password: str = ""
    kind: str = "datacenter"
    countries: tuple[str, ...] = ()
    """The countries of the proxy's addresses, for example `de`. Empty if unknown."""
    provider: str = ""

    @property
    def id(self) -> str:
        """The proxy's name in logs and in the store: `provider/host:port#3fa9c210`. The hex digits depend on
        the proxy's user and password."""
        name = f"{self.provider}/{self.authority}" if self.provider else self.authority
        if self.scheme == "http" and not self.user:
            return name
        told = blake2b(f"{self.scheme} {self.user}:{self.password}".encode(), digest_size=4).hexdigest()
        return f"{name}#{told}"

    @property
    def authority(self) -> str:
        """`host:port`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def has(self, word: str) -> bool:
        """Returns whether the proxy has the placeholder `{country}` or `{session}`."""
        return f"{{{word}}}" in f"{self.host} {self.user} {self.password}"

    def url(self, country: str = "", session: str = "") -> str:
        """Returns the proxy's URL with credentials and with its placeholders filled in. Must not be logged.

        >>> Proxy("http", "gate.example", 7000, "joe-{country}-{session}", "p:w").url("de", "a1")
        'http://joe-de-a1:p%3Aw@gate.example:7000'
        """

        def filled(text: str) -> str:
            return text.replace("{country}", country).replace("{session}", session)

        secret = (
            f"{quote(filled(self.user), safe='')}:{quote(filled(self.password), safe='')}@"
            if self.user
            else ""
        )
        return f"{self.scheme}://{secret}{filled(self.authority)}"

    def __repr__(self) -> str:
        return f"<proxy {self.id}>"


class Wanted(msgspec.Struct, frozen=True):
    """The requirements for proxies: the accepted kinds, countries and providers. An empty tuple accepts every
    kind, country or provider. `rotation` determines for how long the same proxy is used."""

    kinds: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    rotation: str = ""
    """How often the proxy changes. `request`: each request uses a new proxy. `session`: each session at a
    registered domain keeps one proxy. `host`: each host keeps one proxy. If `rotation` is empty, the setting
    of the crawl applies."""

    def suits(self, proxy: Proxy) -> bool:
        """Returns whether a proxy meets the requirements. If a gateway has `{country}` but no list of
        countries, the gateway meets the requirements only if the requirements name a country."""
        if self.kinds and proxy.kind not in self.kinds:
            return False
        if self.providers and proxy.provider not in self.providers:
            return False
        if not proxy.countries and proxy.has("country"):
            return bool(self.countries)
        return not self.countries or not set(self.countries).isdisjoint(proxy.countries)

    def country(self, proxy: Proxy) -> str:
        """Returns the country to request from a gateway, or '' for none."""
        named = self.countries or proxy.countries
        return next((one for one in named if not proxy.countries or one in proxy.countries), "")

    def narrowed_by(self, country: str | None, kind: str | None) -> Wanted:
        """Returns a copy of the requirements that applies to one request. If `country` is given, the copy
        accepts only this country. If `kind` is given, the copy accepts only proxies of this kind."""
        if not country and not kind:
            return self
        return Wanted(
            (kind,) if kind else self.kinds,
            (country,) if country else self.countries,
            self.providers,
            self.rotation,
        )

    def __str__(self) -> str:
        named = (("type", self.kinds), ("country", self.countries), ("provider", self.providers))
        return ", ".join(f"{word} {' or '.join(values)}" for word, values in named if values) or "any"


def kind(text: Any) -> str:
    """Parses the name of a kind of proxy, for example `mobile`. Raises ValueError."""
    return value_parsers.one_of(KINDS, text)


def country(text: Any) -> str:
    """Parses an ISO 3166 country code of two letters, and converts the code to lower case. Raises ValueError.

    >>> country("DE")
    'de'
    """
    found = str(text).lower()
    if not isinstance(text, str) or not _COUNTRY.fullmatch(found):
        raise ValueError(f"{text!r} is not a country of two letters, such as de")
    return found


def provider(text: Any) -> str:
    """Parses a provider's name. Raises ValueError."""
    if not isinstance(text, str) or not _LABEL.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a name of a provider: letters, digits, '.', '_' and '-', at most 40"
        )
    return text


_WORDS = {"type": ("kinds", kind), "country": ("countries", country), "provider": ("providers", provider)}


def parse_wanted(given: Any) -> Wanted:
    """Parses the proxy requirements of a site. `given` is a text such as `residential country=de`, or a
    mapping with the same names. Raises ValueError.

    >>> parse_wanted("residential country=de,fr rotation=session")
    Wanted(kinds=('residential',), countries=('de', 'fr'), providers=(), rotation='session')
    """
    if isinstance(given, Wanted):
        return given
    if isinstance(given, str):
        pairs = [word.partition("=") for word in given.split()]
        given = {name if equals else "type": value if equals else name for name, equals, value in pairs}
    if not isinstance(given, Mapping):
        raise ValueError("write it as 'residential country=de rotation=session'")
    out: dict[str, Any] = {}
    for name, value in given.items():
        if name == "rotation":
            out["rotation"] = value_parsers.one_of(ROTATIONS, value)
        elif name in _WORDS:
            field, read = _WORDS[name]
            several = value.split(",") if isinstance(value, str) else list(value)
            out[field] = tuple(read(one) for one in several)
        else:
            raise ValueError(f"there is no {name!r}{value_parsers.nearest(name, [*_WORDS, 'rotation'])}")
    return Wanted(**out)
