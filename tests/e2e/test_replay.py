"""Stored pages replace the web: a site that is read from its WARC file produces the same items, byte for
byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.runs import begin, command, job
from gossamer.app.job import JobOutput
from web import preset, serve

SITE = """
from gossamer import Item, Site

site = Site("shop", seeds=SEEDS, follow=True)

class Leaf(Item, key="url"):
    url: str
    title: str
    links: int
    depth: int

@site.page()
def leaf(page):
    yield Leaf(url=page.url, title=page.css("title::text").get() or "", links=len(page.css("a")), depth=page.request_.depth)
"""


@pytest.mark.parametrize("output", ["raw/:warc", "raw.warc.gz"])
def test_a_site_from_its_warc_gives_the_same_items(tmp_path: Path, output: str) -> None:
    with serve(preset("tiny", hosts=2, pages=40, latency=0)) as web:
        site = tmp_path / "shop.py"
        site.write_text(SITE.replace("SEEDS", repr(web.plan.seeds())))
        first = job([str(site)], tmp_path)
        first.outputs.append(JobOutput(str(tmp_path / output)))
        done = begin(command(first))
        said = done.communicate(timeout=60)
        assert done.returncode == 0, said
    kept = tmp_path / output.removesuffix("/:warc")
    again = job([str(site)], tmp_path, output="again.jsonl", data=str(tmp_path / "data2"))
    replay = begin(command(again, "--archive", str(kept)))
    said = replay.communicate(timeout=60)
    assert replay.returncode == 0, said
    summary = json.loads(said[0])
    assert (summary["items"], summary["failed"]) == (80, 0)
    lines = [sorted((tmp_path / name).read_bytes().splitlines()) for name in ("out.jsonl", "again.jsonl")]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 80
