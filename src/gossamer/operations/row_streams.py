"""Streams the rows of a crawl as NDJSON, CSV or Parquet. Few rows are in memory at once, whatever their number. A Parquet
file is written by a process of its own, because pyarrow takes half as much memory as the whole of `serve`."""

from __future__ import annotations

import asyncio
import csv
import io
import sys
from collections.abc import AsyncIterator, Generator, Iterable
from typing import Any

import msgspec

from gossamer import errors
from gossamer.app.query.opened_crawl import opened_crawl
from gossamer.app.query.writing import infer_columns, parquet_stream
from gossamer.config.redaction import register, registered
from gossamer.config.settings import Settings
from gossamer.errors import GossamerError, InvalidField, UsageError
from gossamer.operations import inputs
from gossamer.operations.context import OperationContext
from gossamer.operations.rows import SelectedRows, in_thread, select, selected_rows
from gossamer.sinks import jsonl
from gossamer.sinks.columns import Columns
from gossamer.sinks.csv import guarded_field

NDJSON, CSV, PARQUET = "application/x-ndjson", "text/csv", "application/vnd.apache.parquet"
PIECE_BYTES = 64 << 10
READ_BYTES = 64 << 10


class _ParquetJob(msgspec.Struct, kw_only=True):
    """What the process of a Parquet file reads from its standard input. `input`: the name of the type of `given`. `secrets`:
    what must be masked in the rows."""

    settings: Settings
    crawl: str
    may_lack_rows: bool
    input: str
    given: dict[str, Any]
    secrets: list[str]


class _ParquetProblem(msgspec.Struct, kw_only=True):
    """The error that the process of a Parquet file writes to its standard error."""

    error: str
    text: str
    pointer: str = ""


def row_stream(context: OperationContext, given: inputs.ListRows, form: str) -> AsyncIterator[bytes]:
    """Yields all rows that a request selects, in pieces of one of the three formats. Raises GossamerError, before the first
    piece if the request is wrong."""
    return _parquet_pieces(context, given) if form == PARQUET else _text_pieces(context, given, form)


async def _text_pieces(context: OperationContext, given: inputs.ListRows, form: str) -> AsyncIterator[bytes]:
    record = await context.need(given.crawl)
    selected = select(context.settings, record.name, given, may_lack_rows=not record.outputs)
    async for pieces in in_thread(_csv(selected) if form == CSV else _ndjson(selected), 1):
        yield pieces[0]


def _ndjson(selected: SelectedRows) -> Generator[bytes, None, None]:
    lines, size = list[bytes](), 0
    for _, row in selected_rows(selected):
        lines.append(line := jsonl.encode([row]))
        if (size := size + len(line)) >= PIECE_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    yield b"".join(lines)


def _csv(selected: SelectedRows) -> Generator[bytes, None, None]:
    """Yields CSV. The rows are read twice, because the first line has the names of all fields. A text that a spreadsheet
    would take for a formula begins with an apostrophe."""
    names: dict[str, None] = {}
    for _, row in selected_rows(selected):
        names.update(dict.fromkeys(row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([guarded_field(name) for name in names])
    for _, row in selected_rows(selected):
        writer.writerow([guarded_field(row.get(name)) for name in names])
        if out.tell() >= PIECE_BYTES:
            yield out.getvalue().encode("utf-8", "replace")
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode("utf-8", "replace")


async def _parquet_pieces(context: OperationContext, given: inputs.ListRows) -> AsyncIterator[bytes]:
    record = await context.need(given.crawl)
    select(context.settings, record.name, given, may_lack_rows=True)  # refuses a wrong filter
    job = _ParquetJob(
        settings=context.settings,
        crawl=record.name,
        may_lack_rows=not record.outputs,
        input=type(given).__name__,
        given=msgspec.to_builtins(given),
        secrets=registered(),
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=READ_BYTES,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        child.stdin.write(msgspec.msgpack.encode(job))
        child.stdin.write_eof()
        while piece := await child.stdout.read(READ_BYTES):
            yield piece
        said = await child.stderr.read()
        if await child.wait():
            raise _error_of(said)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


def _error_of(said: bytes) -> Exception:
    try:
        problem = msgspec.json.decode(said.strip().rpartition(b"\n")[2], type=_ParquetProblem)
    except msgspec.MsgspecError:
        return RuntimeError(f"the process of a Parquet file ended: {said.decode('utf-8', 'replace')}")
    if problem.error == InvalidField.__name__:
        return InvalidField(problem.text, problem.pointer)
    found: GossamerError = getattr(errors, problem.error)(problem.text)
    return found


def main() -> None:
    """Writes one Parquet file to the standard output. The standard input describes the rows. The exit code is 1 after an
    error, which the standard error then describes."""
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_ParquetJob)
    register(*job.secrets)
    given: inputs.ListRows = msgspec.convert(job.given, getattr(inputs, job.input))
    try:
        for piece in _parquet(select(job.settings, job.crawl, given, may_lack_rows=job.may_lack_rows)):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        sys.exit(1)
    except GossamerError as error:
        problem = _ParquetProblem(
            error=type(error).__name__, text=str(error), pointer=getattr(error, "pointer", "")
        )
        sys.stderr.buffer.write(msgspec.json.encode(problem) + b"\n")
        sys.exit(1)


def _parquet(selected: SelectedRows) -> Iterable[bytes]:
    items: Columns = {}
    if selected.what == "items":
        with opened_crawl(selected.settings, selected.crawl) as stored:
            rows = stored.rows("items", natural=True)
            items = infer_columns(row for row in rows if selected.kind_test(row))
    try:
        yield from parquet_stream(selected.what, (row for _, row in selected_rows(selected)), items)
    except InvalidField:
        raise
    except UsageError as error:
        raise InvalidField(str(error), "/kind") from None


if __name__ == "__main__":
    main()
