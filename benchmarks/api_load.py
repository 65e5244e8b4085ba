"""Measures `gossamer serve` under load: clients that wait on events, and reads of a large store.

    python benchmarks/api_load.py [--clients 200] [--seconds 30] [--hosts 1000] [--letters 100000] [--requests 200]

First, `--clients` connections read `/v1/events` for `--seconds`, while the store has crawls that have ended. The benchmark prints
the share of a core that `serve` takes, and what the store counts meanwhile (`INFO`): commands and reads of its sockets, each per
second, compared with one client. Bounds: 0.1 of a core, one read a second.

Then the store gets a crawl with `--hosts` hosts and `--letters` dead letters. Each reading operation is asked `--requests` times,
in turn with `/healthz`, which does nothing. The benchmark prints the 95th percentile of each, and its ratio to that of
`/healthz`. Bound: 20. The exit code is 1 if a bound is exceeded.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import os
import socket
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import redis

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cli.command_line import Pages
from gossamer.store.embedded import Embedded
from operations.killed_rounds import fill_letters
from operations.service_process import Serving, served_folder
from support.answers import answering

MAX_SHARE, MAX_READS, MAX_RATIO = 0.1, 1.0, 20.0
ONE_READ = 1.05
"""The reads per second that still count as one: those of the measurement itself are included."""
PATHS = (
    "/v1/version",
    "/v1/crawls",
    "/v1/crawls/large",
    "/v1/crawls/large/hosts",
    "/v1/crawls/large/dead-letters?limit=100",
    "/v1/hosts/h7.example",
    "/v1/workers",
    "/v1/runs",
    "/v1/schedules",
    "/v1/alerts",
    "/v1/explain?url=http://h7.example/1&crawl=large",
)


class Watched(NamedTuple):
    """What waiting clients cost: the share of a core, and the commands and reads of the store per second."""

    share: float
    commands: float
    reads: float


def main() -> None:
    """Measures, and prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (
        ("clients", 200),
        ("seconds", 30),
        ("hosts", 1000),
        ("letters", 100_000),
        ("requests", 200),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, answering(Pages) as port:
        folder = Path(made)
        with served_folder(folder) as server:
            for n in range(3):
                server.crawl(f"http://127.0.0.1:{port}/{n}", f"ended-{n}", scope="page")
            costs = [watched(folder, server, n, options.seconds) for n in (1, options.clients)]
            asyncio.run(fill_letters(folder, "large", options.hosts, options.letters))
            times = {path: list[float]() for path in ("/healthz", *PATHS)}
            for _ in range(options.requests):
                for path, found in times.items():
                    found.append(timed(server, path))
    load = os.getloadavg()[0]
    print(f"{datetime.now(UTC):%Y-%m-%d}, load {load:.0f}\n")
    print(
        "| clients that wait on events | cores of serve | commands of the store per s | reads of its sockets per s |"
    )
    print("| ---: | ---: | ---: | ---: |")
    for n, one in zip((1, options.clients), costs, strict=True):
        print(f"| {n} | {one.share:.3f} | {one.commands:.1f} | {one.reads:.2f} |")
    empty = p95(times.pop("/healthz"))
    print(
        f"\n{options.hosts:,} hosts, {options.letters:,} dead letters; p95 of an empty route: {empty * 1000:.2f} ms\n"
    )
    print("| operation | p95, ms | times the empty route |\n| --- | ---: | ---: |")
    for path, found in times.items():
        print(f"| `{path}` | {p95(found) * 1000:.2f} | {p95(found) / empty:.1f} |")
    worst = max(p95(found) for found in times.values()) / empty
    if worst > MAX_RATIO or costs[1].share > MAX_SHARE or costs[1].reads > ONE_READ:
        sys.exit("a bound is exceeded")


def watched(folder: Path, server: Serving, clients: int, seconds: int) -> Watched:
    """Returns what clients that wait on events cost."""
    store = Embedded(folder / ".gossamer")
    with contextlib.ExitStack() as stack, redis.Redis.from_url(store.start()) as client:
        for _ in range(clients):
            wire = stack.enter_context(socket.create_connection((server.host, server.port)))
            wire.sendall(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert wire.recv(1000).startswith(b"HTTP/1.1 200")
        time.sleep(3)  # the first comparisons
        before, cpu, began = client.info("stats"), processor_time(server), time.monotonic()
        time.sleep(seconds)
        after, took = client.info("stats"), time.monotonic() - began
        share = (processor_time(server) - cpu) / took
    store.leave()
    rates = [
        (int(after[name]) - int(before[name]) - 1) / took
        for name in ("total_commands_processed", "total_reads_processed")
    ]
    return Watched(share, *rates)


def processor_time(server: Serving) -> float:
    """Returns the seconds of processor time that `serve` has taken."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(server: Serving, path: str) -> float:
    """Returns the seconds of one request on a new connection."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("GET", path)
    with connection.getresponse() as answer:
        body = answer.read()
    connection.close()
    assert answer.status == 200, (path, body[:500])
    return time.perf_counter() - began


def p95(found: list[float]) -> float:
    """Returns the 95th percentile."""
    return statistics.quantiles(found, n=20)[-1]


if __name__ == "__main__":
    main()
