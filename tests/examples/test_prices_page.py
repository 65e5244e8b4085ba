"""The commands of docs/prices.md print what the page shows: from a CSV file to the first alert."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import gossamer
from house.tree import ROOT

PAGE = ROOT / "docs" / "prices.md"
DOCUMENTED = "127.0.0.1:8000"


@pytest.fixture
def bookshop() -> Iterator[str]:
    command = [sys.executable, str(ROOT / "examples" / "bookshop" / "serve.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as shop:
        assert shop.stdout is not None
        found = re.search(r"http://([\d.:]+)/", shop.stdout.readline())
        assert found
        yield found[1]
        shop.kill()


def comparable(text: str) -> str:
    """The text without numbers and widths, which differ from run to run."""
    spec = importlib.util.spec_from_file_location("run_tutorial", ROOT / "docs" / "run_tutorial.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plain: str = module.comparable(text)
    return re.sub(r"[\dTZ:-]{6,}", "0", plain)


def test_commands_of_the_page_lead_to_the_first_alert(tmp_path: Path, bookshop: str) -> None:
    page = PAGE.read_text()
    blocks = re.findall(r"^```(csv|console)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (_, table), (_, console) = blocks[:2]
    (tmp_path / "targets.csv").write_text(table.replace(DOCUMENTED, bookshop))
    commands = re.findall(r"^\$ gossamer (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)
    assert len(commands) == 5
    for words, shown in commands:
        code, out, err = gossamer(tmp_path, *words.replace(DOCUMENTED, bookshop).split())
        assert code == 0, err
        assert comparable(out.replace(bookshop, DOCUMENTED)) == comparable(shown), words
    assert "slow-maps: 15 GBP is below 16" in console
