"""The child process in which a scheduler runs a command (`scheduler.commands`). The child gets heartbeats on its
standard input. If they end, the scheduler is gone, and the command stops gracefully."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from pathlib import Path

from gossamer.app.process_tuning import end_after_parent
from gossamer.cli import main
from gossamer.scheduler.commands import BEAT_TIMEOUT_S

GRACE_S = 12.0
"""Seconds for a graceful stop. After this time, the child ends at once."""
FORCED = 13


def run() -> None:
    """Runs the command in `sys.argv`, whose first argument is a file for the exit code. A first SIGTERM stops the
    command like Ctrl-C."""
    end = sys.argv.pop(1)
    end_after_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    told = list[int]()

    def stop(number: int, _: object) -> None:
        told.append(number)
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, stop)
    beats = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a command that reads its standard input must not read the heartbeats
    os.close(nothing)
    threading.Thread(target=_watch, args=(beats,), name="heartbeats", daemon=True).start()
    try:
        main()
    except SystemExit as ended:
        # a command that was told to stop and did not complete is started again
        if end and isinstance(ended.code, int) and not (told and ended.code):
            Path(end).write_text(str(ended.code))
        raise


def _watch(beats: int) -> None:
    """Stops the command if no heartbeat arrives."""
    while select.select([beats], [], [], BEAT_TIMEOUT_S)[0] and os.read(beats, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(FORCED)


if __name__ == "__main__":
    run()
