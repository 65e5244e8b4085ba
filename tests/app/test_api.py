"""Tests of the Python API: `for` and `async for` over a crawl, an early stop, a run into files, and errors
that are raised where the rows are read."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer.errors import GossamerError, UsageError
from web import Web, preset, serve

QUICK = {"delay": 0, "per_host": 8}


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", pages=40)) as web:
        yield web


def test_a_loop_over_pages(web: Web) -> None:
    crawl = gossamer.crawl(web.url(), **QUICK)
    pages = list(crawl)
    assert len({page.url for page in pages}) == len(pages) == 40
    assert all(page.status == 200 and page.title for page in pages)
    assert crawl.summary is not None
    assert (crawl.summary.state, crawl.summary.pages) == ("finished", 40)


async def test_an_async_loop_beside_other_work(web: Web) -> None:
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    pages = [page async for page in gossamer.crawl(web.url(), **QUICK)]
    ticking.cancel()
    assert len({page.url for page in pages}) == 40
    assert turns > 5, "the loop was never held up"


def test_two_crawls_at_the_same_time(web: Web) -> None:
    one, two = iter(gossamer.crawl(web.url(), **QUICK)), iter(gossamer.crawl(web.url(), **QUICK))
    assert len({page.url for pair in zip(one, two, strict=True) for page in pair}) == 40


def test_leaving_early_stops_the_crawl(web: Web) -> None:
    web.reset()
    began = time.monotonic()
    for page in gossamer.crawl(web.url(), delay=0.05):
        assert page.status == 200
        break
    assert time.monotonic() - began < 15
    assert len(web.log()) < 40
    assert [one.name for one in threading.enumerate() if one.name == "gossamer"] == []
    asked = len(web.log())
    time.sleep(0.3)
    assert len(web.log()) == asked, "nothing goes on behind our back"


async def test_leaving_an_async_loop_early(web: Web) -> None:
    crawl = gossamer.crawl(web.url(), delay=0.05)
    pages = crawl.__aiter__()
    assert (await pages.__anext__()).status == 200
    await pages.aclose()  # type: ignore[attr-defined] # an async generator
    assert [one.name for one in threading.enumerate() if one.name == "gossamer"] == []
    assert crawl.summary is not None
    assert crawl.summary.state == "stopped"


def test_a_limit_and_what_is_left(web: Web) -> None:
    crawl = gossamer.crawl(web.url(), limit=5, **QUICK)
    assert len(list(crawl)) == 5
    assert crawl.summary is not None
    assert crawl.summary.state == "limited"


def test_run_writes_files_and_goes_on_where_it_ended(web: Web, tmp_path: Path) -> None:
    out, given = str(tmp_path / "out.jsonl"), {"data": str(tmp_path / "d"), **QUICK}
    first = gossamer.run(web.url(), output=out, limit=10, **given)
    assert (first.state, first.pages) == ("limited", 10)
    second = gossamer.run(web.url(), output=[out], **given)
    assert (second.state, second.pages) == ("finished", 40)
    urls = [json.loads(line)["url"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(set(urls)) == len(urls) == 40
    assert gossamer.run(web.url(), output=out, **given).pages == 40
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 40


async def test_run_where_a_loop_runs_already_as_in_notebooks(web: Web, tmp_path: Path) -> None:
    summary = gossamer.run(web.url(), output=tmp_path / "out.jsonl", data=tmp_path / "d", limit=3, **QUICK)
    assert summary.pages == len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_paths_are_targets_and_outputs(web: Web, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(web.url())
    assert len(list(gossamer.crawl(tmp_path / "urls.txt", limit=2, **QUICK))) == 2
    gossamer.run(tmp_path / "urls.txt", output=[tmp_path / "a.csv"], data=tmp_path / "d", limit=2, **QUICK)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("targets", "options", "says"),
    [
        ((), {}, "TARGET"),
        (("word",), {}, "word"),
        (("https://a.example/",), {"dealy": 1}, "delay"),
        (("https://a.example/",), {"delay": "soon"}, "delay"),
    ],
)
def test_what_is_off_is_said_where_the_rows_are_read(
    targets: tuple[str, ...], options: dict[str, object], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        list(gossamer.crawl(*targets, **options))
    with pytest.raises(GossamerError, match=says):
        gossamer.run(*targets, **options)  # type: ignore[arg-type] # that is the point of it


def test_nothing_is_kept_without_a_data_folder(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    list(gossamer.crawl(web.url(), limit=3, **QUICK))
    assert list(tmp_path.iterdir()) == []
