"""Makes a door stand still at a chosen place of its commits, so that a test can kill it exactly there.

A driver process calls `install` before the command line; nothing of this is in the product. The place is told by a file: the door
writes its name there and sleeps until it is killed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PLACES = ("torn", "written", "settled")
"""Half of a batch's bytes are in the file; all are, but nothing is settled; the store has settled, but nobody heard of it."""


def code(place: str, after: int, marker: Path) -> str:
    """What the driver process runs: the command line that stands still in its commit number `after`."""
    return f"from e2e import failpoint; failpoint.install({place!r}, {after}, {str(marker)!r}); from gossamer.cli import main; main()"


def install(place: str, after: int, marker: str) -> None:
    """Put the failpoint into this process."""
    commits = 0

    def hold() -> None:
        nonlocal commits
        commits += 1
        if commits == after:
            Path(marker).write_text(place)
            time.sleep(600)

    if place == "torn":
        from gossamer.sinks import exact

        def write_at(fd: int, offset: int, data: bytes) -> None:
            if data:
                os.pwrite(fd, data[: len(data) // 2], offset)
                hold()
            os.pwrite(fd, data, offset)

        exact.write_at = write_at
    elif place == "written":
        from gossamer.road.outputs import Outputs

        append = Outputs._append

        def appended(self: Outputs, *given: Any) -> Any:
            moves = append(self, *given)
            hold()
            return moves

        Outputs._append = appended  # type: ignore[method-assign] # that is the point of it
    else:
        from gossamer.frontier.verbs import Frontier

        settle = Frontier.settle_all

        async def settled(self: Frontier, commits: Sequence[Any]) -> Any:
            answer = await settle(self, commits)
            hold()
            return answer

        Frontier.settle_all = settled  # type: ignore[method-assign] # that is the point of it
