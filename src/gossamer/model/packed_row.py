"""Encodes rows as MessagePack. The encoding has three uses: the pipe between a worker and its page process,
rows that are held back until the end of a run, and the rows that a crawl keeps. The encoding is exact for
decimals, large integers and records."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from gossamer.model.minhash import Sketch
from gossamer.model.visit import Edge, PageRecord, Row

_DECIMAL, _INTEGER, _TEXT = 1, 2, 3
_encode = msgspec.msgpack.Encoder().encode
_KINDS: dict[int, Any] = {0: PageRecord, 1: Edge}


class PackedRow(msgspec.Struct, array_like=True):
    """An encoded row. `form`: 0 for a page record, 1 for a link, 2 for an item."""

    kind: str
    key: Any
    form: int
    data: bytes
    run: str
    sketch: tuple[bytes, bytes] | None
    once: bool
    lacks: tuple[str, ...] = ()
    needs: dict[str, Any] | None = None


def pack_row(row: Row) -> PackedRow:
    """Encodes a row for the pipe."""
    form = 0 if isinstance(row.data, PageRecord) else 1 if isinstance(row.data, Edge) else 2
    data = _encode(_plain(row.data) if form == 2 else row.data)
    sketch = None if row.sketch is None else (row.sketch.same, row.sketch.near)
    return PackedRow(row.kind, _plain(row.key), form, data, row.run, sketch, row.once, row.lacks, row.needs)


def unpack_row(one: PackedRow) -> Row:
    """Decodes a row."""
    if one.form == 2:
        data: Any = msgspec.msgpack.decode(one.data, ext_hook=_extended)
    else:
        data = msgspec.msgpack.decode(one.data, type=_KINDS[one.form])
    sketch = None if one.sketch is None else Sketch(*one.sketch)
    key = one.key if isinstance(one.key, str) else _extended(one.key.code, one.key.data)
    return Row(one.kind, key, data, one.run, sketch, one.once, one.lacks, one.needs)


def _plain(value: Any) -> Any:
    """Converts an item's value to msgpack types. Items are JSON-ready except for decimals
    (`item.plain_fields`)."""
    kind = type(value)
    if kind is dict:
        return {_plain(name): _plain(one) for name, one in value.items()}
    if kind is list or kind is tuple:
        return [_plain(one) for one in value]
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            return msgspec.msgpack.Ext(_TEXT, value.encode("utf-8", "surrogatepass"))
        return value
    if kind is Decimal:
        return msgspec.msgpack.Ext(_DECIMAL, str(value).encode())
    if kind is int and not -(1 << 63) <= value < 1 << 64:
        return msgspec.msgpack.Ext(_INTEGER, b"%x" % value)
    return value


def _extended(code: int, data: Any) -> Any:
    raw = bytes(data)
    if code == _DECIMAL:
        return Decimal(raw.decode())
    return int(raw, 16) if code == _INTEGER else raw.decode("utf-8", "surrogatepass")
