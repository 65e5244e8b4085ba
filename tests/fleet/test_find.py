"""Tests of `gossamer find` on a crawl of a fleet. The text comes from the outputs that the workers wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.fleet_workers import Fleet
from support.object_stores import CACHE, Minio
from web import preset, serve


def test_a_crawl_of_a_fleet_is_searched_from_another_machine(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=2, pages=5)) as web:
        fleet.worker("w")
        fleet.worker("v")
        fleet.ready(2)
        words = ["submit", *web.plan.seeds(), "--allow-private", "127.0.0.0/8", "--quiet", "--name", "c"]
        fleet.run(*words, "--text", "-o", "out/", "--delay", "0.01")
        fleet.ended("c")
    rows = {row["url"]: row for row in fleet.rows() if row.get("text")}
    away = ("--data", str(fleet.folder / "elsewhere"), "--json")
    url, row = next(iter(rows.items()))
    answer = json.loads(fleet.run("find", "-xyzzy", "--limit", "0", *away))
    assert {result["url"] for result in answer["results"]} == rows.keys()
    assert answer["crawl"] == "c"
    some = " ".join(row["text"].split()[:4])
    found = json.loads(fleet.run("find", f'"{some}"', "--crawl", "c", "--limit", "0", *away))
    assert url in {result["url"] for result in found["results"]}
    host = url.split("/")[2]
    found = json.loads(fleet.run("find", f"site:{host}", "--limit", "0", "--no-update", *away))
    assert {result["url"] for result in found["results"]} == {one for one in rows if f"//{host}/" in one}


@pytest.mark.parametrize("output", ["raw/:warc", "objects:raw"])
def test_whole_pages_that_a_fleet_stored_are_searched(fleet: Fleet, output: str) -> None:
    with serve(preset("tiny", hosts=2, pages=5)) as web:
        fleet.worker("w")
        fleet.worker("v")
        fleet.ready(2)
        common = ("--allow-private", "127.0.0.0/8", "--quiet", "--delay", "0.01")
        fleet.run("submit", *web.plan.seeds(), *common, "--name", "c", "-o", "out/", "-o", output)
        fleet.run("submit", web.plan.seeds()[0], *common, "--name", "d", "--text", "-o", "texts/")
        fleet.ended("c")
        fleet.ended("d")
    pages = {row["url"] for row in fleet.rows() if 200 <= (row.get("status") or 0) < 300}
    away = ("--data", str(fleet.folder / "elsewhere"), "--json", "--limit", "0")
    answer = json.loads(fleet.run("find", "-xyzzy", "--crawl", "c", *away))
    assert {result["url"] for result in answer["results"]} == pages
    both = json.loads(fleet.run("find", "-xyzzy", "--crawl", "*", *away))
    assert {result["crawl"] for result in both["results"]} == {"c", "d"}
    assert both["total"] == len(pages) + len({row["url"] for row in fleet.rows("texts") if row.get("text")})


def test_pages_that_a_fleet_stored_in_s3_are_searched_and_audited(fleet: Fleet, tmp_path: Path) -> None:
    if not list(CACHE.glob("minio-*/ready")):
        pytest.skip("MinIO is missing: ./test brings it")
    (tmp_path / "minio").mkdir()
    away = Minio(tmp_path / "minio")
    try:
        with serve(preset("tiny", hosts=2, pages=5)) as web:
            fleet.worker("w")
            fleet.worker("v")
            fleet.ready(2)
            seed, *others = web.plan.seeds()
            common = ("--allow-private", "127.0.0.0/8", "--quiet", "--delay", "0.01", "--name", "c")
            fleet.run("submit", seed, *others, *common, "-o", "out/", "-o", away.url)
            fleet.ended("c")
        pages = {row["url"] for row in fleet.rows() if 200 <= (row.get("status") or 0) < 300}
        data = ("--data", str(fleet.folder / "elsewhere"), "--json", "--crawl", "c")
        answer = json.loads(fleet.run("find", "-xyzzy", "--limit", "0", *data))
        assert {result["url"] for result in answer["results"]} == pages
        done = json.loads(fleet.run("audit", seed, "-q", "-o", "report.html", *data))
        assert done["pages"] == len([one for one in pages if one.split("/")[2] == seed.split("/")[2]])
    finally:
        away.kill()
