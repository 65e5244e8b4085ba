"""Tests of long lists: a list is added while it is read, is continued after a kill, and is never in memory
as a whole."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.producers.feed_crawl import DRIVER, fed, listed, pending, small  # noqa: F401 - a fixture
from e2e.runs import begin, job, kill, rows, store_pid
from gossamer.app import producer_runner, seeding
from gossamer.app.runner import crawl
from gossamer.errors import UsageError
from gossamer.frontier.summary import crawl_counts
from gossamer.store.store import Store
from web import Web, preset, serve

pytestmark = pytest.mark.usefixtures("small")


@pytest.mark.parametrize("name", ["list.txt", "list.txt.gz"])
async def test_a_long_list_is_added_once_and_read_once(tmp_path: Path, name: str) -> None:
    path = listed(
        tmp_path / name,
        [f"https://h{n % 50}.example/{n}" for n in range(3000)] + ["bad line", "https://h1.example/1"],
    )
    one = job([str(path)], tmp_path)
    n = await fed(one)
    assert (n["added"], n["open"], n["found"], n["skip:duplicate"]) == (3000, 3000, 3001, 1)
    (bad,) = rows(tmp_path / "data" / "c" / "rejected.jsonl")
    assert (bad["line"], bad["text"]) == (3001, "bad line")
    assert await fed(one) == n
    with path.open("ab") as file:  # only the appended lines are read
        file.write(
            gzip.compress(b"https://h1.example/more\n")
            if name.endswith("gz")
            else b"https://h1.example/more\n"
        )
    assert (await fed(one))["added"] == 3001


async def test_it_is_crawled_and_finishes(tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=3, pages=30)) as web:
        pages = sorted(web.plan.must_fetch(sitemaps=False))
        one = job([str(listed(tmp_path / "list.txt", pages))], tmp_path, scope="page")
        summary = await crawl(one)
        assert (summary.state, summary.pages, summary.pending) == ("finished", len(pages), 0)
        assert {row["requested_url"] for row in rows(tmp_path / "out.jsonl")} == set(pages)
        again = await crawl(one)
        assert (again.state, again.pages) == ("finished", len(pages))


@pytest.mark.parametrize("long", [False, True])
async def test_lines_that_were_added_after_the_end_are_crawled(
    tmp_path: Path, long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not long:
        monkeypatch.setattr("gossamer.app.producers.registry.SHORT_LIST_BYTES", 1 << 20)
    with serve(preset("tiny", hosts=2, pages=10)) as web:
        pages = sorted(web.plan.must_fetch(sitemaps=False))
        path = listed(tmp_path / "list.txt", pages[:3])
        one = job([str(path)], tmp_path, scope="page")
        assert (await crawl(one)).pages == 3
        listed(path, pages[:5])
        grown = await crawl(one)
        assert (grown.state, grown.pages, grown.adds_up()) == ("finished", 5, True)
        assert {row["requested_url"] for row in rows(tmp_path / "out.jsonl")} == set(pages[:5])
        assert (await crawl(one)).started_at == grown.started_at


async def test_a_page_s_own_host_is_the_scope(tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=2, pages=30)) as web:
        path = listed(
            tmp_path / "list.txt", [web.plan.seeds()[0]] + ["# a remark of some length that is not a URL"] * 5
        )
        summary = await crawl(job([str(path)], tmp_path))
        hosts = {row["url"].split("/")[2] for row in rows(tmp_path / "out.jsonl")}
        assert (summary.pages, hosts) == (30, {web.plan.seeds()[0].split("/")[2]})
        assert summary.found == summary.pages + summary.redirected + summary.failed + sum(
            summary.skipped.values()
        )


@pytest.mark.parametrize("name", ["list.txt", "list.jsonl.gz"])
def test_killed_and_run_again_each_url_comes_once(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.app.producers.lines.CHUNK_BYTES", 2000)
    urls = [f"https://h{n % 40}.invalid/{n}" for n in range(20_000)]
    if "jsonl" in name:
        urls = [json.dumps({"url": url}) for url in urls]
    path, data = listed(tmp_path / name, urls), tmp_path / "data"
    words = [
        "crawl",
        str(path),
        "--name",
        "c",
        "--data",
        str(data),
        "--scope",
        "page",
        "--json",
        "--limit",
        "1",
        "--rate",
        "0.01",
    ]
    met = []
    for _ in range(2):
        before, door = pending(data), begin(words, DRIVER)
        deadline = time.monotonic() + 60
        while pending(data) < before + 3000:
            assert door.poll() is None, door.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(door.pid, signal.SIGKILL)
        door.communicate()
        met.append(pending(data))
    assert met[1] < 20_000
    n = asyncio.run(fed(job([str(path)], tmp_path, scope="page")))
    assert n["added"] == n["found"] == 20_000
    assert "skip:duplicate" not in n or not n["skip:duplicate"]


def test_a_store_that_dies_meanwhile_is_no_end(tmp_path: Path) -> None:
    path, data = (
        listed(tmp_path / "list.txt", [f"https://h{n % 40}.invalid/{n}" for n in range(20_000)]),
        tmp_path / "data",
    )
    words = [
        "crawl",
        str(path),
        "--name",
        "c",
        "--data",
        str(data),
        "--scope",
        "page",
        "--json",
        "--limit",
        "1",
        "--rate",
        "0.01",
    ]
    door = begin(words, DRIVER)
    deadline = time.monotonic() + 60
    for so_far in (3000, 6000):
        while pending(data) < so_far:
            assert door.poll() is None, door.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        kill(store_pid(data))
    while pending(data) < 20_000:
        assert door.poll() is None, door.communicate()
        assert time.monotonic() < deadline, pending(data)
        time.sleep(0.05)
    door.send_signal(signal.SIGINT)
    said = door.communicate(timeout=60)
    assert door.returncode == 11, said
    assert json.loads(said[0])["found"] == 20_000


def test_standard_input_is_streamed(tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=2, pages=30)) as web:
        pages = sorted(web.plan.must_fetch(sitemaps=False))
        words = [
            "crawl",
            "-",
            "--name",
            "c",
            "--data",
            str(tmp_path / "data"),
            "--scope",
            "page",
            "--json",
            "--delay",
            "0",
        ]
        words += ["--allow-private", "127.0.0.0/8", "-o", str(tmp_path / "out.jsonl")]
        door = begin(words, DRIVER, stdin=subprocess.PIPE)
        assert door.stdin is not None
        for url in pages:
            door.stdin.write(f"{url}\n")
        door.stdin.flush()
        deadline = time.monotonic() + 30
        while len(fetched(web)) < len(pages):  # all pages are fetched before the input ends
            assert door.poll() is None, door.communicate()
            assert time.monotonic() < deadline, fetched(web)
            time.sleep(0.05)
        time.sleep(1)
        assert door.poll() is None, "it may have more to say"
        door.stdin.write("https://nowhere.invalid/\n")
        said = door.communicate(timeout=60)
        assert door.returncode == 0, said
        assert json.loads(said[0])["pages"] == len(pages)


def fetched(web: Web) -> set[str]:
    return {hit.host + hit.path for hit in web.log() if hit.path != "/robots.txt"}


async def test_producers_wait_while_too_much_is_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer_runner, "MAX_PENDING_URLS", 50)
    monkeypatch.setattr(producer_runner, "CHECK_INTERVAL_S", 0.0)
    monkeypatch.setattr(producer_runner, "CROWDED_INTERVAL_S", 0.01)
    most = 0
    crowded = producer_runner.why_no_room

    async def looked(store: Store, name: str) -> str:
        nonlocal most
        most = max(most, (await crawl_counts(store, name))["open"])
        return await crowded(store, name)

    monkeypatch.setattr(producer_runner, "why_no_room", looked)
    with serve(preset("tiny", hosts=3, pages=100)) as web:
        pages = sorted(web.plan.must_fetch(sitemaps=False))
        summary = await crawl(job([str(listed(tmp_path / "list.txt", pages))], tmp_path, scope="page"))
    assert summary.pages == len(pages) == 300
    assert 0 < most <= 50 + 200 // 20, "a part at most above the mark"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("list.txt.gz", b"no gzip at all" * 20, "list.txt.gz cannot be read"),
        ("cut.txt.gz", gzip.compress(os.urandom(5000))[:2000], "cut.txt.gz cannot be read"),
    ],
)
async def test_a_list_that_cannot_be_read_is_said(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=says):
        await fed(job([str(tmp_path / name)], tmp_path))


def test_scope_prefix_needs_its_seeds(tmp_path: Path) -> None:
    path = listed(tmp_path / "list.txt", [f"https://h.example/{n}" for n in range(100)])
    with pytest.raises(UsageError, match="--scope prefix"):
        seeding.prepare(job([str(path)], tmp_path, scope="prefix"))


def test_a_program_that_needs_no_producer_loads_none() -> None:
    code = "import sys, gossamer.app.seeding; print([m for m in ('aiokafka', 'psycopg', 'sqlite3.dbapi2') if m in sys.modules][:2])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "aiokafka" not in said.stdout
    assert "psycopg" not in said.stdout
