"""Random sequences of commands for one crawl: a preview, different outputs, a stop, a refresh pass (also into
a new output), and outputs that somebody deletes. After each step, every output of the step and an export must
agree with the summary and the stored rows, or a message must name the output that lacks rows."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import random
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, redirect_stderr
from pathlib import Path
from typing import Any, TextIO

from gossamer.app.job import Job, JobOutput
from gossamer.app.query.opened_crawl import stored_rows
from gossamer.app.query.writing import infer_columns, write
from gossamer.app.runner import ExtraReceivers, crawl
from gossamer.config.settings import Settings
from gossamer.model.summary import Summary

ITEMS = 24
SITE = """
from gossamer import Item, Site

site = Site("shop", seeds=["{url}"])


class Thing(Item, key="number"):
    number: int
    price: str


@site.page(r"/\\d+$")
def thing(page):
    yield Thing(number=int(page.css("h1::text").get()), price=page.css("b::text").get())


@site.page()
def listing(page):
    yield from page.follow("a")
"""
UNDECLARED = SITE[: SITE.index("class Thing")] + SITE[SITE.index("@site") :].replace(
    "yield Thing(number=", 'yield {"_key": page.url, "number": '
).replace(", price=page", ', "price": page').replace("get())\n\n\n@site.page()", "get()}\n\n\n@site.page()")
"""The same site without an item class. Its items have the kind "item"."""
OUTPUTS = ("a.jsonl", "b.jsonl", "c.csv", "d.sqlite", "e.parquet", "f.json")
FORMATS = ("jsonl", "csv", "sqlite", "parquet", "json")
STEPS = (
    "preview",
    "one",
    "another",
    "two",
    "all",
    "stop",
    "refresh",
    "delta",
    "delete",
    "delete and refresh",
)
PASSES = ("refresh", "delta", "delete and refresh")


class Shop:
    """A listing of products whose prices change. The event `stop` is set after `until` requests."""

    def __init__(self) -> None:
        self.prices = dict.fromkeys(range(ITEMS), 0)
        self.url, self.until, self.stop = "", 0, asyncio.Event()

    def page(self, path: str) -> bytes:
        if path == "/robots.txt":
            return b""
        if path in ("/", "/?all=1"):
            return "".join(f"<a href=/{n}>{n}</a>" for n in self.prices).encode()
        number = int(path[1:])
        return f"<h1>{number}</h1><b>{self.prices[number]}</b>".encode()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                body = self.page((await reader.readuntil(b"\r\n\r\n")).split()[1].decode())
                self.until -= 1
                if self.until == 0:
                    self.stop.set()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def shop() -> AsyncIterator[Shop]:
    """Run a shop until the block ends."""
    one = Shop()
    server = await asyncio.start_server(one.connection, "127.0.0.1", 0)
    one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield one
    finally:
        server.close()


def things(path: Path, kind: str = "thing") -> Counter[tuple[int, str]]:
    """Return the products in an output, read with the usual reader of its format."""
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    elif path.suffix == ".json":
        rows = json.loads(path.read_text())
    elif path.suffix == ".csv":
        with path.with_name(f"{path.stem}.{kind}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
    elif path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as base:
            made = base.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (kind,)).fetchall()
            lines = base.execute(f"SELECT number, price FROM {kind}") if made else ()  # noqa: S608
            rows = [{"number": n, "price": p} for n, p in lines]
    else:
        import pyarrow.parquet

        table = path.with_name(f"{path.stem}.{kind}.parquet")
        rows = [
            row for part in table.glob("*.parquet") for row in pyarrow.parquet.read_table(part).to_pylist()
        ]
    found = [row if row.get("price") else json.loads(row.get("data") or row["_extra"]) for row in rows]
    return Counter((int(row["number"]), str(row["price"])) for row in found)


class Asker:
    """A crawl that is continued by random steps. `told`: the messages to the user."""

    def __init__(self, seed: int, folder: Path, shop: Shop, *, declared: bool = True) -> None:
        self.random, self.folder, self.shop = random.Random(seed), folder, shop
        self.told: list[str] = []
        self.over, self.passes = False, 0
        self.base: Counter[tuple[int, str]] = Counter()
        """The rows before the current pass."""
        self.since: dict[str, Counter[tuple[int, str]]] = {}
        """For each output, the rows that were found before the output was first used, and that it
        therefore lacks."""
        self.settled = 0
        site = folder / "shop.py"
        site.write_text((SITE if declared else UNDECLARED).replace("{url}", shop.url))
        self.kind = "thing" if declared else "item"

    def job(self, outputs: tuple[str, ...], **given: Any) -> Job:
        own = {name: given.pop(name) for name in list(given) if name in Job.__struct_fields__}
        quick = {"delay": (0.0, 0.0), "allow_private": ("127.0.0.0/8",), "data": str(self.folder / "data")}
        return Job(
            targets=[str(self.folder / "shop.py")],
            settings=Settings(**(quick | given)),
            outputs=[JobOutput(str(self.folder / name)) for name in outputs],
            **own,
        )

    async def run(self, outputs: tuple[str, ...], **given: Any) -> Summary:
        self.told = []
        self.shop.stop = asyncio.Event()
        printed = _Copy(sys.stderr)
        with redirect_stderr(printed):
            summary = await crawl(
                self.job(outputs, **given),
                stop=self.shop.stop,
                receivers=ExtraReceivers(warn=self.told.append),
            )
        self.told += printed.getvalue().splitlines()
        return summary

    def rows(self) -> Counter[tuple[int, str]]:
        """Return the rows that the crawl stores."""
        from gossamer.app.query.sources import kept_rows

        found = kept_rows(self.folder / "data" / "shop")
        return Counter((row["number"], str(row["price"])) for row in found if "_kind" in row)

    async def step(self) -> str:
        """Make a random step, check its result and an export, and return the step's name."""
        name = self.random.choice(STEPS)
        if name in PASSES and not self.over:
            name = "delete" if name == "delete and refresh" else "all"
        outputs = {
            "preview": (),
            "one": ("a.jsonl",),
            "another": ("b.jsonl",),
            "two": ("c.csv", "d.sqlite"),
            "delta": (f"delta-{self.passes}.{self.random.choice(FORMATS)}",),
        }.get(name, tuple(self.random.sample(OUTPUTS, self.random.randrange(1, 4))))
        given: dict[str, Any] = {}
        if name in ("preview", "one", "another", "two"):
            self.settled = given["limit"] = self.settled + self.random.randrange(1, 9)
        if name == "stop":
            self.shop.until = self.random.randrange(3, 12)
        if name.startswith("delete"):
            self.delete(outputs[0])
        if name in PASSES:
            for number in self.random.sample(range(ITEMS), self.random.choice((0, 5))):
                self.shop.prices[number] += 1
            given["refresh"] = True
            self.base, self.passes = self.rows(), self.passes + 1
        summary = await self.run(outputs, **given)
        self.over = summary.state == "finished"
        self.settled = max(self.settled, summary.pages)
        assert summary.adds_up()
        self.check(name, outputs, summary)
        return f"{name} {' '.join(outputs)}; export {self.export()}"

    def delete(self, name: str) -> None:
        """Delete the files of an output, as a user does."""
        stem, dot, ending = name.partition(".")
        for path in [*self.folder.glob(f"{name}*"), *self.folder.glob(f"{stem}.*{dot}{ending}")]:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self.since.pop(name, None)

    def check(self, name: str, outputs: tuple[str, ...], summary: Summary) -> None:
        """An output that is first used in a --refresh pass contains only the rows that changed since, and a
        message reports this. Any other output contains all rows."""
        rows = self.rows() if (self.folder / "data/shop/rows.kept").exists() else Counter()
        if self.passes == 0:
            assert rows.total() == summary.items, (rows.total(), summary.items)
        elif self.over:
            assert {number: int(price) for number, price in sorted(rows)} == self.shop.prices
        for one in outputs:
            lacks = self.since.setdefault(one, self.base if name in PASSES else Counter())
            want = rows - lacks
            if one.endswith(".sqlite"):
                want = Counter(dict(sorted(want)).items())
            found = things(self.folder / one, self.kind) if rows else Counter()
            assert found == want, (one, found - want, want - found, self.told)
            if lacks:
                stem = one.partition(".")[0]
                told = [line for line in self.told if "only changed rows are written there" in line]
                assert any(f"{stem}." in line for line in told), (one, self.told)

    def export(self) -> str:
        """Export the items to another format, and check that the file contains the same items as `items`
        shows, with their types."""
        folder = self.folder / "data" / "shop"
        if not (folder / "rows.kept").exists():
            return ""
        target = self.folder / f"export.{self.random.choice(FORMATS)}"
        self.delete(target.name)
        columns = infer_columns(stored_rows(folder, "items", natural=True))
        write(str(target), "items", stored_rows(folder, "items"), items=columns, folder=str(folder))
        shown = Counter((row["number"], row["price"]) for row in stored_rows(folder, "items"))
        rows = self.rows()
        newest = Counter(dict(sorted(rows)).items())
        assert shown in (rows, newest), (rows - shown, shown - rows)
        if shown:
            assert things(target, self.kind) == (newest if target.suffix == ".sqlite" else shown)
        return target.name


class _Copy(io.StringIO):
    """A text stream that also writes to another stream."""

    def __init__(self, other: TextIO) -> None:
        super().__init__()
        self._other = other

    def write(self, text: str) -> int:
        self._other.write(text)
        return super().write(text)


async def ask(seed: int, folder: Path, steps: int = 7, *, declared: bool = True) -> list[str]:
    """Run one random sequence with a check after each step, and return the steps. `declared`: whether the
    site file has an item class."""
    async with shop() as one:
        asker = Asker(seed, folder, one, declared=declared)
        return [await asker.step() for _ in range(steps)]
