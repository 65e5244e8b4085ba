"""JSON lines: one object per line, in UTF-8, in the order written. This module also contains the sink for the
standard output."""

from __future__ import annotations

import math
import os
import re
import select
import sys
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from gossamer.errors import UsageError
from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.crash_safe_file import ExactFile, has_owner, sink_error

_MAX_DEPTH = 100
HEAD_BYTES = 1 << 20
"""Maximum number of bytes of the first line of a file that are checked before rows are appended."""
_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)
_BARE = re.compile(rb"[:\[,]-?s?(?:NaN|Infinity)")


def encode_lines(rows: Sequence[Row]) -> bytes:
    """Encodes rows as JSON lines. Replaces values that JSON cannot express, because they would otherwise
    block a batch. NaN becomes null. An unpaired surrogate becomes U+FFFD."""
    return encode([row.data for row in rows])


def encode(values: list[Any]) -> bytes:
    """Encodes values of any type as JSON lines."""
    try:
        data = _encoder.encode_lines(values)
    except (ValueError, TypeError, RecursionError):
        return b"".join(_careful(value) for value in values)
    # msgspec would write a Decimal that is NaN or infinite as a bare word
    if (b"NaN" in data or b"Infinity" in data) and _BARE.search(data):
        return b"".join(_careful(value) for value in values)
    return data


def text(value: Any) -> str:
    """Encodes one value as JSON text."""
    return encode([value])[:-1].decode()


def decode(data: str | bytes) -> Any:
    """Decodes JSON text. A number that a float cannot represent exactly becomes a Decimal with all its
    digits. Raises msgspec.DecodeError.

    >>> decode("[1.5, 0.12345678901234567890, 1E+999]")
    [1.5, Decimal('0.12345678901234567890'), Decimal('1E+999')]
    """
    return _decode(data)


def exact_number(said: str | Decimal) -> float | Decimal:
    """Returns a number as a float if the float is exact, otherwise as a Decimal."""
    exact, near = Decimal(said), float(said)
    return near if Decimal(repr(near)) == exact else exact


def encodable(value: str) -> str:
    """Returns the text in a form that can be encoded: an unpaired surrogate becomes U+FFFD."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_decode = msgspec.json.Decoder(float_hook=exact_number).decode


def _careful(value: Any) -> bytes:
    """Encodes one value. If the value cannot be encoded unchanged, each unencodable part of it is
    replaced."""
    try:
        data = _encoder.encode(value)
        if not _BARE.search(data):
            return data + b"\n"
    except (ValueError, TypeError, RecursionError):
        pass
    return _encoder.encode(_plain(value)) + b"\n"


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, int | float | bytes | date):
        return value
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if depth > _MAX_DEPTH:
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
    """The FileSink for `.jsonl`, with the rows of all kinds in one file. `most`: the file length in bytes
    above which further rows are dropped."""

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
        self._overwrite = overwrite
        self.target = self._file.target
        self.close, self.drop = self._file.close, self._file.drop
        self.find, self.adopt = self._file.find, self._file.adopt

    def prepare(self) -> int:
        """See `interfaces.FileSink`. Refuses a file that does not contain JSON lines, and reports rows that gossamer
        did not write."""
        if not self._overwrite and os.path.isfile(self._file.path) and os.path.getsize(self._file.path):
            self._check_foreign()
        return self._file.prepare()

    def _check_foreign(self) -> None:
        where = self._file.path
        try:
            with open(where, "rb") as file:
                line = file.readline(HEAD_BYTES)
                marked = has_owner(file.fileno())
        except OSError as error:
            raise sink_error(where, error) from error
        if marked or len(line) == HEAD_BYTES:
            return
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, ValueError):
            row = None
        if not isinstance(row, dict):
            raise UsageError(
                f"{where} does not contain JSON lines: give another file with -o, or overwrite it with -O"
            )
        if not row.keys() & {"_key", "_kind", "_url", "requested_url"}:
            print(
                f"gossamer: {where} has rows that gossamer did not write (with {', '.join([*row][:3]) or 'no field'}); "
                "this crawl appends its rows to them. -O overwrites the file",
                file=sys.stderr,
            )

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        return self._file.append(committed, encode_lines(rows) if committed < self._most else b"")


class ProjectsRows(Protocol):
    """The interface of `column_choice.ColumnChoice`, which is the user's choice of columns."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def has_own(self) -> bool: ...
    def project(self, rows: Sequence[Row]) -> list[Row]: ...


class Stdout:
    """Writes rows to the standard output as JSON lines, each row at least once. If the process is killed
    between writing and settling, the rows are written again.

    If the reader has closed the pipe, BrokenPipeError is raised. The crawl then stops with one line and exit
    code 11, and the claims of the rows are not settled. Processes that share one standard output must call
    `upsert` under the crawl's output lock. Otherwise, long lines of two processes could be mixed.
    """

    def __init__(self, fd: int = 1, choice: ProjectsRows | None = None) -> None:
        """`choice`: the chosen columns, or None for all columns."""
        self._fd, self._choice = fd, choice

    def target(self) -> str:
        """Returns `-`."""
        return "-"

    def prepare(self) -> int:
        """Does nothing, and returns 0."""
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """Writes the rows without buffering."""
        if self._choice is not None:
            rows = self._choice.project(rows)
        rest = memoryview(self._encoded(rows))
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:  # another process made the shared pipe non-blocking
                select.select([], [self._fd], [])
            except BrokenPipeError:
                raise
            except OSError as error:
                raise sink_error("the standard output", error) from error

    def _encoded(self, rows: Sequence[Row]) -> bytes:
        return encode_lines(rows)

    def close(self) -> None:
        """Does nothing, because the standard output belongs to the process."""
