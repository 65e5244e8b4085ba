"""The claims that a process held when it died."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from gossamer.frontier.held_claims import HeldClaims
from worker.test_loop import URLS, rows
from worker.worker_parts import SEED, Make, Net, links


async def test_what_a_dead_process_of_this_machine_held_is_visited_at_once(
    road: Make, tmp_path: Path
) -> None:
    gone, mine = HeldClaims(tmp_path, "gone"), HeldClaims(tmp_path, "mine")
    table = road(Net({SEED: links(*URLS)}), held_claims=mine, lease=3_600_000)
    await table.add(SEED)
    gone.open()
    mine.open()
    gone.note(await table.claim(), ())
    gone.close()
    assert await asyncio.wait_for(table.run(), 20) == "finished"
    assert sorted(rows(table.path)) == sorted([SEED, *URLS])
    mine.close()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("held-")]
