"""The context of operations: the store, the settings, and what the caller may do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest
from gossamer.errors import InvalidField, UnknownCrawl, UnknownName
from gossamer.frontier.crawls import Crawls, Record
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.request import split
from gossamer.store.store import Store

SCOPES = ("read", "run", "admin")
"""What a token permits, each word including those before it. `read`: see crawls and results. `run`: start and steer
crawls. `admin`: change hosts, workers and shares, which all crawls have in common."""


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls an operation. `token`: the id of the token, or '' without tokens. `name`: the name of the token, or ''.
    `prefix`: the caller sees only
    crawls whose names begin with this text."""

    token: str = ""
    scope: str = "admin"
    prefix: str = ""
    name: str = ""

    def may(self, scope: str) -> bool:
        """Returns whether the caller has a scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def sees(self, crawl: str) -> bool:
        """Returns whether the caller may know of a crawl."""
        return crawl.startswith(self.prefix)


class OperationContext:
    """What operations need. One context belongs to one request."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        caller: Caller,
        *,
        sites: Path | None = None,
        words: Sequence[str] = (),
        key: str = "",
        crawls_at_once: int = 8,
        until_ended: Callable[[str, float], Awaitable[None]] | None = None,
    ) -> None:
        """`sites`: the folder of site files. `words`: the options that are given to each crawl that is started, in which
        `{crawl}` stands for its name.
        `key`: the idempotency key of the request. `crawls_at_once`: how many crawls may run that `serve`
        started. `until_ended`: waits until a crawl has ended, at most a number of seconds; operations without it do not
        wait."""
        self.store, self.settings, self.caller = store, settings, caller
        self.sites, self.words, self.key, self.crawls_at_once = sites, tuple(words), key, crawls_at_once
        self.until_ended = until_ended
        self.statistics = CrawlStatistics(store)
        self.crawls = Crawls(store)

    async def names(self) -> list[str]:
        """Returns the names of the crawls that the caller may see."""
        return [name for name in await self.crawls.names() if self.caller.sees(name)]

    async def need(self, crawl: str) -> Record:
        """Returns the record of a crawl. Raises UnknownCrawl, with the nearest name that the caller may see."""
        record = await self.crawls.get(crawl) if self.caller.sees(crawl) else None
        if record is None:
            raise UnknownCrawl(f"no crawl is named {crawl!r}{nearest(crawl, await self.names())}")
        return record

    def site_names(self) -> list[str]:
        """Returns the names of the site files that callers may name."""
        return sorted(path.stem for path in self.sites.glob("*.py")) if self.sites is not None else []

    def site_file(self, name: str, pointer: str) -> str:
        """Returns the path of a site file. Raises InvalidField if the folder of site files has no such file."""
        known = self.site_names()
        if self.sites is None or name not in known:
            where = "serve was started without --sites DIR" if self.sites is None else f"there are: {known}"
            raise InvalidField(f"no site file is named {name!r}{nearest(name, known)}; {where}", pointer)
        return str(self.sites / f"{name}.py")


def authority(text: str) -> str:
    """Returns a host in the form that the frontier uses. Raises InvalidField."""
    from gossamer import url

    found = url.parse(f"http://{text}/")
    if found is None or not (host := split(found)[1].rpartition("@")[2]):
        raise InvalidField(f"{text!r} is not a host: write example.com or example.com:8080", "/host")
    return host


async def need_host(context: OperationContext, text: str) -> str:
    """Returns a host that a crawl knows, in the form that the frontier uses. Raises UnknownName."""
    host = authority(text)
    if not (await context.statistics.host(host)).known:
        raise UnknownName(f"no crawl knows the host {host}")
    return host
