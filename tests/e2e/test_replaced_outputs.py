# ruff: noqa: F811 - pytest takes fixtures by their names
"""`gossamer doctor --repair` after another program replaced or emptied an output: nothing is missing or double, and
the other program's bytes are kept aside."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command_line import PAGES, Pages, gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from support.answers import answering

OTHERS = b"nothing of the crawl\n" * 1000


def same_size(path: Path) -> bytes:
    return OTHERS[: path.stat().st_size]


def longer(path: Path) -> bytes:
    return OTHERS[: path.stat().st_size + 40]


def shorter(path: Path) -> bytes:
    return OTHERS[: path.stat().st_size - 10]


def nothing(path: Path) -> bytes:
    return b""


@pytest.mark.parametrize("others", [same_size, longer, shorter, nothing])
@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_an_output_of_another_program_is_kept_aside_and_filled_anew(
    room: Path, name: str, others: Callable[[Path], bytes]
) -> None:
    with answering(Pages) as port:
        words = ["crawl", f"http://127.0.0.1:{port}/", "--name", "c", "--delay", "0", "--quiet"]
        words += ["-o", "out.jsonl", "-o", "out.csv", "--scope", "host"]
        assert gossamer(room, *words, "--limit", "4")[0] == 0
        path = room / name
        written = others(path)
        path.unlink()
        path.write_bytes(written)
        assert gossamer(room, *words)[0] == 20
        code, _, err = gossamer(room, "doctor", "--repair")
        assert code == 0, err
        assert gossamer(room, *words)[0] == 0
        rows = [json.loads(line)["url"] for line in (room / "out.jsonl").read_text().splitlines()]
        with (room / "out.csv").open(newline="") as file:
            cells = [row["url"] for row in csv.DictReader(file)]
        assert len(rows) > PAGES
        assert sorted(rows) == sorted(set(rows)) == sorted(cells)
        aside = [found.read_bytes() for found in room.glob(f"{name}.replaced-*")]
        assert aside == ([written] if written else [])
