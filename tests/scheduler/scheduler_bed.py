"""A test bed for schedulers. It runs a scheduler in this process on a real store whose clock the test moves,
and the crawls replay a folder of pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gossamer.app.open_store import open_url
from gossamer.config.settings import Settings
from gossamer.scheduler import loop
from gossamer.scheduler.commands import CommandRunner
from gossamer.scheduler.jobs import check
from gossamer.scheduler.runs import LocalCrawler
from gossamer.state.schedules import COMMAND_VERSION, Schedule, ScheduledRun, ScheduledTask, Schedules
from gossamer.store.store import Store
from support.moving_clock import Moved

HOST = "https://a.example"


class Bed:
    """A store with schedules, on which a test starts and stops schedulers."""

    def __init__(self, moved: Moved, store: Store, folder: Path) -> None:
        self.moved, self.store, self.folder = moved, store, folder
        self.schedules = Schedules(store)
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.settings = Settings(store=moved.url, data=str(folder / "data"), retries=())
        self.archive = folder / "archive"
        for host in "abc":
            page = self.archive / f"{host}.example" / "index.html"
            page.parent.mkdir(parents=True)
            page.write_text(f"<title>{host}</title>")

    async def add(
        self, name: str = "s", cron: str = "0 * * * *", targets: tuple[str, ...] = (f"{HOST}/",), **more: Any
    ) -> Schedule:
        """Adds a schedule whose first period begins now."""
        options = {"archive": str(self.archive), "retries": "none", **more.pop("options", {})}
        outputs = [(str(self.folder / output), False) for output in more.pop("outputs", ("out-{run}.jsonl",))]
        task = ScheduledTask(list(targets), options, outputs, str(self.folder), more.pop("fail_on", None))
        schedule = Schedule(name=name, cron=cron, task=task, **more)
        check(schedule)
        await self.schedules.put(schedule, from_now=True)
        return schedule

    async def add_command(
        self, *words: str, name: str = "s", cron: str = "0 * * * *", **more: Any
    ) -> Schedule:
        """Adds a schedule of a command, which runs in the folder of the bed."""
        task = ScheduledTask([], folder=str(self.folder), command=list(words))
        schedule = Schedule(version=COMMAND_VERSION, name=name, cron=cron, task=task, **more)
        check(schedule)
        await self.schedules.put(schedule, from_now=True)
        return schedule

    @asynccontextmanager
    async def scheduler(self, at_once: int = 4) -> AsyncIterator[asyncio.Event]:
        """Runs a scheduler for the duration of the block. The scheduler has its own connection to the store,
        as a separate process would."""
        stop = asyncio.Event()
        store = await open_url(self.moved.url, embedded=False)
        one = loop.Scheduler(
            self.settings,
            store,
            None,
            LocalCrawler(store, stop, at_once),
            CommandRunner(store, self.settings, stop, at_once),
            say=lambda event, **facts: self.events.append((event, facts)),
            stop=stop,
        )
        task = asyncio.create_task(one.run())
        try:
            yield stop
        finally:
            stop.set()
            await task
            await store.close()

    async def ended(self, number: int, name: str = "s") -> list[ScheduledRun]:
        """Waits until the given number of runs have ended. Returns them in the order of their due times."""
        for _ in range(1000):
            found = await self.schedules.ended(name)
            if len(found) >= number and not [
                run for run in await self.schedules.open(name) if run.state != "waiting"
            ]:
                break
            await asyncio.sleep(0.02)
        return sorted(await self.schedules.ended(name), key=lambda run: (run.due, run.part))

    async def decided(self, name: str = "s") -> list[ScheduledRun]:
        """Waits for open runs and returns them."""
        for _ in range(1000):
            if found := await self.schedules.open(name):
                return found
            await asyncio.sleep(0.02)
        raise AssertionError("nothing became due")

    async def heard(self, event: str, times: int = 1) -> dict[str, Any]:
        """Waits until an event has occurred `times` times. Returns the facts of the last occurrence."""
        for _ in range(1000):
            found = [facts for one, facts in self.events if one == event]
            if len(found) >= times:
                return found[times - 1]
            await asyncio.sleep(0.02)
        raise AssertionError(f"nobody said {event!r}: {self.events}")
