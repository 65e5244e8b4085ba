"""Every store of rows that is not a file: its server, the output to write to, and the rows found in it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.java_servers import Cassandra, Ferret, Kafka, Server, brought
from support.postgres import BIN, Postgres
from support.processes import Process, free_port

SECRET = "whsec_" + "c2VjcmV0IG9mIHRoZSB0ZXN0cw=="


class Place(ABC):
    """A running server and one output on it. `spec` is the value of `-o`."""

    name: str
    spec: str
    server: Any
    code = ""
    """Code that a driver process runs before its crawl into this output."""
    slow = False
    """Whether the server takes so long to start that a test process starts only one, and empties it."""

    @abstractmethod
    def found(self, kind: str) -> list[dict[str, Any]]:
        """Returns the current rows of a kind, with duplicates. Values are texts if the store keeps them as
        texts."""

    def version(self) -> str:
        return str(self.server.version())

    def noted(self, kind: str, key: str) -> bool:
        """Writes a foreign field, `note`, into a row, as another program would. Returns whether the rows of
        this store can have foreign fields."""
        return False

    def strike(self, data: Path, pause: float) -> None:
        """Sends SIGKILL to the server and restarts it after a pause. `data` is the data folder of the crawl
        that writes to the server."""
        self.server.kill()
        time.sleep(pause)
        self.server.start()

    def empty(self) -> None:  # noqa: B027 - most need not
        """Removes all rows from a slow server, or changes `spec` to an output without rows."""

    def stop(self) -> None:
        """Stops the server."""
        self.server.kill()


class PostgresPlace(Place):
    name = "PostgreSQL"

    def __init__(self, folder: Path) -> None:
        self.server = Postgres(folder)
        self.spec = self.server.url

    def found(self, kind: str) -> list[dict[str, Any]]:
        return [row for (row,) in self.server.ask(f'SELECT to_jsonb(t) FROM "{kind}" t')]

    def noted(self, kind: str, key: str) -> bool:
        self.server.ask(f'ALTER TABLE "{kind}" ADD COLUMN IF NOT EXISTS note text')
        self.server.ask(f"UPDATE \"{kind}\" SET note = 'mine' WHERE _key = '{key}'")
        return True


class Json(PostgresPlace):
    name = "PostgreSQL, jsonb"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spec += "?as=jsonb&table=all_{kind}"

    def found(self, kind: str) -> list[dict[str, Any]]:
        return [{**row, **row["data"]} for row in super().found(f"all_{kind}")]

    def noted(self, kind: str, key: str) -> bool:
        return super().noted(f"all_{kind}", key)


class Valkey(Place):
    name = "Valkey, hash"

    def __init__(self, folder: Path) -> None:
        self.server = Process(folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always").ready()
        self.spec = f"valkey://127.0.0.1:{self.server.port}/0?hash={{kind}}"

    def found(self, kind: str) -> list[dict[str, Any]]:
        with self.server.client() as client:
            return [json.loads(value) for value in client.hgetall(kind).values()]

    def version(self) -> str:
        with self.server.client() as client:
            info = client.info("server")
        return str(info.get("valkey_version", info["redis_version"]))


class Hashes(Valkey):
    name = "Valkey, hashes"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spec = self.spec.replace("hash={kind}", "hash={kind}:{key}")

    def found(self, kind: str) -> list[dict[str, Any]]:
        with self.server.client(decode_responses=True) as client:
            return [client.hgetall(name) for name in client.scan_iter(f"{kind}:*", count=1000)]

    def noted(self, kind: str, key: str) -> bool:
        with self.server.client() as client:
            return bool(client.hset(f"{kind}:{key}", "note", "mine"))


class List(Valkey):
    name = "Valkey, list"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spec = self.spec.replace("hash={kind}", "list=rows")

    def found(self, kind: str) -> list[dict[str, Any]]:
        with self.server.client() as client:
            rows = [json.loads(value) for value in client.lrange("rows", 0, -1)]
        return [row for row in rows if row.get("_kind", "page") == kind]


class KafkaPlace(Place):
    name = "Kafka"
    slow = True

    def __init__(self, folder: Path) -> None:
        self.server, self.topics = Kafka(folder), 0
        self.empty()

    def empty(self) -> None:
        self.topics += 1
        self.spec = f"{self.server.url}/rows{self.topics}"

    def messages(self) -> list[tuple[str, bytes, dict[str, str]]]:
        """Returns the key, the value and the headers of each message of the output."""
        found: list[tuple[str, bytes, dict[str, str]]] = self.server.messages(f"rows{self.topics}")
        return found

    def found(self, kind: str) -> list[dict[str, Any]]:
        return [json.loads(value) for _, value, headers in self.messages() if headers["kind"] == kind]


class CassandraPlace(Place):
    name = "Cassandra"
    slow = True

    def __init__(self, folder: Path) -> None:
        self.server = Cassandra(folder)
        self.spec = self.server.url

    def empty(self) -> None:
        self.server.ask("DROP KEYSPACE ks")
        self.server.make_keyspace()

    def found(self, kind: str) -> list[dict[str, Any]]:
        return [json.loads(row) for (row,) in self.server.ask(f'SELECT JSON * FROM ks."{kind}"')]

    def noted(self, kind: str, key: str) -> bool:
        self.server.ask(f'ALTER TABLE ks."{kind}" ADD IF NOT EXISTS note text')
        self.server.ask(f"UPDATE ks.\"{kind}\" SET note = 'mine' WHERE \"_key\" = '{key}'")
        return True


class Mongo(Place):
    name = "MongoDB's protocol, FerretDB"

    def __init__(self, folder: Path) -> None:
        self.server = Ferret(folder)
        self.spec = f"{self.server.url}/db"

    def found(self, kind: str) -> list[dict[str, Any]]:
        return [
            {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
            for row in self.server.rows("db", kind)
        ]

    def noted(self, kind: str, key: str) -> bool:
        return bool(
            self.server.ask(
                "db", kind, lambda rows: rows.update_one({"_id": key}, {"$set": {"note": "mine"}})
            )
        )


class Receiver(Server):
    """The receiver of webhooks."""

    name = "receiver"

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        script = str(Path(__file__).with_name("webhook_receiver.py"))
        self.words = [sys.executable, script, str(self.port), f"{folder}/base", SECRET]
        self.start()

    def version(self) -> str:
        return f"Python {platform.python_version()}, standardwebhooks"


class Webhook(Place):
    name = "Webhook, our receiver"

    def __init__(self, folder: Path) -> None:
        self.server = Receiver(folder)
        self.spec = f"http+webhook://127.0.0.1:{self.server.port}/?secret={SECRET}"

    def found(self, kind: str) -> list[dict[str, Any]]:
        with contextlib.closing(sqlite3.connect(f"{self.server.folder}/base")) as base:
            return [json.loads(row) for (row,) in base.execute("SELECT row FROM row WHERE kind = ?", [kind])]


PLACES: dict[str, tuple[type[Place], Path]] = {
    "postgresql": (PostgresPlace, BIN),
    "jsonb": (Json, BIN),
    "hash": (Valkey, Path("/")),
    "hashes": (Hashes, Path("/")),
    "list": (List, Path("/")),
    "webhook": (Webhook, Path("/")),
    "kafka": (KafkaPlace, brought("kafka")),
    "mongodb": (Mongo, brought("ferretdb")),
    "cassandra": (CassandraPlace, brought("cassandra")),
}
"""The stores by short name, each with the path that must exist for its tests."""
APPENDED = ("list", "webhook", "kafka")
"""Stores that only append. They contain each sighting once."""

_kept: dict[str, Place] = {}
"""The slow servers of this process."""


@contextlib.contextmanager
def running(name: str, places: Mapping[str, tuple[type[Place], Path]] = PLACES) -> Iterator[Place]:
    """Yields a store with an empty server of its own."""
    make, needed = places[name]
    if not needed.exists():
        told = f"{make.name}: {needed} is not here: ./test gets it"
        pytest.fail(told) if os.environ.get("CI") == "true" else pytest.skip(told)
    if name in _kept:
        _kept[name].empty()
        yield _kept[name]
        return
    with contextlib.ExitStack() as stack:
        place = make(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gt-", dir="/tmp"))))
        stack.callback(place.stop)
        if make.slow:
            _kept[name] = place
            atexit.register(stack.pop_all().close)
        yield place
