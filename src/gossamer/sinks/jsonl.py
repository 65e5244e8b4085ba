"""JSON lines: one object a line, UTF-8, in the order written. Also the standard output."""

from __future__ import annotations

import math
import os
import re
import select
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec

from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.exact import ExactFile, failure

_DEEP = 100
_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)
_BARE = re.compile(rb"[:\[,]-?s?(?:NaN|Infinity)")


def lines(rows: Sequence[Row]) -> bytes:
    """The rows as JSON lines. What JSON has no form for is replaced (NaN by null, half a surrogate pair by
    U+FFFD), so that one odd value never holds up a batch."""
    return encode([row.data for row in rows])


def encode(values: list[Any]) -> bytes:
    """Any values as JSON lines."""
    try:
        data = _encoder.encode_lines(values)
    except (ValueError, TypeError, RecursionError):
        return b"".join(_careful(value) for value in values)
    # a Decimal that is no number would be written as the bare word
    if (b"NaN" in data or b"Infinity" in data) and _BARE.search(data):
        return b"".join(_careful(value) for value in values)
    return data


def text(value: Any) -> str:
    """One value as JSON text."""
    return encode([value])[:-1].decode()


def parsed(data: str | bytes) -> Any:
    """What JSON text says. A number that a float does not hold is a Decimal: with all its digits. Raises
    msgspec.DecodeError.

    >>> parsed("[1.5, 0.12345678901234567890, 1E+999]")
    [1.5, Decimal('0.12345678901234567890'), Decimal('1E+999')]
    """
    return _decode(data)


def number(said: str | Decimal) -> float | Decimal:
    """A number as a float, where that is the same, else as a Decimal."""
    exact, near = Decimal(said), float(said)
    return near if Decimal(repr(near)) == exact else exact


def whole(value: str) -> str:
    """A text that can be encoded: half a surrogate pair becomes U+FFFD."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_decode = msgspec.json.Decoder(float_hook=number).decode


def _careful(value: Any) -> bytes:
    """One value: as it is where that can be written, else part by part."""
    try:
        data = _encoder.encode(value)
        if not _BARE.search(data):
            return data + b"\n"
    except (ValueError, TypeError, RecursionError):
        pass
    return _encoder.encode(_plain(value)) + b"\n"


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return whole(value)
    if value is None or isinstance(value, int | float | bytes | date):
        return value
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if depth > _DEEP:
        return None
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {_plain(str(k)): _plain(v, depth + 1) for k, v in value.items() if v is not msgspec.UNSET}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part, depth + 1) for part in value]
    try:
        return _plain(msgspec.to_builtins(value, enc_hook=str), depth + 1)
    except (ValueError, TypeError, RecursionError):
        return _plain(str(value))


class JsonLines:
    """The FileSink of `.jsonl`: all kinds in one file. `most`: bytes from which on no more rows are taken."""

    def __init__(
        self,
        path: str,
        *,
        overwrite: bool = False,
        owner: str = "",
        most: float = math.inf,
        log: AppendLog | None = None,
    ) -> None:
        self._most = most
        self._file = ExactFile(path, overwrite=overwrite, owner=owner, log=log)
        self.target = self._file.target
        self.prepare = self._file.prepare
        self.close = self._file.close
        self.find, self.adopt = self._file.find, self._file.adopt

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `parts.FileSink`."""
        return self._file.append(committed, lines(rows) if committed < self._most else b"")


class Stdout:
    """Rows on the standard output as JSON lines, at least once: a kill between writing and settling writes
    them again.

    A reader that went away is a BrokenPipeError: the door ends the crawl gracefully, its rows stay unsettled.
    Processes that share one output call `upsert` under the crawl's output lock, or long lines may mix.
    """

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd

    def target(self) -> str:
        """Always `-`."""
        return "-"

    def prepare(self) -> int:
        """Nothing to prepare."""
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """Write the rows, past all buffers."""
        rest = memoryview(lines(rows))
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:  # somebody who shares the pipe made it non-blocking
                select.select([], [self._fd], [])
            except BrokenPipeError:
                raise
            except OSError as error:
                raise failure("the standard output", error) from error

    def close(self) -> None:
        """The standard output belongs to the process."""
