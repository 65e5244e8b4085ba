"""Fixtures: a small local web, and a folder whose store is stopped after the test."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import Pages
from support.answers import answering


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with answering(Pages) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop_store(tmp_path)


def stop_store(folder: Path) -> None:
    """Stop the store that a killed command left running."""
    run_json = folder / ".gossamer" / "store" / "run.json"
    if run_json.exists():
        os.kill(json.loads(run_json.read_text())["pid"], signal.SIGTERM)
