"""Stores the page table of a crawl, either in a folder or in the shared store. If one process runs the crawl
alone, the table is in the crawl's folder. If a fleet runs the crawl, the table is in the shared store. The
revisit loop (`revisit_loop`) works with either storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from gossamer.recrawl.revisit_rules import RevisitRules
from gossamer.recrawl.scheduled_pages import ScheduledPages
from gossamer.recrawl.stored_table import StoredTable
from gossamer.store.store import Store

Do = Callable[..., Awaitable[Any]]
"""The type of a callable that runs a function in the thread that owns the page table."""


class PageTableStorage(Protocol):
    """Interface for the storage of a page table."""

    refuses: bool
    """If `refuses` is true, a budget that is too small for the revisit window is an error. If `refuses` is
    false, such a budget only causes a warning."""

    async def open(self, rules: RevisitRules, do: Do) -> ScheduledPages: ...

    async def take_visits(self, pages: ScheduledPages, now: int, do: Do) -> bool:
        """Moves reported visits into the table. Returns whether more reported visits are waiting."""
        ...

    async def commit(self, do: Do) -> None:
        """Makes all changes durable."""
        ...


class FolderTableStorage:
    """A table in a folder. Each change is durable immediately."""

    refuses = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def open(self, rules: RevisitRules, do: Do) -> ScheduledPages:
        """Opens the table, and imports the log that an earlier run without `--revisit` wrote. Raises
        OSError."""
        pages: ScheduledPages = await do(ScheduledPages, self._folder, rules)
        await do(pages.import_log)
        return pages

    async def take_visits(self, pages: ScheduledPages, now: int, do: Do) -> bool:
        """Moves reported visits from the table's inbox file into the table."""
        return bool(await do(pages.take_visits, now))

    async def commit(self, do: Do) -> None:
        """Does nothing."""


class SharedTableStorage:
    """A page table in the shared store."""

    refuses = False

    def __init__(self, store: Store, crawl: str) -> None:
        self._stored = StoredTable(store, crawl)

    async def open(self, rules: RevisitRules, do: Do) -> ScheduledPages:
        """Reads the table. Raises StoreError and InUse."""
        return ScheduledPages(None, rules, await self._stored.open(do))

    async def take_visits(self, pages: ScheduledPages, now: int, do: Do) -> bool:
        """Reads the reported outcomes of visits from the store, applies them to the table, and commits the
        table. Raises StoreError and InUse."""
        more = await self._stored.pull(do)
        while await do(pages.take_visits, now):
            pass
        await self._stored.commit(do)
        return more

    async def commit(self, do: Do) -> None:
        """Writes the changes to the store. Raises StoreError and InUse."""
        await self._stored.commit(do)
