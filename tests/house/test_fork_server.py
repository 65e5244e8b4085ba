"""Tests of tests/support/fork_server.py: a forked command behaves like one that starts anew."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from support import fork_server

SHOW = "import os, sys; print(os.getcwd(), sys.argv, os.environ.get('WORD'), sys.stdin.read())"


@pytest.mark.parametrize("folder", [None, "below"])
def test_a_forked_command_has_folder_words_streams_and_environment_of_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
) -> None:
    fork_server.run([sys.executable, "-c", ""], check=True)  # the fork server runs in another folder
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORD", "one")
    given = {"input": "two", "text": True, "capture_output": True, "cwd": folder}
    forked = fork_server.run([sys.executable, "-c", SHOW, "a"], **given)
    assert forked.stdout == f"{tmp_path / (folder or '')} ['-c', 'a'] one two\n"
    assert forked.stdout == subprocess.run([sys.executable, "-c", SHOW, "a"], **given).stdout


def test_a_forked_command_ends_with_its_code_or_signal(tmp_path: Path) -> None:
    ends = {"raise SystemExit(7)": 7, "1 / 0": 1, "import os; os.kill(os.getpid(), 15)": -signal.SIGTERM}
    for code, status in ends.items():
        assert fork_server.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == status
    sleeping = fork_server.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
    )
    assert sleeping.poll() is None
    os.killpg(sleeping.pid, signal.SIGKILL)
    assert sleeping.wait(10) == -signal.SIGKILL
    with pytest.raises(FileNotFoundError):
        fork_server.run([sys.executable, "-c", ""], cwd=tmp_path / "nowhere")


def test_the_modules_of_the_fork_server_exist() -> None:
    ours = [name for name in fork_server.IMPORTED if name.startswith("gossamer.")]
    assert [name for name in ours if util.find_spec(name) is None] == []
