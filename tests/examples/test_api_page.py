"""The commands and programs of docs/api.md, and the program of the README for the API, run as printed, against
a real `gossamer serve`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command_line import gossamer
from examples.documented_commands import DOCUMENTED
from house.tree import ROOT
from operations.service_process import served_folder

PAGE = (ROOT / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:8321"
(README,) = re.findall(
    r"^```python\n([^`]*gossamer\.Client\([^`]*)^```$", (ROOT / "README.md").read_text(), re.MULTILINE
)


def test_the_programs_and_requests_of_the_page_run(tmp_path: Path, bookshop: str) -> None:
    with served_folder(tmp_path) as server:
        here = {
            DOCUMENTED: bookshop,
            "https://example.com": f"http://{bookshop}",
            ADDRESS: f"{server.host}:{server.port}",
        }

        def fitted(text: str) -> str:
            for shown, real in here.items():
                text = text.replace(shown, real)
            return text

        first, *others = [code for kind, code in BLOCKS if kind == "python"]
        (events,) = [code for code in others if "client.events(" in code]
        (shown,) = [text for kind, text in BLOCKS if kind == "text"]
        program = f"{fitted(first)}\n{fitted(events)}"
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(shown), done.stdout
        assert "crawl.ended" in done.stdout
        done = subprocess.run(
            [sys.executable, "-c", fitted(README)], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"(finished|limited) (\d+) \(\2, 17\)\n", done.stdout)
        (requests,) = [text for kind, text in BLOCKS if kind == "sh"]
        for line in requests.splitlines():
            words = shlex.split(fitted(line))
            answer = subprocess.run([*words, "-sSf"], capture_output=True, text=True, timeout=120)
            assert answer.returncode == 0, (line, answer.stderr)
        assert json.loads(answer.stdout)["markdown"]


@pytest.mark.parametrize("line", re.findall(r"^\$ gossamer ((?:tokens|webhooks) .*)$", PAGE, re.MULTILINE))
def test_the_commands_for_tokens_and_webhooks_run(tmp_path: Path, line: str) -> None:
    assert gossamer(tmp_path, "tokens", "add")[0] == 0
    code, out, err = gossamer(tmp_path, *shlex.split(line))
    assert (code, bool(out)) == (0, True), err


def test_the_table_of_problems_lists_each_problem() -> None:
    from gossamer.operations.problems import PROBLEMS

    listed = {}
    for row in re.findall(r"^\| (`/problems/.*?) \| .*? \| `(\w+)`", PAGE, re.MULTILINE):
        listed |= dict.fromkeys(re.findall(r"/problems/([\w-]+)", row[0]), row[1])
    assert listed == {one.slug: one.error.__name__ for one in PROBLEMS}
