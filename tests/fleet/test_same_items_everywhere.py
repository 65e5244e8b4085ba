"""One site file run in four ways: embedded, on Redis, on RabbitMQ with Sentinel, and on a Cluster. Each run
finds the same items."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import fork_server
from support.cluster import cluster
from support.fleet_workers import SRC, Fleet, Server
from support.rabbitmq import SERVER, Rabbit
from support.sentinel import watched
from web import Web, preset, serve

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


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=4, pages=150, latency=0.005)) as web:
        yield web


def project(folder: Path, web: Web) -> None:
    """Writes the same site file into a folder."""
    seeds = web.plan.seeds()
    (folder / "pages.py").write_text(SITE.format(hosts=[seed.split("/")[2] for seed in seeds], seeds=seeds))


def items(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """Returns the items found, after a check that no item is repeated."""
    found = [(row["address"], row["title"], row["links"], row["_version"]) for row in rows]
    assert len(found) == len(set(found)) > 500
    return set(found)


@pytest.fixture(scope="module")
def embedded(web: Web, tmp_path_factory: pytest.TempPathFactory) -> set[tuple[Any, ...]]:
    folder = tmp_path_factory.mktemp("embedded")
    project(folder, web)
    words = [sys.executable, "-m", "gossamer", "crawl", "pages.py", "-o", "out.jsonl", "--delay", "0.01"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")} | {"PYTHONPATH": str(SRC)}
    fork_server.run(
        [*words, "--allow-private", "127.0.0.0/8", "--quiet"], cwd=folder, env=env, check=True, timeout=120
    )
    return items([json.loads(line) for line in (folder / "out.jsonl").read_bytes().splitlines()])


def on_a_fleet(fleet: Fleet, web: Web) -> set[tuple[Any, ...]]:
    project(fleet.folder, web)
    fleet.worker("a")
    fleet.worker("b")
    name = fleet.submit("pages.py", output="out/", delay="0.01")
    assert fleet.ended(name, 120)["state"] == "finished"
    return items(fleet.rows())


def test_on_redis(tmp_path: Path, web: Web, embedded: set[tuple[Any, ...]]) -> None:
    binary = shutil.which("redis-server")
    if binary is None and os.environ.get("CI") != "true":
        pytest.skip("redis-server is not here: as root on Debian ./test gets it")
    with (
        Server(tmp_path / "server", binary or "") as server,
        Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet,
    ):
        assert on_a_fleet(fleet, web) == embedded


def test_on_rabbitmq_and_sentinel(tmp_path: Path, web: Web, embedded: set[tuple[Any, ...]]) -> None:
    if SERVER is None and os.environ.get("CI") != "true":
        pytest.skip("rabbitmq-server is not here: as root on Debian ./test gets it")
    with (
        Rabbit(tmp_path / "rabbit") as rabbit,
        watched() as store,
        Fleet(tmp_path, store.url, [rabbit.url]) as fleet,
    ):
        assert on_a_fleet(fleet, web) == embedded


def test_on_a_cluster(tmp_path: Path, web: Web, embedded: set[tuple[Any, ...]]) -> None:
    with (
        cluster() as store,
        Server(tmp_path / "broker") as broker,
        Fleet(tmp_path, store.url, [broker.url(0)]) as fleet,
    ):
        assert on_a_fleet(fleet, web) == embedded
