"""What a run counts as new, changed, unchanged, gone and refused equals what the contents of its output show:
in random runs with kinds that nobody declared, repeated keys, refused rows, outages, kills and lost leases."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from e2e.changing_items import Places, Site, Stored
from gossamer.app.quality_gate_setup import conclude_run
from gossamer.errors import SinkAway
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.summary import summary
from gossamer.model.visit import Claim, Row, Settle, Visit
from gossamer.sinks.columns import item_columns
from gossamer.sinks.open_outputs import FilteredHistory, FilteredTable
from gossamer.sinks.output_spec import open_output
from gossamer.store.store import Store
from gossamer.worker import outputs as writing
from gossamer.worker.committer import Committer
from gossamer.worker.outputs import OutageRules, Outputs
from gossamer.worker.records import format_time
from sinks.rows_and_commits import Book, book, loose
from support.repetitions import repetitions
from worker.worker_parts import Net, Road


class Died(BaseException):
    """Raised where the simulated process dies."""


def visited(site: Site, claim: Claim) -> Visit:
    """Returns the visit of a page that was fetched now."""
    page, at = int(claim.request.url.rpartition("/")[2]), format_time(time.time())
    visit = Visit(claim, Settle(claim.token, "d", since=0), counts={"pages": 1})
    if page in site.gone:
        visit.gone = at
        return visit
    for kind, key, title in site.pages[page]:
        row = book(0, upc=key, title=title) if kind == "book" else loose(0, "item", title=title)
        assert isinstance(row.data, dict)
        row.key = row.data["_key"] = key
        row.data |= {"_url": claim.request.url, "_seen_at": at, "_hash": title}
        visit.rows.append(row)
    return visit


class Run:
    """One run: a crawl of its own over the pages of a site, into an output that may fail."""

    def __init__(self, store: Store, folder: Path, spec: str, site: Site) -> None:
        self.store, self.folder, self.spec, self.site = store, folder, spec, site
        self.since = ""
        self.trouble: list[str] = []

    async def begin(self) -> None:
        record = await Crawls(self.store).begin("c", Spec(["http://a.example/"]), [])
        self.since = format_time(record.started_at)
        await Crawls(self.store).tell("c", "items gone" if self.keeps_history else "items")
        self.road()
        await self.parts.add(*(f"http://a.example/{page}" for page in self.site.pages))
        self.parts.outputs.release()

    def road(self) -> None:
        """Starts a process: the parts of a worker with an output of their own."""
        self.parts = Road(self.store, self.folder, Net())
        self.parts.outputs.release()
        table, wanted = self.table({"book": item_columns([Book])["book"]}), lambda _row: True
        filtered = FilteredHistory if self.keeps_history else FilteredTable
        self._fail(table)
        self.parts.outputs = Outputs(
            self.parts.frontier,
            lock=self.folder / "lock",
            tables=[filtered(table, wanted)],
            outages=OutageRules(_say),
        )
        self.parts.outputs.backfill.count_from(self.since, counted=False)
        self.parts.committer = Committer(self.parts.frontier, self.parts.outputs)

    @property
    def keeps_history(self) -> bool:
        return "hash=" not in self.spec

    def table(self, columns: Any) -> Any:
        return open_output(self.spec, columns, folder=str(self.folder))

    def _fail(self, table: Any) -> None:
        """Lets upserts of a table fail as `trouble` says."""
        write = table.upsert

        def upsert(rows: Sequence[Row]) -> None:
            trouble = self.trouble.pop() if self.trouble else ""
            if trouble == "away":
                raise SinkAway("no answer")
            write(rows)
            if trouble == "away at the commit":
                raise SinkAway("no answer")

        table.upsert = upsert

    async def work(self, chance: random.Random) -> None:
        """Commits the visits in batches of random sizes, until all are settled."""
        self.road()
        await self.parts.outputs.open()
        kills = chance.randint(0, 3)
        while claims := await self.parts.claim(chance.randint(1, 8)):
            self.trouble = chance.choices(["", "away", "away at the commit"], (8, 1, 1))
            event = chance.choice(("", "killed", "lost")) if kills else ""
            kills -= event != ""
            await self._commit([visited(self.site, claim) for claim in claims], event)

    async def _commit(self, visits: list[Visit], event: str) -> None:
        parts = self.parts
        settle = parts.frontier.settle_all

        async def interrupted(commits: Any) -> Any:
            if event == "killed":
                raise Died
            await parts.frontier.requeue_expired(0, nobody_lives=True)
            return await settle(commits)

        if event:
            parts.frontier.settle_all = interrupted  # type: ignore[method-assign]
        for visit in visits:
            parts.committer.put(visit)
        parts.committer.close()
        with contextlib.suppress(Died):
            await parts.committer.run()
        parts.outputs.release()
        if event == "killed":
            await parts.frontier.requeue_expired(0, nobody_lives=True)
        self.road()
        await self.parts.outputs.open()

    async def end(self) -> dict[str, Any]:
        """Concludes the run in a process that knows no kind, and returns the counts."""
        self.parts.outputs.release()
        table = self.table({})
        if self.keeps_history:
            site: Any = SimpleNamespace(name="a")

            async def each(work: Any) -> None:
                work(table)

            await conclude_run(SimpleNamespace(crawl="c"), self.store, [site], each, whole=False)  # type: ignore[arg-type]
        table.close()
        return (await summary(self.store, "c", 0)).dict()


async def _say(_line: str, _begins: bool) -> None:
    """Reports nothing."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    with Places(tmp_path_factory.mktemp("servers")) as made:
        yield made


@pytest.mark.parametrize(
    ("output", "runs"), [("sqlite", 400), ("hash", 50), ("postgresql", 30), ("mongodb", 20)]
)
async def test_the_counts_are_those_of_the_contents(
    output: str,
    runs: int,
    store: Store,
    valkey_url: str,
    tmp_path: Path,
    places: Places,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "FIRST_RETRY_S", 0.001)
    client, done, seed = redis.Redis.from_url(valkey_url), 0, 0
    while done < repetitions(runs, 20):
        seed += 1
        chance = random.Random(f"{output} {seed}")
        folder = tmp_path / str(seed)
        folder.mkdir()
        place = places(output, folder)
        site, refusing, before = Site(chance), set[str](), Stored()
        for number in range(3):
            client.flushdb()
            await store.open(1, "test")
            site.change(refusing)
            at = folder / str(number)
            at.mkdir()
            run = Run(store, at, place.spec, site)
            await run.begin()
            await run.work(chance)
            told, after = await run.end(), place.stored()
            expected = site.expected(before, after, refusing)
            names = ("new", "changed", "unchanged", "refused", *(("gone",) if run.keeps_history else ()))
            assert {name: told[name] for name in names} == {name: expected[name] for name in names}, (
                f"seed {seed}, run {number}"
            )
            assert told["gone"] is not None or not run.keeps_history
            before, refusing = after, place.refuse()
            done += 1
