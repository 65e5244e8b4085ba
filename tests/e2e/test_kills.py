"""No page is lost and no row is written twice, whichever process is killed at whichever moment.
benchmarks/kills.py kills twenty times in one crawl."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from cli.command_line import gossamer
from e2e import failpoint
from e2e.kill_crawl import Told, fire, leases_in_files, refetched, under_fire, verdicts
from e2e.runs import begin, command, job
from gossamer.app.job import Job, JobOutput
from web import preset, serve

HOSTS, PAGES = 8, 250


def big(tmp_path: Path, seeds: list[str], **given: object) -> Job:
    one = job(seeds, tmp_path, per_host=4, **given)
    one.outputs = [
        JobOutput(str(tmp_path / f"out.{ending}"))
        for ending in ("jsonl", "csv", "sqlite", "parquet", "warc.gz")
    ]
    return one


@pytest.mark.parametrize(
    ("processes", "strikes"), [(1, ["door", "store", "all"]), (2, ["child", "door", "all"])]
)
def test_three_kills(tmp_path: Path, processes: int, strikes: list[str]) -> None:
    with serve(preset("tiny", hosts=HOSTS, pages=PAGES, latency=0.01, spread=0.05)) as web:
        one = big(tmp_path, web.plan.seeds(), processes=processes)
        told = under_fire(web, one, strikes, random.Random(), HOSTS * PAGES)
        print(told)
        assert verdicts(web, told, tmp_path / "out.jsonl", tmp_path / "out.csv") == []
    assert told.kills == strikes
    metrics_equal_the_pages(tmp_path, one)
    summary = json.loads(told.said)
    assert summary["pages"] == HOSTS * PAGES
    assert (summary["state"], summary["pending"], summary["dead"]) == ("finished", 0, 0)


def metrics_equal_the_pages(folder: Path, one: Job) -> None:
    """The counters equal the number of settled visits, whichever process was killed."""
    code, page, err = gossamer(folder, "metrics", "--once", "--data", str(one.settings.data))
    assert code == 0, err
    found = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in page.splitlines()
        if not line.startswith("#")
    }
    pages = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    robots = sum(n for name, n in found.items() if name.startswith("gossamer_robots_fetches_total"))
    requests = sum(n for name, n in found.items() if name.startswith("gossamer_requests_total"))
    assert found['gossamer_pages_total{lane="http",region=""}'] == len(pages)
    assert requests == len(pages) + robots
    assert found['gossamer_request_duration_seconds_count{collector="http"}'] == requests
    assert (
        0
        <= found['gossamer_wire_bytes_total{collector="http"}'] - sum(one["bytes"] for one in pages)
        < 100 * robots
    )
    assert (
        sum(n for name, n in found.items() if name.startswith("gossamer_domain_requests_total")) == requests
    )


def killed_at(place: str, after: int, one: Job, tmp_path: Path) -> None:
    """Run the crawl until it stops at a failpoint, then kill the command and the store."""
    marker = tmp_path / "marker"
    marker.unlink(missing_ok=True)
    door = begin(command(one), failpoint.code(place, after, marker))
    deadline = time.monotonic() + 60
    while not marker.exists():
        assert door.poll() is None, door.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    fire("all", door, Path(one.settings.data))
    door.communicate()


@pytest.mark.parametrize("place", failpoint.PLACES)
def test_killed_within_a_commit(tmp_path: Path, place: str) -> None:
    with serve(preset("tiny", hosts=4, pages=50, latency=0.01)) as web:
        one = big(tmp_path, web.plan.seeds())
        told = Told()
        for after in (1, 3, 2):
            killed_at(place, after, one, tmp_path)
            told.kills.append("all")
            told.open.append(leases_in_files(Path(one.settings.data)))
        lengths = [(tmp_path / name).stat().st_size for name in ("out.jsonl", "out.csv")]
        last = begin(command(one))
        said = last.communicate(timeout=60)
        assert last.returncode == 0, said
        assert verdicts(web, told, tmp_path / "out.jsonl", tmp_path / "out.csv") == []
        assert place == "settled" or refetched(web)[0] > 0
    assert all(lengths)
    assert json.loads(said[0])["pages"] == 200


@pytest.mark.parametrize("place", failpoint.COLD)
def test_killed_while_urls_move_to_the_cold_store_or_back(tmp_path: Path, place: str) -> None:
    with serve(preset("tiny", hosts=2, pages=120, latency=0.005)) as web:
        one = big(tmp_path, web.plan.seeds(), cold="sqlite:?hot=4")
        told = Told()
        for after in (1, 2):
            killed_at(place, after, one, tmp_path)
            told.kills.append("all")
            told.open.append(leases_in_files(Path(one.settings.data)))
        last = begin(command(one))
        said = last.communicate(timeout=60)
        assert last.returncode == 0, said
        assert verdicts(web, told, tmp_path / "out.jsonl", tmp_path / "out.csv") == []
    summary = json.loads(said[0])
    assert (summary["state"], summary["pages"], summary["pending"]) == ("finished", 240, 0)


def cut_tail(data: Path, size: int) -> int:
    """Remove bytes from the end of the newest append-only file, as after a power failure."""
    newest = max((data / "store" / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.stat().st_mtime)
    whole = newest.stat().st_size
    os.truncate(newest, max(0, whole - size))
    return whole


@pytest.mark.parametrize(
    ("size", "cold"), [(1, None), (700, None), (5_000, None), (40_000, None), (5_000, "sqlite:?hot=4")]
)
def test_the_store_forgot_its_last_seconds(tmp_path: Path, size: int, cold: str | None) -> None:
    with serve(preset("tiny", hosts=4, pages=50, latency=0.01)) as web:
        one, data = big(tmp_path, web.plan.seeds(), cold=cold), tmp_path / "data"
        killed_at("settled", 5, one, tmp_path)
        assert cut_tail(data, size) > size
        before = (tmp_path / "out.jsonl").stat().st_size
        open_now = leases_in_files(data)
        last = begin(command(one))
        said = last.communicate(timeout=60)
        assert last.returncode == 0, said
        told = Told(kills=["all"], open=[open_now])
        assert [
            line
            for line in verdicts(web, told, tmp_path / "out.jsonl", tmp_path / "out.csv")
            if "again" not in line
        ] == []
    assert before > 0
    summary = json.loads(said[0])
    assert (summary["pages"], summary["pending"]) == (200, 0)
