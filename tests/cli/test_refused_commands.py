"""If a command is refused, it deletes and overwrites nothing: all earlier results remain."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer

BAD = {
    "no folder": (("-o", "nowhere/x.jsonl"), 2, "does not exist; create it first"),
    "attempts": (("--attempts", "nowhere/x.csv"), 2, "does not exist; create it first"),
    "graph": (("--graph", "nowhere/x.csv"), 2, "does not exist; create it first"),
    "pages": (("--pages", "nowhere/x.csv"), 2, "does not exist; create it first"),
    "WARC": (("-o", "nowhere/x.warc.gz"), 2, "does not exist; create it first"),
    "folder of WARC": (("-o", "nowhere/x:warc"), 2, "does not exist; create it first"),
    "objects": (("-o", "objects:nowhere/x"), 2, "does not exist; create it first"),
    "a file": (("-o", "objects:out.jsonl"), 2, "is a file, but gossamer writes a folder"),
    "device": (("-o", "/dev/null:csv"), 2, "is not a regular file"),
    "name": (("-o", "n" * 260 + ".csv"), 20, "cannot write"),
    "cache": (("--cache", "/dev/null/x"), 4, "the cache folder"),
}


def status_of(room: Path) -> dict[str, Any]:
    """Return the crawl's status without the current time, which always changes."""
    found: dict[str, Any] = json.loads(gossamer(room, "status", "c", "--json")[1])
    del found["now"]
    return found


def test_what_cannot_be_written_is_told_before_anything_is_forgotten(room: Path, web: str) -> None:
    words = ("crawl", f"{web}/", "--delay", "0", "--limit", "3", "--name", "c", "-O", "out.jsonl")
    assert gossamer(room, *words)[0] == 0
    rows, before = (room / "out.jsonl").read_bytes(), status_of(room)
    for what, (more, code, told) in BAD.items():
        said = gossamer(room, *words, *more, "--fresh", "--json")
        assert (said[0], json.loads(said[1])["state"]) == (code, "failed"), what
        assert told in said[2], what
        assert (room / "out.jsonl").read_bytes() == rows, what
        assert status_of(room) == before, what
    code, out, _ = gossamer(room, *words, "--limit", "5", "--json")
    assert (code, json.loads(out)["pages"]) == (0, 5)


@pytest.mark.parametrize(
    "words",
    [
        ["urls.txt", "-O", "urls.txt:jsonl"],
        ["urls.txt", "-o", "link.jsonl"],
        ["sites", "-O", "sites/a.py:jsonl"],
    ],
)
def test_what_a_crawl_reads_is_not_written_over(room: Path, web: str, words: list[str]) -> None:
    (room / "sites").mkdir()
    (room / "sites" / "a.py").write_text(f"from gossamer import Site\nsite = Site('a', seeds=['{web}/'])\n")
    (room / "urls.txt").write_text(f"{web}/\n")
    (room / "link.jsonl").symlink_to("urls.txt")
    before = {path: path.read_bytes() for path in room.rglob("*.*") if path.is_file()}
    code, _, err = gossamer(room, "crawl", *words, "--limit", "1")
    assert (code, err.count("\n")) == (2, 1)
    assert "is an input of this crawl" in err
    assert {path: path.read_bytes() for path in before} == before


def test_a_file_of_others_is_not_emptied_for_a_crawl_that_cannot_begin(room: Path, web: str) -> None:
    (room / "out.jsonl").write_text('{"of": "others"}\n')
    code, _, err = gossamer(room, "crawl", f"{web}/", "-O", "out.jsonl", "--attempts", "nowhere/x.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert (room / "out.jsonl").read_text() == '{"of": "others"}\n'


def test_the_command_that_resume_names_has_what_must_be_the_same_and_where_the_rows_go(
    room: Path, web: str
) -> None:
    bounds = (
        "--scope",
        "prefix",
        "--exclude",
        "/9 *$",
        "--depth",
        "7",
        "--seen",
        "exact",
        "--user-agent",
        "me/1",
        "-s",
        "drop_parameters=a,b",
    )
    assert (
        gossamer(
            room,
            "crawl",
            f"{web}/",
            "--delay",
            "0",
            "--limit",
            "2",
            "--name",
            "c",
            *bounds,
            "-o",
            "a b.jsonl",
        )[0]
        == 0
    )
    said = gossamer(room, "resume", "c")[2].partition("continue with: gossamer ")[2]
    code, out, err = gossamer(room, *shlex.split(said), "--delay", "0", "--json")
    assert (code, json.loads(out)["state"]) == (0, "finished"), err
    rows = [json.loads(line)["url"] for line in (room / "a b.jsonl").read_text().splitlines()]
    assert len(rows) == len(set(rows)) == json.loads(out)["pages"] > 2
