"""Measures the addition of a long list of URLs: CPU time per URL and memory of the adding process (Linux).

    python benchmarks/producers.py [--urls 10000000] [--hosts 100000] [--kill 0.5] [--cold sqlite:] [--folder DIR]

The list has 77 bytes per line. The list is added to an embedded store without workers, as by `gossamer
submit`. With `--kill`, the adding process gets SIGKILL when that share of the list has been added, and is
started again. The goals are that each URL is added once, that the adding process uses less than 200 MB of
resident memory, and that the list is not read from its start again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from gossamer.app import producer_runner, seeding
from gossamer.app.job import Job
from gossamer.app.open_store import open_store
from gossamer.app.process_tuning import settle_in
from gossamer.app.runner import begin
from gossamer.config.settings import Settings
from gossamer.store.embedded import Embedded
from gossamer.store.store import Store

TICK = os.sysconf("SC_CLK_TCK")


async def child(path: str, data: str, cold: str) -> None:
    """Adds the list until its end."""
    settle_in()
    one = Job(targets=[path], settings=Settings(data=data, scope="page", cold=cold or None), name="c")
    setup, given = seeding.prepare(one)
    (Path(data) / "c").mkdir(parents=True, exist_ok=True)
    store, embedded = await open_store(one.settings)
    assert embedded is not None
    setup.store = store.url
    record, _ = await begin(setup, store, one)
    await seeding.seed(setup, store, given, record)
    await producer_runner.feed(setup, store, given.sources, lambda line: print(line, flush=True))
    await store.close()
    embedded.leave()


def used(pid: int) -> tuple[float, float]:
    """Returns the CPU seconds and the maximum resident MiB of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
    return (int(fields[11]) + int(fields[12])) / TICK, peak / 1024


class Look:
    """Reads the store of a data folder."""

    def __init__(self, data: Path) -> None:
        run = json.loads((data / "store" / "run.json").read_text())
        self.pid = int(run["pid"])
        self.client = redis.Redis(unix_socket_path=run["socket"], retry=Retry(NoBackoff(), 0))

    def added(self) -> int:
        return int(self.client.hget("{b:000}c:n", "added") or 0)


def listed(path: Path, urls: int, hosts: int) -> None:
    with path.open("w", buffering=1 << 20) as file:
        for n in range(urls):
            file.write(f"https://host-{n * 7919 % hosts}.example/{n:x}".ljust(76, "p") + "\n")


def run(path: Path, data: Path, cold: str, kill_at: int) -> tuple[float, float, float, int]:
    """Adds URLs until the end of the list, or kills the process when `kill_at` URLs have been added.

    Returns the CPU seconds, the MiB, the wall seconds and the number of added URLs.
    """
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, __file__, "--child", str(path), str(data), "--cold", cold])
    cpu = peak = 0.0
    look: Look | None = None
    added = 0
    while process.poll() is None:
        try:
            look = look or Look(data)
            added = look.added()
            cpu, peak = used(process.pid)
            if kill_at and added >= kill_at:
                process.kill()
                process.wait()
                return cpu, peak, time.monotonic() - began, look.added()
        except (OSError, ValueError, redis.RedisError, IndexError):
            look = None
        time.sleep(0.2)
    assert process.returncode == 0
    return cpu, peak, time.monotonic() - began, added


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--kill", type=float, default=0.5)
    parser.add_argument("--cold", default="")
    parser.add_argument("--folder")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        path, data = options.child
        asyncio.run(child(path, data, options.cold))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        path, data = folder / "list.txt", folder / "data"
        listed(path, options.urls, options.hosts)
        print(
            f"{options.urls:,} URLs over {options.hosts:,} hosts, {path.stat().st_size / 2**20:.0f} MiB",
            flush=True,
        )
        compare(path, data, options)


def compare(path: Path, data: Path, options: argparse.Namespace) -> None:
    """Adds the list with a kill, continues to the end, and prints the contents of the store."""
    total = 0.0
    if options.kill:
        cpu, peak, wall, at = run(path, data, options.cold, int(options.urls * options.kill))
        total = cpu
        print(
            f"killed after {wall:.0f} s: {at:,} URLs in, {cpu / at * 1e6:.1f} us CPU a URL, {peak:.0f} MiB",
            flush=True,
        )
    cpu, peak, wall, _ = run(path, data, options.cold, 0)
    total += cpu
    _, embedded = asyncio.run(_opened(str(data)))
    assert embedded is not None
    look = Look(data)
    found: Any = look.client.hgetall("{b:000}c:n")
    counts = {k.decode(): int(v) for k, v in found.items()}
    position = json.loads(next(iter(look.client.hgetall("{b:000}c:po").values())))
    memory = look.client.info("memory")["used_memory"] / 2**20
    print(
        f"to the end in {wall:.0f} s, {peak:.0f} MiB; {total / options.urls * 1e6:.1f} us CPU a URL in all; added "
        f"{counts['added']:,}, found {counts['found']:,}, duplicates {counts.get('skip:duplicate', 0)}, done {position['done']}"
    )
    rest = sum(file.stat().st_size for file in (data / "c").glob("cold*")) / 2**20
    lost = int(look.client.hget("{b:000}c:g", "lost") or 0)
    print(f"URLs that the seen-set is expected to have taken for known ones: {lost / 1e12:.1f}")
    out = int(look.client.hget("{b:000}c:g", "out") or 0)
    print(f"store: {memory:.0f} MiB in memory; cold store: {out:,} URLs, {rest:.0f} MiB on disk")
    embedded.leave()
    assert counts["found"] == options.urls, "each URL was offered once"
    assert counts.get("skip:duplicate", 0) <= 10 + 4 * lost / 1e12, (
        "what the seen-set took for known by mistake"
    )


async def _opened(data: str) -> tuple[Store, Embedded | None]:
    return await open_store(Settings(data=data))


if __name__ == "__main__":
    main()
