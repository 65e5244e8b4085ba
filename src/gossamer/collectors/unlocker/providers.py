"""The table of providers, and the parser of the setting `unlocker`. The value of the setting is, for example,
`zenrows`, `zenrows?render=true&country=us`, or a URL template."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from gossamer.collectors.unlocker import brightdata, generic, scraperapi, scrapfly, zenrows, zyte
from gossamer.collectors.unlocker.interface import ApiCall, Provider
from gossamer.config.value_parsers import count, flag, nearest, seconds
from gossamer.errors import ConfigError

PROVIDERS = {
    one.name: one
    for one in (scraperapi.PROVIDER, zenrows.PROVIDER, brightdata.PROVIDER, zyte.PROVIDER, scrapfly.PROVIDER)
}
SEARCH_PROVIDERS = ("serpapi", "serper", "searchapi", "dataforseo")
"""Providers of search results. Each provider is a module of `search`, which is imported when the provider is
chosen."""
OPTIONS = ("endpoint", "at_once", "timeout", "cost", "render", "country", "wait_for", "session")
ACCOUNT = ("endpoint", "at_once", "timeout", "zone")
"""Options that belong to the account, not to a crawl or a site."""
DEFAULT_CONCURRENCY = 5
"""The default number of concurrent calls. Even the smallest plans of the providers allow this number."""


class ChosenUnlocker(NamedTuple):
    """A configured unlocker. `cost`: the maximum number of credits that a call may cost. If `cost` is None,
    the provider's own estimate applies."""

    provider: Provider
    endpoint: str
    needs: ApiCall
    at_once: int
    timeout: float
    cost: int | None
    options: Mapping[str, str] = {}

    @property
    def searches(self) -> bool:
        """Whether the unlocker fetches only search results. If true, gossamer does not resolve the host of
        the search engine before a call."""
        return self.provider.searches or self.options.get("serp") == "true"

    def also(self, text: str) -> ChosenUnlocker:
        """Returns this unlocker with its options overridden by a site's options, such as
        `render=true&wait_for=.price`. Raises ConfigError with a one-line message."""
        more = dict(parse_qsl(text, keep_blank_values=True))
        if not more:
            return self
        try:
            if name := next((name for name in more if name in ACCOUNT), None):
                raise ValueError(f"{name}= cannot be set for a site")
            return _with(self.provider, {**self.options, **more})._replace(endpoint=self.endpoint)
        except ValueError as error:
            raise ConfigError(f"unlocker {self.provider.name}: {error}") from None

    @property
    def with_late(self) -> int:
        """The maximum number of parallel calls of a process if some of them are late
        (`unlocker_reserve.lua`)."""
        return self.at_once + (self.at_once + 1) // 2

    def wanted(self, needs: ApiCall) -> ApiCall:
        """Returns the call with its maximum cost (`cost`) filled in."""
        return needs._replace(cost=self.cost if self.cost is not None else self.provider.cost(needs))


def chosen_unlocker(text: str, shape: Sequence[str] = ()) -> ChosenUnlocker:
    """Returns the unlocker that a setting names, with its options. Raises ConfigError with a one-line
    message."""
    try:
        return _chosen(text, shape)
    except ValueError as error:
        name = text.partition("?")[0] if "://" not in text else "generic"
        raise ConfigError(f"unlocker {name[:40]}: {error}") from None


def worker_unlocker(mine: str | None, given: str | None) -> str | None:
    """Returns the unlocker setting for a submitted crawl on a worker. `mine`: the worker's own setting.
    `given`: the unlocker setting of the crawl. The worker's setting selects the provider, because the
    provider receives the worker's key. If the crawl's setting names the same provider, the crawl's options
    override the worker's options. The worker's account options still apply.

    >>> worker_unlocker("zenrows?at_once=20", "zenrows?render=true&endpoint=http://evil.example/"), worker_unlocker("zyte", "zenrows")
    ('zenrows?at_once=20&render=true', 'zyte')
    """
    if (
        mine is None
        or given is None
        or "://" in mine.partition("?")[0]
        or mine.partition("?")[0] != given.partition("?")[0]
    ):
        return mine
    own = dict(parse_qsl(mine.partition("?")[2], keep_blank_values=True))
    wanted = dict(parse_qsl(given.partition("?")[2], keep_blank_values=True))
    options = own | {name: value for name, value in wanted.items() if name not in ACCOUNT}
    return f"{mine.partition('?')[0]}?{urlencode(options)}" if options else mine


def _chosen(text: str, shape: Sequence[str]) -> ChosenUnlocker:
    if text.startswith(("http://", "https://")):
        lines = [_line(one) for one in shape]
        known = (*OPTIONS, *generic.NAMES)
        for name, _ in lines:
            if name not in known:
                raise ValueError(f"its shape has no option {name[:40]}={nearest(name, known)}")
        provider = generic.provider(text, [one for one in lines if one[0] not in OPTIONS])
        options = {name: value for name, value in lines if name in OPTIONS}
    else:
        name, _, query = text.partition("?")
        if name not in (*PROVIDERS, *SEARCH_PROVIDERS):
            raise ValueError(
                f"unknown provider{nearest(name, (*PROVIDERS, *SEARCH_PROVIDERS))}; there are "
                f"{', '.join((*PROVIDERS, *SEARCH_PROVIDERS))}, or the URL of another"
            )
        if shape:
            raise ValueError("unlocker_shape describes an unlocker that is given as a URL")
        provider, options = (
            PROVIDERS.get(name) or _search_provider(name),
            dict(parse_qsl(query, keep_blank_values=True)),
        )
    return _with(provider, options)


def _search_provider(name: str) -> Provider:
    found: Provider = importlib.import_module(f"gossamer.collectors.unlocker.search.{name}").PROVIDER
    return found


def _with(provider: Provider, options: dict[str, str]) -> ChosenUnlocker:
    known = [name for name in (*OPTIONS, *provider.extra) if name not in provider.lacks]
    for name in options:
        if name not in known:
            raise ValueError(f"it has no option {name[:40]}={nearest(name, known)}")
    for name in provider.needed:
        if not options.get(name):
            raise ValueError(f"it needs {name}=, as in {provider.name}?{name}=NAME")
    endpoint = options.get("endpoint") or provider.endpoint
    if not re.fullmatch(r"https?://[^\s@]+", endpoint):
        raise ValueError("endpoint= is an http(s) URL without a password")
    needs = ApiCall(
        "",
        render=flag(options.get("render", "false")),
        country=options.get("country") or None,
        wait_for=options.get("wait_for") or None,
        session=options.get("session") or None,
        extra={name: value for name, value in options.items() if name in provider.extra},
    )
    cost = options.get("cost")
    made = ChosenUnlocker(
        provider,
        endpoint,
        needs,
        count(1, 10_000, options.get("at_once", DEFAULT_CONCURRENCY)),
        seconds(options["timeout"]) if "timeout" in options else provider.timeout,
        None if cost is None else count(1, 1_000_000, cost),
        options,
    )
    provider.request(
        made.wanted(needs._replace(url=provider.sample)), endpoint, ""
    )  # fails now, not at the first call, if options conflict
    return made


def _line(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"its shape is NAME=VALUE, not {text[:40]!r}")
    return name.strip(), value.strip()
