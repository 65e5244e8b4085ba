"""Crawls on real workers: rows, endings, names, stops and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from support.fleet_workers import Fleet, Server, until
from web import Web, preset, serve

SHOP = """
from gossamer import Item, Site
site = Site("shop", hosts=["{host}"], seeds=["{seed}"])
class Thing(Item, key="url"):
    url: str
    title: str
@site.page()
def thing(page):
    yield Thing(url=page.url, title=page.css("title::text").get())
    yield from page.follow("a")
"""


@pytest.fixture
def web() -> Iterator[Web]:
    """3,200 pages, for crawls that a test stops."""
    with serve(preset("tiny", hosts=8, pages=400, latency=0.01)) as web:
        yield web


@pytest.fixture
def small_web() -> Iterator[Web]:
    """400 pages, for crawls that run to their end."""
    with serve(preset("tiny", hosts=8, pages=50, latency=0.01)) as web:
        yield web


def test_a_crawl_on_two_workers(fleet: Fleet, small_web: Web) -> None:
    fleet.worker("w1", processes=2)
    fleet.celery("w2")
    fleet.ready(2)
    name = fleet.submit(*small_web.plan.seeds(), output="out/", delay="0.1")
    summary = fleet.ended(name)
    rows = fleet.rows()
    assert summary["state"] == "finished"
    assert len(rows) == summary["pages"] == len({row["url"] for row in rows}) > 300
    assert len(list((fleet.folder / "out").iterdir())) > 1
    assert {w["name"].partition("@")[0] for w in fleet.json("workers", "list")} == {"w1", "w2"}
    assert len(json.loads(fleet.run("top", "--once"))["workers"]) == 2


def test_two_crawls_share_a_worker_and_a_folder(fleet: Fleet, web: Web) -> None:
    names = [
        fleet.submit(web.url(), "--limit", "20", "--name", name, output="out/", delay="0.05")
        for name in ("one", "two")
    ]
    fleet.worker(processes=1)
    assert [fleet.ended(name)["pages"] for name in names] == [20, 20]
    assert len(fleet.rows()) == 40


def test_the_wait_of_submit_ends_as_the_crawl_does(fleet: Fleet, web: Web) -> None:
    fleet.worker()
    seeds = [*web.plan.seeds(), "--allow-private", "127.0.0.0/8", "--delay", "0.01"]
    assert '"state":"limited"' in fleet.run(
        "submit", *seeds, "--limit", "50", "--wait", "--json", "--name", "a"
    )
    assert "gate is not met" in fleet.run(
        "submit", *seeds, "--limit", "20", "--wait", "--name", "b", "--fail-on", "pages<30", code=30
    )


@pytest.mark.parametrize("everybody", [False, True])
def test_a_stop_leaves_nothing_under_lease(fleet: Fleet, server: Server, web: Web, everybody: bool) -> None:
    """With `everybody`, a supervisor such as systemd sends the signal to the child processes, too."""
    worker = fleet.worker(processes=2)
    name = fleet.submit(*web.plan.seeds(), output="out/", delay="0.3")
    until("pages", lambda: fleet.status(name)["pages"] > 10)
    if everybody:
        worker.signal(signal.SIGTERM)
        assert worker.process.wait(10) == 0
    else:
        assert worker.stop() == 0
    assert "Traceback" not in worker.said()
    with redis.Redis(port=server.port) as client:
        assert list(client.scan_iter(f"{{b:*}}{name}:l")) == []
        assert list(client.scan_iter("gossamer:slot:*")) == []
    assert fleet.json("workers", "list") == []
    fleet.worker("again")
    fleet.run("stop", name)
    summary = fleet.ended(name)
    assert summary["state"] == "stopped"
    assert summary["pending"] > 0
    assert len(fleet.rows()) == summary["pages"]


@pytest.mark.parametrize("victim", ["child", "all", "store"])
def test_kills_lose_nothing(fleet: Fleet, server: Server, small_web: Web, victim: str) -> None:
    worker = fleet.worker(processes=2)
    name = fleet.submit(*small_web.plan.seeds(), output="out/", delay="0.2")
    until("pages", lambda: fleet.status(name)["pages"] > 30)
    if victim == "child":
        os.kill(worker.children()[0], signal.SIGKILL)
    elif victim == "all":
        worker.kill()
        fleet.worker("again", processes=2)
    else:
        server.kill()
        server.start()
    summary = fleet.ended(name, 120)
    rows = fleet.rows()
    assert summary["state"] == "finished"
    assert len(rows) == summary["pages"] == len({row["url"] for row in rows}) > 300
    assert summary["dead"] == summary["pending"] == 0


def test_pause_resume_cancel_and_weight(fleet: Fleet, web: Web) -> None:
    fleet.worker()
    name = fleet.submit(*web.plan.seeds(), delay="0.2")
    until("pages", lambda: fleet.status(name)["pages"] > 5)
    fleet.run("pause", name)
    until(
        "nothing under way",
        lambda: (
            not fleet.json("status", name)["in_flight"] if "in_flight" in fleet.json("status", name) else True
        ),
    )
    fleet.run("weight", name, "3")
    fleet.run("resume", name)
    pages = fleet.status(name)["pages"]
    until("more pages", lambda: fleet.status(name)["pages"] > pages)
    fleet.run("cancel", name)
    summary = fleet.ended(name)
    assert (summary["state"], summary["pending"]) == ("cancelled", 0)


def test_a_crawl_is_submitted_again(fleet: Fleet, web: Web) -> None:
    fleet.worker(processes=2)
    seeds = web.plan.seeds()
    name = fleet.submit(*seeds, output="out/", delay="0.05", limit="60")
    assert fleet.ended(name)["pages"] == 60
    fleet.submit(*seeds, output="out/", delay="1", limit="150")
    until("pages", lambda: fleet.status(name)["pages"] > 70)
    wrong = ["submit", *seeds, "--allow-private", "127.0.0.0/8", "--fresh", "--limit", "30"]
    assert f"gossamer stop {name}" in fleet.run(*wrong, code=4)
    assert f"gossamer stop {name}" in fleet.run("crawl", *wrong[1:], code=4)
    fleet.submit(*seeds, output="out/", delay="0.01", limit="300")
    summary = fleet.ended(name)
    assert (summary["state"], summary["pages"]) == ("limited", 300)
    assert len({row["url"] for row in fleet.rows()}) == len(fleet.rows()) == 300
    fleet.run(*wrong, "--quiet", "--wait", "-O", "out/")
    assert len({row["url"] for row in fleet.rows()}) == len(fleet.rows()) == 30


def test_names_are_unique(fleet: Fleet) -> None:
    fleet.worker("w")
    fleet.ready(1)
    second = fleet.worker("w")
    fleet.ready(2)
    assert "is called w-2@" in second.said()
    third = fleet.celery("w")
    assert third.process.wait(60) == 4
    assert "is running already" in third.said()
    fleet.run("workers", "stop", "w-2")
    assert second.process.wait(60) == 0


def test_without_any_of_its_site_files_a_crawl_is_refused(fleet: Fleet, web: Web, tmp_path: Path) -> None:
    seed = web.plan.seeds()[0]
    text = SHOP.format(host=seed.split("/")[2], seed=seed)
    for folder in ("has", "lacks", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "has" / "shop.py").write_text(text)
    (tmp_path / "other" / "shop.py").write_text(text + "# another version\n")
    fleet.worker("lacks", "--sites", "lacks", "--data", "d1")
    fleet.worker("other", "--sites", "other", "--data", "d2")
    fleet.ready(2)
    name = fleet.submit("has/shop.py", output="out/", delay="0.01", limit="30")

    def refusals() -> dict[str, str]:
        return {
            w["name"].partition("@")[0]: w["refuses"].get(name, "") for w in fleet.json("workers", "list")
        }

    until("both refuse", lambda: all(refusals().values()))
    found = refusals()
    assert "site shop: its file is missing" in found["lacks"]
    assert "the fleet runs" in found["other"]
    told = fleet.json("status", name)["refusals"]
    assert {who.partition("@")[0]: why for who, why in told.items()} == found
    assert "no work by" in fleet.run("status", name)
    fleet.worker("has", "--sites", "has", "--data", "d3")
    assert fleet.ended(name)["items"] == len(fleet.rows()) == 30


def test_who_waits_hears_of_outputs_that_workers_cannot_write(fleet: Fleet, web: Web, tmp_path: Path) -> None:
    fleet.worker("w")
    fleet.ready(1)
    (tmp_path / "file").write_text("no folder")
    words = [
        sys.executable,
        "-m",
        "gossamer",
        "submit",
        web.plan.seeds()[0],
        "--allow-private",
        "127.0.0.0/8",
    ]
    words += ["--name", "shut", "-o", f"{tmp_path}/file/out/", "--wait"]
    with subprocess.Popen(
        words, env=fleet.env(), cwd=fleet.folder, stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stderr is not None
        said = next(line for line in waiting.stderr if "worker w@" in line)
        assert f"{tmp_path}/file" in said
        fleet.run("cancel", "shut")
        waiting.communicate()


def test_bad_words_say_what_to_do(fleet: Fleet, server: Server, web: Web) -> None:
    seed = web.plan.seeds()[0]
    assert "use a folder" in fleet.run("submit", seed, "-o", "out.jsonl", code=2)
    assert "no worker is named" in fleet.run("workers", "stop", "nobody", code=2)
    assert "--sites nowhere: this folder does not exist" in fleet.run("worker", "--sites", "nowhere", code=4)
    fleet.brokers = ["valkey://127.0.0.1:1/0"]
    assert "no broker can be used; tried valkey://127.0.0.1:1/0" in fleet.run("worker", code=8)
    fleet.brokers = ["redis+cluster://127.0.0.1:1"]
    assert "cannot use a cluster as its broker" in fleet.run("worker", code=4)
    fleet.store = "valkey://127.0.0.1:1/0"
    assert "does not answer" in fleet.run("submit", seed, code=8)
    fleet.store = ""
    assert "GOSSAMER_STORE" in fleet.run("submit", seed, code=4)


def test_a_crawl_waits_for_workers_of_its_lane(fleet: Fleet, web: Web) -> None:
    fleet.worker("plain", "--data", "d1")
    fleet.ready(1)
    slow = fleet.submit(
        *web.plan.seeds(), name="slow", setting="lane=slow", delay="0.3", limit="200", output="slow/"
    )
    usual = fleet.submit(*web.plan.seeds(), name="usual", delay="0.01", limit="40", output="usual/")
    assert fleet.ended(usual)["state"] == "limited"
    waits = fleet.json("status", slow)
    assert (waits["state"], waits["pages"]) == ("running", 0)
    assert [(line["lane"], line["stranded"]) for line in waits["lanes"]] == [("slow", True)]
    assert "gossamer worker --lane slow" in fleet.run("status", slow)
    fleet.worker("slow", "--lane", "slow", "--region", "eu", "--data", "d2")

    def scored() -> dict[str, Any] | None:
        return next(
            (w for w in fleet.json("workers", "list") if w["name"].startswith("slow@") and w["score"]), None
        )

    found = until("it has a score", scored)
    assert (found["lanes"], found["region"], found["out"]) == (["slow"], "eu", "")
    assert fleet.ended(slow)["state"] == "limited"
    assert len(fleet.rows("slow")) == 200
    attempts = [
        json.loads(line)
        for line in (fleet.folder / "d2" / "slow" / "attempts.jsonl").read_text().splitlines()
    ]
    assert {line["worker"].partition("@")[0] for line in attempts} == {"slow"}
    assert " eu " in fleet.run("workers", "list")
