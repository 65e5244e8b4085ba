"""The systemd units of deploy/systemd. systemd accepts the units, and gossamer accepts their commands."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import fork_server

UNITS = sorted((Path(__file__).parents[2] / "deploy" / "systemd").iterdir())
PROGRAM = "/srv/gossamer/.venv/bin/gossamer"


def test_there_is_one_for_each_service() -> None:
    assert [unit.name for unit in UNITS] == [
        "gossamer-crawl@.service",
        "gossamer-metrics.service",
        "gossamer-nightly@.service",
        "gossamer-nightly@.timer",
        "gossamer-scheduler.service",
        "gossamer-worker@.service",
    ]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_it(unit: Path, tmp_path: Path) -> None:
    program = tmp_path / "gossamer"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace(PROGRAM, str(program)))
    if unit.suffix == ".timer":
        service = unit.with_suffix(".service")
        (tmp_path / service.name).write_text(service.read_text().replace(PROGRAM, str(program)))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60
    )
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize(
    "unit", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda unit: unit.name
)
def test_gossamer_knows_its_command(unit: Path) -> None:
    (line,) = re.findall(rf"^ExecStart={PROGRAM} (.*)$", unit.read_text(), re.MULTILINE)
    command, *words = line.split()
    shown = fork_server.run(
        [sys.executable, "-m", "gossamer", command, "--help"], capture_output=True, text=True, check=True
    )
    for word in words:
        if word.startswith("-"):
            assert re.search(rf"(?<!\S){re.escape(word)}\b", shown.stdout), f"{command} has no {word}"
