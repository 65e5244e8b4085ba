"""Rows as Arrow batches, and a journal of lines and batches into one Parquet file. The only file that imports pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet

from gossamer.errors import SinkError
from gossamer.sinks.columns import Column
from gossamer.sinks.exact import failure
from gossamer.sinks.jsonl import encode
from gossamer.sinks.rows import frames, mended, refitted
from gossamer.visit import Row

_CHUNK = 256 << 10
"""Bytes of a journal that are read at once."""
_GROUP = 4 << 20
"""Journal bytes of a row group, the last of them apart."""
_TYPES = {
    "str": pa.string(), "json": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(),
    "decimal": pa.decimal128(38, 9), "time": pa.timestamp("us", "UTC"), "date": pa.string(), "strings": pa.list_(pa.string()),
}  # fmt: skip


def batch(columns: Sequence[Column], rows: Sequence[Row]) -> bytes:
    """Rows of one struct as an Arrow IPC stream of one batch; empty where some value does not fit its column as it is.

    To make it and to read it again takes half of what JSON lines take, where there are hundreds of rows.
    """
    schema = _schema(columns)
    struct: Any = type(rows[0].data)
    names = [name for name in schema.names if name in struct.__struct_fields__]
    optional = {
        name
        for name, value in zip(struct.__struct_fields__[::-1], struct.__struct_defaults__[::-1], strict=False)
        if value is msgspec.UNSET
    }
    get = attrgetter(*names)
    found = dict(zip(names, zip(*[get(row.data) for row in rows], strict=True), strict=True))
    try:
        arrays = [_array(found.get(one.name), one.type, one.name in optional, len(rows)) for one in schema]
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return b""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as stream:
        stream.write_batch(pa.record_batch(arrays, schema=schema))
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]


def convert(journal: str, length: int, part: str, columns: Sequence[Column], *, foreign: bool = False) -> None:
    """Write the first `length` bytes of `journal` as the Parquet file `part`, synced. Memory: a few times 4 MiB.

    `foreign`: the journal may have been written with other columns; what has none now goes to `_extra`.
    """
    schema = _schema(columns)
    try:
        with open(journal, "rb") as source, open(part, "wb") as out:
            with pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
                tables, size = [], 0
                for data, packed in _blocks(source, length):
                    size += len(data)
                    if packed:
                        tables.append(_unpacked(journal, data, schema, columns))
                    else:
                        tables.append(_table(data, schema, columns, foreign))
                    if size >= _GROUP:
                        writer.write_table(pa.concat_tables(tables))
                        tables, size = [], 0
                if tables:
                    writer.write_table(pa.concat_tables(tables))
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise failure(part, error) from error


def clash(part: str, columns: Sequence[Column]) -> str:
    """What a part holds otherwise than the columns say: such a folder cannot be read as one table. '' when nothing."""
    try:
        there = pyarrow.parquet.read_schema(part)
    except (OSError, pa.ArrowInvalid) as error:
        return f"{part} cannot be read ({error})"
    for name, kind in columns:
        at = there.get_field_index(name)
        if at >= 0 and there.field(at).type != _TYPES[kind]:
            return f"column {name} is {there.field(at).type}, the items' is {_TYPES[kind]}"
    return ""


def _schema(columns: Sequence[Column]) -> Any:
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns])


def _array(values: Sequence[Any] | None, kind: Any, optional: bool, rows: int) -> Any:
    """One column of a batch; None: no row has it. Raises ArrowException, ValueError, TypeError, OverflowError."""
    if values is None:
        return pa.nulls(rows, kind)
    if optional:
        values = [None if value is msgspec.UNSET else value for value in values]
    if pa.types.is_timestamp(kind):  # (a cast would load all of pyarrow.compute)
        values = [value and datetime.fromisoformat(value) for value in values]
    return pa.array(values, kind, from_pandas=True)  # what is no number is null


def _blocks(source: IO[bytes], length: int) -> Iterator[tuple[bytes, bool]]:
    """The first `length` bytes of a journal, in order: lines, some 256 KiB of them at once, and batches (True)."""
    lines: list[bytes] = []
    size = 0
    for data, packed, took in frames(source, length):
        length -= took
        if lines and (packed or size >= _CHUNK):
            yield b"".join(lines), False
            lines, size = [], 0
        if packed:
            yield data, True
        else:
            lines.append(data)
            size += took
    if length:
        raise SinkError(f"{source.name} is shorter than what was written to it")
    if lines:
        yield b"".join(lines), False


def _unpacked(journal: str, data: bytes, schema: Any, columns: Sequence[Column]) -> Any:
    """A batch of a journal as a table, also one that was made with other columns. Raises SinkError."""
    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise SinkError(f"{journal} is damaged ({error}): start anew with --fresh") from error
    if table.schema == schema:
        return table
    return _read(encode([refitted(columns, row) for row in table.to_pylist()]), schema)


def _table(data: bytes, schema: Any, columns: Sequence[Column], foreign: bool) -> Any:
    if not foreign:
        try:
            return _read(data, schema)
        except pa.ArrowInvalid:  # a value that Arrow cannot take: look at each
            pass
    return _read(b"".join(mended(columns, line) for line in data.splitlines()), schema)


def _read(data: bytes, schema: Any) -> Any:
    return pyarrow.json.read_json(
        pa.BufferReader(data),
        read_options=pyarrow.json.ReadOptions(block_size=len(data) + 1, use_threads=False),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    ).select(schema.names)
