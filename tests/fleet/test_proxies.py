"""A fleet's crawl through proxies. The workers share the results of their requests, and the crawl fails with
a reason if no proxy is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from gossamer.proxies.proxy_health import ProxyHealth
from gossamer.store.keys import PROXIES
from support.fleet_workers import Fleet, Server
from support.processes import free_port
from support.real_proxies import microsocks
from web import preset, serve


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "server") as server:
        yield server


@pytest.fixture
def fleet(server: Server, tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet:
        yield fleet


def test_workers_share_what_they_saw_and_none_goes_directly(
    fleet: Fleet, server: Server, tmp_path: Path
) -> None:
    port = free_port()
    path = tmp_path / "proxies.txt"
    path.write_text("\n".join(f"socks5h://127.0.7.{n}:{port}" for n in range(1, 9)))
    fleet.worker("w1")
    fleet.worker("w2")
    fleet.ready(2)
    with (
        microsocks("127.0.7.1", port),
        microsocks("127.0.7.2", port),
        serve(preset("tiny", hosts=4, pages=120)) as web,
    ):
        name = fleet.submit(*web.plan.seeds(), output="out/", delay="0.01", proxies=str(path))
        assert fleet.ended(name)["succeeded"] > 100
        with redis.Redis.from_url(server.url(0).replace("valkey:", "redis:")) as client:
            kept = {
                key.decode(): ProxyHealth.of(text.decode())
                for key, text in client.hgetall(PROXIES[0]).items()
            }
        assert sum(one.until > 0 for one in kept.values()) == 6
        path.write_text(f"socks5h://127.0.7.3:{port}\n127.0.7.4:{port}\n")
        seeds = [
            *web.plan.seeds(),
            "--allow-private",
            "127.0.0.0/8",
            "--proxies",
            str(path),
            "--name",
            "b",
            "-o",
            "b/",
        ]
        assert "the crawl failed: no proxy left" in fleet.run("submit", *seeds, "--wait", code=21)
        assert fleet.ended("b")["pages"] == 0
