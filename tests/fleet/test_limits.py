"""Limits and exclusions that change while a fleet crawls."""

from __future__ import annotations

from pathlib import Path

import gossamer
from operations.service_process import Serving
from support.answers import answering
from support.endless_site import Endless
from support.fleet_workers import Fleet


def test_all_workers_follow_a_limit_and_an_exclusion(fleet: Fleet, tmp_path: Path) -> None:
    """Eight hosts, so that both workers have pages of the crawl."""
    common = ["--store", fleet.store, "-s", f"broker={fleet.brokers[0]}", "-s", "allow_private=127.0.0.0/8"]
    with answering(Endless, "0.0.0.0") as port:
        for name in ("a", "b"):
            fleet.celery(name)
        fleet.ready(2)
        server = Serving(tmp_path, *common, "-o", f"{fleet.folder}/rows/{{crawl}}/")
        try:
            client = gossamer.Client(server.url)
            seeds = [f"http://127.0.0.{n}:{port}/keep/0" for n in range(1, 9)]
            client.start(*seeds, name="live", delay=0.1)
            for _, event in client.events(crawl="live", after="0-0"):
                if event.pages >= 20:
                    break
            client.limits("live", exclude=["/drop/"])
            for _, _ in client.events(crawl="live"):
                if client.status("live").skipped.get("filter", 0) > 50:
                    break
            before = client.status("live").pages
            client.limits("live", limit=before + 200)
            done = client.wait("live", 120)
            assert (done.state, done.pages, done.adds_up()) == ("limited", before + 200, True)
            rows = list(client.attempts("live", outcome="done"))
            late = [row["url"] for row in sorted(rows, key=lambda row: row["ts"])[-150:]]
            assert not [url for url in late if "/drop/" in url]
            assert [row for row in rows if "/drop/" in row["url"]]
            assert len({row["worker"] for row in rows[-150:]}) == 2
        finally:
            server.close()
