"""The benchmark of a million pages, run on a few thousand. All counts equal the benchmark's brute-force
counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from house.tree import ROOT


def test_counts_of_made_pages_equal_the_brute_count(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "keywords_million.py"),
        "--pages",
        "1500",
        "--processes",
        "1",
        "--folder",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert "keywords with a wrong count: 0 of 1,000" in done.stdout
    assert "counted=1425, copies=75" in done.stdout
