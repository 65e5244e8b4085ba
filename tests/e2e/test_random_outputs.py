"""Rows are never lost, whichever commands and outputs are used: stored rows fill the outputs of later
runs, and appear in `items` and `export`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from e2e.random_outputs import ITEMS, Asker, ask, shop, things
from gossamer.app.repair import repair
from gossamer.errors import GossamerError
from gossamer.sinks.rows_in_data_folder import INCOMPLETE, NAME
from support import fork_server
from support.repetitions import repetitions

SRC = Path(__file__).parents[2] / "src"


@pytest.mark.parametrize("seed", range(300, 300 + repetitions(1000, 40)))
async def test_a_random_way_to_ask(tmp_path: Path, seed: int) -> None:
    assert len(await ask(seed, tmp_path)) == 7


@pytest.mark.parametrize("seed", range(repetitions(100, 20)))
async def test_a_random_way_to_ask_for_items_that_no_class_declares(tmp_path: Path, seed: int) -> None:
    assert len(await ask(seed, tmp_path, declared=False)) == 7


async def test_what_was_not_kept_is_told_with_the_command_that_helps(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with shop() as one:
        asker = Asker(0, tmp_path, one)
        await asker.run(("a.jsonl",), limit=5, keep=None)
        await asker.run(("a.jsonl",), limit=7, keep=None)
        assert "only what" not in capfd.readouterr().err
        await asker.run(("b.jsonl",), limit=9, keep=None)
        assert "b.jsonl: only what is found from now on goes there" in capfd.readouterr().err
        await asker.run(("a.jsonl", "pages.warc.gz"))
        told = capfd.readouterr().err
    assert "a.jsonl" in told
    assert "pages.warc.gz" in told
    assert "gossamer export shop FILE" in told


async def test_the_oldest_finished_crawls_make_room(tmp_path: Path) -> None:
    async with shop() as one:
        asker = Asker(0, tmp_path, one)
        for name in ("first", "second"):
            await asker.run((), name=name)
        await asker.run((), name="unfinished", limit=3)
        data = tmp_path / "data"
        for n, name in enumerate(("unfinished", "first", "second")):
            os.utime(data / name / NAME, (n, n))
        whole, part = ((data / name / NAME).stat().st_size for name in ("second", "unfinished"))
        await asker.run(
            (), name="third", keep=whole * 5 // 2 + part
        )  # room for two whole ones, not for three
        assert [(data / name / NAME).exists() for name in ("first", "second", "unfinished", "third")] == [
            False,
            True,
            True,
            True,
        ]
        assert "--keep" in (data / "first" / INCOMPLETE).read_text()
        await asker.run(("late.jsonl",), name="first")
        assert any("late.jsonl: only what is found from now on" in line for line in asker.told)


@pytest.mark.parametrize("after", [1, 2, 3])
async def test_a_killed_fill_is_continued(tmp_path: Path, after: int) -> None:
    """The process is killed after each of the steps that fill an output."""
    async with shop() as one:
        asker = Asker(0, tmp_path, one)
        for limit in (6, 12):
            await asker.run((), limit=limit)
        job = asker.job(("a.jsonl", "c.csv", "d.sqlite"))
        (tmp_path / "job.json").write_bytes(msgspec.json.encode(job))
        code = (
            "import asyncio, os, signal, msgspec\n"
            "from pathlib import Path\n"
            "from gossamer.app.job import Job\n"
            "from gossamer.app.runner import crawl\n"
            "from gossamer.frontier.frontier_client import Frontier\n"
            "from gossamer.sinks import rows_in_data_folder as kept_rows\n"
            "kept_rows.MIN_GROUP_ROWS = 3\n"
            "fill, calls = Frontier.fill, 0\n"
            "async def dies(self, file, offset, length=None):\n"
            "    global calls\n"
            "    if offset:\n"
            "        calls += 1\n"
            f"    if calls == {after}: os.kill(os.getpid(), signal.SIGKILL)\n"
            "    await fill(self, file, offset, length)\n"
            "Frontier.fill = dies\n"
            f"job = msgspec.json.decode(Path({str(tmp_path / 'job.json')!r}).read_bytes(), type=Job)\n"
            "asyncio.run(crawl(job))\n"
        )
        killed = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, env={**os.environ, "PYTHONPATH": str(SRC)}
        )
        assert await asyncio.wait_for(killed.wait(), 60) == -signal.SIGKILL
        await asker.run(("a.jsonl", "c.csv", "d.sqlite"))
    for name in ("a.jsonl", "c.csv", "d.sqlite"):
        assert things(tmp_path / name) == {(n, "0"): 1 for n in range(ITEMS)}, name


@pytest.mark.parametrize("harm", ["lost", "emptied"])
async def test_a_crawl_of_items_is_rebuilt_from_its_kept_rows(tmp_path: Path, harm: str) -> None:
    """The items of a page depend on the request that led to the page, namely on its function and its
    `carry`. The repair must restore the function and the `carry`."""
    outputs = ("a.jsonl", "c.csv", "d.sqlite", "e.parquet")
    async with shop() as one:
        asker = Asker(0, tmp_path, one)
        (tmp_path / "shop.py").write_text(CARRYING.replace("{url}", one.url))
        await asker.run(outputs, limit=10)
        log = tmp_path / "data/store/appendonlydir"
        if harm == "lost":
            shutil.rmtree(log)
        else:
            for file in log.glob("*.aof"):
                file.write_bytes(b"")
        with pytest.raises(GossamerError, match="repair"):
            await asker.run(outputs)
        said: list[str] = []
        await repair(asker.job(()).settings, None, said.append, dry=True)
        assert things(tmp_path / "a.jsonl").total() == 8
        await repair(asker.job(()).settings, None, said.append)
        assert any("10 pages are done" in line for line in said)
        one.until = 10**9
        summary = await asker.run(outputs)
    assert (summary.state, summary.items, summary.adds_up()) == ("finished", ITEMS, True)
    for name in outputs:
        assert things(tmp_path / name) == {(n, "carried"): 1 for n in range(ITEMS)}, name


CARRYING = """
from gossamer import Item, Site

site = Site("shop", seeds=["{url}"])


class Thing(Item, key="number"):
    number: int
    price: str


@site.page(r"/$")
def home(page):
    yield page.request("/?all=1", use="listing", carry={"word": "carried"})


@site.page(r"never")
def listing(page):
    for href in page.css("a::attr(href)").getall():
        yield page.request(href, use="thing", carry=page.carry)


@site.page(r"never either")
def thing(page):
    yield Thing(number=int(page.css("h1::text").get()), price=page.carry["word"])
"""


def test_a_preview_is_shown_by_items_and_filled_into_a_later_output(tmp_path: Path) -> None:
    """The command line crawls an archive, so no page is fetched."""
    pages = tmp_path / "pages" / "s.test"
    pages.mkdir(parents=True)
    (pages / "index.html").write_text("".join(f"<a href=p{n}.html>{n}</a>" for n in range(9)))
    for n in range(9):
        (pages / f"p{n}.html").write_text(f"<h1>{n}</h1>")
    (tmp_path / "s.py").write_text(
        "from gossamer import Item, Site\n"
        "site = Site('s', seeds=['http://s.test/index.html'])\n"
        "class Thing(Item, key='n'):\n    n: int\n"
        "@site.page(r'/p')\ndef thing(page): yield Thing(n=int(page.css('h1::text').get()))\n"
        "@site.page()\ndef listing(page): yield from page.follow('a')\n"
    )

    def gossamer(*words: str) -> str:
        done = fork_server.run(
            [sys.executable, "-m", "gossamer", *words],
            cwd=tmp_path,
            env={"PYTHONPATH": str(SRC), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    crawl = ("crawl", "s.py", "--archive", "pages", "--delay", "0", "--quiet")
    gossamer(*crawl, "--limit", "5", "--json")  # a run without any output
    shown = [json.loads(line)["n"] for line in gossamer("items", "--json").splitlines()]
    assert len(shown) == 4
    gossamer(*crawl, "-o", "all.jsonl")
    found = [json.loads(line)["n"] for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert sorted(found) == list(range(9))
    gossamer(*crawl, "-o", "again.csv")  # the crawl is already finished
    assert len((tmp_path / "again.thing.csv").read_text().splitlines()) == 10
    gossamer("export", "s", "pages.jsonl", "--what", "pages")
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) == 10
