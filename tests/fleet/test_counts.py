"""What a fleet counts as new, changed, unchanged and gone, and what it says where no output can know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from items.changing_shop import serving
from items.test_counts import SITE
from support.fleet_workers import Fleet, Server
from support.postgres import running_postgres


def test_a_fleet_counts_as_one_machine_does(fleet: Fleet, server: Server, tmp_path: Path) -> None:
    with serving() as shop, running_postgres() as postgres:
        shop.pages = 6
        (tmp_path / "shop.py").write_text(SITE.format(url=shop.url))

        def told(output: str) -> tuple[Any, ...]:
            words = ("--name", "c", "--fresh", "--delay", "0", "--per-host", "1", "--quiet")
            fleet.run("submit", "shop.py", "-o", output, *words, "--allow-private", "127.0.0.0/8")
            end = fleet.ended("c")
            assert (end["state"], end["items"]) == ("finished", shop.pages - len(shop.missing))
            assert end["elapsed"] > 0
            return tuple(end[name] for name in ("new", "changed", "unchanged", "gone"))

        fleet.worker("w", "--sites", ".", processes=2)
        fleet.ready(1)
        assert told(postgres.url) == (4, 2, 0, 0)
        shop.titles["/p/4"] = "Another"
        new, changed, unchanged, gone = told(postgres.url)
        assert (new, changed + unchanged, gone) == (0, 6, 0)
        assert changed >= 3
        shop.missing = {"/p/0"}
        assert told(postgres.url)[3] == 1
        with psycopg.connect(postgres.url) as base:
            assert base.execute("SELECT count(*) FROM item").fetchone() == (4,)
        shop.missing = set()
        assert told("out/") == (None, None, None, None)
        output = f"{server.url(2)}?hash=all"
        new, changed, unchanged, gone = told(output)
        assert (new, changed + unchanged, gone) == (4, 2, None)
        assert told(output)[::3] == (0, None)
