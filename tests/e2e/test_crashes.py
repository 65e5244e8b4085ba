"""If a page kills the process that reads it, only this page is blamed and becomes a dead letter. No other
page is lost."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from e2e.runs import begin, command, job, rows
from gossamer import url as urls
from gossamer.worker.crash_marker import CrashMarker, last_read
from web import Plan, graph, preset, serve

DEATHS, PAGES = 3, 30
FEWER = (
    "from pathlib import Path; read = Path.read_text; "
    "Path.read_text = lambda *given, **more: read(*given, **more).replace('crashes >= 10', 'crashes >= 3')"
)
"""Lowers the maximum number of deaths from ten to three. The limit of ten is tested in tests/frontier."""
SITE = """
import os, signal
from gossamer import Item, Site
site = Site("s", hosts=["{host}"], seeds=["{seed}"])
class Thing(Item, key="url"):
    url: str
@site.page()
def thing(page):
    if page.url == "{poison}":
        os.kill(os.getpid(), signal.SIGSEGV)
    yield Thing(url=page.url)
    yield from page.follow("a")
"""
MUST = """
from gossamer import Site
site = Site("m", seeds=["{seed}"], must_have="body", follow=True)
"""
"""A site with `must_have`. If the ladder has several rungs, each page is checked for the required element
before it is read."""


def test_a_page_that_kills_each_run(tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=1, pages=PAGES, latency=0.01)) as web:
        seed, host = web.plan.seeds()[0], urls.host(web.url(0))
        poison = web.url(0, graph.path(3))
        file = tmp_path / "s.py"
        file.write_text(SITE.format(host=host.rpartition(":")[0], seed=seed, poison=poison))
        one = job([str(file)], tmp_path, per_host=8)
        codes = []
        while not codes or codes[-1] == -signal.SIGSEGV:
            door = begin(command(one), f"{FEWER}; from gossamer.cli import main; main()")
            out, err = door.communicate(timeout=60)
            codes.append(door.returncode)
        assert codes == [-signal.SIGSEGV] * DEATHS + [0], err
        summary = json.loads(out)
        explained = begin(["explain", poison, "--data", one.settings.data, "--json"])
        told = json.loads(explained.communicate(timeout=60)[0])
        mapped = {web.url(0, graph.path(page)) for page in range(PAGES)}
    assert (summary["dead"], summary["pending"]) == (1, 0)
    assert (told["now"], told["why"].partition(";")[0]) == (
        "dead",
        f"crash: its worker died {DEATHS} times while visiting it",
    )
    got = [row["url"] for row in rows(tmp_path / "out.jsonl")]
    assert len(got) == len(set(got))
    assert set(got) >= mapped - {poison}
    assert list((tmp_path / "data" / "c").glob("reading.*")) == []


def test_a_kill_between_pages_blames_none(tmp_path: Path) -> None:
    own = CrashMarker(tmp_path)
    own.begins(3, 1 << 40)
    own.ends()
    assert last_read(tmp_path) == []
    own = CrashMarker(tmp_path)
    own.begins(3, 1 << 40)
    assert (last_read(tmp_path), last_read(tmp_path)) == ([(3, 1 << 40)], [])


@pytest.mark.parametrize("must", [False, True])
def test_a_page_too_deep_for_the_parser_ends_two_runs_at_most(tmp_path: Path, must: bool) -> None:
    """turbohtml 1.15 crashes on this page, and a newer version of turbohtml may not crash."""
    (tmp_path / "deep.html").write_bytes(b"<a>" + b"<div>" * 506 + b"<table><td></tr>x<div><a>")
    (tmp_path / "index.html").write_bytes(
        b"<title>Home</title><a href=deep.html>1</a><a href=other.html>2</a>"
    )
    (tmp_path / "other.html").write_bytes(b"<title>Other</title><p>text")
    with serve(Plan(folder=str(tmp_path), robots=("allow",))) as web:
        seed = web.url(0, "/index.html")
        (tmp_path / "m.py").write_text(MUST.format(seed=seed))
        one = job([str(tmp_path / "m.py") if must else seed], tmp_path)
        words = command(
            one,
            *(["--ladder", "plain,impersonated", "--pages", str(tmp_path / "pages.jsonl")] if must else []),
        )
        codes, main = [], "from gossamer.cli import main; main()"
        while not codes or (codes[-1] == -signal.SIGSEGV and len(codes) < 5):
            door = begin(words, main)
            _, err = door.communicate(timeout=60)
            codes.append(door.returncode)
    assert codes in ([0], [-signal.SIGSEGV, -signal.SIGSEGV, 0]), err
    got = {
        row["url"].rpartition("/")[2]: row["error"]
        for row in rows(tmp_path / ("pages.jsonl" if must else "out.jsonl"))
    }
    assert got == {"index.html": None, "deep.html": "parse" if len(codes) > 1 else None, "other.html": None}
