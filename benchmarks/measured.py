"""Measures the CPU time of a command and of all its descendants, including processes that detach themselves.

    python benchmarks/measured.py OUT.json COMMAND...

The benchmark works only on Linux. The embedded store is an example of a process that detaches itself.
Orphaned processes become children of this process (PR_SET_CHILD_SUBREAPER), so the kernel counts all
processes and no polling is needed.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

LONGEST = 600
"""The time limit of a command in seconds."""
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of the measured commands. The commands may write compiled modules, as for users."""


class Cost(NamedTuple):
    """CPU seconds, wall seconds, resident memory of the largest process in MiB, and exit code."""

    cpu: float
    wall: float
    rss: float
    code: int


def measure(command: list[str], out: Path, environment: Mapping[str, str] = COMPILED) -> Cost:
    """Runs a command under this program. The output of the command goes to a log file beside `out`."""
    with out.with_suffix(".log").open("wb") as log:
        subprocess.run(
            [sys.executable, __file__, str(out), *command],
            stdout=log,
            stderr=log,
            check=True,
            env=environment,
        )
    return Cost(*json.loads(out.read_text()))


def main() -> None:
    """Runs the command, waits for all descendants, and writes the result."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    began = time.monotonic()
    process = subprocess.Popen(sys.argv[2:], start_new_session=True)
    limit = threading.Timer(LONGEST, process.kill)
    limit.daemon = True
    limit.start()
    code = wall = 0.0
    while True:
        try:
            pid, status, _ = os.wait4(-1, 0)
        except ChildProcessError:
            break
        if pid == process.pid:
            code, wall = os.waitstatus_to_exitcode(status), time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, int(code))
    Path(sys.argv[1]).write_text(json.dumps(cost))


if __name__ == "__main__":
    main()
