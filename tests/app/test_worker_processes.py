"""Tests of the worker processes of one run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import uvloop

from e2e.runs import job
from gossamer.app import seeding, worker_processes
from gossamer.app.worker_processes import WorkerProcesses
from gossamer.errors import GossamerError


def test_a_process_that_is_killed_before_it_reads_its_setup_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = asyncio.create_subprocess_exec, []

    async def killed(*words: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*words, **options)
        started.append(process.pid)
        process.kill()
        await process.wait()
        while process.stdin is not None and not process.stdin.is_closing():  # noqa: ASYNC110 - the loop closes it
            await asyncio.sleep(0.01)
        return process

    async def run() -> str:
        setup, _ = seeding.prepare(job(["http://127.0.0.1:1/"], tmp_path))
        return await WorkerProcesses(setup, 1, asyncio.Event(), print).work()

    monkeypatch.setattr(worker_processes, "MAX_REPLACEMENTS", 2)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", killed)
    with pytest.raises(GossamerError, match="worker processes died 3 times"):
        uvloop.run(run())
    assert len(started) == 3
