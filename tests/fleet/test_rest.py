"""A crawl of a fleet over REST: started by one `serve`, worked on by Celery workers, and read at another `serve` in another
folder. Command line, REST and client find the same items."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import gossamer
from operations.service_process import Serving
from support import fork_server
from support.fleet_workers import SRC, Fleet
from web import preset, serve

SITE = """
from gossamer import Item, Site
site = Site("pages", hosts={hosts}, seeds={seeds})
class Sheet(Item, key="address"):
    address: str
    title: str
    links: int
@site.page()
def page(page):
    yield Sheet(address=page.url, title=page.css("title::text").get(), links=len(page.css("a").getall()))
    yield from page.follow("a")
"""


def items(rows: Any) -> list[tuple[Any, ...]]:
    """Returns what identifies items, after a check that no item is repeated."""
    found = sorted((row["address"], row["title"], row["links"], row["_version"]) for row in rows)
    assert len(found) == len(set(found))
    return found


def by_command_line(folder: Path) -> list[tuple[Any, ...]]:
    words = [sys.executable, "-m", "gossamer", "crawl", "pages.py", "-o", "out.jsonl", "--delay", "0.01"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")} | {"PYTHONPATH": str(SRC)}
    words += ["--allow-private", "127.0.0.0/8", "--quiet"]
    fork_server.run(words, cwd=folder, env=env, check=True, timeout=120)
    return items([json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()])


def test_a_crawl_of_a_fleet_over_rest_has_the_items_of_the_command_line(fleet: Fleet, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("alone", "starts", "reads")]
    for folder in folders:
        folder.mkdir()
    alone, starts, reads = folders
    common = ["--store", fleet.store, "-s", f"broker={fleet.brokers[0]}", "-s", "allow_private=127.0.0.0/8"]
    with serve(preset("tiny", hosts=3, pages=40, latency=0.005)) as web:
        seeds = web.plan.seeds()
        text = SITE.format(hosts=[seed.split("/")[2] for seed in seeds], seeds=seeds)
        for folder in (fleet.folder, alone):
            (folder / "pages.py").write_text(text)
        for name in ("a", "b"):
            fleet.celery(name)
        fleet.ready(2)
        output = f"{fleet.folder}/rows/{{crawl}}/"
        first = Serving(starts, *common, "--sites", str(fleet.folder), "-o", output)
        second = Serving(reads, *common)
        try:
            given = {"sites": ["pages"], "name": "rest", "delay": 0.01, "wait": 60}
            answer = first.ask("POST", "/v1/crawls", given, Idempotency_Key='"one"')
            assert answer.status == 202, answer.body
            client = gossamer.Client(second.url)
            done = client.wait("rest", 120)
            assert (done.state, done.dead) == ("finished", 0)
            over_rest, cursor = [], ""
            while cursor is not None:
                page = second.ask(
                    "GET", f"/v1/crawls/rest/items?limit=50{cursor and f'&cursor={cursor}'}"
                ).json
                over_rest += page["items"]
                cursor = page["next"]
            over_client = list(client.items("rest"))
            client.export("rest", reads / "rest.parquet")
            table = pyarrow.parquet.read_table(reads / "rest.parquet").to_pylist()
            assert len(list(client.attempts("rest", outcome="done"))) >= done.pages
            assert "store no rows" in second.said
            (fleet.folder / "rows").rename(fleet.folder / "away")
            with pytest.raises(gossamer.errors.ConfigError, match="no rows can be read here"):
                next(client.items("rest"))
        finally:
            for server in (first, second):
                server.close()
        expected = by_command_line(alone)
    assert len(expected) == done.items > 100
    assert items(over_rest) == items(over_client) == items(table) == expected
