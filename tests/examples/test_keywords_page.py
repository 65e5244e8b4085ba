"""The commands of docs/keywords.md print the output that the page shows, from a word list to a report."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import gossamer
from examples.documented_commands import commands_of
from house.tree import ROOT

PAGE = ROOT / "docs" / "keywords.md"
DOCUMENTED = ("127.0.0.1:8001", "127.0.0.1:8002")


@pytest.fixture
def shops() -> Iterator[list[str]]:
    command = [sys.executable, str(ROOT / "examples" / "teashops" / "serve.py"), "--ports", "0", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        yield re.findall(r"http://([\d.:]+)/", served.stdout.readline())
        served.kill()


def comparable(text: str) -> str:
    """Return the text without run numbers and widths."""
    return re.sub(r"[-\d]{12,}", "0", re.sub(r"[ ]+", " ", text)).strip()


def test_commands_of_the_page_lead_to_a_report(tmp_path: Path, shops: list[str]) -> None:
    blocks = re.findall(r"^```(text|console)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (_, words), (_, console) = blocks[:2]
    (tmp_path / "words.txt").write_text(words)
    commands = commands_of(console)
    assert len(commands) == 5
    for typed, shown in commands:
        for documented, served in zip(DOCUMENTED, shops, strict=True):
            typed = typed.replace(documented, served)
        code, out, err = gossamer(tmp_path, *shlex.split(typed))
        assert code == 0, err
        for documented, served in zip(DOCUMENTED, shops, strict=True):
            out = out.replace(served, documented)
        assert comparable(out).startswith(comparable(shown)), typed
    assert "<svg xmlns" not in (tmp_path / "keywords.html").read_text()  # a single run has no trend
    assert "matcha latte" in (tmp_path / "keywords.html").read_text()
