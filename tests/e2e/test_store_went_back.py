"""A crawl in a data folder that is resumed on an older copy of its store."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from e2e.runs import job, rows, wrong_rows
from gossamer.app.runner import crawl
from web import preset, serve


async def test_an_older_store_is_told_and_no_page_is_missing_or_double(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(preset("tiny", hosts=3, pages=60)) as web:
        one, stop = job(web.plan.seeds(), tmp_path, concurrency=4), asyncio.Event()
        running = asyncio.create_task(crawl(one, stop=stop))
        files, copy = tmp_path / "data" / "store" / "appendonlydir", tmp_path / "copy"
        while web.stats()["requests"] < 60:  # noqa: ASYNC110 - it is another process's
            await asyncio.sleep(0.01)
        shutil.copytree(files, copy)
        before = len(rows(tmp_path / "out.jsonl"))
        while len(rows(tmp_path / "out.jsonl")) < before + 60:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        stop.set()
        assert (await running).state == "stopped"
        shutil.rmtree(files)
        shutil.copytree(copy, files)
        capsys.readouterr()
        summary = await crawl(one)
        assert (summary.state, summary.dead) == ("finished", 0)
        found = rows(tmp_path / "out.jsonl")
        assert wrong_rows(found, web.plan) == []
        assert summary.pages == len(found)
        said = [line for line in capsys.readouterr().err.splitlines() if "went back" in line]
        assert len(said) == 1
        assert "are fetched again" in said[0]
