"""docs/how-a-url-travels.md names a file for each step. A crawl passes through all of these files in that
order."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import gossamer
from house.tree import ROOT
from web import preset, serve

PACKAGE = ROOT / "src" / "gossamer"
STEPS = re.findall(
    r"^\| [^|]+ \| `([a-z_/]+\.py)` \| `(\w+)` \|$",
    (ROOT / "docs" / "how-a-url-travels.md").read_text(),
    re.MULTILINE,
)


def test_twelve_files_at_most() -> None:
    assert 10 <= len(STEPS) <= 12
    assert [path for path, _ in STEPS if not (PACKAGE / path).is_file()] == []


def test_a_crawl_calls_each_step_in_its_order(tmp_path: Path) -> None:
    called: dict[tuple[str, str], int] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "gossamer" in (path := frame.f_code.co_filename):
            called.setdefault((path, frame.f_code.co_name), len(called))

    options: dict[str, Any] = {"delay": "0s", "allow_private": "127.0.0.0/8", "data": tmp_path / "data"}
    options["ignore_robots"] = (
        True  # otherwise the visit of robots.txt could be written and settled before the first page
    )
    with serve(preset("tiny", hosts=1, pages=3)) as web:
        sys.setprofile(note)
        threading.setprofile(note)  # a crawl runs in a thread of its own
        try:
            summary = gossamer.run(web.url(0, "/"), output=tmp_path / "out.jsonl", **options)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    assert summary.pages == 3
    times = [called.get((str(PACKAGE / path), name)) for path, name in STEPS]
    assert None not in times, list(zip(STEPS, times, strict=True))
    assert times[0] == min(times)  # type: ignore[type-var]
    assert times[-1] == max(times)  # type: ignore[type-var]
