"""The commands of the tutorial print the output that the tutorial shows."""

from __future__ import annotations

import subprocess
import sys

from house.tree import ROOT


def test_the_tutorial_s_commands_print_what_it_shows() -> None:
    command = [sys.executable, str(ROOT / "docs" / "run_tutorial.py"), "--check", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (
        f"{done.stdout}{done.stderr}\nIf the new output is right: python docs/run_tutorial.py writes it into the page"
    )
