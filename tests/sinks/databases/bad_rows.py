"""Rows that are hard to store, and outputs that cannot be written."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from gossamer.errors import SinkAway, SinkError
from gossamer.model.visit import Row
from sinks.databases.database_servers import CassandraPlace, KafkaPlace, Mongo, Place, Valkey
from sinks.rows_and_commits import book, loose, ours


def hard() -> list[Row]:
    """Returns rows of the kinds `book`, `hard` and `_history`, each with a key of its own."""
    deep: Any = {"bottom": 1}
    for _ in range(300):
        deep = {"a": deep}
    inf = float("inf")
    decimals = ("Infinity", "NaN", "sNaN", "1E+400", "0." + "1" * 60, "12345678901234567.89")
    found = [book(n, price=Decimal(text)) for n, text in enumerate(decimals, 100)]
    found += [
        book(110, title="x" * 10_000_000),
        book(111, title="\udc80", tags=["\ud800", "\0"], more={"\ud800": "\0"}),
    ]
    texts: list[dict[str, Any]] = [
        {"a": inf, "b": [-inf, float("nan")], "c": {"d": inf}},
        {"t": "\ud800", "\udfff": "\udc00"},
        {"a\0": "b\0"},
        {"deep": deep},
        {"_id": "other"},
        {"_id": "other", "x": 1},
        {"a.b": 1, "": 2, "'; DROP TABLE note; --": 3},
        {"$set": {"x": 1}},
        {f"f{n}": n for n in range(3000)},
        {"wide": 2**64, "m": [-(2**63), 2**70]},
        {"Name": 1, "name": 2},
        {'a"b': 1},
    ]
    found += [loose(200 + n, kind="hard", **fields) for n, fields in enumerate(texts)]
    found += [
        Row("hard", key, {"x": 1, **ours("hard", key, {"x": 1})}) for key in ("", "k" * 100_000, "k\ud800\0")
    ]
    return [*found, loose(300, kind="_history", x=1)]


ASIDE = {
    "kafka": {("110", "a message may have")},
    "webhook": {("110", "status 413")},
    "mongodb": {("206", "invalid key"), ("207", "invalid key"), ("211", "malformed JSON")},
    "cassandra": {("", "Key may not be empty"), ("k", "longer than maximum")},
}
"""The rows of `hard()` that a store refuses: the beginning of the key and the message. The store accepts all
other rows."""


class Wrong(NamedTuple):
    """An output that cannot be written, with the exception type and its message. `until` makes the output
    fail for the duration of its block."""

    spec: str
    error: type[Exception]
    says: str
    until: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext


def wrong(place: Place) -> list[Wrong]:
    """Returns the outputs of a store that cannot be written. Those of PostgreSQL are in test_trouble."""
    if isinstance(place, KafkaPlace):
        guarded = f"127.0.0.1:{place.server.guarded}"
        return [
            Wrong(f"kafka://joe:sekret@{guarded}/rows", SinkError, "Authentication failed"),
            Wrong(f"kafka://joe:pw@{guarded}/rows?sasl=SCRAM-SHA-256", SinkError, "Mechanism"),
            Wrong(f"kafka://joe:pw@{guarded}/rows", SinkError, "TopicAuthorizationFailed"),
        ]
    if isinstance(place, Mongo):
        return [
            Wrong(place.spec.replace("//", "//joe:sekret@"), SinkError, "uthentication"),
            Wrong(f"{place.spec}?collection=a..b", SinkError, "empty"),
            Wrong(f"{place.spec}?collection={'c' * 300}", SinkError, "[?]collection="),
            Wrong(f"{place.spec}?collection=full_{{kind}}", SinkAway, "I/O error", lambda: full(place)),
        ]
    if isinstance(place, CassandraPlace):
        place.server.ask("CREATE ROLE poor WITH PASSWORD = 'sekret' AND LOGIN = true")
        place.server.ask("CREATE TABLE ks.other (id int PRIMARY KEY)")
        place.server.ask('CREATE TABLE ks.clash ("_key" text PRIMARY KEY, title int)')
        return [
            Wrong(place.spec.replace(":cassandra@", ":sekret@"), SinkError, "incorrect"),
            Wrong(place.spec.replace("cassandra:cassandra@", "poor:sekret@"), SinkError, "permission"),
            Wrong(place.spec.replace("/ks", "/none"), SinkError, "none"),
            Wrong(f"{place.spec}?table=other", SinkError, "not gossamer's"),
            Wrong(f"{place.spec}?table=clash", SinkError, "column title of clash is int, the items' is text"),
        ]
    if isinstance(place, Valkey):
        with place.server.client() as client:
            client.execute_command("ACL", "SETUSER", "poor", "on", ">sekret", "+ping", "+select")
        return [
            Wrong(place.spec.replace("//", "//joe:sekret@"), SinkError, "WRONGPASS|invalid username"),
            Wrong(place.spec.replace("//", "//poor:sekret@"), SinkError, "permission"),
            Wrong(place.spec.replace("/0?", "/99?"), SinkError, "out of range"),
            Wrong(place.spec, SinkAway, "read only|replica", lambda: replica(place)),
        ]
    return []


@contextlib.contextmanager
def full(place: Place) -> Iterator[None]:
    """Prevents the files of the server from growing, for the duration of the block."""
    pid = place.server.process.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def replica(place: Place) -> Iterator[None]:
    """Makes the server a replica of an unreachable master, for the duration of the block."""
    with place.server.client() as client:
        client.replicaof("127.0.0.1", "1")
        try:
            yield
        finally:
            client.replicaof("NO", "ONE")
