"""Kills a crawl at random moments and checks the outputs. Used by the test (3 kills) and the benchmark (20
kills).

After each kill, the surviving processes are stopped (SIGSTOP) while the leases are counted. Each lease is
a claim that was started and not settled. If the store is dead, the leases are read from a copy of its
append-only files."""

from __future__ import annotations

import contextlib
import csv
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from conftest import valkey_binary, wait_for
from e2e.runs import begin, children_of, command, kill, rows, socket_of, store_pid
from gossamer import url as urls
from gossamer.app.job import Job
from web import Web
from web.judge import faults, fetched

LEASES = "{b:000}c:l"


@dataclass
class Told:
    """The record of a crawl with kills. `open`: the number of unsettled claims at each kill. `codes`: the
    exit code of each main process."""

    kills: list[str] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    seconds: float = 0.0
    said: str = ""


def under_fire(web: Web, one: Job, strikes: list[str], rng: random.Random, pages: int) -> Told:
    """Run a crawl of `pages` pages to its end, and kill processes at random moments: the main process, the
    store, a worker process, or all of them."""
    told, data, began = Told(), Path(one.settings.data), time.monotonic()
    moments = sorted(rng.uniform(0.02, 0.9) * pages for _ in strikes)
    door = begin(command(one))
    for strike, moment in zip(strikes, moments, strict=True):
        while web.stats()["requests"] < moment:
            if door.poll() is not None:
                told.codes.append(door.returncode)
                said = door.communicate()
                # the store died more often than a single command restarts a store
                assert door.returncode == 8, said
                door = begin(command(one))
            time.sleep(rng.uniform(0.005, 0.02))
        time.sleep(rng.uniform(0, 0.1))
        hit, out = fire(strike, door, data)
        while not hit and door.poll() is None:  # the process to be killed is being restarted at this moment
            time.sleep(0.05)
            hit, out = fire(strike, door, data)
        if not hit:
            continue
        told.kills.append(strike)
        told.open.append(out)
        if strike in ("door", "all"):
            door.communicate()
            told.codes.append(-9)
            door = begin(command(one))
    while True:
        said = door.communicate(timeout=240)
        told.codes.append(door.returncode)
        if door.returncode != 8:
            break
        door = begin(command(one))
    told.seconds, told.said = time.monotonic() - began, said[0]
    assert door.returncode == 0, said
    return told


def fire(strike: str, door: subprocess.Popen[str], data: Path) -> tuple[bool, int]:
    """Kill the chosen processes. Return whether at least one of these processes existed, and the number of
    unsettled claims."""
    workers, store = children_of(door.pid), store_pid(data)
    victims = {
        "door": [door.pid],
        "store": [store],
        "child": workers[:1],
        "all": [door.pid, *workers, store],
    }[strike]
    hit = [kill(pid) for pid in victims]
    survivors = [pid for pid in (door.pid, *workers) if pid not in victims and door.poll() is None]
    for pid in survivors:
        halt(pid, signal.SIGSTOP)
    try:
        out = count_leases(data, store in victims)
    finally:
        for pid in survivors:
            halt(pid, signal.SIGCONT)
    return any(hit), out


def halt(pid: int, how: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


def count_leases(data: Path, dead: bool) -> int:
    """Return the number of unsettled claims, read from the running store or from its files."""
    try:
        return leases_in_files(data) if dead else leases(socket_of(data))
    except redis.ConnectionError:  # the store had already died
        return leases_in_files(data)


def leases(url: str | None) -> int:
    """Return the number of unsettled claims in a running store."""
    if url is None:
        return 0
    with redis.Redis.from_url(url, retry=None) as client:
        return int(client.zcard(LEASES))


def leases_in_files(data: Path) -> int:
    """Return the number of unsettled claims in the files of a dead store."""
    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        if (data / "store" / "appendonlydir").exists():
            shutil.copytree(data / "store" / "appendonlydir", Path(folder) / "appendonlydir")
        words = [
            "--port",
            "0",
            "--unixsocket",
            f"{folder}/s",
            "--dir",
            folder,
            "--appendonly",
            "yes",
            "--save",
            "",
        ]
        server = subprocess.Popen([valkey_binary(), *words], stdout=subprocess.DEVNULL)
        try:
            wait_for(f"{folder}/s", server)
            return leases(f"unix://{folder}/s")
        finally:
            server.kill()
            server.wait()


def refetched(web: Web) -> tuple[int, int]:
    """Return the number of repeated page requests, and the number of repeated robots.txt requests."""
    log = web.log()
    pages = sum(n - 1 for n in fetched(log).values())
    robots = [hit.host for hit in log if hit.path == "/robots.txt"]
    return pages, len(robots) - len(set(robots))


def verdicts(web: Web, told: Told, jsonl: Path, table: Path | None = None) -> list[str]:
    """Return the errors found after all kills. The list is empty if no page is missing or duplicate, and
    if the number of repeated page requests is at most the number of unsettled claims."""
    wrong = [
        line for line in faults(web.log(), web.plan) if not line.startswith("requested") or " 0 times" in line
    ]
    want = {urls.canonical(page) for page in web.plan.must_fetch(sitemaps=False)}
    written = {"jsonl": keys(rows(jsonl))} | ({"csv": keys(read_csv(table))} if table else {})
    written |= {
        file.suffix: keys(kept(file))
        for file in jsonl.parent.glob("out.*")
        if file.suffix in (".sqlite", ".parquet")
    }
    if (jsonl.parent / "out.warc.gz").exists():
        written["warc"] = [url for url in answers(jsonl.parent / "out.warc.gz") if url in want]
    for name, found in written.items():
        wrong += [f"{name}: {len(want - set(found))} pages are missing"] if want - set(found) else []
        wrong += (
            [f"{name}: {len(found) - len(set(found))} rows are there twice"]
            if len(found) > len(set(found))
            else []
        )
    pages, robots = refetched(web)
    if pages > sum(told.open):
        wrong.append(f"{pages} pages were fetched again, {sum(told.open)} claims were out at the kills")
    if robots > len(told.kills) * web.plan.hosts:
        wrong.append(f"robots.txt was asked for {robots} times too often")
    return wrong


def kept(path: Path) -> list[dict[str, Any]]:
    """Return the page records of an SQLite or Parquet output. Incomplete parts raise an error."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        assert [part.name for part in path.iterdir() if not part.name.startswith("part-")] == []
        found: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
        return found
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.row_factory = sqlite3.Row
        return [dict(row) for row in base.execute("SELECT * FROM page")]


def answers(path: Path) -> list[str | None]:
    """Return the canonical URLs of the responses in a WARC file. A broken record or a wrong digest raises
    an error."""
    from warcio.archiveiterator import ArchiveIterator

    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            if record.rec_type in ("response", "revisit"):
                found.append(urls.canonical(record.rec_headers.get_header("WARC-Target-URI")))
    return found


def keys(found: list[dict[str, str]]) -> list[str | None]:
    """Return the canonical URLs of rows."""
    return [urls.canonical(row["requested_url"]) for row in found]


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV output. A row whose number of fields differs from the header is an error."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *body = list(csv.reader(file))
    assert [row for row in body if len(row) != len(head)] == []
    return [dict(zip(head, row, strict=True)) for row in body]
