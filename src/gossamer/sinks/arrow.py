"""Converts rows to Arrow batches. Also converts a Parquet journal, which contains lines and batches, to a
Parquet file. Only this module imports pyarrow."""

from __future__ import annotations

import io
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
from gossamer.model.visit import Row
from gossamer.sinks.columns import Column
from gossamer.sinks.crash_safe_file import sink_error
from gossamer.sinks.field_types import FieldType, decode_cell
from gossamer.sinks.jsonl import encode
from gossamer.sinks.row_fitting import lines_for, read_frames, refit_line, refit_row

_CHUNK_BYTES = 256 << 10
"""The number of journal bytes that are parsed at once."""
_ROW_GROUP_BYTES = 4 << 20
"""The minimum size of a Parquet row group, in bytes of the journal. Only the last row group of a part may be
smaller."""
_TYPES = {
    "str": pa.string(),
    "json": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "decimal": pa.decimal128(38, 9),
    "time": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "strings": pa.list_(pa.string()),
    "clock": pa.time64("us"),
    "span": pa.string(),
    "bytes": pa.binary(),
    "uuid": pa.string(),
}
_MADE = ("date", "clock", "bytes")
"""Column types whose values are stored as text in the journal, and are converted when a part is written."""


def encode_batch(columns: Sequence[Column], rows: Sequence[Row]) -> bytes:
    """Encodes rows of one struct type as an Arrow IPC stream of one batch. Returns b"" if a value does not
    fit its column, or if a column type needs a conversion.

    A batch of hundreds of rows is written and read twice as fast as JSON lines.
    """
    if any(map(_rich, columns)):
        return b""
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


def write_part(
    journal: str, length: int, part: str, columns: Sequence[Column], *, foreign: bool = False
) -> None:
    """Writes the first `length` bytes of `journal` as the Parquet file `part`, and syncs it. The conversion
    needs a small multiple of 4 MiB of memory. Raises SinkError, DiskFull.

    `foreign`: whether the columns may have changed since the journal was written. Fields that no longer have
    a column go to `_extra`.
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
                        tables.append(_table(data, columns, foreign))
                    if size >= _ROW_GROUP_BYTES:
                        writer.write_table(pa.concat_tables(tables))
                        tables, size = [], 0
                if tables:
                    writer.write_table(pa.concat_tables(tables))
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise sink_error(part, error) from error


class PartStream:
    """Encodes rows as one Parquet file, piece by piece. Needs a small multiple of 4 MiB of memory."""

    def __init__(self, columns: Sequence[Column]) -> None:
        """The last of `columns` must be `_extra`."""
        self._columns, self._out = columns, _Pieces()
        self._writer = pyarrow.parquet.ParquetWriter(
            pa.PythonFile(self._out, "w"), _schema(columns), compression="zstd"
        )
        self._tables: list[Any] = []
        self._size = 0

    def add(self, rows: Sequence[Row]) -> bytes:
        """Adds rows. Returns the next bytes of the file, which may be b""."""
        data = lines_for(self._columns, rows)
        self._tables.append(_table(data, self._columns, foreign=False))
        self._size += len(data)
        return self._group() if self._size >= _ROW_GROUP_BYTES else self._out.taken()

    def end(self) -> bytes:
        """Ends the file. Returns its last bytes."""
        last = self._group() if self._tables else b""
        self._writer.close()
        return last + self._out.taken()

    def _group(self) -> bytes:
        self._writer.write_table(pa.concat_tables(self._tables))
        self._tables, self._size = [], 0
        return self._out.taken()


class _Pieces(io.RawIOBase):
    """A file that keeps written bytes until they are taken."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._bytes += data
        return len(data)

    def taken(self) -> bytes:
        """Returns the bytes that were written since the last call."""
        found, self._bytes = bytes(self._bytes), bytearray()
        return found


def type_conflict(part: str, columns: Sequence[Column]) -> str:
    """Compares the column types of a part with `columns`. Returns a message about the first difference, or ""
    if there is no difference. Also returns a message if the part cannot be read. A folder of parts with
    different types cannot be read as one table."""
    try:
        there = pyarrow.parquet.read_schema(part)
    except (OSError, pa.ArrowInvalid) as error:
        return f"{part} cannot be read ({error})"
    for column in columns:
        name, kind = column.name, _type(column)
        at = there.get_field_index(name)
        if at >= 0 and there.field(at).type != kind:
            return f"column {name} is {there.field(at).type}, the items' is {kind}"
    return ""


def with_part_types(part: str, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Adapts the types of columns to an existing part. If an earlier version of gossamer wrote a column as
    text, the column stays text. A decimal keeps its precision and scale."""
    try:
        there = pyarrow.parquet.read_schema(part)
    except (OSError, pa.ArrowInvalid):
        return tuple(columns)
    found = []
    for column in columns:
        at = there.get_field_index(column.name)
        kind = there.field(at).type if at >= 0 else None
        if kind is not None and pa.types.is_string(kind) and _rich(column):
            found.append(Column(column.name, "json"))
        elif kind is not None and pa.types.is_decimal(kind) and column.type == "decimal":
            found.append(
                Column(column.name, "decimal", FieldType("decimal", digits=(kind.precision, kind.scale)))
            )
        else:
            found.append(column)
    return tuple(found)


def _rich(column: Column) -> bool:
    """Returns whether earlier versions of gossamer wrote the column as text."""
    return column.type in _MADE or (column.shape is not None and column.type == "json")


def _schema(columns: Sequence[Column]) -> Any:
    return pa.schema([(column.name, _type(column)) for column in columns])


def _type(column: Column) -> Any:
    return _of_shape(column.shape) if column.shape is not None else _TYPES[column.type]


def _of_shape(shape: FieldType) -> Any:
    if shape.kind == "list":
        return pa.list_(_of_shape(shape.parts[0][1]))
    if shape.kind == "map":
        return pa.map_(pa.string(), _of_shape(shape.parts[0][1]))
    if shape.kind == "struct":
        return pa.struct([(name, _of_shape(part)) for name, part in shape.parts])
    if shape.kind == "decimal" and shape.digits[0]:
        return (pa.decimal128 if shape.digits[0] <= 38 else pa.decimal256)(*shape.digits)
    return _TYPES[shape.kind]


def _wire(columns: Sequence[Column]) -> Any:
    """Returns the schema of the journal's lines. Columns whose types the journal cannot express (`_rich`) are
    text in this schema."""
    return pa.schema([(one.name, pa.string() if _rich(one) else _type(one)) for one in columns])


def _natural(table: Any, columns: Sequence[Column]) -> Any:
    """Converts a table of journal lines to the types of its columns. Raises ArrowInvalid for a value that
    does not fit."""
    for at, column in enumerate(columns):
        if _rich(column):
            shape = column.shape or FieldType(column.type)
            try:
                values = [
                    None if told is None else decode_cell(shape, told)
                    for told in table.column(at).to_pylist()
                ]
                table = table.set_column(at, column.name, pa.array(values, _type(column)))
            except (ValueError, TypeError, OverflowError, msgspec.DecodeError) as error:
                raise pa.ArrowInvalid(str(error)) from error
    return table


def _array(values: Sequence[Any] | None, kind: Any, optional: bool, rows: int) -> Any:
    """Returns one column of a batch. `values` is None if no row has the field. Raises ArrowException,
    ValueError, TypeError, OverflowError."""
    if values is None:
        return pa.nulls(rows, kind)
    if optional:
        values = [None if value is msgspec.UNSET else value for value in values]
    # A cast would load all of pyarrow.compute.
    if pa.types.is_timestamp(kind):
        values = [value and datetime.fromisoformat(value) for value in values]
    return pa.array(values, kind, from_pandas=True)  # NaN becomes null


def _blocks(source: IO[bytes], length: int) -> Iterator[tuple[bytes, bool]]:
    """Yields pieces of the first `length` bytes of a journal, in order. The second value of each pair is true
    if the piece is an Arrow batch. Lines are combined into pieces of about 256 KiB."""
    lines: list[bytes] = []
    size = 0
    for data, packed, took in read_frames(source, length):
        length -= took
        if lines and (packed or size >= _CHUNK_BYTES):
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
    """Decodes a batch of a journal to a table, even if the batch was written with other columns. Raises
    SinkError."""
    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise SinkError(f"{journal} is damaged ({error}): start over with --fresh") from error
    if table.schema == schema:
        return table
    return _read(encode([refit_row(columns, row) for row in table.to_pylist()]), columns)


def _table(data: bytes, columns: Sequence[Column], foreign: bool) -> Any:
    if not foreign:
        try:
            return _read(data, columns)
        except pa.ArrowInvalid:  # a value does not fit, so each line is converted separately
            pass
    return _read(b"".join(refit_line(columns, line) for line in data.splitlines()), columns)


def _read(data: bytes, columns: Sequence[Column]) -> Any:
    schema = _wire(columns)
    found = pyarrow.json.read_json(
        pa.BufferReader(data),
        read_options=pyarrow.json.ReadOptions(block_size=len(data) + 1, use_threads=False),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    ).select(schema.names)
    return _natural(found, columns)
