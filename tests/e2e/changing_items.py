"""A site whose items change from run to run, and the stores whose contents tell what a run did with them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

from support.java_servers import Ferret, Kafka, brought
from support.object_stores import MINIO_USER, Minio
from support.postgres import Postgres, running_postgres
from support.processes import Process

BAD = "bad"
"""The store refuses items whose title begins with this text."""
Shown = list[tuple[str, str, str]]
"""The items of a page: kind, key and title."""
Stored = dict[tuple[str, str], tuple[str, bool]]
"""Maps the kind and key of each stored item to its title, and to whether it is marked as deleted."""


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
        return names & {"book", "item"}


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
            kind: title for kind, title in (("book", "title"), ("item", "data->>'title'")) if kind in there
        }


class HashStore:
    """Empty Valkey hashes, one per kind."""

    def __init__(self, server: Process) -> None:
        self.spec, self._client = f"valkey://127.0.0.1:{server.port}/0?hash={{kind}}", server.client()
        self._client.flushdb()

    def stored(self) -> Stored:
        found: Stored = {}
        for kind in ("book", "item"):
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
            for kind in ("book", "item")
            for one in self._server.rows("db", kind)
        }

    def refuse(self) -> set[str]:
        return set()


Place = SqliteStore | PostgresStore | HashStore | MongoStore


class Places:
    """Makes empty stores of all kinds. Each server starts when it is first used, and ends with the block.
    `folder`: the folder of the servers."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._servers = folder, contextlib.ExitStack()
        os.environ |= MINIO_USER  # also for the workers of a fleet, which start earlier
        self._started: dict[str, Any] = {}

    def __call__(self, output: str, folder: Path) -> Place:
        """Returns an empty store. `folder`: the folder of an SQLite file. Skips the test if FerretDB is
        missing."""
        if output == "sqlite":
            return SqliteStore(folder)
        server = self.server(output)
        kinds: dict[str, Any] = {"postgresql": PostgresStore, "mongodb": MongoStore, "hash": HashStore}
        made: Place = kinds[output](server)
        return made

    def _start(self, output: str) -> Any:
        if output == "postgresql":
            return self._servers.enter_context(running_postgres())
        folder = self._folder / output
        folder.mkdir(parents=True)
        if output == "mongodb" and not brought("ferretdb").exists():
            pytest.skip("FerretDB is not here: ./test gets it")
        if output == "hash":
            server: Any = Process(folder, "--save", "", "--appendonly", "yes").ready()
        else:
            server = {"mongodb": Ferret, "kafka": Kafka, "s3": Minio}[output](folder)
        self._servers.callback(server.kill)
        return server

    def server(self, output: str) -> Any:
        """Returns the server of an output. Starts it if it does not run yet."""
        if output not in self._started:
            self._started[output] = self._start(output)
        return self._started[output]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.close()


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

        shared = [(kind, key, title(kind, key)) for kind in ("book", "item") for key in ("s1", "s2")]
        count = max(len(self.pages), chance.randint(2, 9)) + chance.choice((0, 0, 1))
        pages: dict[int, Shown] = {}
        for page in range(count):
            pages[page] = []
            for n in range(chance.randint(0, 3)):
                kind, key = chance.choice(("book", "item")), f"{page}-{n}"
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
        there = {name: title for name, (title, gone) in after.items() if not gone}
        right = {
            name: title
            for name, title in stored.items()
            if title is not None and not after.get(name, ("", False))[1]
        }
        assert there == right, {
            name: (there.get(name), right.get(name))
            for name in there.keys() | right.keys()
            if there.get(name) != right.get(name)
        }
        return found
