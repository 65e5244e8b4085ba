"""Manages a file that lists the claims of one process, so that these claims are requeued at once if the
process dies.

The process keeps the file locked. The kernel releases the lock when the process ends for any reason. A
process that SIGSTOP has stopped still holds the lock. Another process that gets the lock therefore knows that
the owner is dead. A process finds no file if the owner ran on another machine or before a reboot, or if the
system is not Linux. Without this file, the claims of a dead owner are requeued after their leases have
expired, which takes 30 s.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.config.data_files import open_file
from gossamer.model.visit import Claim

Name = tuple[int, int]
"""The bucket and the token of a claim."""
_ENTRY = struct.Struct("<QQ")
MAX_NEW_ENTRIES = 4096
"""The file of held claims is rewritten if it contains more than this many new entries. The rewritten file
lists only the claims that are still held."""


class HeldClaims:
    """The file of the claims that one process holds. `folder` is the data folder of the crawl. `segment`
    identifies the process (`job_payload.segment_name`)."""

    def __init__(self, folder: Path, segment: str) -> None:
        self._folder, self._fd, self._entries = folder, -1, 0
        boot = _boot()
        self._path = folder / f"held-{boot}-{segment}" if boot and segment else None

    def open(self) -> None:
        """Creates the file under a temporary name, locks the file, and then renames the file to its final
        name. The file is locked before it gets its final name, so that no other process mistakes the new file
        for the file of a dead process."""
        if self._path is not None and self._fd < 0:
            aside = self._path.with_name(f".{self._path.name}")
            self._fd = open_file(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            aside.rename(self._path)

    def note(self, claims: Iterable[Claim], held: Iterable[Name]) -> None:
        """Adds new claims to the file. `held`: all claims that the process holds now, including the new
        ones."""
        if self._fd < 0:
            return
        entries = b"".join(_ENTRY.pack(claim.bucket, claim.token) for claim in claims)
        os.write(self._fd, entries)
        self._entries += len(entries) // _ENTRY.size
        if self._entries > MAX_NEW_ENTRIES:
            self.keep(held)

    def keep(self, held: Iterable[Name]) -> None:
        """Rewrites the file so that it contains only the claims in `held`."""
        if self._fd >= 0:
            entries = b"".join(_ENTRY.pack(*name) for name in held)
            os.ftruncate(self._fd, 0)
            os.write(self._fd, entries)
            self._entries = 0

    def close(self) -> None:
        """Closes the file and releases the lock. A file that still lists claims is not deleted, and another
        process requeues these claims."""
        if self._fd >= 0 and self._path is not None:
            if not os.fstat(self._fd).st_size:
                self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1

    @contextmanager
    def of_dead(self) -> Iterator[dict[int, list[int]]]:
        """Yields one dict with the claims of this machine's dead processes. The dict maps each bucket to the
        tokens of its claims. The files of these processes are deleted at the end of the `with` block, unless
        the block raises an error."""
        found: dict[int, list[int]] = {}
        taken: list[tuple[Path, int]] = []
        try:
            for path in self._folder.glob(f"held-{_boot()}-*") if self._path is not None else ():
                if path != self._path and (fd := _locked(path)) >= 0:
                    taken.append((path, fd))
                    data = path.read_bytes()
                    for bucket, token in _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]):
                        found.setdefault(bucket, []).append(token)
            yield found
            for path, _ in taken:
                path.unlink(missing_ok=True)
        finally:
            for _, fd in taken:
                os.close(fd)


def _locked(path: Path) -> int:
    """Locks the file of a dead process and returns the descriptor of the open file. Returns -1 if the owner
    of the file is alive, or if another process has just locked the file."""
    try:
        fd = open_file(path, os.O_RDWR)
    except OSError:
        return -1
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return -1
    return fd


def _boot() -> str:
    """Returns the boot ID of this machine, or '' if it is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return ""
