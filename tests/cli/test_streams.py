"""Tests of standard streams that are closed or full, or whose encoding has few characters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from gossamer.cli.commands import run

SRC = Path(__file__).resolve().parents[2] / "src"
LETTERS = "\u2013 \U0001f578"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "pages" / "a.example").mkdir(parents=True)
    (tmp_path / "pages" / "a.example" / "index.html").write_text(
        f"<title>{LETTERS}</title>", encoding="utf-8"
    )
    return tmp_path


def shell(room: Path, words: str, redirected: str = "", **env: str) -> tuple[int, str, str]:
    """Run `gossamer WORDS` with the shell's redirections, and return the exit code, stdout and stderr."""
    line = f"{sys.executable} -c 'from gossamer.cli import main; main()' {words} {redirected}"
    clean = (
        {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")}
        | {"PYTHONPATH": str(SRC)}
        | env
    )
    done = subprocess.run(
        ["bash", "-c", line], cwd=room, env=clean, capture_output=True, timeout=60, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


CRAWL = "crawl http://a.example/ --archive pages --name c"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_closed_is_in_nobody_s_way(room: Path, closed: str, processes: int) -> None:
    code, _, err = shell(room, f"{CRAWL} -o rows.jsonl --processes {processes}", closed)
    assert (code, err.count("Traceback")) == (0, 0)
    assert (room / "rows.jsonl").read_text().count("\n") == 1
    for words in (
        "status",
        "status --json",
        "top --once",
        "explain http://a.example/",
        CRAWL,
        "crawl - --name none",
    ):
        code, _, err = shell(room, words, closed)
        assert (code, "a bug" in err) == (2 if "none" in words else 0, False), words


@pytest.mark.parametrize("unread", ["2> /dev/full", "2>&1 > /dev/null | true"])
def test_a_crawl_goes_on_when_nobody_reads_what_it_tells(room: Path, unread: str) -> None:
    code, _, _ = shell(
        room, f"{CRAWL} -o rows.jsonl --allow-private 10.0.0.0/8", f"{unread}; exit ${{PIPESTATUS[0]}}"
    )
    assert code == 0
    assert (room / "rows.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("more", ["", "--json"])
def test_a_crawl_ends_with_one_line_when_the_reader_of_its_rows_has_gone(room: Path, more: str) -> None:
    code, _, err = shell(room, f"{CRAWL} -o - {more}", "| true; exit ${PIPESTATUS[0]}")
    assert (code, err.splitlines()[-1].partition(",")[0]) == (
        11,
        "gossamer: the program that read the standard output has ended",
    )
    assert "idle because" not in shell(room, "status c")[1]
    assert json.loads(shell(room, "status c --json")[1])["now"]["idle"] is None


@pytest.mark.parametrize("words", ["version", "--help", "config schema"])
def test_a_full_disk_behind_stdout(room: Path, words: str) -> None:
    code, _, err = shell(room, words, "> /dev/full")
    assert code == 16
    assert (
        err == "gossamer: no space left for the standard output: free some, then run the same command again\n"
    )


def test_any_encoding_of_the_terminal(room: Path) -> None:
    assert shell(room, f"{CRAWL} -o rows.sqlite")[0] == 0
    (room / ".gossamer" / "c" / "attempts.jsonl").write_text(
        f'{{"ts": "2026-01-01T00:00:00Z", "url": "http://a.example/", "error": "{LETTERS}"}}\n',
        encoding="utf-8",
    )
    for encoding, words in product(("ascii", "latin-1", "utf-8"), ("attempts c", "attempts c --json")):
        code, out, err = shell(room, words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        assert (code, err) == (0, ""), (encoding, words)
        assert "2013" in out or LETTERS in out


@pytest.mark.parametrize(
    "words", [["crawl", "http://a.example/\udcff"], ["crawl", "http://a.example/", "-o", "\udcff.jsonl"]]
)
def test_words_that_are_no_text(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert "is not text in the encoding of this machine" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["", "a.example/" + "x" * 5000, "y" * 5000])
def test_a_word_that_can_be_no_path(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text("raise RuntimeError('nobody named this folder')")
    (tmp_path / "pages").mkdir()
    assert run(["crawl", target, "--archive", "pages", "-o", "rows.jsonl"]) == (0 if "." in target else 2)
    assert "bug" not in capsys.readouterr().err
