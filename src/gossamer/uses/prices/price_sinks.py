"""The sinks of a price run. The sinks write the results of visits into the price history before the visits
are settled.

    python://gossamer.uses.prices.price_sinks:SeenPages?history=prices.db&list=HASH
    python://gossamer.uses.prices.price_sinks:UnchangedPages?history=prices.db&list=HASH

`SeenPages` receives the items of `price_site`. `UnchangedPages` receives the attempts, because no page
function is called for an unchanged page (status 304). Each process of a run has a `SeenPages` sink and an
`UnchangedPages` sink. The URL of a history in PostgreSQL may contain references to secrets (`${env:NAME}`).
Each process reads the secrets itself.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec

import gossamer
from gossamer.client.secrets import with_secrets
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, PriceTarget
from gossamer.uses.prices.observe import SeenPage, observations_of
from gossamer.uses.prices.page_memory import KnownProductPage, PageMemory

_decode = msgspec.json.Decoder(SeenPage).decode
_encode = msgspec.json.Encoder().encode


class WatchedPages(msgspec.Struct, frozen=True):
    """The watched pages. `targets`: the targets of each URL. Targets whose URLs lead to the same page are
    listed under one URL."""

    targets: dict[str, list[PriceTarget]]
    selectors: str = ""
    """The version of the selector table."""

    def version(self, url: str) -> str:
        """Returns a hash of the targets and the selectors for the page of a URL."""
        targets = [(one.key, one.variant, one.currency) for one in self.targets[url]]
        read = repr((gossamer.__version__, self.selectors, targets))
        return hashlib.blake2b(read.encode(), digest_size=6).hexdigest()


def watched_pages(targets: Iterable[PriceTarget], selectors: str = "") -> WatchedPages:
    """Returns the pages of targets."""
    urls: dict[str, str] = {}
    pages: dict[str, list[PriceTarget]] = defaultdict(list)
    for target in targets:
        url = urls.setdefault(gossamer.url.canonical(target.url) or target.url, target.url)
        pages[url].append(target)
    return WatchedPages(dict(pages), selectors)


def list_version(targets: Iterable[PriceTarget]) -> str:
    """Returns a hash of a list of targets."""
    mark = hashlib.blake2b(digest_size=8)
    for one in targets:
        mark.update(repr((one.key, one.url, one.variant, one.currency)).encode())
    return mark.hexdigest()


def sink_urls(history: str, version: str, selectors: str) -> tuple[str, str]:
    """Returns two outputs of a run, one for items and one for attempts. `version`: the version of the list of
    targets. `selectors`: the version of the table of selectors."""
    given = f"history={quote(history, safe='')}&list={version}&selectors={selectors}"
    return f"python://{__name__}:SeenPages?{given}", f"python://{__name__}:UnchangedPages?{given}"


@lru_cache(maxsize=4)
def _listed(history: str, version: str, selectors: str) -> WatchedPages:
    """Reads the listed targets of a history, and returns the targets' pages. The result is cached, because
    all sinks of a run in a process use the same pages."""
    with History(history) as base:
        return watched_pages(base.targets(), selectors)


class _Sink:
    """A sink that writes to a history. The crawl opens and closes the sink."""

    def __init__(self, url: str) -> None:
        given = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        self._url = with_secrets(given["history"])
        self._list = given["list"], given.get("selectors", "")
        self._pages: WatchedPages | None = None
        self._history: History | None = None
        self._memory: PageMemory | None = None

    def _opened(self) -> tuple[History, PageMemory, WatchedPages]:
        """Returns the history, its table of pages (PageMemory), and the watched pages. The first call opens
        the history in the thread that writes."""
        if self._history is None or self._memory is None or self._pages is None:
            self._pages = _listed(self._url, *self._list)
            self._history = History(self._url)
            self._memory = PageMemory(self._history.database)
        return self._history, self._memory, self._pages

    def close(self) -> None:
        """Closes the history."""
        if self._history is not None:
            self._history.close()
        self._history = self._memory = None


class SeenPages(_Sink):
    """The sink for the items of `price_site`."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Records the results of visits. The records are durable when the method returns."""
        history, memory, listed = self._opened()
        found: list[Observation] = []
        pages: list[KnownProductPage] = []
        for row in rows:
            url = row["page"]
            if url not in listed.targets:
                continue
            seen = _decode(row["seen"])
            own = observations_of(seen, listed.targets[url])
            found += own
            page = KnownProductPage(url, seen.time, seen.time)
            if row["etag"] or row["modified"]:
                kept = _encode(own).decode()
                page = KnownProductPage(
                    url, seen.time, seen.time, row["etag"], row["modified"], listed.version(url), kept
                )
            pages.append(page)
        with history.database.transaction():
            history.record(found)
            memory.write(pages)


class UnchangedPages(_Sink):
    """The sink for the attempts of a run."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Records the attempts that found a page unchanged (status 304). The records are durable when the
        method returns."""
        visits = {
            row["url"]: datetime.fromisoformat(row["ts"]).timestamp()
            for row in rows
            if row.get("status") == 304
        }
        if not visits:
            return
        history, memory, listed = self._opened()
        visits = {url: at for url, at in visits.items() if url in listed.targets}
        known = memory.read(visits)
        with history.database.transaction():
            history.record([one for url, page in known.items() for one in page.observations(visits[url])])
            memory.mark_checked(visits.items())
