"""A journal into one Parquet file. The only file that imports pyarrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet

from gossamer.errors import SinkError
from gossamer.sinks.columns import Column
from gossamer.sinks.exact import failure
from gossamer.sinks.rows import mended

_CHUNK = 256 << 10
"""Bytes of a journal that are read at once."""
_GROUP = 4 << 20
"""Journal bytes of a row group, the last of them apart."""
_TYPES = {
    "str": pa.string(), "json": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(),
    "decimal": pa.decimal128(38, 9), "time": pa.timestamp("us", "UTC"), "date": pa.string(), "strings": pa.list_(pa.string()),
}  # fmt: skip


def convert(journal: str, length: int, part: str, columns: Sequence[Column], *, foreign: bool = False) -> None:
    """Write the first `length` bytes of `journal` as the Parquet file `part`, synced. Memory: a few times 4 MiB.

    `foreign`: the journal was written with other columns; what has none now goes to `_extra`.
    """
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns])
    try:
        with open(journal, "rb") as source, open(part, "wb") as out:
            with pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
                tables, size = [], 0
                while length > 0:
                    lines = source.readlines(min(_CHUNK, length))
                    if not lines:
                        raise SinkError(f"{journal} is shorter than what was written to it")
                    data = b"".join(lines)[:length]
                    length, size = length - len(data), size + len(data)
                    tables.append(_table(data, schema, columns, foreign))
                    if size >= _GROUP or length <= 0:
                        writer.write_table(pa.concat_tables(tables))
                        tables, size = [], 0
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
