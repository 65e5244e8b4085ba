"""Measures the cost of storing a page: CPU microseconds of the output thread per page, for each output.

    python benchmarks/storing.py [--alone] [--pages 4000] [--rounds 3] [--only jsonl,csv,sqlite,bare-sqlite,...]

Each round crawls the synthetic web (tests/web, `real2k`) once per output, each time in a separate process.
The CPU time (user and system) is that of the thread in which all sinks run, from their first call to their
last call. The figure excludes the attempts log and the CPU time of servers. The libraries are loaded before
the measurement. All rows of a commit share the fixed cost of the commit, which is mainly the sync to the
disk. Therefore the number of rows per commit is printed, too. Under other load, pages arrive more slowly and
commits are smaller.

`--alone` does not crawl, but passes page records to the sink, with a fixed number of rows per commit. The
floors of SQLite and Parquet are the bare libraries with the same records. `sqlite3` gets as many rows per
statement and per commit. pyarrow gets as many rows per array. pyarrow writes one file at the end and nothing
before, so a kill loses everything.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.runs import job
from gossamer.app.job import JobOutput
from gossamer.app.process_tuning import settle_in
from gossamer.app.runner import crawl
from gossamer.model.visit import Row
from gossamer.observability.attempts import AttemptsLog
from gossamer.sinks import open_outputs
from gossamer.sinks.columns import Columns, page_columns
from gossamer.sinks.output_spec import open_output
from gossamer.worker.outputs import Outputs
from sinks.databases.database_servers import running
from sinks.rows_and_commits import page
from web import preset, serve

FILES = {name: f"FOLDER/out.{name}" for name in ("jsonl", "csv", "sqlite", "parquet")}
FILES |= {"bare-sqlite": "FOLDER/bare-sqlite.sqlite", "bare-parquet": "FOLDER/bare-parquet.parquet"}
COMPANY = (16, 64, 192, 448)


def one(spec: str, pages: int) -> None:
    """Crawls into one output. Prints the CPU microseconds per page, and the pages per commit."""
    settle_in()  # the command does the same
    import psycopg  # noqa: F401
    import pyarrow.json
    import pyarrow.parquet  # noqa: F401

    spent, commits = [0], [0]
    was = Outputs._in_thread

    def counted(self: Outputs, call: Any, *args: Any) -> Any:
        if isinstance(getattr(call, "__self__", None), AttemptsLog):
            return was(self, call, *args)

        def timed(*given: Any) -> Any:
            began = time.thread_time_ns()
            commits[0] += call.__name__ in ("upsert", "_append")
            try:
                return call(*given)
            finally:
                spent[0] += time.thread_time_ns() - began

        return was(self, timed, *args)

    Outputs._in_thread = counted  # type: ignore[method-assign] # replaced to measure its calls
    open_outputs.open_output = opened  # type: ignore[attr-defined] # the sinks are opened by this name
    with (
        serve(preset("real2k", pages=pages, robots=("allow",))) as web,
        tempfile.TemporaryDirectory(prefix="gt-") as name,
    ):
        work = job(web.plan.seeds(), Path(name), per_host=400, concurrency=64)
        work.outputs = [JobOutput(spec.replace("FOLDER", name))]
        summary = asyncio.run(crawl(work))
        print(spent[0] / 1000 / summary.pages, summary.pages / commits[0])


def made(pages: int) -> list[Row]:
    """Returns page records like those of a crawl, with unsorted keys."""
    rows = []
    for n in range(pages):
        text = hashlib.blake2b(str(n).encode(), digest_size=16).hexdigest()
        url = f"http://127.0.0.1:8000/{text[:12]}/path-{n}.html"
        row = page(
            n,
            url=url,
            requested_url=url,
            canonical=url,
            referrer=f"http://127.0.0.1:8000/some/path/{n % 99}.html",
            title=f"Page {n} has a title as long as titles are",
            content_type="text/html; charset=utf-8",
            text_hash=text,
        )
        row.key = url
        rows.append(row)
    return rows


class BareSqlite:
    """Writes rows with the `sqlite3` library alone, as the floor of SQLite."""

    def __init__(self, folder: str) -> None:
        names = [column.name for column in page_columns() if column.name != "redirects"]
        self._get, width = attrgetter(*names), len(names) + 1
        self._base = sqlite3.connect(f"{folder}/bare.sqlite", isolation_level=None, check_same_thread=False)
        self._base.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
        self._base.execute(
            f"CREATE TABLE IF NOT EXISTS page (c0 TEXT PRIMARY KEY, {', '.join(f'c{n}' for n in range(1, width))})"
        )
        self._row, sets = (
            f"({', '.join('?' * width)})",
            ", ".join(f"c{n}=excluded.c{n}" for n in range(1, width)),
        )
        self._end = f" ON CONFLICT (c0) DO UPDATE SET {sets}"

    def put(self, rows: Sequence[Row]) -> None:
        """Writes the rows in one commit."""
        self._base.execute("BEGIN IMMEDIATE")
        for first in range(0, len(rows), 64):
            some = rows[first : first + 64]
            values = [value for row in some for value in (row.key, *self._get(row.data))]
            self._base.execute(
                f"INSERT INTO page VALUES {', '.join([self._row] * len(some))}{self._end}",  # noqa: S608
                values,
            )
        self._base.execute("COMMIT")

    def close(self) -> None:
        """Closes the database."""
        self._base.close()


class BareParquet:
    """Writes rows with pyarrow alone and keeps them until the end, as the floor of Parquet."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/bare.parquet"
        self._names = [column.name for column in page_columns()]
        self._get = attrgetter(*self._names)
        self._batches: list[Any] = []

    def put(self, rows: Sequence[Row]) -> None:
        """Keeps the rows in memory."""
        import pyarrow as pa

        columns = zip(*[self._get(row.data) for row in rows], strict=True)
        strings = pa.list_(pa.string())
        found = [
            pa.array(one, strings if name == "redirects" else None)
            for name, one in zip(self._names, columns, strict=True)
        ]
        self._batches.append(pa.Table.from_arrays(found, self._names))

    def close(self) -> None:
        """Writes the file."""
        import pyarrow as pa
        import pyarrow.parquet

        table = pa.concat_tables(self._batches, promote_options="default")
        pyarrow.parquet.write_table(table, self._path, compression="zstd")


BARE: dict[str, Any] = {"bare-sqlite": BareSqlite, "bare-parquet": BareParquet}


def opened(spec: str, columns: Columns, **given: Any) -> Any:
    """Opens an output, or the floor with that name."""
    name = os.path.basename(spec).rpartition(".")[0]
    return Bare(name, os.path.dirname(spec)) if name in BARE else open_output(spec, columns, **given)


class Bare:
    """A sink that writes to a floor."""

    def __init__(self, name: str, folder: str) -> None:
        self._inner, self._path = BARE[name](folder), f"{folder}/{name}"

    def target(self) -> str:
        """Returns the path of the file."""
        return self._path

    def prepare(self) -> int:
        """Does nothing. Returns 0."""
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """Writes the rows in one commit."""
        self._inner.put(rows)

    def close(self) -> None:
        """Closes the floor."""
        self._inner.close()


def alone(spec: str, pages: int, company: int) -> float:
    """Writes page records to one output, with `company` rows per commit.

    Returns the CPU microseconds per page, including the close.
    """
    rows = made(pages)
    with tempfile.TemporaryDirectory(prefix="gt-") as name:
        output: Any = opened(spec.replace("FOLDER", name), {"page": page_columns()}, folder=name, owner="c@1")
        table = hasattr(output, "upsert")
        sink = output if table else output.sink("page")
        length, began = sink.prepare(), time.thread_time_ns()
        for at in range(0, pages, company):
            if table:
                sink.upsert(rows[at : at + company])
            else:
                length = sink.append(length, rows[at : at + company])
        sink.close(*([] if table else [length]))
        return (time.thread_time_ns() - began) / 1000 / pages


def fed(names: list[str], pages: int, rounds: int) -> None:
    """Prints the medians of all outputs without a crawl."""
    print(f"| output alone, us of CPU a page | {' | '.join(f'{n} a commit' for n in COMPANY)} |")
    print("| --- |" + " ---: |" * len(COMPANY))
    for name in names:
        costs = []
        for company in COMPANY:
            with ExitStack() as stack:
                spec = FILES[name] if name in FILES else stack.enter_context(running(name)).spec
                alone(spec, 100, company)  # loads the libraries
                costs.append(statistics.median(alone(spec, pages, company) for _ in range(rounds)))
        print(f"| {name} | {' | '.join(f'{cost:.1f}' for cost in costs)} |", flush=True)


def main() -> None:
    """Measures all outputs in interleaved rounds, and prints the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="jsonl,csv,sqlite,bare-sqlite,parquet,bare-parquet,postgresql")
    parser.add_argument("--alone", action="store_true", help="no crawl: the sinks are fed")
    parser.add_argument("--spec", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.spec:
        one(options.spec, options.pages)
        return
    if options.alone:
        when, load = time.strftime("%Y-%m-%d %H:%M", time.gmtime()), os.getloadavg()[1]
        print(f"{when} UTC, {os.cpu_count()} cores, load {load:.1f}; {options.pages} pages\n")
        fed(options.only.split(","), options.pages, options.rounds)
        return
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in options.only.split(",")}
    for _ in range(options.rounds):
        for name, some in found.items():
            with ExitStack() as stack:
                spec = FILES[name] if name in FILES else stack.enter_context(running(name)).spec
                words = [sys.executable, __file__, "--pages", str(options.pages), "--spec", spec]
                said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
                some.append((float(said.split()[-2]), float(said.split()[-1])))
    when, load = time.strftime("%Y-%m-%d %H:%M", time.gmtime()), os.getloadavg()[1]
    print(f"{when} UTC, {os.cpu_count()} cores, load {load:.1f}; {options.pages} pages\n")
    print("| output | us of CPU a page | of the rounds | pages a commit |\n| --- | ---: | ---: | ---: |")
    for name, some in found.items():
        cost, company = zip(*some, strict=True)
        middle = statistics.median(cost)
        print(
            f"| {name} | {middle:.1f} | {min(cost):.1f}-{max(cost):.1f} | {statistics.median(company):.0f} |"
        )


if __name__ == "__main__":
    main()
