"""Stores data of each product page for later visits: validators for conditional requests, the last
observations, and the time of the last check. The data are stored in the table `price_pages` of the price
history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from gossamer.uses.prices.database import Database
from gossamer.uses.prices.model import Observation

FULL_READ_S = 7 * 86400.0
"""The number of seconds after which the next request for a page must be unconditional. Gossamer regularly
reads the full page because some servers send validators (ETag, Last-Modified) that do not change when the
price changes."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS price_pages (url TEXT PRIMARY KEY, checked DOUBLE PRECISION NOT NULL, "
    "full_read DOUBLE PRECISION NOT NULL, etag TEXT NOT NULL, modified TEXT NOT NULL, version TEXT NOT NULL, "
    "seen TEXT NOT NULL)"
)
_UPSERT = (
    "INSERT INTO price_pages (url, checked, full_read, etag, modified, version, seen) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (url) DO UPDATE SET checked = excluded.checked, full_read = excluded.full_read, "
    "etag = excluded.etag, modified = excluded.modified, version = excluded.version, seen = excluded.seen"
)
_decode = msgspec.json.Decoder(list[Observation]).decode


class KnownProductPage(NamedTuple):
    """A product page as recorded by the last visit. Times are in seconds since the epoch."""

    url: str
    """The URL of the target, before any redirects."""
    checked: float
    """The time of the last visit of the page, whether or not the visit succeeded."""
    full_read: float = 0.0
    """The time at which the server last sent the page with its body."""
    etag: str = ""
    modified: str = ""
    version: str = ""
    """A hash of the targets and the selectors that were used to read the page."""
    seen: str = ""
    """The observations of the last visit that received the page's body, as JSON."""

    def condition(self, version: str, now: float) -> dict[str, str]:
        """Returns the headers of a conditional request, or an empty dict if the whole page must be
        requested."""
        if not self.seen or self.version != version or now - self.full_read > FULL_READ_S:
            return {}
        headers = {"if-none-match": self.etag} if self.etag else {}
        return headers | ({"if-modified-since": self.modified} if self.modified else {})

    def observations(self, time: float) -> list[Observation]:
        """Returns the observations of the last full visit, with their time set to `time`. `time`: the time of
        a later visit that found the page unchanged."""
        return [msgspec.structs.replace(one, time=time) for one in _decode(self.seen)] if self.seen else []


class PageTimes(NamedTuple):
    """The times of the last visits of a page, in seconds since the epoch. `checked`: the last visit.
    `full_read`: the last visit in which the server sent the whole page."""

    checked: float
    full_read: float


class PageMemory:
    """Reads and writes the table of pages in the database of a history."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.transaction():
            database.execute(_TABLE)

    def read(self, urls: Iterable[str]) -> dict[str, KnownProductPage]:
        """Maps each of the given URLs to its page, if the page is known."""
        columns = "SELECT url, checked, full_read, etag, modified, version, seen FROM price_pages"
        rows = self._database.rows_in(f"{columns} WHERE url IN (?)", urls)
        return {row[0]: KnownProductPage(*row) for row in rows}

    def times(self) -> dict[str, PageTimes]:
        """Maps the URL of each known page to the times of its last visits."""
        rows = self._database.rows("SELECT url, checked, full_read FROM price_pages")
        return {url: PageTimes(checked, full_read) for url, checked, full_read in rows}

    def write(self, pages: Sequence[KnownProductPage]) -> None:
        """Stores pages."""
        if pages:
            with self._database.transaction():
                self._database.many(_UPSERT, pages)

    def mark_checked(self, checked: Iterable[tuple[str, float]]) -> None:
        """Stores the time of visits that found nothing new."""
        with self._database.transaction():
            self._database.many(
                "INSERT INTO price_pages (url, checked, full_read, etag, modified, version, seen) "
                "VALUES (?, ?, 0, '', '', '', '') ON CONFLICT (url) DO UPDATE SET checked = excluded.checked",
                checked,
            )
