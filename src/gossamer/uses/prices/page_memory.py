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
"""After this time in seconds, a page is requested unconditionally even if it was unchanged, because some
servers send validators that do not change with the price."""
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
    """The URL of the target, before redirects."""
    checked: float
    """The time of the last visit, whatever its result."""
    full_read: float = 0.0
    """When the server last sent the whole page."""
    etag: str = ""
    modified: str = ""
    version: str = ""
    """A hash of the targets and selectors with which the page was read."""
    seen: str = ""
    """The observations of the last full visit, as JSON."""

    def condition(self, version: str, now: float) -> dict[str, str]:
        """Returns the headers of a conditional request. Empty if the whole page must be requested."""
        if not self.seen or self.version != version or now - self.full_read > FULL_READ_S:
            return {}
        headers = {"if-none-match": self.etag} if self.etag else {}
        return headers | ({"if-modified-since": self.modified} if self.modified else {})

    def observations(self, time: float) -> list[Observation]:
        """Returns the observations of the last full visit, but with the time of a later visit that found the
        page unchanged."""
        return [msgspec.structs.replace(one, time=time) for one in _decode(self.seen)] if self.seen else []


class PageTimes(NamedTuple):
    """The times at which a page was last checked and at which the server last sent the whole page, in seconds
    since the epoch."""

    checked: float
    full_read: float


class PageMemory:
    """Reads and writes the table of pages in the database of a history."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.transaction():
            database.execute(_TABLE)

    def read(self, urls: Iterable[str]) -> dict[str, KnownProductPage]:
        """Returns the pages that are known, by URL."""
        columns = "SELECT url, checked, full_read, etag, modified, version, seen FROM price_pages"
        rows = self._database.rows_in(f"{columns} WHERE url IN (?)", urls)
        return {row[0]: KnownProductPage(*row) for row in rows}

    def times(self) -> dict[str, PageTimes]:
        """Returns when each page was last checked."""
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
