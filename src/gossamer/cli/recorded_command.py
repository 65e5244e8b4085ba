"""The child process in which `gossamer serve` runs a command (`operations.command_runs`). The process survives the end
of `serve`, so it writes its own exit code."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from gossamer.cli import main


def run() -> None:
    """Runs the command in `sys.argv`. The first argument is the file for the exit code, and the second one is the
    descriptor of a lock, which shows that the process is alive. SIGTERM stops the command like Ctrl-C."""
    end, lock = Path(sys.argv.pop(1)), int(sys.argv.pop(1))
    os.set_inheritable(lock, False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        main()
    except SystemExit as ended:
        new = end.with_suffix(".new")
        new.write_text(str(ended.code if isinstance(ended.code, int) else 1))
        new.replace(end)
        raise


if __name__ == "__main__":
    run()
