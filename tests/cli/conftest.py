"""A small local web, and a folder whose store does not outlive its test."""

from __future__ import annotations

import http.server
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.outside import Pages


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    run_json = tmp_path / ".gossamer" / "store" / "run.json"  # a store that a killed door left
    if run_json.exists():
        os.kill(json.loads(run_json.read_text())["pid"], signal.SIGTERM)
