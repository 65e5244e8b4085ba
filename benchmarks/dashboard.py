"""Measures the dashboard: how long pages take with 1,000 hosts and 100,000 dead letters, and what viewers cost.

    python benchmarks/dashboard.py [--letters 100000] [--hosts 1000] [--viewers 50] [--seconds 20] [--rounds 100]

The server and its store are processes of this machine. Each page is loaded `--rounds` times, one after the other. The table
shows the median and the 95th percentile of the time until the whole page is there, in ms, its ratio to a static file of
the same server, and the bytes as sent. Then viewers hold the stream of events of a paused crawl open. The store counts
its commands (INFO commandstats): the table shows those per second, and the CPU of the server in cores. The viewers cost
nothing of their own if 50 cost as much as one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from gossamer.app.open_store import opened_store
from gossamer.config.settings import Settings
from gossamer.model.request import Request, pack
from gossamer.store import keys
from gossamer.store.store import Store

PAGES = (
    "/static/icon.svg",
    "/crawls",
    "/crawls/big",
    "/crawls/big/hosts?sort=failing&limit=1000",
    "/crawls/big/dead-letters",
    "/crawls/big/dead-letters?reason=timeout",
    "/crawls/big/dead-letters/groups",
    "/crawls/big/attempts",
)


def ask(port: int, path: str, body: dict[str, Any] | None = None) -> bytes:
    """Returns the body of an answer as it was sent."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Accept-Encoding": "gzip", "Content-Type": "application/json"}
    connection.request("POST" if body is not None else "GET", path, json.dumps(body or {}), headers)
    answer = connection.getresponse()
    found = answer.read()
    if answer.status >= 400:
        raise RuntimeError(f"{path}: {answer.status} {found[:300]!r}")
    connection.close()
    return found


async def bury(store: Store, hosts: int, letters: int) -> None:
    """Writes dead letters as the script `settle` does."""
    numbers: dict[str, int] = {}
    written: dict[str, dict[int, bytes]] = {}
    now = int(time.time() * 1000)
    for number in range(letters):
        name = f"127.0.{number % hosts // 250}.{number % 250 + 1}:1"
        host, entry = pack(Request(url=f"http://{name}/{number}"))
        key = f"{keys.tag(keys.bucket_of(name, store.buckets))}big:"
        numbers[key] = at = numbers.get(key, 0) + 1
        reason = ("timeout", "connect", "http-5xx")[number % 3]
        line = f"{reason}\tno answer\t{host}\t0\t{now}\t".encode() + entry
        written.setdefault(key, {})[at] = line
    for key, lines in written.items():
        pairs = [*lines.items()]
        for first in range(0, len(pairs), 5000):
            await store.client.hset(f"{key}x", mapping=dict(pairs[first : first + 5000]))
        await store.client.hset(
            f"{key}n", mapping={"letter": len(lines), "dead": len(lines), "found": len(lines)}
        )


async def commands(store: Store) -> int:
    """Returns how many commands the store has run."""
    found = await store.client.info("stats")
    return int(found["total_commands_processed"])


def cpu(pid: int) -> float:
    """Returns the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def view(port: int) -> socket.socket:
    """Opens a stream of events, which a thread reads until the returned socket is shut down."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/live?crawl=big")
    answer, opened = connection.getresponse(), connection.sock

    def read() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            while answer.read1(1000):
                pass

    threading.Thread(target=read, daemon=True).start()
    return opened


def measure_pages(port: int, rounds: int) -> None:
    """Prints the times of the pages."""
    floor = 0.0
    print(f"{'page':<44}{'median ms':>10}{'p95 ms':>9}{'ratio':>8}{'bytes':>9}")
    for path in PAGES:
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            body = ask(port, path)
            times.append(1000 * (time.perf_counter() - start))
        median = statistics.median(times)
        floor = floor or median
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"{path:<44}{median:>10.1f}{p95:>9.1f}{median / floor:>8.1f}{len(body):>9,}")


async def measure_viewers(store: Store, port: int, pid: int, given: argparse.Namespace) -> None:
    """Prints what one viewer and many viewers cost."""
    print(f"{'viewers':<12}{'commands/s':>12}{'cores':>9}")
    for viewers in (0, 1, given.viewers):
        opened = [await asyncio.to_thread(view, port) for _ in range(viewers)]
        await asyncio.sleep(3)
        before, used, start = await commands(store), cpu(pid), time.perf_counter()
        await asyncio.sleep(given.seconds)
        spent = time.perf_counter() - start
        rate = (await commands(store) - before - 1) / spent
        print(f"{viewers:<12}{rate:>12.1f}{(cpu(pid) - used) / spent:>9.3f}")
        for one in opened:
            one.shutdown(socket.SHUT_RDWR)


async def main() -> None:
    """Runs all measurements."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--letters", type=int, default=100_000)
    options.add_argument("--hosts", type=int, default=1000)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--viewers", type=int, default=50)
    options.add_argument("--seconds", type=float, default=20.0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        words = ["serve", "--port", "0", "-s", "allow_private=127.0.0.0/8"]
        server = await asyncio.to_thread(
            subprocess.Popen, [sys.executable, "-m", "gossamer", *words], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            line = ""
            while "the API is at" not in line:
                line = await asyncio.to_thread(server.stderr.readline)
            port = int(line.partition("127.0.0.1:")[2].partition(",")[0])
            hosts = [f"http://127.0.{n // 250}.{n % 250 + 1}:1/" for n in range(given.hosts)]
            started = {"targets": hosts, "name": "big", "scope": "page", "delay": 3600, "wait": 5}
            await asyncio.to_thread(ask, port, "/v1/crawls", started)
            await asyncio.to_thread(ask, port, "/v1/crawls/big/pause", {})
            async with opened_store(Settings()) as store:
                await bury(store, given.hosts, given.letters)
                print(f"{given.hosts:,} hosts, {given.letters:,} dead letters")
                await asyncio.to_thread(measure_pages, port, given.rounds)
                await measure_viewers(store, port, server.pid, given)
            await asyncio.to_thread(ask, port, "/v1/crawls/big/cancel", {})
        finally:
            server.terminate()
            await asyncio.to_thread(server.wait)


if __name__ == "__main__":
    asyncio.run(main())
