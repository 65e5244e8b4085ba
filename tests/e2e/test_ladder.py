"""Tests of the ladder: a command crawls a small web of blocking hosts, with one host per kind of block. A
stand-in replaces the browser."""

from __future__ import annotations

import ast
from pathlib import Path

import walls
from gossamer.politeness.ladder import COSTS, RUNGS
from walls.crawl import Size, crawl
from walls.plan import USUAL, web


async def test_pages_behind_walls_are_got_at_little_more_than_their_cheapest_rungs_cost(
    tmp_path: Path,
) -> None:
    size, costs = Size(len(USUAL), (16, 18), 3.0), dict(zip(RUNGS, COSTS, strict=True))
    ran = await crawl(tmp_path, 7, size, costs=costs, delay=0.1, retries="1s,2s,3s,4s", stand_in=True)
    one = ran.judged
    assert (ran.code, one.odd, one.private) == (0, [], 0), ran.said
    assert one.share > 0.99, one.kinds
    assert all(one.tries[rung] for rung in RUNGS)
    # the crawl has few pages to learn from, and one folder is never accessible
    assert one.ratio < 1.6, one.kinds


def test_the_web_of_walls_is_drawn_from_its_seed_and_shares_no_code_with_us() -> None:
    assert web(3) == web(3) != web(4)
    files = [
        *Path(walls.__path__[0]).glob("*.py"),
        *(
            Path(__file__).parents[1] / "collectors" / "impersonated" / one
            for one in ("client_hello.py", "recording_server.py")
        ),
    ]
    names = [
        name
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
        )
    ]
    assert names
    assert not [name for name in names if name.partition(".")[0] == "gossamer"]
