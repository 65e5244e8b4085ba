"""Tests of a crawl whose process has too few file descriptors or ports or too little memory: the crawl
becomes slower, or ends with one line. No page is marked as failed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import OWN_LIMITS
from support.repetitions import first_case
from web import Web, preset, serve

WORDS = ["--allow-private", "127.0.0.0/8", "--delay", "0.01", "--retries", "none", "--name", "c", "--json"]


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    """Serve many hosts, so that each visit needs a connection of its own."""
    with serve(preset("tiny", hosts=40, pages=6, latency=0.02)) as web:
        yield web


def crawl(
    web: Web,
    folder: Path,
    *before: str,
    files: int | None = None,
    memory: int | None = None,
    more: tuple[str, ...] = (),
) -> subprocess.Popen[str]:
    """Start a crawl in a process with a limit on open files and on mapped memory."""

    def limit() -> None:
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    words = [
        *before,
        sys.executable,
        "-m",
        "gossamer",
        "crawl",
        *web.plan.seeds(),
        *WORDS,
        "-o",
        "o.jsonl",
        *more,
    ]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return subprocess.Popen(
        words,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )


def whole(process: subprocess.Popen[str], folder: Path, web: Web) -> tuple[dict[str, Any], str]:
    """Assert that the crawl ended well, with one row per page and no failure. Return its summary and its
    stderr."""
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    summary = json.loads(out)
    rows = [json.loads(line) for line in (folder / "o.jsonl").read_text().splitlines()]
    assert (summary["state"], summary["dead"], summary["pending"], summary["retried"]) == (
        "finished",
        0,
        0,
        0,
    ), (
        summary["errors"],
        err,
    )
    assert len({row["url"] for row in rows}) == len(rows) == summary["pages"] > 100
    attempts = [json.loads(line) for line in (folder / ".gossamer/c/attempts.jsonl").read_text().splitlines()]
    assert not [one for one in attempts if one["error"] in ("connect", "dns", "tls")]
    return summary, err


@pytest.mark.parametrize("files", first_case([48, 64, 128]))
def test_few_descriptors_make_it_slower_and_no_page_fail(web: Web, tmp_path: Path, files: int) -> None:
    _, err = whole(crawl(web, tmp_path, files=files), tmp_path, web)
    line = next(line for line in err.splitlines() if "open files" in line)
    assert f"{files} allowed (ulimit -n), so " in line


def test_enough_descriptors_are_not_told_of(web: Web, tmp_path: Path) -> None:
    assert "open files" not in whole(crawl(web, tmp_path, files=256), tmp_path, web)[1]


@pytest.mark.parametrize("files", [12, 20, 32])
def test_too_few_end_it_in_one_line(web: Web, tmp_path: Path, files: int) -> None:
    process = crawl(web, tmp_path, files=files)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 9, (process.returncode, err)
    (line,) = [line for line in err.splitlines() if line.startswith("gossamer: short of")]
    assert "ulimit -n" in line
    assert "Traceback" not in err
    whole(crawl(web, tmp_path), tmp_path, web)


@pytest.mark.parametrize("mebibytes", [120, 150])
def test_too_little_memory_for_its_libraries_ends_it_in_one_line(
    web: Web, tmp_path: Path, mebibytes: int
) -> None:
    pytest.importorskip("pyarrow")  # the libraries of pyarrow alone need more memory than these limits
    more = ("-o", "o.parquet")
    process = crawl(web, tmp_path, memory=mebibytes << 20, more=more)
    _, err = process.communicate(timeout=120)
    if process.returncode:
        assert process.returncode == 9, (process.returncode, err)
        assert (
            len([line for line in err.splitlines() if line.startswith("gossamer: short of memory")]) == 1
        ), err
        assert "a bug" not in err
        assert "Traceback" not in err
    whole(crawl(web, tmp_path, more=more), tmp_path, web)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="no prlimit here")
def test_descriptors_that_are_taken_away_while_it_runs(web: Web, tmp_path: Path) -> None:
    # slow enough that the crawl is still running during the following steps
    process = crawl(web, tmp_path, more=("-s", "delay=1"))
    attempts = tmp_path / ".gossamer/c/attempts.jsonl"
    try:
        while not (attempts.exists() and attempts.read_bytes().count(b"\n") > 20):
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{process.pid}/fd"))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (max(40, used - 20), hard))
        time.sleep(3)
        # if the limit leaves too few descriptors even for one page, the crawl ends with one line, and the
        # same command continues it
        if process.poll() is None:
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (4096, hard))
        else:
            assert process.returncode == 9
            process.communicate()
            process = crawl(web, tmp_path)
        whole(process, tmp_path, web)
    finally:
        process.kill()


def can_unshare() -> bool:
    """Return whether this process may create a network namespace."""
    return (
        subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0
        if os.path.exists("/usr/bin/unshare")
        else False
    )


@pytest.mark.skipif(not can_unshare(), reason="no network namespaces here")
def test_no_local_port_is_left(tmp_path: Path) -> None:
    """Only two local ports exist for all connections to one address, so the system refuses a third
    connection."""
    script = """
import asyncio, sys
from gossamer.collectors.http.collector import HttpCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.request import Request

async def main():
    async def answer(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        await asyncio.sleep(0.5)
        writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 1\\r\\n\\r\\nx")
        await writer.drain()
    server = await asyncio.start_server(answer, "127.0.0.1", 8000)
    collector = HttpCollector(Resolver(["127.0.0.0/8"]), user_agent="x")
    results = await asyncio.gather(*(collector.collect(Request(f"http://127.0.0.1:8000/{n}"), {}) for n in range(8)))
    for one in results:
        print(getattr(one, "status", None), getattr(one, "short", ""), getattr(one, "later", None), getattr(one, "sent", True))
    await collector.close()
asyncio.run(main())
"""
    setup = "ip link set lo up && echo '61000 61001' > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\""
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", setup, "sh", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = done.stdout.splitlines()
    assert sum(line.startswith("200") for line in lines) in (1, 2), done.stdout + done.stderr
    words = next(words for words in OWN_LIMITS.values() if "local ports" in words)
    assert sum(f"{words} 1.0 False" in line for line in lines) >= 6, done.stdout
