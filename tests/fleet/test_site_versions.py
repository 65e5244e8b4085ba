"""Site files that some workers lack or have in another version. These workers crawl all other sites, and
leave those sites alone."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.fleet_workers import Fleet, Worker, until
from web import Web, preset, serve

SITE = """
from gossamer import Item, Site
site = Site({name!r}, hosts={hosts!r}, seeds={seeds!r}, args={{{name!r}: ""}})
class Thing(Item, key="url"):
    url: str
    said: str
@site.page()
def thing(page):
    yield Thing(url=page.url, said=site.args[{name!r}])
    yield from page.follow("a")
    yield from {more!r}
"""


def write(folder: Path, name: str, hosts: list[str], seeds: list[str], more: tuple[str, ...] = ()) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    hosts = [urlsplit(url).netloc for url in hosts]
    (folder / f"{name}.py").write_text(SITE.format(name=name, hosts=hosts, seeds=seeds, more=more))


def asked(folder: Path) -> set[str]:
    """Returns the hosts that the worker with this data folder sent requests to."""
    return {
        urlsplit(json.loads(line)["url"]).netloc
        for path in folder.glob("*/attempts*.jsonl")
        for line in path.read_text().splitlines()
    }


def lacked(fleet: Fleet, worker: str) -> list[dict[str, Any]]:
    (found,) = [one for one in fleet.json("workers", "list") if one["name"].startswith(f"{worker}@")]
    assert found["refuses"] == {}
    lacks: list[dict[str, Any]] = found["lacks"]
    return lacks


def ended_whole(fleet: Fleet, name: str, web: Web) -> list[dict[str, Any]]:
    """Wait for the end of a crawl and check that its rows are complete and unique. Returns the rows."""
    ended, rows = fleet.ended(name), fleet.rows()
    assert (ended["state"], ended["pending"], ended["dead"]) == ("finished", 0, 0)
    assert {row["url"] for row in rows} >= web.plan.must_fetch(sitemaps=False)
    assert len({row["url"] for row in rows}) == len(rows)
    assert max(Counter((hit.host, hit.path) for hit in web.log()).values()) == 1, "nothing was asked twice"
    return rows


def told(fleet: Fleet, name: str, worker: Worker) -> None:
    """Checks that every report says that the worker lacks the site file of the shop and that no worker serves
    the shop."""
    (lack,) = lacked(fleet, worker.name)
    assert (lack["crawl"], lack["site"]) == (name, "shop")
    assert "its file is missing" in lack["why"]
    assert f"does no work for site shop of {name}: its file is missing" in fleet.run("workers", "list")
    assert (
        f"crawl {name}: this worker does no work for some of its sites: site shop: its file is"
        in worker.said()
    )
    advice = "none: 1 worker serves lane http, but lacks the fleet's files of shop"
    assert advice in fleet.run("status", name)
    (found,) = [one for one in fleet.json("doctor") if one["what"] == "workers"]
    assert (found["level"], found["found"]) == ("warn", f"hosts of {name} that wait in lane http+shop: 2")


def test_a_worker_without_a_site_s_file_does_the_rest(fleet: Fleet, tmp_path: Path) -> None:
    """Two workers have one site file each, so neither of them has both."""
    with serve(preset("tiny", hosts=4, pages=20)) as web:
        news, news2, shop, shop2 = web.plan.seeds()
        # only a page of the news site links to shop2
        write(tmp_path / "a" / "sites", "news", [news, news2], [news, news2], (shop2,))
        write(tmp_path / "b" / "sites", "shop", [shop, shop2], [shop])
        shutil.copytree(tmp_path / "a" / "sites", tmp_path / "sites")
        shutil.copy(tmp_path / "b" / "sites" / "shop.py", tmp_path / "sites")
        shops = {urlsplit(url).netloc for url in (shop, shop2)}
        part = fleet.worker("part", "--sites", "a/sites", "--data", "d1")
        fleet.ready(1)
        name = fleet.submit("sites", "-a", "shop=tea", output="out/", delay="0.01")

        def waits() -> dict[str, Any] | None:
            found: dict[str, Any] = fleet.json("status", name)
            lines = [line for line in found["lanes"] if line["ready"] + line["waiting"]]
            apart = [(line["lane"], line["ready"]) for line in lines] == [("http+shop", 2)]
            return (
                found
                if apart and found["pages"] == len(web.plan.must_fetch(sitemaps=False, hosts=[0, 1]))
                else None
            )

        status = until("all but the shop's hosts are done", waits)
        assert (status["state"], status["dead"], status["failed"]) == ("running", 0, 0)
        assert status["pages"] == len(fleet.rows())
        assert {hit.host for hit in web.log()} == {urlsplit(url).netloc for url in (news, news2)}
        told(fleet, name, part)
        fleet.worker("rest", "--sites", "b/sites", "--data", "d2")
        rows = ended_whole(fleet, name, web)
        assert Counter(row["_site"] for row in rows).keys() == {"news", "shop"}
        assert {row["said"] for row in rows if row["_site"] == "shop"} == {"tea"}
        assert asked(tmp_path / "d1").isdisjoint(shops)
        assert asked(tmp_path / "d2") == shops
        until("nothing of a crawl that ended is lacked", lambda: lacked(fleet, "part") == [])


def test_an_edit_comes_to_one_machine_after_another(fleet: Fleet, tmp_path: Path) -> None:
    fleet.slice = "2s"
    with serve(preset("tiny", hosts=4, pages=40)) as web:
        news, news2, shop, shop2 = web.plan.seeds()
        write(tmp_path / "a" / "sites", "news", [news, news2], [news, news2])
        write(tmp_path / "a" / "sites", "shop", [shop, shop2], [shop, shop2])
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        fleet.worker("a", "--sites", "a/sites", "--data", "d1")
        fleet.worker("b", "--sites", "b/sites", "--data", "d2")
        fleet.ready(2)
        name = fleet.submit("a/sites", output="out/", delay="1")
        until("both work", lambda: asked(tmp_path / "d1") and asked(tmp_path / "d2"))
        edited = tmp_path / "a" / "sites" / "shop.py"
        edited.write_text(edited.read_text() + "# edited\n")
        (lack,) = until("the other says that it lacks it", lambda: lacked(fleet, "b"))
        assert lack["site"] == "shop"
        assert "the fleet runs" in lack["why"]
        assert lacked(fleet, "a") == []
        other = tmp_path / "b" / "sites" / "shop.py"
        other.write_text("half written (")
        until(
            "a file that is broken is lacked",
            lambda: "shop.py:1: '(' was never closed" in lacked(fleet, "b")[0]["why"],
        )
        items = fleet.status(name)["items"]
        until("both go on", lambda: fleet.status(name)["items"] > items)
        shutil.copy(edited, other)
        until("it has it, too", lambda: lacked(fleet, "b") == [])
        fleet.submit("a/sites", output="out/", delay="0.01")
        rows = ended_whole(fleet, name, web)
        versions = {
            site: {row["_version"] for row in rows if row["_site"] == site} for site in ("news", "shop")
        }
        assert [len(versions[site]) for site in ("news", "shop")] == [1, 2]
