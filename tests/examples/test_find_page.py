"""The commands of docs/find.md print what the page shows: from a crawl to the first results."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import gossamer
from house.tree import ROOT

PAGE = ROOT / "docs" / "find.md"
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
    return str(module.comparable(re.sub(r"\d{4}-\d\d-\d\d|UPC \w+", "0", text)))


def test_commands_of_the_page_find_what_it_shows(tmp_path: Path, bookshop: str) -> None:
    console = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
    commands = re.findall(r"^\$ gossamer (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)
    assert len(commands) == 4
    for words, shown in commands:
        code, out, err = gossamer(tmp_path, *shlex.split(words.replace(DOCUMENTED, bookshop)))
        assert code == 0, err
        assert comparable(out.replace(bookshop, DOCUMENTED)) == comparable(shown), words


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
