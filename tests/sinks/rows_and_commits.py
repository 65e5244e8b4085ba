"""Rows for the tests of sinks, and a small simulated crawl: a store that commits lengths, and a crash at any
step."""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.model.interfaces import FileSink, Packs
from gossamer.model.item import Item, plain_fields
from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.crash_safe_file import read_mark
from gossamer.sinks.jsonl import JsonLines

STEPS = ("pwrite", "ftruncate", "fdatasync", "fsync", "rename", "unlink", "setxattr")


class Book(Item, key="upc"):
    upc: str
    title: str
    price: Decimal | None = None
    stock: int = 0
    tags: list[str] = msgspec.field(default_factory=list)
    more: dict[str, Any] = msgspec.field(default_factory=dict)


def page(n: int, **changes: Any) -> Row:
    fields: dict[str, Any] = {
        "url": f"http://a.test/{n}",
        "requested_url": f"http://a.test/{n}",
        "status": 200,
        "title": f"Page {n}",
        "content_type": "text/html",
        "language": "en",
        "depth": 1,
        "referrer": "http://a.test/",
        "fetched_at": "2024-05-01T12:00:00.250Z",
        "elapsed": 0.25,
        "bytes": 1234,
        "collector": "http",
        "links": 7,
        "text_hash": "00ff",
        "canonical": None,
        "redirects": [],
        "error": None,
    }
    return Row("page", f"k{n}", PageRecord(**{**fields, **changes}))


def book(n: int, **changes: Any) -> Row:
    item = Book(**{"upc": str(n), "title": f"Book {n}", "price": Decimal("19.90"), **changes})
    fields = plain_fields(item)
    return Row("book", str(n), {**fields, **ours("book", str(n), fields)})


def loose(n: int, kind: str = "note", **fields: Any) -> Row:
    """Returns an item that is an untyped dict."""
    return Row(kind, str(n), {**fields, **ours(kind, str(n), fields)})


def ours(kind: str, key: str, fields: dict[str, Any]) -> dict[str, Any]:
    content = hashlib.blake2b(repr(fields).encode(errors="replace"), digest_size=8).hexdigest()
    seen = {"_seen_at": "2024-05-01T12:00:00Z", "_hash": content}
    return {"_url": "http://a.test/1", "_site": "a", "_kind": kind, "_key": key, **seen}


class Died(BaseException):
    """Raised where the simulated process dies."""


class Store:
    """A simulated store. It commits file lengths and settled rows together, and remembers every earlier
    state."""

    def __init__(self) -> None:
        self.lengths: dict[str, int] = {}
        self.done: list[str] = []
        self.past: list[tuple[dict[str, int], list[str]]] = []

    def commit(self, target: str, length: int, keys: Sequence[str]) -> None:
        self.past.append(copy.deepcopy((self.lengths, self.done)))
        self.lengths[target] = length
        self.done.extend(keys)

    def lose(self, commits: int) -> None:
        """Undo the last commits, as if the store had lost the tail of its log. The commit of `prepare` is
        older and stays."""
        while commits and len(self.past) > 1:
            self.lengths, self.done = self.past.pop()
            commits -= 1


def crawl(sink: FileSink, store: Store, rows: Sequence[Row], size: int = 2) -> None:
    """Write all rows that are not settled yet, as a worker does."""
    target = sink.target()
    if target not in store.lengths:
        store.commit(target, sink.prepare(), ())
    sink.append(store.lengths[target], ())
    left = [row for row in rows if row.key not in store.done]
    for at in range(0, len(left), size):
        batch = left[at : at + size]
        if isinstance(sink, Packs):
            sink.pack(batch)
        length = sink.append(store.lengths[target], batch)
        _between()
        store.commit(target, length, [row.key for row in batch])
    sink.close(store.lengths[target])


def _between() -> None:
    """Marks the time between writing and settling."""


@contextmanager
def dying(
    at: int, monkeypatch: pytest.MonkeyPatch, die: Callable[[], None] | None = None
) -> Iterator[list[int]]:
    """Die at the `at`-th system call that changes the disk. A write is half done by then, and any other call
    has no effect."""
    count = [0]

    def hook(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            count[0] += 1
            if count[0] == at:
                if name == "pwrite":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2], args[2])
                if die is not None:
                    die()
                raise Died
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in STEPS:
            if hasattr(os, name):
                patch.setattr(os, name, hook(name, getattr(os, name)))
        patch.setitem(globals(), "_between", hook("between", _between))
        yield count


ROWS = [page(n) for n in range(7)]
URLS = [row.data.url for row in ROWS]


def jsonl(path: Path) -> FileSink:
    return JsonLines(str(path), owner="crawl@1")


def urls(path: Path) -> list[str]:
    """Returns the URLs of a finished output. Raises an error if a line is broken."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    if data.startswith(b"{"):
        return [json.loads(line)["url"] for line in data.splitlines()]
    return [row["url"] for row in csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True)]


def marks(folder: Path) -> bool:
    """Returns whether this file system can store the owner's mark."""
    probe = folder / "probe"
    probe.touch()
    with probe.open() as file:
        return read_mark(file.fileno()) is not None
