"""The clients get each page once, however often the server and the worker are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from web.doors.mcp import SCRIPT
from web.doors.under_kills import MAX_POLL_BYTES, crawl_under_kills


@pytest.mark.timeout(600)
@pytest.mark.skipif(not SCRIPT.exists(), reason="firecrawl-mcp is not here: ./test gets it with npm")
def test_no_page_is_lost_or_repeated(tmp_path: Path) -> None:
    """`benchmarks/doors.py` does the same with 5,000 pages and 20 kills."""
    found = crawl_under_kills(tmp_path, pages=200, kills=4, seed=1)
    assert not found.wrong
    assert found.kills == {"server": 2, "worker": 2}
    assert 0 < found.largest_poll <= MAX_POLL_BYTES
