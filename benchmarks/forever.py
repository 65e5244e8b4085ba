"""Runs a crawl that never ends (`gossamer crawl --revisit auto`) on changing local sites, and kills it often.

    python benchmarks/forever.py [--minutes 5] [--sites 40] [--pages 10] [--kill-every 25] [--speed 60]

Time runs `--speed` times as fast as for a real site. Pages change after minutes instead of hours, and the
budget is a few visits per second. The maximum age (4 h), the minimum age, the delay and the sizes at which
logs are shortened are divided by the speed. In each site, one page appears later and another page goes away.
The benchmark kills the crawl's process, its store, or both at random moments, and starts the same command
again.

For each eighth of the time, the benchmark prints the maximum memory of the store, the maximum resident memory
of the process and the maximum size of the crawl's folder. The benchmark also prints the size of the kept
rows, which a crawl keeps in addition to its output and which grow with the number of changes. At the end, the
benchmark prints the number of lost pages (not visited for longer than the maximum age) and of page versions
with two rows. The share of time for which pages were stale, measured at the server, is compared with the
prediction of `status --freshness`.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import itertools

import redis

from e2e.runs import socket_of

MAX_AGE_S, MIN_AGE_S, DELAY_S, CHANGE_S = 4 * 3600.0, 120.0, 3.0, 3600.0
"""The maximum age, the minimum age, the delay and the mean time between changes, before they are divided by
`--speed`."""
LOG_BYTES = 64 << 20
"""The size limit of the attempts log, and the size at which the store rewrites its log, before division by
the speed."""
GOSSAMER = [sys.executable, "-m", "gossamer"]


class Sites:
    """Sites whose pages change by Poisson processes. All times are seconds since the start."""

    def __init__(self, sites: int, pages: int, seconds: float, speed: float) -> None:
        rng = random.Random(3)
        self.began, self.sites = time.time(), sites
        self.changes: dict[str, list[float]] = {}
        """The times of the changes of each page, by `HOST/N`."""
        self.visits: dict[str, list[float]] = {}
        for site in range(sites):
            for page in range(pages):
                mean, at, times = CHANGE_S / speed * rng.lognormvariate(0.5, 1.2), 0.0, list[float]()
                while (at := at + rng.expovariate(1 / mean)) < seconds + 600:
                    times.append(at)
                self.changes[f"127.0.1.{site + 1}/{page}"] = times
        self.pages, self.late = pages, seconds / 5

    def now(self) -> float:
        """Returns the seconds since the start."""
        return time.time() - self.began

    def answer(self, host: str, path: str) -> tuple[int, str]:
        """Returns the status and the body of a page."""
        now, name = self.now(), f"{host}{path}"
        if path == "/robots.txt":
            return 404, ""
        if path == "/":
            self.visits.setdefault(name, []).append(now)
            numbers = [*range(self.pages), *(["late"] if now > self.late else []), "mortal"]
            return 200, "".join(f"<a href=/{n}>{n}</a>" for n in numbers)
        if path == "/mortal":
            self.visits.setdefault(name, []).append(now)
            return (200, "<title>mortal</title>") if now < self.late else (404, "gone")
        if path == "/late":
            self.visits.setdefault(name, []).append(now)
            return 200, "<title>late</title>"
        if name not in self.changes:
            return 404, "none"
        self.visits.setdefault(name, []).append(now)
        version = bisect.bisect_right(self.changes[name], now)
        return 200, f"<title>Page {name}</title><p>version {version} of {name}"

    def stale(self, begin: float, end: float) -> float:
        """Returns the mean share of time between two moments for which pages were stale.

        The mean is over all pages that the crawl knows, including start pages and late pages, most of which
        do not change in this time.
        """
        shares = []
        for name in self.visits:
            if name.endswith("/mortal"):
                continue
            changes = self.changes.get(name, [self.late] if name.endswith("/") else [])
            total, visits = 0.0, [*self.visits.get(name, []), end]
            for one, following in itertools.pairwise(visits):
                at = bisect.bisect_right(changes, one)
                if at < len(changes) and changes[at] < following:
                    total += max(0.0, min(following, end) - max(changes[at], begin, one))
            shares.append(total / (end - begin))
        return sum(shares) / len(shares)


async def serve(sites: Sites, ports: list[int], ready: threading.Event) -> None:
    """Serves the sites until the process ends."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                heads = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines[1:])}
                host = writer.get_extra_info("sockname")[0]
                status, body = sites.answer(host, lines[0].split()[1])
                tag = f'"{hash(body):x}"'
                if status == 200 and heads.get("if-none-match") == tag:
                    writer.write(f"HTTP/1.1 304 x\r\nETag: {tag}\r\n\r\n".encode())
                    continue
                head = f"HTTP/1.1 {status} x\r\nContent-Type: text/html\r\nETag: {tag}\r\nContent-Length: {len(body)}"
                writer.write(f"{head}\r\n\r\n{body}".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "0.0.0.0", 0)
    ports.append(server.sockets[0].getsockname()[1])
    ready.set()
    await server.serve_forever()


class Run:
    """The process of the crawl, which is restarted after each kill."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.folder, self.words, self.kills = folder, words, Counter[str]()
        self.start()

    def start(self) -> None:
        """Starts the command."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.words, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )

    def store(self) -> redis.Redis | None:
        """Returns a connection to the store, or None if the store does not run."""
        url = socket_of(self.folder / ".gossamer")
        return None if url is None else redis.Redis.from_url(url)

    def kill(self, kind: str) -> None:
        """Kills the crawl, its store, or both. Restarts the command if it has ended."""
        self.kills[kind] += 1
        if kind in ("store", "both") and (client := self.store()) is not None:
            try:
                os.kill(int(client.info("server")["process_id"]), signal.SIGKILL)
            except (redis.RedisError, ProcessLookupError):
                pass
        if kind in ("crawl", "both"):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.poll() is not None:
            self.start()

    def freshness(self) -> dict[str, Any] | None:
        """Returns the freshness report, or None if it is not available at the moment."""
        words = [*GOSSAMER, "status", "c", "--freshness", "--json"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def shorten_log(self, size: int) -> None:
        """Sets the size at which the store rewrites its log."""
        try:
            if (client := self.store()) is not None:
                client.config_set("auto-aof-rewrite-min-size", size)
        except redis.RedisError:
            pass

    def sizes(self) -> tuple[float, float, float, float]:
        """Returns sizes in MiB.

        The sizes are the memory of the store's data, the resident memory of the crawl's process, the size of
        the folder without kept rows, and the size of the kept rows.
        """
        memory = 0.0
        try:
            if (client := self.store()) is not None:
                memory = float(client.info("memory")["used_memory"])
        except redis.RedisError:
            pass
        resident = 0.0
        try:
            resident = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * 4096.0
        except (FileNotFoundError, ProcessLookupError):
            pass
        disk = kept = 0
        for path in (self.folder / ".gossamer").rglob("*"):
            try:
                size = path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:
                continue
            disk, kept = (disk, kept + size) if path.name == "rows.kept" else (disk + size, kept)
        return memory / 2**20, resident / 2**20, disk / 2**20, kept / 2**20


def drive(run: Run, sites: Sites, given: argparse.Namespace) -> list[float]:
    """Runs the crawl and kills it repeatedly. Returns the predictions of the second half."""
    rng, end, predicted = random.Random(7), given.minutes * 60, list[float]()
    strike, look, part, most = given.kill_every, 15.0, 1, [0.0] * 4
    while (now := sites.now()) < end:
        if run.process.poll() is not None:
            run.start()
        if now >= strike:
            run.kill(rng.choice(["crawl", "store", "both"]))
            strike = now + given.kill_every * rng.uniform(0.5, 1.5)
        if now >= look:
            look = now + 5
            run.shorten_log(round(LOG_BYTES / given.speed))
            most = list(map(max, most, run.sizes()))
            if now > end / 2 and (found := run.freshness()) is not None and found["expected_stale"]:
                predicted.append(found["expected_stale"])
        if now >= part * end / 8:
            print(
                "{:5.0f} s: store {:.2f} MiB, process {:.0f} MiB, folder {:.2f} MiB, rows {:.2f} MiB".format(
                    now, *most
                )
                + f", {sum(map(len, sites.visits.values())):,} visits",
                flush=True,
            )
            part, most = part + 1, [0.0] * 4
        time.sleep(0.2)
    return predicted


def command(budget: str, speed: float) -> list[str]:
    """Returns the command of the crawl."""
    ages = (
        f"--min-age {MIN_AGE_S / speed:.3f}s --max-age {MAX_AGE_S / speed:.3f}s --delay {DELAY_S / speed:.3f}"
    )
    how = f"--revisit auto --revisit-budget {budget} {ages}"
    more = "--allow-private 127.0.0.0/8 --name c -o out.jsonl --quiet"
    return [*GOSSAMER, "crawl", "seeds.txt", *how.split(), *more.split()]


def show(
    run: Run,
    sites: Sites,
    given: argparse.Namespace,
    over: float,
    predicted: list[float],
    report: dict[str, Any],
    said: Counter[tuple[str, int, str]],
) -> None:
    """Prints the results of the crawl. `over` is its end in seconds, and `said` counts its rows."""
    oldest = MAX_AGE_S / given.speed
    lost = [name for name in sites.changes if over - sites.visits.get(name, [0.0])[-1] > oldest]
    new = sum(f"127.0.1.{site + 1}/late" in sites.visits for site in range(given.sites))
    dead = [times for name, times in sites.visits.items() if name.endswith("/mortal")]
    after = max(sum(at > sites.late for at in times) for times in dead)
    stale, expected = sites.stale(over / 2, over), sum(predicted) / max(1, len(predicted))
    print(
        f"kills: {dict(run.kills)}; pages {report.get('pages')}, lost {len(lost)}, twice {sum(n > 1 for n in said.values())}"
    )
    print(f"new pages found {new} of {given.sites}; most visits of a page after it went away: {after}")
    measured = report.get("measured_stale") or 0.0
    print(
        f"stale {stale:.2%} counted at the server; predicted {expected:.2%}: {expected / stale:.3f}; measured by the "
        f"crawl {measured:.2%}: {measured / stale:.3f}"
    )
    print(f"budget used {report.get('budget_used') or 0:.1%}, too old {report.get('over_age')}")


def main() -> None:
    """Runs the crawl and prints what it did."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--minutes", type=float, default=5.0)
    options.add_argument("--sites", type=int, default=40)
    options.add_argument("--pages", type=int, default=10)
    options.add_argument("--kill-every", type=float, default=25.0)
    options.add_argument("--budget", default="8/s")
    options.add_argument("--speed", type=float, default=60.0)
    given = options.parse_args()
    end = given.minutes * 60
    sites, ports, ready = Sites(given.sites, given.pages, end, given.speed), list[int](), threading.Event()
    threading.Thread(target=lambda: asyncio.run(serve(sites, ports, ready)), daemon=True).start()
    ready.wait()
    with tempfile.TemporaryDirectory(prefix="gt-") as name:
        folder = Path(name)
        seeds = [f"http://127.0.1.{site + 1}:{ports[0]}/" for site in range(given.sites)]
        (folder / "gossamer.toml").write_text(f"keep_attempts = {round(LOG_BYTES / given.speed)}\n")
        (folder / "seeds.txt").write_text("\n".join(seeds))
        run = Run(folder, command(given.budget, given.speed))
        predicted = drive(run, sites, given)
        over = sites.now()
        report = run.freshness() or {}
        run.process.send_signal(signal.SIGINT)
        run.process.wait()
        rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        said = Counter((row["url"], row["status"], row["text_hash"]) for row in rows)
    show(run, sites, given, over, predicted, report, said)


if __name__ == "__main__":
    main()
