"""At its start, a crawl imports only the modules and sends only the store commands that it needs. The
figures are in benchmarks/results/start.txt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import SRC

UNUSED = {
    *("redis", "opentelemetry", "lxml", "pyarrow", "rich", "celery"),
    *(
        "csv",
        "sqlite3",
        "statistics",
        "tomllib",
        "html.entities",
        "email.message",
        "encodings.idna",
        "zipfile",
    ),
    *("gossamer.collectors.browser.chromium", "gossamer.collectors.unlocker.collector"),
    *("gossamer.identity.sessions", "gossamer.proxies.proxy_rotation", "gossamer.sites.check"),
    *("gossamer.state.near_duplicate_index", "gossamer.worker.login_flow"),
}
"""Modules that a plain crawl never uses."""
LATER = {"turbohtml"}
"""Modules that a crawl uses only after its first request."""
RECORDER = """
import json, sys

from gossamer.cli import main
from gossamer.collectors.http.collector import HttpCollector
from gossamer.store.connection import Pool

send, collect = Pool.send, HttpCollector.collect
seen = {"calls": 0, "unknown": 0, "scripts": 0}

async def counted(self, commands, transaction=False):
    replies = await send(self, commands, transaction)
    seen["calls"] += 1
    seen["scripts"] += sum(args[0] == "EVAL" and len(args[1]) > 1000 for args, _ in commands)
    seen["unknown"] += sum(type(reply).__name__ == "NoScriptError" for reply in replies)
    return replies

async def recorded(self, *args, **options):
    seen.setdefault("first", {**seen, "modules": sorted(sys.modules)})
    return await collect(self, *args, **options)

Pool.send, HttpCollector.collect = counted, recorded
try:
    main()
finally:
    seen["modules"] = sorted(sys.modules)
    with open("seen.json", "w") as file:
        json.dump(seen, file)
"""


@pytest.fixture(scope="module")
def seen(web: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the modules that a crawl of a small web imported and the counts of its calls to the store.
    `first` contains the same values at the time of the crawl's first request."""
    room: Path = tmp_path_factory.mktemp("start")
    words = [
        "crawl",
        web,
        "-o",
        "out.jsonl",
        "--delay",
        "0",
        "--limit",
        "5",
        "--allow-private",
        "127.0.0.0/8",
    ]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    env["PYTHONPATH"] = os.pathsep.join([str(SRC), env.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", RECORDER, *words],
        cwd=room,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len((room / "out.jsonl").read_bytes().splitlines()) == 5
    found: dict[str, Any] = json.loads((room / "seen.json").read_text())
    return found


def test_a_crawl_imports_nothing_that_it_does_not_use(seen: dict[str, Any]) -> None:
    assert UNUSED.isdisjoint(seen["modules"])


def test_parsers_are_imported_after_the_first_request(seen: dict[str, Any]) -> None:
    assert LATER.isdisjoint(seen["first"]["modules"])
    assert set(seen["modules"]) >= LATER


def test_a_start_imports_few_modules_of_ours(seen: dict[str, Any]) -> None:
    assert sum(name.startswith("gossamer.") for name in seen["first"]["modules"]) <= 248


def test_the_first_request_comes_after_few_calls_of_the_store(seen: dict[str, Any]) -> None:
    assert seen["first"]["calls"] <= 52


def test_scripts_are_sent_when_they_are_used_and_never_asked_for_first(seen: dict[str, Any]) -> None:
    assert seen["first"]["scripts"] <= 5
    assert seen["scripts"] <= 11
    assert seen["unknown"] == 0
