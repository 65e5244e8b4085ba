"""The suite itself: `./test` can run again what failed, whichever files these are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from house.tree import ROOT

TESTS = ROOT / "tests"
FAILED = ("tests/house/test_instructions.py::test_record_has_all_kinds",)
"""Tests whose file is collected before any other one, and loads a file that has many others beside it."""


def test_a_second_try_collects_what_failed(tmp_path: Path) -> None:
    cache = tmp_path / "v" / "cache" / "lastfailed"
    cache.parent.mkdir(parents=True)
    cache.write_text(json.dumps(dict.fromkeys(FAILED, True)))
    words = ["--last-failed", "--collect-only", "-q", "-o", f"cache_dir={tmp_path}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert [line for line in done.stdout.splitlines() if "::" in line] == list(FAILED)


def test_no_folder_of_tests_hides_behind_another_module() -> None:
    folders = [folder.name for folder in TESTS.iterdir() if folder.is_dir()]
    assert [
        f"{entry}: {name}"
        for entry in sys.path
        for name in folders
        if any(Path(entry, end).exists() for end in (f"{name}.py", f"{name}/__init__.py"))
        and Path(entry).resolve() != TESTS
    ] == []
