"""The file that stores the rows of a crawl in the crawl's data folder. The file contains all items and page
records, whatever other outputs the crawl has.

Because of this file, `items` and `export` work for every crawl. If a later run adds an output, the output is
first filled with the rows of this file. A repair reads this file to find out which pages are done. The file
is a sequence of frames. A commit appends one frame per MAX_FRAME_ROWS rows. A frame consists of a version
byte, the length of its body in bytes (4 bytes, big-endian), and its body. The body is a zlib-compressed
MessagePack list of rows (`model.packed_row`).
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from gossamer.config.data_files import open_file
from gossamer.config.redaction import mask
from gossamer.errors import SinkError
from gossamer.model.packed_row import PackedRow, pack_row, unpack_row
from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.crash_safe_file import ExactFile

NAME, INCOMPLETE = "rows.kept", "rows.incomplete"
"""Names of files in the folder of a crawl. The file `rows.kept` contains the rows that the crawl keeps. If
`rows.kept` lacks rows of the crawl, the file `rows.incomplete` contains the reason."""
TARGET = "@kept-rows"
"""The target name under which the store records the committed length of the file. The target name stays the
same if the folder moves."""
VERSION, LEVEL = 1, 1
MAX_FRAME_ROWS = 1_000
"""The maximum number of rows in a frame, so that a reader needs little memory. A page record follows the items of its
page, so a page whose record is in a complete frame has all its items."""
MIN_GROUP_ROWS = 5_000
"""The minimum number of rows in each group that `read` yields, except for the last group."""

_head = struct.Struct(">BI")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[PackedRow]).decode


class KeptRows:
    """The FileSink for the rows in a crawl's data folder. `overwrite`: whether the crawl starts from the
    beginning and drops the rows of its earlier runs. `owner`, `log`: as in `ExactFile`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        owner: str = "",
        log: AppendLog | None = None,
    ) -> None:
        self.path = Path(folder) / NAME
        self._overwrite = overwrite
        self._file = ExactFile(str(self.path), overwrite=overwrite, owner=owner, ends=b"", log=log)
        self.close, self.drop = self._file.close, self._file.drop

    def target(self) -> str:
        """Returns TARGET."""
        return TARGET

    def prepare(self) -> int:
        """Creates the file, or cuts off an incomplete last frame. Only the file's owner can read it, because
        requests may contain secrets. Returns the length of the file in bytes. Raises SinkError if the store
        no longer knows the crawl."""
        self._file.refuse_forgotten()
        if self._overwrite:
            self.path.with_name(INCOMPLETE).unlink(missing_ok=True)
        elif self.path.exists():
            os.truncate(self.path, whole_length(self.path))
        length = self._file.prepare()
        self.path.chmod(0o600)
        return length

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        parts = (rows[at : at + MAX_FRAME_ROWS] for at in range(0, len(rows), MAX_FRAME_ROWS))
        return self._file.append(committed, b"".join(map(_frame, parts)))

    def read(self, start: int, end: int) -> Iterator[tuple[list[Row], int]]:
        """Yields each group of rows with the offset of the byte after the group. See `read_kept`."""
        return read_kept(self.path, start, end)


def why_incomplete(folder: str | os.PathLike[str]) -> str:
    """Returns the reason why a crawl's folder lacks rows of the crawl, or '' if it has all rows."""
    path = Path(folder)
    if (path / INCOMPLETE).exists():
        return (path / INCOMPLETE).read_text().strip()
    return "" if (path / NAME).exists() else "its rows were not kept"


def unfilled_message(crawl: str, outputs: Sequence[str], folder: str | os.PathLike[str]) -> str:
    """Returns a message about outputs that lack the rows of a crawl's earlier runs."""
    names = ", ".join(mask(one) for one in outputs)
    return (
        f"{names}: only what is found from now on goes there; "
        f"{why_incomplete(folder) or 'the rest is not kept'}. "
        f"What another output has: gossamer export {crawl} FILE"
    )


def mark_incomplete(folder: str | os.PathLike[str], why: str) -> None:
    """Records the reason why a crawl's folder lacks rows of the crawl."""
    with open(Path(folder) / INCOMPLETE, "w", opener=open_file) as file:
        print(why, file=file)


def remove_kept(folder: str | os.PathLike[str], why: str) -> int:
    """Removes the kept rows of a crawl to free space. Returns the number of bytes freed."""
    path = Path(folder) / NAME
    mark_incomplete(folder, why)
    size = path.stat().st_size
    path.unlink()
    return size


def read_kept(
    path: str | os.PathLike[str], start: int = 0, end: int | None = None
) -> Iterator[tuple[list[Row], int]]:
    """Yields groups of rows from the complete frames between two byte offsets.

    The second value of each pair is the offset of the byte after the group. Raises SinkError if a newer
    gossamer wrote the file, or if a frame is damaged.
    """
    rows: list[Row] = []
    at = start
    for found, at in _packed_rows(path, start, end):
        rows += map(unpack_row, found)
        if len(rows) >= MIN_GROUP_ROWS:
            yield rows, at
            rows = []
    if rows:
        yield rows, at


def iterate_kept(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yields the rows of all complete frames. Only one frame is in memory, and its rows are unpacked one by one. Raises
    SinkError as `read_kept` does."""
    for found, _ in _packed_rows(path, 0, None):
        yield from map(unpack_row, found)


def _packed_rows(
    path: str | os.PathLike[str], start: int, end: int | None
) -> Iterator[tuple[list[PackedRow], int]]:
    """Yields the rows of each complete frame, and the offset of the byte after the frame."""
    with open(path, "rb") as file:
        for body, at in _frames(file, start, end):
            try:
                yield _decode(zlib.decompress(body)), at
            except (zlib.error, msgspec.MsgspecError) as error:
                raise SinkError(f"{path} is damaged before byte {at}: {error}") from error


def whole_length(path: str | os.PathLike[str]) -> int:
    """Returns the total length in bytes of a file's complete frames. Only the last frame can be
    incomplete."""
    with open(path, "rb") as file:
        return max((at for _, at in _frames(file, 0, None, bodies=False)), default=0)


def _frame(rows: Sequence[Row]) -> bytes:
    body = zlib.compress(_encode([pack_row(row) for row in rows]), LEVEL)
    return _head.pack(VERSION, len(body)) + body


def _frames(file: BinaryIO, at: int, end: int | None, bodies: bool = True) -> Iterator[tuple[bytes, int]]:
    """Yields the body of each complete frame, and the offset of the byte after the frame. If `bodies` is
    false, yields b"" instead of the body."""
    size = os.fstat(file.fileno()).st_size if end is None else end
    while at + _head.size <= size:
        file.seek(at)
        version, length = _head.unpack(file.read(_head.size))
        if version != VERSION:
            raise SinkError(f"{file.name} has rows of another gossamer (version {version}) at byte {at}")
        if at + _head.size + length > size:
            return
        at += _head.size + length
        yield (file.read(length) if bodies else b""), at
