"""Valkey lists as outputs of a fleet: several processes append to them, and a new start replaces them once."""

from __future__ import annotations

from pathlib import Path

import redis

from items.changing_shop import serving
from items.test_counts import SITE
from support.fleet_workers import Fleet, Server


def test_a_new_start_replaces_the_lists_once_for_all_processes(
    fleet: Fleet, server: Server, tmp_path: Path
) -> None:
    def stored() -> list[int]:
        with redis.Redis(port=server.port, db=2) as client:
            return sorted(client.llen(name) for name in client.keys("shop:*"))

    with serving() as shop:
        shop.pages = 12
        (tmp_path / "shop.py").write_text(SITE.format(url=shop.url))
        output = f"{server.url(2)}?list=shop:{{title}}&journal={tmp_path}/journals"
        words = (
            "--name",
            "c",
            "--delay",
            "0",
            "--per-host",
            "1",
            "--quiet",
            "--allow-private",
            "127.0.0.0/8",
        )

        def ended(option: str, *more: str) -> int:
            fleet.run("submit", "shop.py", option, output, *words, *more)
            end = fleet.ended("c")
            assert end["state"] == "finished"
            return int(end["items"])

        fleet.worker("w", "--sites", ".", processes=2)
        fleet.ready(1)
        items = ended("-o")
        assert sum(first := stored()) == items > 0
        assert ended("-o", "--fresh") == items
        assert stored() == first
        assert ended("-O", "--fresh") == items
        assert stored() == first
