"""Makes the main process of a crawl stop at a chosen point of a commit, so that a test can kill the
process exactly there.

A driver process calls `install` before it runs the command line, so the product itself contains no
failpoints. At the chosen point, the process writes the point's name to a marker file and sleeps until it
is killed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PLACES = ("torn", "written", "settled")
"""The points of a commit. At "torn", half of a batch's bytes are in the file. At "written", all bytes are
in the file, and no claim is settled. At "settled", the store has settled the claims, and the process has
not yet handled the reply."""


COLD = ("kept", "spilled", "refilled", "trimmed")
"""The points of a move to the cold store or back. At "kept", the rows are in the cold store and still in
the outbox. At "spilled", the rows are removed from the outbox. At "refilled", the rows are back in the
store and still in the cold store. At "trimmed", the rows are removed from the cold store."""


def code(place: str, after: int, marker: Path) -> str:
    """Return the code of the driver process: the command line, which stops in its commit (or move) number
    `after`."""
    way = "install_cold" if place in COLD else "install"
    return f"from e2e import failpoint; failpoint.{way}({place!r}, {after}, {str(marker)!r}); from gossamer.cli import main; main()"


def install(place: str, after: int, marker: str) -> None:
    """Install the failpoint in this process."""
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
            # in a file opened for appending, this write goes to the end of the file
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
    """Write the marker file, and wait for the kill. The blocked event loop keeps the rest of the process
    from running."""
    Path(marker).write_text(place)
    time.sleep(600)


def install_cold(place: str, after: int, marker: str) -> None:
    """Install a failpoint between the steps of a move to the cold store or back."""
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
