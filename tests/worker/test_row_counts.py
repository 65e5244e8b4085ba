"""What a run counts as new, changed, unchanged, gone and refused equals what the contents of its output show:
in random runs with kinds that nobody declared, repeated keys, refused rows, outages, kills and lost leases."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import redis

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
from gossamer.worker.outputs import Outputs
from gossamer.worker.records import format_time
from sinks.rows_and_commits import Book, book, loose
from support.java_servers import Ferret, brought
from support.postgres import Postgres, running_postgres
from support.processes import Process
from support.repetitions import repetitions
from worker.worker_parts import Net, Road

BAD = "bad"
"""The store refuses items whose title begins with this text."""
Shown = list[tuple[str, str, str]]
"""The items of a page: kind, key and title."""
Stored = dict[tuple[str, str], tuple[str, bool]]
"""Maps the kind and key of each stored item to its title, and to whether it is marked as deleted."""


class Died(BaseException):
    """Raised where the simulated process dies."""


class SqliteStore:
    """A new SQLite file."""

    def __init__(self, folder: Path) -> None:
        self.spec = str(folder / "out.sqlite")

    def stored(self) -> Stored:
        found: Stored = {}
        with contextlib.closing(sqlite3.connect(self.spec)) as base:
            for kind in self._kinds(base):
                for key, title, deleted in base.execute(f"SELECT _key, title, _deleted_at FROM {kind}"):  # noqa: S608
                    found[kind, key] = title, deleted is not None
        return found

    def refuse(self) -> set[str]:
        """Makes the existing tables refuse items whose title begins with BAD. Returns their kinds."""
        with contextlib.closing(sqlite3.connect(self.spec)) as base:
            kinds = self._kinds(base)
            for kind in kinds:
                base.execute(
                    f"CREATE TRIGGER IF NOT EXISTS bad_{kind} BEFORE INSERT ON {kind} "
                    f"WHEN new.title LIKE '{BAD}%' BEGIN SELECT RAISE(ABORT, 'no room'); END"
                )
            base.commit()
        return kinds

    def _kinds(self, base: sqlite3.Connection) -> set[str]:
        names = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return names & {"book", "note"}


class PostgresStore:
    """Empty tables of a running server."""

    def __init__(self, server: Postgres) -> None:
        self.spec = server.url
        with psycopg.connect(self.spec, autocommit=True) as base:
            base.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def stored(self) -> Stored:
        found: Stored = {}
        with psycopg.connect(self.spec, autocommit=True) as base:
            for kind, title in self._kinds(base).items():
                rows = base.execute(f"SELECT _key, {title}, _deleted_at FROM {kind}").fetchall()  # noqa: S608
                found |= {(kind, key): (shown, deleted is not None) for key, shown, deleted in rows}
        return found

    def refuse(self) -> set[str]:
        with psycopg.connect(self.spec, autocommit=True) as base:
            kinds = self._kinds(base)
            for kind, title in kinds.items():
                base.execute(f"ALTER TABLE {kind} DROP CONSTRAINT IF EXISTS bad_{kind}")
                base.execute(
                    f"ALTER TABLE {kind} ADD CONSTRAINT bad_{kind} CHECK ({title} NOT LIKE '{BAD}%')"
                )
        return {*kinds}

    def _kinds(self, base: Any) -> dict[str, str]:
        """Returns the expression of the title for each kind that has a table."""
        there = {name for (name,) in base.execute("SELECT tablename FROM pg_tables")}
        return {
            kind: title for kind, title in (("book", "title"), ("note", "data->>'title'")) if kind in there
        }


class HashStore:
    """Empty Valkey hashes, one per kind."""

    def __init__(self, server: Process) -> None:
        self.spec, self._client = f"valkey://127.0.0.1:{server.port}/0?hash={{kind}}", server.client()
        self._client.flushdb()

    def stored(self) -> Stored:
        found: Stored = {}
        for kind in ("book", "note"):
            for key, raw in self._client.hgetall(kind).items():
                found[kind, key.decode()] = json.loads(raw)["title"], False
        return found

    def refuse(self) -> set[str]:
        return set()


class MongoStore:
    """Empty collections of a running server."""

    def __init__(self, server: Ferret) -> None:
        self.spec, self._server = f"{server.url}/db", server
        server.ask("db", "book", lambda rows: rows.database.client.drop_database("db"))

    def stored(self) -> Stored:
        return {
            (kind, one["_id"]): (one["title"], one.get("_deleted_at") is not None)
            for kind in ("book", "note")
            for one in self._server.rows("db", kind)
        }

    def refuse(self) -> set[str]:
        return set()


@dataclass
class Site:
    """A site whose pages change from run to run. Pages with an odd number have items of their own, and may go
    and come back. The other pages also show the items that several pages share."""

    chance: random.Random
    pages: dict[int, Shown] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    titles: Iterator[str] = field(default_factory=lambda: (f"t{n}" for n in range(10**9)))

    def change(self, refusing: set[str]) -> None:
        """Makes the pages of the next run. `refusing`: the kinds whose bad items the store refuses."""
        chance, before = (
            self.chance,
            {(kind, key): title for some in self.pages.values() for kind, key, title in some},
        )

        def title(kind: str, key: str, *, may_be_bad: bool = True) -> str:
            if may_be_bad and kind in refusing and chance.random() < 0.15:
                return f"{BAD}{next(self.titles)}"
            old = before.get((kind, key), BAD)
            return next(self.titles) if old.startswith(BAD) or chance.random() < 0.3 else old

        shared = [(kind, key, title(kind, key)) for kind in ("book", "note") for key in ("s1", "s2")]
        count = max(len(self.pages), chance.randint(2, 9)) + chance.choice((0, 0, 1))
        pages: dict[int, Shown] = {}
        for page in range(count):
            pages[page] = []
            for n in range(chance.randint(0, 3)):
                kind, key = chance.choice(("book", "note")), f"{page}-{n}"
                versions = chance.choice((1, 1, 1, 3))
                if versions == 1:
                    pages[page].append((kind, key, title(kind, key)))
                else:  # each version is new, also to the store
                    pages[page] += [(kind, key, next(self.titles)) for _ in range(versions)]
            if page % 2 == 0:
                pages[page] += chance.sample(shared, chance.randint(0, 3))
            chance.shuffle(pages[page]) if len({one[:2] for one in pages[page]}) == len(pages[page]) else None
        self.pages = pages
        self.gone = {page for page in pages if page % 2 and chance.random() < 0.2}

    def visit(self, claim: Claim) -> Visit:
        """Returns the visit of a page that was fetched now."""
        page, at = int(claim.request.url.rpartition("/")[2]), format_time(time.time())
        visit = Visit(claim, Settle(claim.token, "d", since=0), counts={"pages": 1})
        if page in self.gone:
            visit.gone = at
            return visit
        for kind, key, title in self.pages[page]:
            row = book(0, upc=key, title=title) if kind == "book" else loose(0, title=title)
            assert isinstance(row.data, dict)
            row.key = row.data["_key"] = key
            row.data |= {"_url": claim.request.url, "_seen_at": at, "_hash": title}
            visit.rows.append(row)
        return visit

    def expected(self, before: Stored, after: Stored, refusing: set[str]) -> Counter[str]:
        """Returns the counts that follow from the contents of the store before and after the run."""
        found = Counter[str](new=len(after.keys() - before.keys()))
        found["gone"] = sum(
            gone and not before.get(name, ("", False))[1] for name, (_, gone) in after.items()
        )
        stored: dict[tuple[str, str], str | None] = {
            name: None if gone else title for name, (title, gone) in before.items()
        }
        for page, items in self.pages.items():
            for kind, key, title in items if page not in self.gone else ():
                if title.startswith(BAD) and kind in refusing:
                    found["refused"] += 1
                    continue
                if (kind, key) in stored:
                    found["unchanged" if stored[kind, key] == title else "changed"] += 1
                stored[kind, key] = title
        assert {name: title for name, (title, gone) in after.items() if not gone} == {
            name: title for name, title in stored.items() if title is not None and not after[name][1]
        }
        return found


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
            self.parts.frontier, lock=self.folder / "lock", tables=[filtered(table, wanted)], say=_say
        )
        self.parts.outputs.filler.count_from(self.since, counted=False)
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
            await self._commit([self.site.visit(claim) for claim in claims], event)

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
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def mongodb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ferret]:
    if not brought("ferretdb").exists():
        pytest.skip("FerretDB is not here: ./test gets it")
    server = Ferret(tmp_path_factory.mktemp("ferret"))
    yield server
    server.kill()


@pytest.fixture(scope="module")
def hashes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    server = Process(tmp_path_factory.mktemp("hashes"), "--save", "").ready()
    yield server
    server.kill()


@pytest.mark.parametrize(
    ("output", "runs"), [("sqlite", 400), ("hash", 50), ("postgresql", 30), ("mongodb", 20)]
)
async def test_the_counts_are_those_of_the_contents(
    output: str,
    runs: int,
    store: Store,
    valkey_url: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "FIRST_RETRY_S", 0.001)
    client, done, seed = redis.Redis.from_url(valkey_url), 0, 0
    while done < repetitions(runs, 20):
        seed += 1
        chance = random.Random(f"{output} {seed}")
        folder = tmp_path / str(seed)
        folder.mkdir()
        place: Any = {
            "sqlite": lambda at=folder: SqliteStore(at),
            "hash": lambda: HashStore(request.getfixturevalue("hashes")),
            "mongodb": lambda: MongoStore(request.getfixturevalue("mongodb")),
            "postgresql": lambda: PostgresStore(request.getfixturevalue("postgres")),
        }[output]()
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
