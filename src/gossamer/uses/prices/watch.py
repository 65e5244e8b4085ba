"""The crawl of a run, on the public API: a site whose page function yields observations, and two sinks that
write them into the price history before a visit is settled."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer import Site
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, OfferState, PriceTarget
from gossamer.uses.prices.observe import observe_failure, observe_page
from gossamer.uses.prices.page_memory import KnownProductPage, PageMemory
from gossamer.uses.prices.selector_table import SelectorTable

if TYPE_CHECKING:
    from gossamer import PageView

MAX_KEY_CHARS = 500
"""The most characters of a request's key."""
_watches: dict[str, PriceWatch] = {}
"""The watches whose crawl is running, for `AttemptRows`."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Observation]).decode


class PriceWatch:
    """Visits of product pages, and their way into the history. `targets`: by the URL that is requested.
    Rows are written by threads of the crawl, one at a time."""

    def __init__(
        self,
        targets: Mapping[str, Sequence[PriceTarget]],
        history: History,
        memory: PageMemory,
        selectors: SelectorTable,
        *,
        confirming: bool = False,
    ) -> None:
        self.targets, self.selectors, self.confirming = targets, selectors, confirming
        self._history, self._memory = history, memory
        self._lock = threading.Lock()
        self.counts = dict.fromkeys(("checked", "unchanged", "events"), 0)

    def version(self, url: str) -> str:
        """Returns a hash of how the page of a URL is read."""
        import gossamer

        read = repr(
            (
                gossamer.__version__,
                self.selectors.version,
                [(one.key, one.variant, one.currency) for one in self.targets[url]],
            )
        )
        return hashlib.blake2b(read.encode(), digest_size=6).hexdigest()

    def seeds(
        self, urls: Iterable[str], known: Mapping[str, KnownProductPage], now: float
    ) -> list[dict[str, Any]]:
        """Returns the requests for pages, the page that was checked longest ago first."""
        ordered = sorted(urls, key=lambda url: known[url].checked if url in known else 0.0)
        found = []
        for place, url in enumerate(ordered):
            headers = {}
            if url in known and not self.confirming:
                headers = known[url].condition(self.version(url), now)
            found.append(
                {
                    "url": url,
                    "priority": 255 - 255 * place // len(ordered),
                    "carry": url,
                    "key": url if len(url) <= MAX_KEY_CHARS else hashlib.blake2b(url.encode()).hexdigest(),
                    **({"headers": headers} if headers else {}),
                }
            )
        return found

    def site(self, options: Mapping[str, Any]) -> Site:
        """Returns the site of all shops. `options`: parameters of `Site`, such as `ladder`."""
        # the name "default" makes the site read pages of every host, also those that redirects lead to
        site = Site("default", follow=False, sinks=[ItemRows(self)], **options)

        @site.page()
        def product(page: PageView) -> Iterator[dict[str, Any]]:
            requested = page.carry
            if not isinstance(requested, str) or requested not in self.targets:
                return
            seen = observe_page(
                page, self.targets[requested], requested, self.selectors, confirming=self.confirming
            )
            is_same = seen[0].state not in (OfferState.MOVED, OfferState.GONE) and page.url == requested
            yield {
                "page": requested,
                "etag": page.headers.get("etag", "") if is_same else "",
                "modified": page.headers.get("last-modified", "") if is_same else "",
                "seen": _encode(seen).decode(),
            }

        @site.failed
        def failed(failure: Any) -> Iterator[dict[str, Any]]:
            requested = failure.carry
            if isinstance(requested, str) and requested in self.targets:
                seen = observe_failure(failure, self.targets[requested], confirming=self.confirming)
                yield {"page": requested, "etag": "", "modified": "", "seen": _encode(seen).decode()}

        return site

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Records the observations of items."""
        seen: list[Observation] = []
        pages: list[KnownProductPage] = []
        for row in rows:
            found = _decode(row["seen"])
            seen += found
            at = found[0].time
            pages.append(
                KnownProductPage(
                    *(row["page"], at, at, row["etag"], row["modified"], self.version(row["page"])),
                    row["seen"] if row["etag"] or row["modified"] else "",
                )
            )
        with self._lock:
            self._record(seen)
            self._memory.write(pages)
        self.counts["checked"] += len(pages)

    def write_unchanged(self, visits: Mapping[str, float]) -> None:
        """Records pages that the server calls unchanged: the times of the visits by URL."""
        with self._lock:
            known = self._memory.read(visits)
            self._record([one for url, page in known.items() for one in page.observations(visits[url])])
            self._memory.mark_checked(visits.items())
        self.counts["checked"] += len(visits)
        self.counts["unchanged"] += len(visits)

    def write_unvisited(self, urls: Iterable[str], detail: str, now: float) -> None:
        """Records pages that the crawl did not request, for example because of robots.txt."""
        seen = [
            Observation(
                target=one.key,
                state=OfferState.FAILED,
                time=now,
                url=url,
                detail=detail,
                confirming=self.confirming,
            )
            for url in urls
            for one in self.targets[url]
        ]
        with self._lock:
            self._record(seen)

    def _record(self, seen: Sequence[Observation]) -> None:
        self.counts["events"] += len(self._history.record(seen))

    def __enter__(self) -> str:
        """Returns the name of the sink for attempts."""
        _watches[name := str(id(self))] = self
        return f"python://gossamer.uses.prices.watch:AttemptRows?watch={name}"

    def __exit__(self, *_: object) -> None:
        _watches.pop(str(id(self)), None)


class ItemRows:
    """The sink of the observations."""

    def __init__(self, watch: PriceWatch) -> None:
        self._watch = watch

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Records rows. They are durable when this returns."""
        self._watch.write([row for row in rows if "seen" in row])


class AttemptRows:
    """The sink of the attempts, of which it reads those of unchanged pages (status 304)."""

    def __init__(self, url: str) -> None:
        self._watch = _watches[url.rpartition("=")[2]]

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Records the unchanged pages among the rows. They are durable when this returns."""
        visits = {
            row["url"]: datetime.fromisoformat(row["ts"]).timestamp()
            for row in rows
            if row.get("status") == 304 and row["url"] in self._watch.targets
        }
        if visits:
            self._watch.write_unchanged(visits)
