"""`Bed`, the helper of the cleanup tests: creates crawls in every state, and dumps the keys of the store
byte for byte."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from gossamer.app.cleanup import Cleaned, clean
from gossamer.app.job import Job, JobOutput
from gossamer.app.runner import crawl
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Crawls
from gossamer.model.summary import Summary
from gossamer.store.store import Store
from support.moving_clock import Moved

DAY = 86_400.0


class Bed:
    """A store with a movable clock, a data folder, and a folder of saved pages that the crawls read."""

    def __init__(self, moved: Moved, store: Store, folder: Path) -> None:
        self.moved, self.store, self.folder = moved, store, folder
        self.data = folder / "data"
        self.archive = folder / "archive" / "a.example"
        self.archive.mkdir(parents=True)
        links = "".join(f"<a href='/{n}.html'>{n}</a><a href='/no{n}.html'>{n}</a>" for n in range(8))
        (self.archive / "index.html").write_text(links)
        for n in range(8):
            (self.archive / f"{n}.html").write_text(f"<title>{n}</title>")

    def settings(self, **more: Any) -> Settings:
        given = {"store": self.moved.url, "data": str(self.data), "delay": (0.0, 0.0), "retries": ()} | more
        return Settings(**given)

    async def crawl(self, name: str, stop: asyncio.Event | None = None, **more: Any) -> Summary:
        """Run a crawl of the saved pages. The pages link to 17 URLs, and half of these URLs do not exist."""
        output = [JobOutput(str(self.folder / f"{name}.jsonl"))]
        one = Job(
            targets=["https://a.example/"],
            settings=self.settings(**more),
            outputs=output,
            name=name,
            archive=str(self.folder / "archive"),
        )
        return await crawl(one, stop=stop)

    async def left(self, name: str, state: str) -> None:
        """Create a crawl with a queue, in the given state. The crawl's end time is the store's current
        time."""
        await self.crawl(name, limit=3)
        await self.date(name, state)

    async def date(self, name: str, state: str | None = None) -> None:
        """Set the crawl's end time to the store's current time, and its state if one is given."""
        fields = {"ended_at": repr(self.moved.now())} | ({"state": state} if state else {})
        await self.store.guard(
            cast(Any, self.store.client.hset(f"gossamer:crawl:{name}", mapping=cast(Any, fields)))
        )

    async def clean(self, **more: Any) -> dict[str, Cleaned]:
        """Run `clean`, and return the removed things, keyed by part."""
        settings = self.settings(**more.pop("settings", {}))
        return {one.part: one for one in await clean(settings, self.store, **more)}

    async def dump(self, name: str = "") -> dict[bytes, Any]:
        """Return the serialized values of all keys, or of the keys of one crawl. Expiry times are left
        out."""
        found = {}
        async for key in self.store.client.scan_iter(count=1000):
            if not name or f"}}{name}:".encode() in key or key.endswith(f":{name}".encode()):
                found[key] = await cast(Any, self.store.client.dump(key))
        return found

    async def names(self) -> list[str]:
        return await Crawls(self.store).names()
