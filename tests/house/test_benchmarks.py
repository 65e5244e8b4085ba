"""The benchmark of costs measures and reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from house.tree import ROOT

BROKEN = """
import sys, cost
program = "import sys; print('the end of its log'); sys.exit(3)"
cost.colly = lambda: cost.Contender("broken", (sys.executable, "-c", program))
sys.exit(cost.main())
"""


def cost(*words: str, program: tuple[str, ...] = ("cost.py",)) -> subprocess.CompletedProcess[str]:
    """Runs benchmarks/cost.py with a web of 100 pages."""
    command = [sys.executable, *program, "--quick", "--web", "generated2k", *words]
    return subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)


def rows(text: str) -> dict[str, list[str]]:
    """Returns the cells of the first table by contender."""
    table = text.split("## ")[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table if line.startswith("|")]
    return {row[0].split(" (")[0]: row[1:] for row in cells[2:]}


def test_the_floor_and_the_working_tree_fetch_all_pages(tmp_path: Path) -> None:
    done = cost("--only", "bare,gossamer", "--output", str(tmp_path / "cost.txt"))
    assert done.returncode == 0, done.stderr
    table = rows(done.stdout)
    assert table.keys() == {"bare loop", "gossamer, working tree"}
    for seconds, _, _, requests, pages, written, *_ in table.values():
        assert (requests, pages, written) == ("100", "100", "100")
        assert float(seconds) > 0
    assert table["gossamer, working tree"][1] == table["bare loop"][2] == "1.00"
    assert float(table["bare loop"][1]) < 1 < float(table["gossamer, working tree"][2])
    assert "robots.txt" not in done.stdout, "nobody requested it"
    assert (tmp_path / "cost.txt").read_text() == done.stdout


def test_a_contender_that_is_not_available_has_no_ratio() -> None:
    done = cost("--only", "bare,against", "--against", "no-such-revision")
    assert done.returncode == 0, done.stderr
    assert "against is not available, so there are no ratios for it" in done.stdout
    assert rows(done.stdout).keys() == {"bare loop"}


def test_a_contender_that_fails_has_no_figure() -> None:
    done = cost("--only", "bare,colly", program=("-c", BROKEN))
    assert done.returncode == 1, done.stderr
    assert "broken: exit code 3, 0 rows, no figure. Its log ends:\nthe end of its log" in done.stdout
    assert rows(done.stdout).keys() == {"bare loop"}
