"""The database connection that merges partial counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MERGE = """
import sys
from pathlib import Path
from gossamer.uses.keywords.merging import connect
with connect(Path(sys.argv[1])) as base:
    base.execute("SET progress_bar_time = 0")
    for query in (base, base.cursor()):
        query.execute("SELECT count(DISTINCT hash(i) % 100003) FROM range(3000000) numbers(i)").fetchall()
"""


def test_long_queries_print_nothing(tmp_path: Path) -> None:
    """DuckDB would show a progress bar for code without a file, as in a spawned process."""
    command = [sys.executable, "-c", MERGE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("", "")
