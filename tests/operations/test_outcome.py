"""How a crawl ended, as the API reports it: the exit code of the command, and what becomes of a crawl whose process died."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from firecrawl import Firecrawl

from gossamer.client.service_client import Client
from operations.service_process import Serving, served_folder
from support.fleet_workers import until


def kill_crawl(name: str) -> None:
    """Kills the process that runs a crawl."""
    found = subprocess.run(
        ["pgrep", "-f", "--", f"--name {name} "], capture_output=True, text=True, check=True
    )
    for pid in found.stdout.split():
        os.kill(int(pid), signal.SIGKILL)


def test_the_outcome_is_the_exit_code_of_the_command(server: Serving, web: str) -> None:
    client = Client(server.url)
    client.start(f"{web}/", name="ok", wait=60)
    assert (client.outcome("ok").exit_code, client.outcome("ok").meaning) == (0, "done")
    client.start(f"{web}/", name="gated", fail_on=["pages<100"], wait=60)
    found = client.outcome("gated")
    assert (found.exit_code, found.pages) == (30, 13)
    assert "pages<100" in (found.error or "")
    client.start(f"{web}/", name="stopped", delay=1)
    assert client.outcome("stopped").exit_code is None
    client.stop("stopped")
    client.wait("stopped", timeout=60)
    assert client.outcome("stopped").exit_code == 11


def test_a_crawl_whose_process_died_is_continued(tmp_path: Path, web: str) -> None:
    with served_folder(tmp_path) as server:
        client, door = Client(server.url), Firecrawl(api_url=server.url)
        client.start(f"{web}/", name="killed", delay=0.5)
        started = door.start_crawl(f"{web}/", delay=1)
        for name in ("killed", started.id):
            until("two pages", lambda name=name: client.status(name).pages >= 2)
            kill_crawl(name)
            until("the death is noticed", lambda name=name: client.outcome(name).exit_code == 9)
        assert door.get_crawl_status(started.id).status == "failed"
        client.start(f"{web}/", name="killed", delay=0.01)
        again = door.start_crawl(f"{web}/", delay=1)
        assert again.id == started.id
        for name in ("killed", started.id):
            assert client.wait(name, timeout=120).pages == 13
            rows = [row["url"] for row in client.pages(name)]
            assert len(rows) == len(set(rows)) == 13
        assert door.get_crawl_status(started.id).status == "completed"
