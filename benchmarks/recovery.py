"""Measures how long a fleet pauses after a kill, until the first page and until a page of each affected host.

    python benchmarks/recovery.py [--rounds 3] [--hosts 60] [--only KIND]

Two workers crawl the test web, each on a simulated machine of its own (this requires root and /dev/net/tun).
Slices take 5 s.

- `worker` kills one worker with kill -9 and restarts it after 1.5 s. The affected hosts are those whose last
  request came from that worker.
- `all` does the same with both workers.
- `broker` kills the broker and restarts it 10 s later, when all slices have ended. The time starts when the
  broker is back.
- `graceful` sends SIGTERM to a busy worker. The benchmark measures the seconds until the worker's end, the
  exit code, and the number of leases that are left.

At the end, all pages and items must be complete.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import redis

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fleet.chaos import machines
from support.fleet_workers import Fleet, Server, Worker, until
from support.machines_apart import Machines, apart, refused
from web import Hit, Web, preset, serve

BACK, AWAY, DELAY = 1.5, 10.0, 0.25


class Bed:
    """A fleet of two workers during a crawl."""

    def __init__(self, folder: Path, places: Machines, web: Web, store: Server, broker: Server) -> None:
        self.places, self.web, self.store, self.broker = places, web, store, broker
        self.fleet = Fleet(folder, store.url(0), [broker.url(0)])
        self.workers = {name: self.start(name) for name in ("w0", "w1")}
        self.fleet.ready(2)
        self.name = self.fleet.submit(
            *web.plan.seeds(), output="out/", delay=str(DELAY), allow_private="10.0.0.0/8"
        )
        until("pages of all", lambda: len({hit.peer for hit in web.log()}) == 2)
        until("many pages", lambda: web.stats()["requests"] > 8 * web.plan.hosts)

    def start(self, name: str) -> Worker:
        """Starts a worker on its machine."""
        with self.places.at(name):
            return self.fleet.worker(name, "--data", f"d-{name}")

    def after(self, moment: float, struck: Callable[[Hit], bool]) -> tuple[float, float]:
        """Waits until each affected host has had a page since `moment`.

        Returns the seconds from `moment` to the first page, and to the first page of the last host.
        """
        last = {hit.host: hit for hit in self.web.log() if hit.seen < moment * 1e9}
        hosts = {host for host, hit in last.items() if struck(hit)}

        def first() -> dict[str, float]:
            found: dict[str, float] = {}
            for hit in self.web.log():
                if hit.host in hosts and hit.seen > moment * 1e9 and hit.seen > last[hit.host].seen:
                    found.setdefault(hit.host, hit.seen / 1e9 - moment)
            return found

        until("pages of all hosts", lambda: len(first()) == len(hosts), 120)
        return min(first().values()), max(first().values())

    def whole(self) -> str:
        """Waits for the end of the crawl. Returns a text about its result."""
        summary = self.fleet.ended(self.name, 300)
        rows = [row["url"] for row in self.fleet.rows()]
        lost, twice = len(self.web.plan.must_fetch() - set(rows)), len(rows) - len(set(rows))
        return f"{summary['state']}, {lost} pages lost, {twice} twice"


def worker(bed: Bed) -> tuple[float, float]:
    """Kills one worker of two."""
    killed = time.monotonic()
    bed.workers["w0"].kill()
    time.sleep(BACK)
    bed.start("w0")
    return bed.after(killed, lambda hit: hit.peer == bed.places.address["w0"])


def all_(bed: Bed) -> tuple[float, float]:
    """Kills both workers."""
    for one in bed.workers.values():
        one.kill()
    killed = time.monotonic()
    time.sleep(BACK)
    for name in bed.workers:
        bed.start(name)
    return bed.after(killed, lambda hit: True)


def broker(bed: Bed) -> tuple[float, float]:
    """Keeps the broker down until all slices have ended."""
    bed.broker.kill()
    time.sleep(AWAY)
    with bed.places.at("broker"):
        bed.broker.start()
    return bed.after(time.monotonic(), lambda hit: True)


def graceful(bed: Bed) -> tuple[float, float]:
    """Sends SIGTERM to a worker, and then to the other one.

    Returns the seconds until the first worker has ended, and the number of leases left when both have ended.
    """
    began = time.monotonic()
    code = bed.workers["w0"].stop()
    took = time.monotonic() - began
    assert code == 0, code
    assert bed.workers["w1"].stop() == 0
    with redis.Redis(bed.store.host, bed.store.port) as client:
        left = sum(int(client.zcard(key)) for key in client.scan_iter(f"{{b:*}}{bed.name}:l"))
    bed.start("w0")
    return took, float(left)


KINDS = {"worker": worker, "all": all_, "broker": broker, "graceful": graceful}


def once(kind: str, hosts: int) -> tuple[float, float, str]:
    """Runs one crawl with one fault."""
    plan = preset("tiny", hosts=hosts, pages=60, latency=0.02, first=10)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gt-")))
        places = stack.enter_context(apart(machines(2)))
        stack.enter_context(places.at("desk"))
        servers = []
        for name in ("store", "broker"):
            with places.at(name):
                servers.append(stack.enter_context(Server(folder / name, host=places.address[name])))
        with places.at("web"):
            web = stack.enter_context(serve(plan))
        bed = Bed(folder, places, web, *servers)
        stack.enter_context(bed.fleet)
        first, last = KINDS[kind](bed)
        return first, last, bed.whole()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--only", choices=KINDS)
    options = parser.parse_args()
    if why := refused():
        sys.exit(f"machines of their own are not allowed here: {why}")
    for kind in [options.only] if options.only else KINDS:
        found = [once(kind, options.hosts) for _ in range(options.rounds)]
        firsts, lasts = [one[0] for one in found], [one[1] for one in found]
        ends = ", ".join(sorted({one[2] for one in found}))
        what = (
            f"exit 0 after {statistics.median(firsts):.1f} s ({min(firsts):.1f} to {max(firsts):.1f}), {max(lasts):.0f} leases left"
            if kind == "graceful"
            else f"first page after {statistics.median(firsts):.1f} s ({min(firsts):.1f} to {max(firsts):.1f}), "
            f"of all its hosts after {statistics.median(lasts):.1f} s ({min(lasts):.1f} to {max(lasts):.1f})"
        )
        print(f"{kind}: {what}; {ends}", flush=True)


if __name__ == "__main__":
    main()
