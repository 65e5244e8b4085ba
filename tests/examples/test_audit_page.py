"""The commands of docs/audit.md print what the page shows, and the page lists every check."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import gossamer
from gossamer.uses.audit.registry import CHECKS
from house.tree import ROOT

PAGE = (ROOT / "docs" / "audit.md").read_text()
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
    """The text without numbers and widths, which differ from run to run, and without slow pages."""
    spec = importlib.util.spec_from_file_location("run_tutorial", ROOT / "docs" / "run_tutorial.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = [line for line in text.splitlines() if "slow-page" not in line]
    plain: str = module.comparable("\n".join(lines))
    return plain


def test_commands_of_the_page(tmp_path: Path, bookshop: str) -> None:
    console = "".join(re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    commands = re.findall(r"^\$ gossamer (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)
    assert len(commands) == 3
    for words, shown in commands:
        typed, _, file = words.partition(" > ")
        for one, other in (
            (DOCUMENTED, bookshop),
            (DOCUMENTED.replace(":", "-"), bookshop.replace(":", "-")),
        ):
            typed = typed.replace(one, other)
        code, out, err = gossamer(tmp_path, *shlex.split(typed))
        assert code == 0, err
        if file:
            assert json.loads(out)["pages"] == 15
            continue
        for one, other in (
            (bookshop, DOCUMENTED),
            (bookshop.replace(":", "-"), DOCUMENTED.replace(":", "-")),
        ):
            out = out.replace(one, other)
        assert comparable(out) == comparable(shown), words


def test_page_lists_every_check() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert rows == [(check.id, check.severity.value, check.title) for check in CHECKS]
