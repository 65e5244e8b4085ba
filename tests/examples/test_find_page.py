"""The commands of docs/find.md print the output that the page shows, from a crawl to the first results."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command_line import gossamer
from examples.documented_commands import DOCUMENTED, commands_of, comparable
from house.tree import ROOT

PAGE = ROOT / "docs" / "find.md"


def printed(text: str) -> str:
    """Return the comparable text without dates and product numbers."""
    return comparable(re.sub(r"\d{4}-\d\d-\d\d|UPC \w+", "0", text))


def test_commands_of_the_page_find_what_it_shows(tmp_path: Path, bookshop: str) -> None:
    console = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
    commands = commands_of(console)
    assert len(commands) == 4
    for words, shown in commands:
        code, out, err = gossamer(tmp_path, *shlex.split(words.replace(DOCUMENTED, bookshop)))
        assert code == 0, err
        assert printed(out.replace(bookshop, DOCUMENTED)) == printed(shown), words


def test_the_python_of_the_page_runs(tmp_path: Path, bookshop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = ["crawl", f"http://{bookshop}/", "--text", "--delay", "0.01", "--name", "books", "-o", "b.jsonl"]
    assert gossamer(tmp_path, *crawl)[0] == 0
    assert gossamer(tmp_path, "find", "maps")[0] == 0
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", code.replace("site:shop.example", "site:127.0.0.1")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "/catalogue/slow-maps/" in ran.stdout
