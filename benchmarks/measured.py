"""CPU of a command and of everything that it starts, also of what detaches itself, as the embedded store does
(Linux).

    python benchmarks/measured.py OUT.json COMMAND...

Orphans become children of this process (PR_SET_CHILD_SUBREAPER), so the kernel's own account of them is
whole: no polling.
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
from pathlib import Path
from typing import NamedTuple

LONGEST = 600
"""Seconds after which a command is ended."""
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of what is measured: modules are compiled once, as they are for users."""


class Cost(NamedTuple):
    """CPU and wall seconds, largest resident size of one process in MiB, exit code."""

    cpu: float
    wall: float
    rss: float
    code: int


def measure(command: list[str], out: Path) -> Cost:
    """Run a command under this file; what it says goes to a file beside `out`."""
    with out.with_suffix(".log").open("wb") as log:
        subprocess.run(
            [sys.executable, __file__, str(out), *command], stdout=log, stderr=log, check=True, env=COMPILED
        )
    return Cost(*json.loads(out.read_text()))


def main() -> None:
    """Run, adopt, wait for all, write down."""
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
