"""Ctrl-C and cancellation stop a crawl soon. The results are kept, and no thread, descriptor or process is
left."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gossamer
from support import fork_server
from web import Web, preset, serve

MAX_STOP_S = 6.0
"""The documented limit is two seconds. A loaded machine with two cores may take longer."""


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", pages=40)) as web:
        yield web


def children() -> set[str]:
    """Return the running child processes of this process."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def leftovers() -> tuple[int, int, set[str]]:
    """Count the threads called "gossamer", the open file descriptors and the child processes."""
    gc.collect()
    threads = sum(one.name == "gossamer" for one in threading.enumerate())
    return threads, len(os.listdir("/proc/self/fd")), children()


async def until(check: Any) -> None:
    """Wait until `check` returns a true value."""
    async with asyncio.timeout(20):
        while not check():  # noqa: ASYNC110 - the other process sends no event
            await asyncio.sleep(0.02)


async def test_a_cancelled_run_keeps_what_it_found(web: Web, tmp_path: Path) -> None:
    out, data = tmp_path / "pages.jsonl", tmp_path / "data"
    await gossamer.run_async(web.url(), data=tmp_path / "first", limit=1, delay=0)
    before = leftovers()  # the first crawl opens the resources that the process keeps
    web.reset()
    task = asyncio.create_task(gossamer.run_async(web.url(), output=out, data=data, delay=0.3))
    await until(lambda: len(web.log()) >= 4)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < MAX_STOP_S
    assert leftovers() == before
    found = len(out.read_text().splitlines())
    assert found >= 1
    again = await gossamer.run_async(web.url(), output=out, data=data, delay=0)
    urls = [json.loads(line)["url"] for line in out.read_text().splitlines()]
    assert (again.state, len(urls), len(set(urls))) == ("finished", 40, 40)


async def test_the_callers_loop_goes_on_after_run(web: Web, tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    assert gossamer.run(web.url(), data=tmp_path, limit=2, delay=0).pages == 2
    assert asyncio.get_running_loop() is loop
    assert (await gossamer.fetch_async(web.url())).status == 200


async def test_a_cancelled_fetch_leaves_no_thread(web: Web) -> None:
    before = leftovers()
    task = asyncio.create_task(gossamer.fetch_async(web.url()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert leftovers() == before


SCRIPT = """
import sys, gossamer
try:
    gossamer.run(sys.argv[1], output="pages.jsonl", delay=0.3)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_in_a_script(web: Web, tmp_path: Path) -> None:
    web.reset()
    command = [sys.executable, "-c", SCRIPT, web.url()]
    with fork_server.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as script:
        asyncio.run(until(lambda: len(web.log()) >= 4))
        began = time.monotonic()
        script.send_signal(signal.SIGINT)
        out, _ = script.communicate(timeout=30)
    assert time.monotonic() - began < MAX_STOP_S
    assert (script.returncode, out) == (0, "interrupted\n")
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) >= 1


def test_a_slow_reader_holds_the_crawl_and_no_page_is_lost(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.client.iteration.MAX_WAITING_BYTES", 1)
    seen: list[str] = []
    crawl = gossamer.crawl(web.url(), delay=0, per_host=8)
    for page in crawl:
        seen.append(page.url)
        assert crawl._rows.qsize() <= 1, "a page waits only if no other does"
    assert len(set(seen)) == len(seen) == 40


def test_progress_is_written_to_stderr(web: Web, capfd: pytest.CaptureFixture[str]) -> None:
    list(gossamer.crawl(web.url(), delay=0, per_host=8, progress=True))
    shown = capfd.readouterr()
    assert "pages" in shown.err
    assert shown.out == ""
