"""Records the claim whose page a process is currently reading. The record (the mark) is in a memory-mapped
file in the crawl's folder, which survives the process.

A page can kill the process that reads it, through a bug in a C parser or in a site file. If that was the
crawl's only process, the crawl ends, and the next run cannot know whether a person killed the process. The
mark tells the next run which claim may have caused the death, so that it counts a crash only for this claim.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

from gossamer.config.data_files import open_file

_CLAIM = struct.Struct("<Qq")


class CrashMarker:
    """The crash marker of one process. It contains the token and the bucket of the claim whose page is being
    read. Token 0 means that no page is being read. Writing the mark takes 0.2 us per page and no system
    call."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: the crawl's folder. If it is None, the marker is only in memory and is lost when the
        process dies. Raises OSError."""
        self._path = folder and folder / f"reading.{os.getpid()}"
        self._map: mmap.mmap | bytearray = bytearray(_CLAIM.size)
        if self._path is None:
            return
        note = open_file(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(note, bytes(_CLAIM.size))  # a later write could fail if the file were sparse
            self._map = mmap.mmap(note, _CLAIM.size)
        finally:
            os.close(note)

    def begins(self, bucket: int, token: int) -> None:
        """Marks that the page of a claim is being read."""
        _CLAIM.pack_into(self._map, 0, token, bucket)

    def ends(self) -> None:
        """Clears the mark, because the page was read or failed with an error."""
        _CLAIM.pack_into(self._map, 0, 0, 0)

    def close(self) -> None:
        """Removes the marker's file."""
        note, self._map = self._map, bytearray(_CLAIM.size)
        if isinstance(note, mmap.mmap):
            note.close()  # the mapping has a file descriptor of its own
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def last_read(folder: Path) -> list[tuple[int, int]]:
    """Returns (bucket, token) of each claim whose page a dead process of the crawl was reading, and removes
    the markers. May be called only while no other process works on the crawl."""
    found = []
    for path in folder.glob("reading.*"):
        note = path.read_bytes()
        path.unlink(missing_ok=True)
        if len(note) == _CLAIM.size:
            token, bucket = _CLAIM.unpack(note)
            found += [(bucket, token)] if token else []
    return found
