"""Stops an embedded server whose owner has ended without stopping it: `orphaned_server DATA PID SOCKET`.

The guard of the server starts this program when the process that started the server has ended or has left the
folder (`store.server_guard`). Other processes may still use the folder, so the program waits until none does.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from gossamer.errors import GossamerError
from gossamer.store.embedded import end_unused, is_alive, kill_server

GRACE_S = 2.0
"""Seconds that the server waits for the next process, for example for the same command run again."""
CHECK_INTERVAL_S = 0.5


def main(data: str, pid: str, socket: str) -> None:
    """Waits until no process uses the folder, and stops the server. `pid`, `socket`: of the server."""
    time.sleep(GRACE_S)
    while is_alive(int(pid)):
        try:
            if end_unused(Path(data)):
                break
        except FileNotFoundError:  # the folder was removed or moved
            kill_server(int(pid), socket)
        except (OSError, GossamerError):
            pass
        time.sleep(CHECK_INTERVAL_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
