"""Tests of `--duplicates` in whole crawls: each page is in its group, whichever process reads the page and
whichever process is killed."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from e2e.kill_crawl import fire
from e2e.runs import begin, command, job, rows
from gossamer.app.job import Job, JobOutput
from gossamer.app.runner import crawl
from items.changing_shop import Shop, serving

FAMILIES, COPIES = 40, 5
STORY = "the kettle of house {n} was put on the stove before dawn and nobody in house {n} heard it sing until the sun of day {n} came up"


def body(path: str) -> str | None:
    """Return the HTML of a path. `/` links to the copies of each story: two copies are identical, and the
    others have a different navigation or one more word."""
    if path == "/":
        return "".join(f"<a href=/{n}/{copy}>x</a> " for copy in range(COPIES) for n in range(FAMILIES))
    parts = path.strip("/").split("/")
    if len(parts) != 2:
        return None
    n, copy = parts
    story = " ".join(f"{STORY.format(n=f'{n}x{k}')}." for k in range(12))
    around = "" if int(copy) < 2 else f"<nav><a href=/>Edition {copy}</a></nav>"
    return f"<title>Story</title>{around}<p>{story}{' End.' if copy == '4' else ''}</p>"


def faults(found: list[dict[str, Any]]) -> list[str]:
    """Return the errors in the groups of the stories."""
    families: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in found:
        families[row["url"].split("/")[3]].append(row)
    wrong = [f"rows: {len(found)}"] if len(found) != FAMILIES * COPIES + 1 else []
    for n, members in families.items():
        if (
            len({row["group_id"] for row in members}) != 1
            or Counter(row["copy"] for row in members)[None] != 1
        ):
            wrong.append(f"{n}: {[(row['group_id'], row['copy']) for row in members]}")
    groups = {row["group_id"] for row in found}
    return wrong + ([f"groups: {len(groups)}"] if len(groups) != FAMILIES + 1 else [])


@pytest.fixture
def stories() -> Any:
    with serving() as shop:
        shop.body = body  # type: ignore[method-assign]
        yield shop


def stored(folder: Path, shop: Shop, **given: Any) -> Job:
    one = job([f"{shop.url}/"], folder, per_host=8, **given)
    one.outputs = [JobOutput(str(folder / f"out.{ending}")) for ending in ("jsonl", "sqlite")]
    return one


async def test_pages_are_marked_in_all_outputs_and_counted(tmp_path: Path, stories: Shop) -> None:
    summary = await crawl(stored(tmp_path, stories, duplicates="near"))
    found = rows(tmp_path / "out.jsonl")
    assert faults(found) == []
    assert summary.duplicates == dict(Counter(row["copy"] for row in found if row["copy"]))
    assert summary.duplicates["exact"] + summary.duplicates["near"] == FAMILIES * (COPIES - 1)
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as base:
        kept = base.execute("SELECT group_id, count(*) FROM page GROUP BY group_id ORDER BY 2").fetchall()
    assert [n for _, n in kept] == [1] + [COPIES] * FAMILIES


async def test_full_is_told(tmp_path: Path, stories: Shop) -> None:
    summary = await crawl(stored(tmp_path, stories, duplicates="exact?most=10"))
    assert summary.duplicates["unkept"] > 0


async def test_without_it_rows_are_as_they_were(tmp_path: Path, stories: Shop) -> None:
    summary = await crawl(stored(tmp_path, stories))
    assert summary.duplicates == {}
    assert all("group_id" not in row for row in rows(tmp_path / "out.jsonl"))


@pytest.mark.parametrize("processes", [1, 2])
def test_killed_it_goes_on_with_the_same_groups(tmp_path: Path, stories: Shop, processes: int) -> None:
    one = stored(tmp_path, stories, processes=processes)
    for least in (30, 110):
        door = begin(command(one, "--duplicates", "near"))
        deadline = time.monotonic() + 60
        while len(_lines(tmp_path / "out.jsonl")) < least and door.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        fire("all", door, Path(one.settings.data))
        door.communicate()
    door = begin(command(one, "--duplicates", "near"))
    said, wrong = door.communicate(timeout=120)
    assert door.returncode == 0, wrong
    assert faults(rows(tmp_path / "out.jsonl")) == []
    counted = json.loads(said)["duplicates"]
    assert counted["exact"] + counted["near"] == FAMILIES * (COPIES - 1)


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []
