"""Feeds thousands of generated documents to a process, and limits their cost in CPU time and memory.
benchmarks/hostile_pages.py reads a million documents."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from e2e.hostile_documents import FAMILIES, document
from support.repetitions import repetitions

COUNT, PARTS = repetitions(20_000), 4
HELD = 2.0
"""The maximum CPU seconds per document. Quadratic work takes longer, but other load on the machine does
not count. (The benchmark requires at most 0.15.)"""
CODE = """
import asyncio, json, sys
from e2e.hostile_documents import Feeder
async def main(part, count, parts):
    feeder = Feeder()
    try:
        await feeder.feed(range(part, count, parts))
    finally:
        await feeder.close()
    print(json.dumps([feeder.errors["crash"], feeder.held[0], feeder.growth, feeder.allowed]))
asyncio.run(main(*map(int, sys.argv[1:])))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process takes")
@pytest.mark.parametrize("part", range(PARTS))
def test_documents(part: int) -> None:
    # a separate process, because memory that other tests left in this process would distort the measurement
    words = [
        sys.executable,
        "-c",
        f"import sys; sys.path[:0] = {sys.path!r}\n{CODE}",
        str(part),
        str(COUNT),
        str(PARTS),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=550, check=True)
    crashes, held, growth, allowed = json.loads(done.stdout.splitlines()[-1])
    assert crashes <= 1  # one document may crash the parser, which ends a page process and not the worker
    assert held < HELD
    assert growth <= allowed


def test_documents_are_the_same_everywhere_and_of_all_families() -> None:
    assert document(5) == document(5)
    assert {document(n)[0] for n in range(200)} == set(FAMILIES)
