"""Tests of `--refresh` in a fleet. Each process writes a list of its pages into a shared folder, and the next
pass visits all of these pages again."""

from __future__ import annotations

from pathlib import Path

from items.changing_shop import serving
from items.test_crawls import site
from support.fleet_workers import Fleet


def test_a_fleet_visits_again_and_writes_what_changed(fleet: Fleet, tmp_path: Path) -> None:
    with serving() as shop:
        shop.pages = 60
        site(tmp_path, shop)
        words = (
            "submit",
            "shop.py",
            "--name",
            "c",
            "-o",
            "out/",
            "--delay",
            "0",
            "--allow-private",
            "127.0.0.0/8",
            "--quiet",
        )
        assert "needs --known DIR" in fleet.run(*words, "--refresh", code=2)
        assert "knows no page yet" in fleet.run(*words, "--refresh", "--known", "seen/", code=2)
        worker = fleet.worker("w", "--sites", ".", processes=2)
        fleet.ready(1)
        fleet.run(*words, "--known", "seen/")
        assert fleet.ended("c")["pages"] == 61
        assert len(fleet.rows()) == 60
        worker.kill()
        parts = [path.name for path in (tmp_path / "seen" / "c").iterdir()]
        assert parts
        assert "known.jsonl" not in parts, "each process wrote a part of its own"

        fleet.worker("v", "--sites", ".", processes=2)
        shop.titles, shop.missing = {f"/p/{n}": "Another" for n in (3, 5, 7)}, {"/p/9"}
        fleet.run(*words, "--known", "seen/", "--refresh")
        end = fleet.ended("c")
        assert (end["pages"], end["unchanged"], end["gone"], end["items"]) == (61, 57, 1, 3)
        assert len(fleet.rows()) == 63
        fleet.run(*words, "--known", "seen/", "--refresh")
        end = fleet.ended("c")
        assert (end["pages"], end["unchanged"], end["items"]) == (61, 61, 0)
        assert len(fleet.rows()) == 63
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / "seen" / "c").iterdir()} == {0o600}


def test_a_fleet_leaves_out_pages_that_it_visited_recently(fleet: Fleet, tmp_path: Path) -> None:
    with serving() as shop:
        shop.pages = 20
        site(tmp_path, shop)
        words = [
            "submit",
            "shop.py",
            "--name",
            "c",
            "-o",
            "out/",
            "--delay",
            "0",
            "--if-older",
            "24h",
            "--quiet",
        ]
        words += ["--allow-private", "127.0.0.0/8"]
        assert "--if-older on a fleet needs --known DIR" in fleet.run(*words, code=2)
        fleet.worker("w", "--sites", ".", processes=2)
        fleet.ready(1)
        fleet.run(*words, "--known", "seen/")
        assert fleet.ended("c")["pages"] == 21
        shop.titles = {f"/p/{n}": "Another" for n in (3, 5, 7)}
        fleet.run(*words, "--known", "seen/")
        end = fleet.ended("c")
        assert (end["pages"], end["skipped"]["recent"], end["gone"]) == (0, 21, 0)
        assert len(fleet.rows()) == 20
        words[words.index("24h")] = "0.1"
        fleet.run(*words, "--known", "seen/")
        assert fleet.ended("c")["items"] == 3
