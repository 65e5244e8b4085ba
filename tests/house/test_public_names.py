"""An interactive shell completes the public names after `gossamer.`, even before any of them was used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"


def test_public_names_are_listed_and_importable() -> None:
    code = (
        "import gossamer; names = dir(gossamer); assert {*gossamer.__all__, 'parsing'} <= {*names}, names\n"
        "assert all(hasattr(gossamer, name) for name in names)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
