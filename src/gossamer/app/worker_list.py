"""Reads the workers of a fleet. The command `gossamer workers list` and the operations of the API show the same
values."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from gossamer.politeness.scores import merit, read
from gossamer.state.malformed_messages import MalformedMessages
from gossamer.state.scores import Scores
from gossamer.state.workers import Refusals, WorkerRecord, WorkerRecords
from gossamer.store.store import Store


class WorkerList(NamedTuple):
    """The workers of a fleet, by name."""

    workers: list[WorkerRecord]
    merits: dict[str, dict[str, Any]]
    """Maps each worker's name to its score (`politeness.scores.merit`)."""
    refused: dict[tuple[str, str, str], str]
    """Maps each tuple (worker, crawl, site) to the reason why the worker does not work on it."""
    now: float
    """The store's time in seconds since the epoch."""
    malformed: int
    """Number of malformed messages that the workers removed from the broker's queues."""
    newest_malformed: list[dict[str, Any]]

    def plain(self) -> list[dict[str, Any]]:
        """Returns the values as `workers list --json` prints them."""
        found = [{**msgspec.to_builtins(one), **self.merits[one.name]} for one in self.workers]
        for one in found:
            mine = {
                (crawl, site): why
                for (worker, crawl, site), why in self.refused.items()
                if worker == one["name"]
            }
            one["refuses"] = {crawl: why for (crawl, site), why in mine.items() if not site}
            one["lacks"] = [
                {"crawl": crawl, "site": site, "why": why} for (crawl, site), why in mine.items() if site
            ]
        return found


async def worker_list(store: Store) -> WorkerList:
    """Returns the workers of the store's fleet."""
    worker_records = WorkerRecords(store)
    found, refused, now = (
        await worker_records.all(),
        await Refusals(store).refused(),
        await worker_records.now(),
    )
    records = read(await Scores.of_all(store))
    malformed = MalformedMessages(store)
    merits = {one.name: merit(one.name, records, now) for one in found}
    return WorkerList(found, merits, refused, now, await malformed.count(), await malformed.newest(1))
