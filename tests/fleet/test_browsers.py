"""A fleet in which only some workers have a browser. These workers get the hosts that need a browser, and the
pages of the other workers are not delayed."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest

from collectors.browser.conftest import Stage
from collectors.browser.test_crawls import APP, PLAIN, ROWS, SHELL
from support.fleet_workers import Fleet, Server, until

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None and os.environ.get("CI") != "true", reason="needs chromium"
)


def test_hosts_that_need_a_browser_go_to_the_workers_that_have_one(tmp_path: Path) -> None:
    shop, news = Stage(), Stage()
    for stage in (shop, news):
        threading.Thread(target=stage.serve_forever, daemon=True).start()
    links = "".join(f"<a href=/{n}>x</a>" for n in range(8))
    shop.pages = {f"/{n}": SHELL for n in range(8)} | {
        "/": PLAIN + links,
        "/rows": ROWS,
        "/app.js": (200, {"content-type": "text/javascript"}, APP),
    }
    news.pages = {f"/{n}": PLAIN for n in range(8)} | {"/": PLAIN + links}
    with Server(tmp_path / "server") as server, Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet:
        fleet.worker("bare", "-s", "chromium=/nowhere", "--data", "d1")
        fleet.ready(1)
        name = fleet.submit(shop.url(), news.url(), ladder="plain,browser", delay="0.05", output="out/")
        status = until("the shop waits for a browser", lambda: _waits(fleet, name))
        assert (status["dead"], status["retried"]) == (0, 0)
        assert "gossamer worker --lane browser" in fleet.run("status", name)
        (told,) = [one for one in fleet.json("doctor") if one["what"] == "workers"]
        assert (told["level"], told["found"]) == ("warn", f"hosts of {name} that wait in lane browser: 1")
        assert "gossamer worker --lane browser" in told["advice"]
        fleet.worker("eyes", "--lane", "browser", "--data", "d2")
        ended = fleet.ended(name)
        assert (ended["pages"], ended["dead"], ended["failed"], ended["retried"]) == (18, 0, 0, 0)
        made = [
            json.loads(line)
            for path in tmp_path.glob("d?/*/attempts*.jsonl")
            for line in path.read_text().splitlines()
            if "robots.txt" not in line
        ]
        by = Counter(
            (one["rung"], one["worker"].partition("@")[0]) for one in made if one["outcome"] == "done"
        )
        assert by["browser", "eyes"] == 8, by
        assert {worker for rung, worker in by if rung == "browser"} == {"eyes"}
        assert by["plain", "bare"] >= 9, "what needs none stayed with the others"
        assert len(made) <= 18 + 8, "a page that was handed over was asked for once more at most"
    for stage in (shop, news):
        stage.shutdown()
        stage.server_close()


def _waits(fleet: Fleet, name: str) -> dict[str, int] | None:
    status = fleet.json("status", name)
    stranded = [line["lane"] for line in status["lanes"] if line["stranded"]]
    return status if stranded == ["browser"] and status["pages"] >= 10 else None
