"""A crawl that an earlier version started is continued exactly, with its data folder, store, outputs and
logs.

`old_data_folder.tgz` was created by the version before the packages were renamed (2026-11-23). It contains
a crawl of `shop.py` over saved pages, which `--limit 8` ended. If a stored format changes intentionally,
add another folder and keep this one."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

from support import fork_server

SRC = Path(__file__).parents[2] / "src"
WORDS = [
    "crawl",
    "shop.py",
    "--archive",
    "pages",
    "--pages",
    "pages.jsonl",
    "--delay",
    "0",
    "--json",
    "--quiet",
]
OUTPUTS = ["-o", "out.jsonl", "-o", "out.sqlite", "-o", "out.csv"]
NAMES = {f"Product {n}" for n in range(20)}


def gossamer(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return fork_server.run(
        [sys.executable, "-m", "gossamer", *words],
        cwd=folder,
        env={"PYTHONPATH": str(SRC), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_crawl_of_an_earlier_version_goes_on_exactly(tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).with_name("old_data_folder.tgz")) as packed:
        packed.extractall(tmp_path)  # noqa: S202 - ours
    folder = tmp_path / "df"
    before = lines(folder / "pages.jsonl")
    assert len(before) == 8

    done = gossamer(folder, *WORDS, *OUTPUTS)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["state"], summary["found"], summary["pages"], summary["items"]) == (
        "finished",
        22,
        22,
        20,
    )

    pages = lines(folder / "pages.jsonl")
    assert pages[:8] == before
    assert len({page["url"] for page in pages}) == len(pages) == 22
    items = lines(folder / "out.jsonl")
    assert sorted(str(item["name"]) for item in items) == sorted(NAMES)
    with (folder / "out.product.csv").open(newline="") as rows:
        assert sorted(row["name"] for row in csv.DictReader(rows)) == sorted(NAMES)
    with closing(sqlite3.connect(folder / "out.sqlite")) as base:
        assert {name for (name,) in base.execute("SELECT name FROM product")} == NAMES
    attempts = lines(folder / ".gossamer" / "shop" / "attempts.jsonl")
    assert (
        len({attempt["url"] for attempt in attempts if not str(attempt["url"]).endswith("/robots.txt")}) == 22
    )

    again = gossamer(folder, *WORDS, *OUTPUTS)
    assert (again.returncode, json.loads(again.stdout)["state"]) == (0, "finished")
    assert lines(folder / "pages.jsonl") == pages
    status = gossamer(folder, "status", "shop", "--json")
    assert json.loads(status.stdout)["pages"] == 22
