"""A real notebook kernel runs cells that crawl: with `run`, `for`, `async for` and `await`, with a `Site`
that is defined in a cell, and with an interrupt."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support import fork_server

pytestmark = pytest.mark.skipif(
    not (find_spec("nbclient") and find_spec("ipykernel")), reason="needs nbclient and ipykernel"
)
EXECUTE = """
import nbclient, nbformat
notebook = nbformat.read("cells.ipynb", 4)
nbclient.NotebookClient(notebook, timeout=60).execute()
nbformat.write(notebook, "done.ipynb")
"""

SITE_CELL = """
site = gossamer.Site('cells', seeds=[shop + '/tea/1'])

@site.page()
def tea(page):
    yield {{'name': page.title}}

[found.item for found in gossamer.crawl(site, delay=0)]
"""
INTERRUPTED_CELL = """
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    for page in gossamer.crawl(shop + '/', delay=30): pass
except KeyboardInterrupt:
    print('interrupted', time.monotonic() - began < 8)
"""
CELLS = [
    "import asyncio, os, signal, threading, time\nimport gossamer\nshop = {shop!r}",
    "gossamer.fetch(shop + '/tea/1')",
    "gossamer.run(shop + '/', delay=0, data='data')",
    "[page.title for page in gossamer.crawl([shop + '/tea/1'], depth=0, delay=0)]",
    "[page.title async for page in gossamer.crawl([shop + '/tea/2'], depth=0, delay=0, progress=True)]",
    "(await gossamer.fetch_async(shop + '/tea/3')).title",
    SITE_CELL,
    INTERRUPTED_CELL,
    "await asyncio.sleep(0)\n'the loop still runs'",
]


def shown(cell: dict[str, Any]) -> str:
    """Return the outputs of a cell as text, including HTML."""
    texts: list[str] = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        parts = (data.get("text/plain", ""), data.get("text/html", ""), output.get("text", ""))
        texts += ["".join(text) for text in parts]
    return "\n".join(texts)


def test_a_notebook(shop: str, tmp_path: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "id": f"c{n}",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": cell,
        }
        for n, cell in enumerate(text.format(shop=shop) for text in CELLS)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "cells.ipynb").write_text(json.dumps(notebook))
    done = fork_server.run(
        [sys.executable, "-c", EXECUTE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out = [shown(cell) for cell in json.loads((tmp_path / "done.ipynb").read_text())["cells"]]
    assert "<Page 200" in out[1]
    assert "<table>" in out[1]
    assert "finished" in out[2]
    assert "<table>" in out[2]
    assert "['Tea 1']" in out[3]
    assert "['Tea 2']" in out[4]
    assert "pages" in out[4], "the progress line"
    assert "Tea 3" in out[5]
    assert "[{'name': 'Tea 1'}]" in out[6]
    assert "interrupted True" in out[7]
    assert "the loop still runs" in out[8]
