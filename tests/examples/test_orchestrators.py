"""The recipe for cron: what it prints, which cron mails, and that a run does not overlap the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import SRC, Pages
from cli.conftest import stop_store
from house.tree import ROOT
from operations.conftest import SITE
from support.answers import answering
from support.fleet_workers import until


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder as /srv/gossamer, with the recipe, and the command on the path."""
    script = (ROOT / "examples" / "orchestrators" / "nightly.sh").read_text()
    command = f'#!/bin/sh\nexec {sys.executable} -m gossamer "$@"\n'
    for name, text in (("nightly.sh", script), ("gossamer", command)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    yield tmp_path
    stop_store(tmp_path)


def begin(folder: Path, site: str, **settings: str) -> subprocess.Popen[str]:
    given = {"allow_private": "127.0.0.0/8", "delay": "0.01", "retries": "none", **settings}
    env = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    env |= {f"GOSSAMER_{name.upper()}": value for name, value in given.items()}
    env |= {"PATH": f"{folder}:{env['PATH']}", "PYTHONPATH": str(SRC)}
    return subprocess.Popen(
        [folder / "nightly.sh", site],
        cwd="/",
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(folder: Path, site: str, **settings: str) -> tuple[int, str]:
    with begin(folder, site, **settings) as process:
        said, _ = process.communicate(timeout=120)
        return process.returncode, said


def test_a_good_run_prints_nothing_and_a_bad_one_its_reason(folder: Path) -> None:
    with answering(Pages) as port:
        (folder / "shop.py").write_text(SITE.replace("WEB", f"http://127.0.0.1:{port}"))
        assert run(folder, "shop.py") == (0, "")
        assert len((folder / "shop.jsonl").read_text().splitlines()) == 12
    code, said = run(folder, "shop.py")  # the site is down
    assert code == 9, said
    assert "failed, the next run tries again (exit code 9)" in said
    (folder / "shop.py").write_text("no site")
    code, said = run(folder, "shop.py")
    assert code == 4, said
    assert "a retry would not help (exit code 4)" in said


def test_a_schedule_that_overlaps_itself_starts_nothing_twice(folder: Path) -> None:
    with answering(Pages) as port:
        (folder / "shop.py").write_text(SITE.replace("WEB", f"http://127.0.0.1:{port}"))
        with begin(folder, "shop.py", delay="0.5") as first:
            until("the first run has begun", lambda: (folder / ".gossamer" / "shop").exists())
            assert run(folder, "shop.py") == (0, "the last run of shop.py still works\n")
            assert first.communicate(timeout=120)[0] == ""
            assert first.returncode == 0
