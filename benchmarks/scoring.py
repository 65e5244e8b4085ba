"""Measures four workers, one of which is slow, one banned and one without a network, with and without scores.

    python benchmarks/scoring.py [--seconds 60] [--rounds 1]

There are 12 easy hosts and 4 hard hosts, which refuse three requests of five. The goals with scores are that
the best worker makes at least 80 % of the visits to hard hosts within 60 s, that the worker without a network
claims nothing after 20 failures, and that the good responses per second are at least 90 % of the oracle's.
The oracle is the good worker alone on the same web, with capacity for all hosts. The results are counted at
the server, which recognizes the workers by their addresses.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conftest import valkey_binary
from e2e.four_workers import SOURCES, serving, working

HALF = 0.5
"""The share of the time that is not counted, because workers learn their scores in this time."""


class Outcome(NamedTuple):
    """The results of a run in its second half."""

    good: float
    """Good responses per second from all hosts."""
    hard: Counter[str]
    """Visits to hard hosts by worker."""
    late: dict[str, int]
    """Claims of each worker after the worker stopped itself."""
    failures: dict[str, int]
    """Failed visits of each worker before that moment."""
    said: list[tuple[str, str]]


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


@contextmanager
def store(folder: Path) -> Iterator[str]:
    port = free()
    words = [
        valkey_binary(),
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(folder),
        "--save",
        "",
        "--appendonly",
        "yes",
    ]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


async def run(folder: Path, seconds: float, names: tuple[str, ...], scored: bool) -> Outcome:
    late: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    with store(folder) as url, serving(folder, free()) as web:
        async with working(web, folder, url, names=names, scored=scored) as crew:
            for name, crawl_worker in crew.benches.items():
                watch(name, crawl_worker, late, failures)
            began = time.time()
            await asyncio.sleep(seconds)
            since = began + seconds * HALF
            seen = [one for one in web.seen() if one.at >= since]
            said = list(crew.said)
    return Outcome(
        sum(one.status == 200 for one in seen) / (seconds * (1 - HALF)),
        Counter(one.worker for one in seen if one.host in web.hard),
        late,
        failures,
        said,
    )


def watch(name: str, crawl_worker: Any, late: Counter[str], failures: Counter[str]) -> None:
    """Counts a worker's claims, except probes, after the worker has stopped itself, and its failed visits
    before."""
    claim, saw = crawl_worker.frontier.claim, crawl_worker.score_keeper.saw

    async def claimed(bucket: int, k: int) -> Any:
        got = await claim(bucket, k)
        if crawl_worker.score_keeper.out:
            late[name] += len(got.claims)
        return got

    def seen(visit: Any) -> None:
        if not crawl_worker.score_keeper.out and visit.settle.health not in ("", "g"):
            failures[name] += 1
        saw(visit)

    crawl_worker.frontier.claim, crawl_worker.score_keeper.saw = claimed, seen


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d')}, {options.seconds:g} s a run, judged in the second half")
    for _ in range(options.rounds):
        oracle = 0.0
        for label, names, scored in (
            ("oracle", ("good",), True),
            ("scores on", tuple(SOURCES), True),
            ("scores off", tuple(SOURCES), False),
        ):
            with tempfile.TemporaryDirectory() as folder:
                out = await run(Path(folder), options.seconds, names, scored)
            oracle = oracle or out.good
            total = sum(out.hard.values()) or 1
            shares = ", ".join(f"{name} {n / total:.0%}" for name, n in out.hard.most_common())
            print(
                f"{label:10} {out.good:5.1f} good answers/s ({out.good / oracle:.0%} of the oracle's); hard hosts: {shares}"
            )
            if scored and len(names) > 1:
                for name in ("dead", "banned"):
                    print(
                        f"{'':10} {name}: {out.failures[name]} failed visits, then claims but for a probe every 30 s: {out.late[name]}"
                    )
                for name, line in out.said:
                    print(f"{'':10} {name}: {line}")


if __name__ == "__main__":
    asyncio.run(main())
