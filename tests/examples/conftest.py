"""Runs the bookshop of the examples for the documentation pages that crawl it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from house.tree import ROOT


@pytest.fixture
def bookshop() -> Iterator[str]:
    """Run the bookshop, and yield its host and port."""
    command = [sys.executable, str(ROOT / "examples" / "bookshop" / "serve.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as shop:
        assert shop.stdout is not None
        found = re.search(r"http://([\d.:]+)/", shop.stdout.readline())
        assert found
        yield found[1]
        shop.kill()
