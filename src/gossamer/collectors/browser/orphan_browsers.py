"""Finds and kills browsers whose gossamer process was killed. Considers only browsers of this user on this
machine whose command line contains the argument `--gossamer-pid`. On systems other than Linux, no browsers
are found."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MARK = "--gossamer-pid="
"""The beginning of a command-line argument for each browser. The argument ends with the id of the gossamer
process that started the browser. Browsers ignore arguments that they do not know."""
_PROC = Path("/proc")
_MARKED = re.compile(rb"\0--gossamer-pid=(\d+)(?=\0)")
_PROFILE = re.compile(rb"\0--user-data-dir=([^\0]+)(?=\0)")


class OrphanBrowser(NamedTuple):
    """A browser process or one of its helper processes. `profile`: the folder of the browser's profile, or ''
    if the command line contains no such folder."""

    pid: int
    profile: str


def mark() -> str:
    """Returns the command-line argument that marks a browser as started by this process."""
    return f"{MARK}{os.getpid()}"


def find_orphan_browsers(age: float, now: float) -> Iterator[OrphanBrowser]:
    """Yields the browsers that are at least `age` seconds old and whose gossamer process is gone. A process
    in another PID namespace, for example in a container, never counts as an orphan, because its process ids
    do not match the process ids here."""
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        with contextlib.suppress(OSError, ValueError):
            pid, about = int(entry.name), entry.stat()
            line = (entry / "cmdline").read_bytes()
            found = _MARKED.search(line)
            if found is None or about.st_uid != os.geteuid() or now - about.st_mtime < age:
                continue
            if os.readlink(entry / "ns" / "pid") != os.readlink("/proc/self/ns/pid"):
                continue
            if not (_PROC / found[1].decode()).exists():
                profile = _PROFILE.search(line)
                yield OrphanBrowser(pid, os.fsdecode(profile[1]) if profile else "")


def end_orphan_browser(orphan: OrphanBrowser) -> None:
    """Kills the browser process, and removes the browser's profile if the profile is in the temporary
    folder."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(orphan.pid, signal.SIGKILL)
    if orphan.profile and Path(orphan.profile).parent == Path(tempfile.gettempdir()):
        shutil.rmtree(orphan.profile, ignore_errors=True)
