"""Tests of `reparse` with a better parser: it finds the same items as a crawl, reports the right
differences, and continues an interrupted run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gossamer.api import job_of
from gossamer.app.job import JobOutput
from gossamer.app.reparse import processes, runner
from gossamer.app.reparse.comparison import Difference, compare
from gossamer.app.runner import crawl
from gossamer.cli.commands import run
from gossamer.model.page import Exchange
from gossamer.model.visit import RAW, Raw, RequestContext, Row
from gossamer.sinks.object_files import Objects
from gossamer.sinks.warc import Warc
from gossamer.sites import load_all
from items.changing_shop import serving

SITE = """
from gossamer import Item, Site

site = Site("shop", seeds=["http://shop.test/"])


class Thing(Item, key="sku"):
    sku: str
    name: str
    price: float
    group: str


@site.page(r"/p/")
def product(page):
    if "broken" in page.url:
        raise ValueError("no price")
    yield Thing(sku=page.css("i::text").get(), name=page.css("h1::text").get(), price=float(page.css("b::text").get()),
                group=page.carry["group"])
    yield from page.follow("a")
"""
SHOP = """
from gossamer import Item, Site
site = Site("shop", seeds=["{url}/"], pace=0)
class Pot(Item, key="sku"):
    sku: str
    title: str
@site.page("^/p/")
def pot(page):
    yield Pot(sku=page.css(".sku::text").get(), title=page.css("h1::text").get())
@site.page()
def listing(page):
    yield from page.follow("a.p")
"""
BETTER = (
    SITE.replace('"/p/"', '"/p/[^35]"')
    .replace('"broken" in page.url', "False")
    .replace("    group: str\n", "    group: str\n    more: int = 1\n")
    .replace("name=page", 'name="new" if page.url.endswith("/1") else page')
)
COUNT = 60


def stored(n: int, status: int = 200, **asked: Any) -> Row:
    body = f"<h1>Thing {n}</h1><i>sku{n}</i><b>{n}.5</b><a href='/p/{n + 1}'>next</a>".encode()
    url = f"http://shop.test/p/{'broken' if n == 7 else n}"
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: text/html\r\n\r\n".encode()
    how = RequestContext(depth=1, carry={"group": "g"}, **asked)
    return Row(RAW, url, Raw(url, status, "text/html", 1700000000.5 + n, Exchange(b"", head, body), how))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a site file and with the pages that a crawl of the site stored: products, an
    unreadable product, a redirect, a block page, a sitemap and robots.txt."""
    monkeypatch.chdir(tmp_path)
    Path("shop.py").write_text(SITE)
    rows = [stored(n) for n in range(COUNT)] + [stored(100, 302), stored(101, block="cloudflare challenge")]
    rows += [stored(102, use="@sitemap"), stored(0)]
    rows[-1].data.url = rows[-1].key = "http://shop.test/robots.txt"
    for sink in (Warc("pages.warc.gz"), Objects("plain")):
        sink.close(sink.append(sink.prepare(), rows))
    return tmp_path


def reparse(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(["reparse", "--json", "--quiet", *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("archive", ["pages.warc.gz", "plain"])
def test_a_better_parser_is_compared_with_what_was(
    place: Path, archive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = reparse(capsys, "--archive", archive, "--site", "shop.py", "--processes", "2")
    assert (told["read"], told["pages"], told["passed"], told["items"], told["failed"]) == (
        64,
        COUNT,
        4,
        COUNT - 1,
        1,
    )
    assert [why for why in told["reasons"] if "no price" in why and "shop.py:" in why]
    before = place / "before.jsonl"
    before.write_bytes(Path(told["items_file"]).read_bytes())
    lines = [json.loads(line) for line in before.read_bytes().splitlines()]
    assert {line["_seen_at"] for line in lines} == {
        f"2023-11-14T22:{13 + (20 + n) // 60}:{(20 + n) % 60:02d}.500Z" for n in range(COUNT) if n != 7
    }
    Path("shop.py").write_text(BETTER)
    told = reparse(
        capsys,
        "--archive",
        archive,
        "--site",
        "shop.py",
        "--old",
        str(before),
        "-O",
        "out.csv",
        "-o",
        "t.sqlite",
    )
    gone = [n for n in range(COUNT) if str(n)[0] in "35"]
    assert told["difference"]["added"] == 1
    assert told["difference"]["removed"] == len(gone)
    assert told["difference"]["changed"] == COUNT - 1 - len(gone)
    assert told["difference"]["fields"]["more"] == {"added": COUNT - 1 - len(gone)}
    assert told["difference"]["fields"]["name"] == {"changed": 1}
    details = [json.loads(line) for line in Path(told["details_file"]).read_bytes().splitlines()]
    assert next(one["fields"]["name"] for one in details if one["_key"] == "sku1") == ["Thing 1", "new"]
    assert len([one for one in details if one["change"] == "removed"]) == len(gone)
    assert len(Path("out.thing.csv").read_text().splitlines()) == 1 + COUNT - len(gone)
    with closing(sqlite3.connect("t.sqlite")) as base:
        assert base.execute("SELECT count(*), sum(price) FROM thing").fetchone()[0] == COUNT - len(gone)


def test_a_run_that_was_ended_goes_on_where_it_was(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "BATCH_PAGES", 5)
    monkeypatch.setattr(runner, "SAVE_INTERVAL_S", 0.0)
    sites = load_all(["shop.py"])
    whole = runner.ReparseRun(place / "whole", [place / "pages.warc.gz"], sites)
    whole.work()
    read: list[int] = []
    real = processes.read_in_processes
    monkeypatch.setattr(
        processes,
        "read_in_processes",
        lambda batches, *rest: (read.append(len(batches)), real(batches, *rest))[1],
    )

    class Died(BaseException):
        pass

    saved = runner.ReparseRun._save
    for at in (1, 2, 5):
        count = [0]

        def save(self: runner.ReparseRun, at: int = at, count: list[int] = count) -> None:
            count[0] += 1
            if count[0] == at:
                raise Died  # the lines of the batch are written, but its state is not
            saved(self)

        monkeypatch.setattr(runner.ReparseRun, "_save", save)
        with pytest.raises(Died):
            runner.ReparseRun(
                place / "run", [place / "pages.warc.gz"], sites, outputs=[("made.jsonl", False)]
            ).work()
    monkeypatch.setattr(runner.ReparseRun, "_save", saved)
    told = runner.ReparseRun(
        place / "run", [place / "pages.warc.gz"], sites, outputs=[("made.jsonl", False)]
    ).work()
    assert read[-1] < read[0]
    assert told.items == COUNT - 1
    assert (place / "run" / "items.jsonl").read_bytes() == (place / "whole" / "items.jsonl").read_bytes()
    assert Path("made.jsonl").read_bytes() == (place / "whole" / "items.jsonl").read_bytes()


def test_pages_of_all_runs_count_and_the_last_answer_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as shop:
        shop.pages = 4
        (tmp_path / "shop.py").write_text(SHOP.format(url=shop.url))

        def crawled(*outputs: str, refresh: bool = False) -> dict[str, str]:
            given = {"data": str(tmp_path / "data"), "delay": 0, "name": "c", "refresh": refresh}
            job = job_of([str(tmp_path / "shop.py")], given)
            job.outputs = [JobOutput(str(tmp_path / one)) for one in outputs]
            asyncio.run(crawl(job))
            told = reparse(capsys, "c", "--data", str(tmp_path / "data"))
            assert told["pages"] == 5
            lines = [json.loads(line) for line in Path(told["items_file"]).read_bytes().splitlines()]
            return {line["sku"]: line["title"] for line in lines}

        before = {str(n): f"Pot {n}" for n in range(4)}
        assert crawled("first.warc.gz", "out.jsonl") == before
        assert crawled("out.jsonl", refresh=True) == before  # this run stored no page
        shop.titles = {"/p/1": "New"}
        assert crawled("second.warc.gz", refresh=True) == before | {"1": "New"}
        shop.titles = {"/p/1": "Newer"}
        assert crawled("first.warc.gz", refresh=True) == before | {"1": "Newer"}
        (tmp_path / "second.warc.gz").unlink()
        assert crawled("out.jsonl", refresh=True) == before | {"1": "Newer"}


@pytest.mark.parametrize("kept", ["{}/pages.warc.gz", "objects:{}/pages"])
def test_a_page_that_failed_once_is_read_as_it_was_and_one_that_is_gone_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: str
) -> None:
    with serving() as shop:
        shop.pages = 4
        (tmp_path / "shop.py").write_text(SHOP.format(url=shop.url))

        given = {"data": str(tmp_path / "data"), "delay": 0, "name": "c", "retries": ()}
        for shop.failing, shop.missing in ((set(), set()), ({"/p/1"}, {"/p/2"})):
            job = job_of([str(tmp_path / "shop.py")], given | {"refresh": bool(shop.failing)})
            job.outputs = [JobOutput(one.format(tmp_path)) for one in (kept, "{}/out.jsonl")]
            asyncio.run(crawl(job))
    told = reparse(capsys, "c", "--data", str(tmp_path / "data"))
    assert (told["items"], told["difference"]["removed"]) == (3, 1), "what failed stays, what is gone goes"


def test_a_page_that_the_crawl_read_is_read_again_whatever_its_log_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.py").write_text(SITE)
    called = (
        "generic empty (page: nothing on it)",
        "generic missing (must_have: h2)",
        "generic denied (text: missing)",
    )
    sink = Warc("pages.warc.gz")
    sink.close(sink.append(sink.prepare(), [stored(n, block=line) for n, line in enumerate(called)]))
    told = reparse(capsys, "--archive", "pages.warc.gz", "--site", "shop.py")
    assert (told["pages"], told["passed"], told["items"]) == (2, 1, 2)


def test_of_one_key_the_last_line_counts(tmp_path: Path) -> None:
    lines = [{"a": n, "_key": "k", "_kind": "x", "_site": "s"} for n in (1, 2)]
    old, new, details = (tmp_path / name for name in ("old", "new", "details"))
    old.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{torn")
    new.write_text(json.dumps(lines[1]) + "\n")
    assert compare(old, new, details) == Difference(same=1)
    assert details.read_bytes() == b""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nobody"], "there is no crawl nobody"),
        ([], "kept pages"),
        (["--archive", "nothing", "--site", "shop.py"], "there is nothing"),
        (["--archive", "pages.warc.gz"], "--site FILE"),
        (["--archive", "pages.warc.gz", "--site", "none.py"], "no such site file"),
        (
            ["--archive", "pages.warc.gz", "--site", "shop.py", "--old", "none.jsonl"],
            "there is no such output",
        ),
        (["--archive", "pages.warc.gz", "--site", "shop.py", "-o", "x.warc.gz"], "stores pages"),
        (["--archive", "pages.warc.gz", "--site", "shop.py", "--processes", "many"], "1 to 256"),
        (["--archive", "shop.py", "--site", "shop.py"], "only if it is a WARC"),
    ],
)
def test_what_is_off_is_told_in_one_line(
    place: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reparse", *words]) in (2, 4)
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


def test_lines_are_compared_by_what_the_site_says(tmp_path: Path) -> None:
    end = {
        "_url": "u",
        "_site": "s",
        "_kind": "x",
        "_key": "k",
        "_seen_at": "t",
        "_version": "v",
        "_hash": "h",
    }
    one = {"a": 1, "b": {"c": 2, "_url": "u"}}
    cases: list[tuple[dict[str, Any], dict[str, Any], Difference]] = [
        (
            {**one, **end},
            {**one, **end, "_seen_at": "later", "_version": "w", "_hash": "i"},
            Difference(same=1),
        ),
        ({**one, **end}, {"b": one["b"], **end, "a": 1}, Difference(same=1)),
        ({**one, **end}, {**one, **end, "z": 3}, Difference(changed=1, fields={"z": {"added": 1}})),
        ({**one, **end}, {**one, "a": 2, **end}, Difference(changed=1, fields={"a": {"changed": 1}})),
        ({**one, **end}, {**one, **end, "_key": "l"}, Difference(added=1, removed=1)),
    ]
    old, new, details = (tmp_path / name for name in ("old", "new", "details"))
    for before, after, told in cases:
        old.write_text(json.dumps(before, separators=(",", ":")) + "\n")
        new.write_text(json.dumps(after, separators=(",", ":")) + "\n")
        assert compare(old, new, details) == told


def test_pages_that_came_since_begin_a_run_anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sites, made = load_all([str(place / "shop.py")]), place / "run"
    with monkeypatch.context() as patch:
        patch.setattr(runner.ReparseRun, "_write", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            runner.ReparseRun(made, [place / "plain"], sites).work()
    more = Objects(str(place / "plain"))
    more.close(more.append(more.prepare(), [stored(200)]))
    told = runner.ReparseRun(made, [place / "plain"], sites).work()
    assert (told.read, told.items) == (COUNT + 5, COUNT)


def test_stored_pages_that_are_broken_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--site", "shop.py", "--archive"]
    whole = Path("pages.warc.gz").read_bytes()
    Path("torn.warc.gz").write_bytes(whole[: len(whole) // 2])
    told = reparse(capsys, *words, "torn.warc.gz")
    assert told["unread"] == len(told["broken"]) == 1
    assert told["broken"][0].startswith("torn.warc.gz byte ")
    assert 0 < told["pages"] < COUNT
    stamp = Path("pages.cdxj").stat().st_mtime
    # the index lists more pages than the truncated file contains
    Path("pages.warc.gz").write_bytes(whole[: len(whole) // 2])
    os.utime("pages.warc.gz", (stamp, stamp))
    short = reparse(capsys, *words, "pages.warc.gz", "--fresh")
    assert short["unread"] == short["read"] - short["pages"] - short["passed"] > 0
    objects = sorted(Path("plain/objects").glob("*/*"))
    objects[0].unlink()
    objects[1].write_bytes(objects[1].read_bytes()[:5])
    assert reparse(capsys, *words, "plain")["unread"] == 2
    assert run(["reparse", *words, "plain", "--fresh"]) == 0
    assert re.search(r"cannot be read +2\n", capsys.readouterr().out)
