"""Tests of `doctor --size`, which prints tables of a crawl's bottleneck, duration and required resources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.runs import begin
from gossamer.cli.doctor_size import WORKER_CPU, Machine, PlannedLoad, _answers, load_of, size, size_rows
from gossamer.config.settings import Settings
from gossamer.errors import UsageError

SMALL, BIG = Machine(2, 8 << 30), Machine(64, 256 << 30)
HOUR = 3600


@pytest.mark.parametrize(
    ("load", "machine", "bound", "hours", "workers", "one"),
    [
        (PlannedLoad(hosts=1, urls=3_600, delay=1), SMALL, "politeness", 1, 1, True),
        (PlannedLoad(hosts=1, urls=3_600, delay=1, per_host=2), SMALL, "politeness", 0.5, 1, True),
        (PlannedLoad(hosts=100, urls=3_600_000, delay=10), SMALL, "politeness", 100, 1, True),
        (PlannedLoad(hosts=1, urls=7_200, delay=0, seconds=0.5), SMALL, "politeness", 1, 1, True),
        (
            PlannedLoad(hosts=1_000_000, urls=10_000_000, delay=1, seconds=0.5),
            SMALL,
            "workers",
            10_000_000 * WORKER_CPU / 2 / HOUR,
            850,
            False,
        ),
        (
            PlannedLoad(hosts=1_000_000, urls=10_000_000, delay=1, seconds=0.5, workers=10),
            SMALL,
            "workers",
            10_000_000 * WORKER_CPU / 10 / HOUR,
            850,
            False,
        ),
        (
            PlannedLoad(hosts=500, urls=100_000, delay=0.2, seconds=0.3, concurrency=64, workers=3),
            SMALL,
            "concurrency",
            100_000 / (3 * 64 / 0.3) / HOUR,
            3,
            False,
        ),
        (
            PlannedLoad(hosts=1000, urls=1_000_000, delay=1, seconds=0.5, within=24 * HOUR),
            SMALL,
            "politeness",
            1_000_000 / 1000 / HOUR,
            1,
            True,
        ),
        (
            PlannedLoad(hosts=1, urls=1_000_000, delay=10, within=HOUR),
            BIG,
            "politeness",
            10_000_000 / HOUR,
            1,
            False,
        ),
        (
            PlannedLoad(hosts=20_000_000, urls=1_000_000_000, delay=5),
            SMALL,
            "workers",
            1_000_000_000 * WORKER_CPU / 2 / HOUR,
            3_400,
            False,
        ),
    ],
)
def test_what_bounds_a_crawl(
    load: PlannedLoad, machine: Machine, bound: str, hours: float, workers: int, one: bool
) -> None:
    found = size(load, machine)
    assert (found.bound, found.one_machine) == (bound, one), found
    assert found.duration / HOUR == pytest.approx(hours, rel=0.01)
    assert found.workers == workers
    assert found.why


def test_why_not_in_time_is_said_in_the_time_that_it_takes() -> None:
    assert "take 10s on any machine" in size(PlannedLoad(hosts=1, urls=10, within=1), SMALL).why
    assert "take 115d 17h on any machine" in size(PlannedLoad(hosts=1, urls=10**7, within=HOUR), BIG).why


def test_quick_answers_leave_the_processor_as_the_bound() -> None:
    assert size(PlannedLoad(hosts=10**6, urls=10**6, seconds=0.001), SMALL).by_worker == pytest.approx(
        1 / WORKER_CPU
    )


def test_processes_that_wait_are_told_from_full_ones() -> None:
    def about(**values: object) -> str:
        load = PlannedLoad(**{"hosts": 500, "urls": 10**6, "delay": 1.0, "seconds": 0.3, **values})  # type: ignore[arg-type]
        return dict(size_rows(load, size(load, SMALL)))["workers"]

    assert "1 process keeps up" in about()
    assert "wait for hosts (42% busy), so more processes are not faster" in about()
    few = about(concurrency=64)
    assert "150 visits at once" in few
    assert "leave concurrency at auto, more processes are not needed" in few
    assert "one is full at 1,176 pages/s" in about(hosts=10**6)


def test_memory_is_bounded_by_hosts() -> None:
    few, many = (size(PlannedLoad(hosts=1000, urls=n, pending=n), BIG) for n in (10**7, 10**9))
    seen = 2 * 4.7 * (10**9 - 10**7)
    assert many.store_memory - few.store_memory == pytest.approx(seen, rel=0.01), "only the seen-set grows"
    assert many.cold > few.cold > 0
    unbound = size(PlannedLoad(hosts=1000, urls=10**7, pending=10**7, hot=0), BIG)
    assert (unbound.cold, unbound.store_memory > 10 * few.store_memory) == (0, True)
    assert size(PlannedLoad(hosts=1000, urls=10**9, seen="bloom"), BIG).store_memory < many.store_memory


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"urls": 5}, "--hosts N is missing"),
        ({"hosts": 5}, "--urls N is missing"),
        ({"hosts": 0, "urls": 1}, "--hosts is 1 or more"),
        ({"hosts": 1, "urls": 1, "workers": 0}, "--workers is 1"),
        ({"hosts": 1, "urls": 1, "delay": "x"}, "--delay x: must be a time"),
        ({"hosts": 1, "urls": 1, "seconds": "x"}, "--answer x"),
        ({"hosts": 1, "urls": 1, "per_host": -1}, "--per-host is 1"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load_of({}, given, Settings())


@pytest.mark.parametrize(
    ("settings", "hot"),
    [
        (Settings(), 512),
        (Settings(cold="off"), 0),
        (Settings(store="redis://x"), 0),
        (Settings(store="redis://x", cold="redis://y?hot=64"), 64),
    ],
)
def test_the_cold_store_of_the_settings_counts(settings: Settings, hot: int) -> None:
    assert load_of({}, {"hosts": 1, "urls": 1}, settings).hot == hot


def test_the_command_line(tmp_path: Path) -> None:
    words = [
        "doctor",
        "--size",
        "--hosts",
        "100",
        "--urls",
        "1000000",
        "--delay",
        "2s",
        "--within",
        "30d",
        "--data",
        str(tmp_path),
    ]
    said = begin([*words, "--json"])
    found = json.loads(said.communicate(timeout=60)[0])
    assert (found["by_politeness"], found["bound"], said.returncode) == (50.0, "politeness", 0)
    said = begin(words)
    out = said.communicate(timeout=60)[0]
    assert "bound by politeness" in out
    assert "one machine" in out
    wrong = begin(["doctor", "--hosts", "3", "--data", str(tmp_path)])
    assert "belong to --size" in wrong.communicate(timeout=60)[1]
    assert wrong.returncode == 2
    gone = begin(["doctor", "--size", "--crawl", "nobody", "--data", str(tmp_path)])
    assert gone.communicate(timeout=60)
    assert gone.returncode == 2


def test_a_crawl_s_own_figures_are_the_defaults(tmp_path: Path) -> None:
    from web import preset, serve

    with serve(preset("tiny", hosts=3, pages=20, latency=0.02)) as web:
        words = [
            "crawl",
            *web.plan.seeds(),
            "--name",
            "c",
            "--data",
            str(tmp_path),
            "--json",
            "--delay",
            "0.01",
        ]
        crawled = begin([*words, "--allow-private", "127.0.0.0/8"])
        assert crawled.communicate(timeout=60)
        assert crawled.returncode == 0
    said = begin(["doctor", "--size", "--crawl", "c", "--urls", "6000", "--data", str(tmp_path), "--json"])
    load = json.loads(said.communicate(timeout=60)[0])["load"]
    assert (load["hosts"], load["urls"]) == (3, 6000)
    assert 0 < load["seconds"] < 5
    assert 0 < load["delay"] < 1


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--within", "0s"], "--within 0"), (["--hosts", "1" + "0" * 400], "--hosts is at most")],
)
def test_what_cannot_be_reckoned_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    process = begin(["doctor", "--size", "--hosts", "10", "--urls", "1000", *words, "--data", str(tmp_path)])
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert said in err


def test_a_line_that_is_just_written_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "attempts.jsonl"
    log.write_text('{"x":1}\n{"seconds":2.0}\n{"seconds":null}\n{"seco')
    assert _answers(log) == [2.0]
