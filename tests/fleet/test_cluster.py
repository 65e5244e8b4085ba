"""A Cluster without replicas. Each node is killed in turn and comes back with its append-only file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support.cluster import cluster
from support.fleet_workers import Fleet, Server, until
from web import preset, serve

AWAY = 4.0
"""Seconds for which a node is down. They exceed the node timeout, so that the other nodes mark it as
failed."""


@pytest.mark.parametrize("coverage", ["yes", "no"])
def test_each_node_of_a_cluster_without_replicas_is_killed_and_comes_back(
    tmp_path: Path, coverage: str
) -> None:
    """With `coverage` "yes", the default of a Cluster, all nodes refuse requests while one node is down."""
    plan = preset("tiny", hosts=12, pages=60, latency=0.01)
    with (
        serve(plan) as web,
        cluster(words=("--cluster-require-full-coverage", coverage)) as store,
        Server(tmp_path / "broker") as broker,
        Fleet(tmp_path, store.url, [broker.url(0)]) as fleet,
    ):
        workers = [fleet.worker(name, "--data", name) for name in ("a", "b")]
        fleet.ready(2)
        pages = sorted(web.plan.must_fetch(sitemaps=False))
        (tmp_path / "urls.txt").write_text("\n".join(pages))
        name = fleet.submit("urls.txt", output="out/", delay="0.5", scope="page")
        for node in store.nodes:
            had = until("pages", lambda: fleet.status(name)["pages"])
            until("more pages", lambda had=had: fleet.status(name)["pages"] > had + 20)
            node.kill()
            time.sleep(AWAY)
            node.start()
            store.whole()
        summary, rows = fleet.ended(name, 180), fleet.rows()
        assert summary["state"] == "finished"
        assert sorted(row["requested_url"] for row in rows) == pages
        assert (summary["pages"], summary["dead"], summary["pending"]) == (len(pages), 0, 0)
        assert [worker.process.poll() for worker in workers] == [None, None]
        assert not [line for worker in workers for line in worker.said().splitlines() if "Traceback" in line]
