"""Which claim a process is reading a page of, noted where its death leaves it: a file in the crawl's folder,
mapped into memory.

A page that kills the process that reads it (a fault of a parser written in C, a site file's) ends a crawl of
one process, and the next run cannot tell it from a kill: it blames what was noted, and nothing else.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

from gossamer.config.data_files import open_file

_CLAIM = struct.Struct("<Qq")


class Reading:
    """The note of one process: a token (0: none is read) and its bucket. Costs 0.2 us a page, and no call of
    the system."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: the crawl's; without one the note dies with the process. Raises OSError."""
        self._path = folder and folder / f"reading.{os.getpid()}"
        self._map: mmap.mmap | bytearray = bytearray(_CLAIM.size)
        if self._path is None:
            return
        note = open_file(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(note, bytes(_CLAIM.size))  # a hole would ask the disk for room when it is written to
            self._map = mmap.mmap(note, _CLAIM.size)
        finally:
            os.close(note)

    def begins(self, bucket: int, token: int) -> None:
        """A page of that claim is read from now on."""
        _CLAIM.pack_into(self._map, 0, token, bucket)

    def ends(self) -> None:
        """It was read, or failed in a way that can be told."""
        _CLAIM.pack_into(self._map, 0, 0, 0)

    def close(self) -> None:
        """Take the note away."""
        note, self._map = self._map, bytearray(_CLAIM.size)
        if isinstance(note, mmap.mmap):
            note.close()  # it holds a descriptor
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def last_read(folder: Path) -> list[tuple[int, int]]:
    """(bucket, token) of what the dead processes of a crawl were reading; their notes are taken away. For
    whom nobody lives beside."""
    found = []
    for path in folder.glob("reading.*"):
        note = path.read_bytes()
        path.unlink(missing_ok=True)
        if len(note) == _CLAIM.size:
            token, bucket = _CLAIM.unpack(note)
            found += [(bucket, token)] if token else []
    return found
