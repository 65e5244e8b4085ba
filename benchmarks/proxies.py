"""Checks that a crawl through 200 local proxies succeeds and sends nothing directly, although 60 proxies are
bad.

    python benchmarks/proxies.py [--rotation request|session] [--no-check] [--hosts 40] [--pages 25] [--times 1]

`--times 5` multiplies all numbers of proxies: a crawl through 1,000 proxies, of which 300 are bad.

The goals are that at least 98 % of the URLs succeed, that a dead proxy gets at most 3 requests, that a sticky
session never changes its address, and that hosts get requests only from the addresses of proxies.

The good proxies are Debian's squid (100 addresses a process), tinyproxy (20) and microsocks (20). The
hosts ban 10 of their addresses. The 60 bad proxies are small programs of our own, which are dead, slow or
lying, or refuse or break off connections. Each proxy listens on an address of its own on 127.x, and sends its
requests from that address.

With a health check (a page whose text is known), bad proxies get no requests. Without a health check
(`--no-check`), pages of lying proxies cannot be distinguished from real pages, so dead proxies take their
places. The results are counted at the hosts and in the attempts log.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gossamer.model.proxy import KINDS, Proxy, Wanted
from gossamer.proxies.proxy_choice import ProxyPool
from support.light_proxies import Light, Target, lights, target
from support.processes import free_port
from support.real_proxies import microsocks, squid, tinyproxy

BAD = {"dead": 20, "hangs": 10, "slow": 5, "breaks": 7, "refuses": 8, "lies": 10}


def pool(
    check: bool, port: int, squids: int, tiny: int, socks: int, times: int
) -> tuple[list[str], list[str], list[str], list[Light]]:
    """Returns the addresses of squid, of tinyproxy and of microsocks, and the bad proxies."""
    good = [f"127.0.{20 + n // 200}.{n % 200 + 1}" for n in range(squids + tiny + socks)]
    manners = [
        manner if check or manner != "lies" else "dead" for manner, n in BAD.items() for _ in range(n * times)
    ]
    light = [
        Light(f"127.0.{40 + n // 200}.{n % 200 + 1}", port, manner, delay=4.0)
        for n, manner in enumerate(manners)
    ]
    return good[:squids], good[squids : squids + tiny], good[squids + tiny :], light


async def crawl(
    folder: Path, sites: list[Target], lines: list[str], rotation: str, check: bool, more: list[str]
) -> tuple[int, float, dict[str, Any]]:
    """Crawls all hosts. Returns the exit code, the seconds and the summary."""
    (folder / "proxies.txt").write_text("\n".join(lines))
    words = [
        sys.executable,
        "-m",
        "gossamer",
        "crawl",
        *(f"http://{one.address}:{one.port}/" for one in sites[1:]),
        "--proxies",
        str(folder / "proxies.txt"),
        "--allow-private",
        "127.0.16.0/20",
        "--allow-private",
        "127.0.32.0/20",
        "--data",
        str(folder / "data"),
        "-o",
        str(folder / "out.jsonl"),
        "--json",
        "--quiet",
        "--delay",
        "0.05",
        "--per-host",
        "4",
        "-s",
        "timeout=3s",
        "-s",
        f"rotation={rotation}",
        "--retries",
        "2s,4s,8s",
        *more,
    ]
    if check:
        words += ["-s", f"proxy_check=http://{sites[0].address}:{sites[0].port}/check True page"]
        words += ["--allow-private", f"{sites[0].address}/32"]
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    said = await process.stdout.read()
    return await process.wait(), time.monotonic() - began, json.loads(said or b"{}")


async def measure(rotation: str, check: bool, hosts: int, pages: int, times: int) -> bool:
    """Runs one crawl. Returns whether all goals are met."""
    shares = (100 * times, 20 * times, 20 * times)
    port, rng = free_port(), random.Random(5)
    squids, tiny, socks, light = pool(check, port, *shares, times)
    banned = frozenset(rng.sample(squids + socks, max(1, sum(shares) // 14)))
    with contextlib.ExitStack() as real, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for first in range(0, len(squids), 100):  # a squid listens on at most 128 addresses
            real.enter_context(squid(squids[first : first + 100], port))
        for address in tiny:
            real.enter_context(tinyproxy(folder, address, port))
        for address in socks:
            real.enter_context(microsocks(address, port))
        async with contextlib.AsyncExitStack() as web:
            await web.enter_async_context(lights(*light))
            sites = [
                await web.enter_async_context(
                    target(pages, banned if n else frozenset(), f"127.0.50.{n + 1}")
                )
                for n in range(hosts + 1)
            ]
            lines = [f"{a}:{port} provider=squid" for a in squids] + [
                f"{a}:{port} provider=tiny" for a in tiny
            ]
            lines += [f"socks5h://{a}:{port} provider=socks" for a in socks]
            lines += [
                f"{one.address}:{port} provider={('squid', 'mixed')[n % 2]}" for n, one in enumerate(light)
            ]
            rng.shuffle(lines)
            code, seconds, summary = await crawl(folder, sites, lines, rotation, check, [])
            attempts = [
                json.loads(line)
                for path in (folder / "data").glob("*/attempts.jsonl")
                for line in path.read_text().splitlines()
            ]
            return judged(
                sites,
                light,
                attempts,
                summary,
                code,
                seconds,
                banned,
                {*squids, *tiny, *socks, *(one.address for one in light)},
                rotation,
            )


def judged(
    sites: list[Target],
    light: list[Light],
    attempts: list[dict[str, Any]],
    summary: dict[str, Any],
    code: int,
    seconds: float,
    banned: frozenset[str],
    ours: set[str],
    rotation: str,
) -> bool:
    """Prints the results. Returns whether the goals are met."""
    manner = {one.address: one.manner for one in light}
    of = [((a["proxy"] or "").rpartition("/")[2].partition(":")[0], a) for a in attempts]
    lied = sum(1 for address, a in of if manner.get(address) == "lies" and a["outcome"] == "done")
    urls = sum(one.pages + 1 for one in sites[1:])
    good = summary.get("succeeded", 0) - lied
    tries = Counter(address for address, a in of)
    dead = {kind: max([tries[a] for a, m in manner.items() if m == kind], default=0) for kind in BAD}
    strangers = sum(
        (Counter({a: n for a, n in one.came.items() if a not in ours}) for one in sites), Counter()
    )
    moved = sum(len(addresses) > 1 for one in sites[1:] for addresses in one.seen.values())
    sessions = sum(len(one.seen) for one in sites[1:])
    retried = Counter(a["error"] for a in attempts if a["outcome"] == "again")
    print(
        f"{rotation}: exit {code}, {seconds:.1f} s, {good} of {urls} URLs succeeded ({good / urls:.2%}), {lied} lies taken"
    )
    print(
        f"  most requests to one that is: {dead}; banned: {max(tries[a] for a in banned)}; again: {dict(retried)}"
    )
    print(
        f"  requests from other addresses: {sum(strangers.values())}; sessions {sessions}, that changed address: {moved}"
    )
    fine = (
        code == 0
        and good >= 0.98 * urls
        and dead["dead"] <= 3
        and not strangers
        and (rotation != "session" or not moved)
    )
    print("  goals met" if fine else "  GOALS NOT MET", flush=True)
    return fine


def choices(n: int = 10_000, times: int = 20_000) -> bool:
    """Prints the cost of a choice among `n` proxies. Returns whether its mean is below 50 us."""
    proxies = [
        Proxy(
            "http",
            f"10.{k >> 8}.{k & 255}.1",
            3128,
            "",
            "",
            KINDS[k % 3],
            (("de", "fr")[k % 2],),
            f"p{k % 5}",
        )
        for k in range(n)
    ]
    fine, now = True, 1_800_000_000_000
    for dead, blocked in ((0.0, 0.0), (0.3, 0.0), (0.9, 0.0), (0.3, 0.9)):
        rng = random.Random(1)
        pool = ProxyPool(proxies, draw=rng)
        for place in range(n):
            for _ in range(3 if (bad := rng.random() < dead) else 1):
                pool.book.saw(place, "e.com", now, fault=bad, seconds=rng.random())
            if rng.random() < blocked:
                pool.book.saw(place, "e.com", now, blocked=True)
        for wanted in (Wanted(), Wanted(("mobile",), ("de",))):
            took, cpu = [], time.process_time()
            for turn in range(times):
                began = time.perf_counter()
                found = pool.choose(wanted, "e.com", now + turn // 20)
                took.append(time.perf_counter() - began)
                fine = fine and found is not None
            took.sort()
            mean = (time.process_time() - cpu) / times * 1e6
            fine = fine and mean < 50
            print(
                f"  {n} proxies, {dead:.0%} out, {blocked:.0%} blocked there, {wanted}: {mean:.1f} us of CPU, "
                f"99 % within {took[-times // 100] * 1e6:.0f} us"
            )
    return fine


def main() -> int:
    """Runs the crawls that the options select."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rotation", choices=("request", "session"), default=None)
    options.add_argument("--no-check", action="store_true")
    options.add_argument("--hosts", type=int, default=40)
    options.add_argument("--pages", type=int, default=25)
    options.add_argument("--times", type=int, default=1)
    given = options.parse_args()
    kinds = [given.rotation] if given.rotation else ["request", "session"]
    fine = [
        asyncio.run(measure(one, not given.no_check, given.hosts, given.pages, given.times)) for one in kinds
    ]
    return int(not all([choices(), *fine]))


if __name__ == "__main__":
    sys.exit(main())
