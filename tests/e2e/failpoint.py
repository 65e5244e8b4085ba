"""Makes a door stand still at a chosen place of its commits, so that a test can kill it exactly there.

A driver process calls `install` before the command line; nothing of this is in the product. The place is told
by a file: the door writes its name there and sleeps until it is killed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PLACES = ("torn", "written", "settled")
"""Half of a batch's bytes are in the file; all are, but nothing is settled; the store has settled, but nobody
heard of it."""


COLD = ("kept", "spilled", "refilled", "trimmed")
"""Rows are in the cold store and in the outbox still; they are out of it; they came back, their rows stay;
those are gone, too."""


def code(place: str, after: int, marker: Path) -> str:
    """What the driver process runs: the command line that stands still in its commit (or move) number
    `after`."""
    way = "install_cold" if place in COLD else "install"
    return f"from e2e import failpoint; failpoint.{way}({place!r}, {after}, {str(marker)!r}); from gossamer.cli import main; main()"


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
        from gossamer.sinks import crash_safe_file

        def write_at(fd: int, offset: int, data: bytes) -> None:
            half = len(data) // 2
            if data:
                os.pwrite(fd, data[:half], offset)
                hold()
            # where a file is opened to append, this goes to its end
            os.pwrite(fd, data[half:], offset + half)

        crash_safe_file.write_at = write_at
    elif place == "written":
        from gossamer.worker.outputs import Outputs

        append = Outputs._append

        def appended(self: Outputs, *given: Any) -> Any:
            moves = append(self, *given)
            hold()
            return moves

        Outputs._append = appended  # type: ignore[method-assign] # that is the point of it
    else:
        from gossamer.frontier.frontier_client import Frontier

        settle = Frontier.settle_all

        async def settled(self: Frontier, commits: Sequence[Any]) -> Any:
            answer = await settle(self, commits)
            hold()
            return answer

        Frontier.settle_all = settled  # type: ignore[method-assign] # that is the point of it


def stand_still(place: str, marker: str) -> None:
    """Tell where, and wait for the kill: nothing else of the process moves either."""
    Path(marker).write_text(place)
    time.sleep(600)


def install_cold(place: str, after: int, marker: str) -> None:
    """The same between the steps of a move to the cold store or back."""
    from gossamer.frontier import cold
    from gossamer.frontier.cold import ColdFiles
    from gossamer.store.store import Store

    cold.TRIM_DELAY_S = 0.0
    moves = 0
    whole, verb = (
        (ColdFiles, "write" if place == "kept" else "trim")
        if place in ("kept", "trimmed")
        else (Store, "run")
    )
    was = getattr(whole, verb)

    async def moved(self: Any, *given: Any) -> Any:
        nonlocal moves
        answer = await was(self, *given)
        if whole is ColdFiles or given[0] == {"spilled": "cold_written", "refilled": "cold_refill"}[place]:
            moves += 1
            if moves == after:
                stand_still(place, marker)
        return answer

    setattr(whole, verb, moved)
