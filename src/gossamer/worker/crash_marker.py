"""Records the claim whose page a process is currently reading, so that a later run can tell which page killed
the process. The record is stored in a memory-mapped file in the crawl's folder, and survives the death of the
process.

A page can kill the process that reads the page, through a bug in a C parser or in a site file. After the
death of the only process of a crawl, the next run cannot know whether a page or a person killed the process.
The record names the only claim that may have caused the death, so the next run counts a crash only for this
claim.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

from gossamer.config.data_files import open_file

_CLAIM = struct.Struct("<Qq")


class CrashMarker:
    """The crash marker of one process. The marker contains the token and the bucket of the claim whose page
    is being read. Token 0 means that no page is being read. Setting the marker takes 0.2 us per page and no
    system call."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: the crawl's folder. If `folder` is None, the marker is kept only in memory and is lost
        when the process dies. Raises OSError."""
        self._path = folder and folder / f"reading.{os.getpid()}"
        self._map: mmap.mmap | bytearray = bytearray(_CLAIM.size)
        if self._path is None:
            return
        note = open_file(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(note, bytes(_CLAIM.size))  # a later write could fail if the file were sparse
            self._map = mmap.mmap(note, _CLAIM.size)
        finally:
            os.close(note)

    def begins(self, bucket: int, token: int) -> None:
        """Sets the marker to the claim whose page is about to be read."""
        _CLAIM.pack_into(self._map, 0, token, bucket)

    def ends(self) -> None:
        """Clears the marker after the page was read or reading failed with an error."""
        _CLAIM.pack_into(self._map, 0, 0, 0)

    def close(self) -> None:
        """Removes the marker's file."""
        note, self._map = self._map, bytearray(_CLAIM.size)
        if isinstance(note, mmap.mmap):
            note.close()  # the mapping keeps its own file descriptor open
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def last_read(folder: Path) -> list[tuple[int, int]]:
    """Finds the pages that were being read when processes of the crawl died. Returns the bucket and the token
    of each page's claim, and deletes the marker files. May be called only while no other process works on the
    crawl."""
    found = []
    for path in folder.glob("reading.*"):
        note = path.read_bytes()
        path.unlink(missing_ok=True)
        if len(note) == _CLAIM.size:
            token, bucket = _CLAIM.unpack(note)
            found += [(bucket, token)] if token else []
    return found
