"""Measures pages per second, CPU time per page and memory of the rung `browser`.

python benchmarks/browser.py [--pages N] [--at-once N] [--hosts N] [--program CHROMIUM] [--growth] [--pairs N]

The pages have 6 kB and are served on loopback. One page is complete as sent. A script fills the other page by
a request. `--growth` prints the memory over many pages of one browser. `--pairs` measures each page in turn with
and without the wait for the last change by scripts, and prints the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.server
import os
import statistics
import threading
import time
from pathlib import Path
from typing import Any

from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.collectors.browser.tab import Rendering
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request

ROWS = "".join(f"<li><b>Book {n}</b><i>{n}</i></li>" for n in range(200))
FETCH = "fetch('/rows').then(r => r.text()).then(t => { document.querySelector('ul').innerHTML = t })"
PAGES = {
    "/sent": f"<!doctype html><ul>{ROWS}</ul>",
    "/built": f"<!doctype html><ul></ul><script>{FETCH}</script>",
    "/rows": ROWS,
}


class Answers(http.server.BaseHTTPRequestHandler):
    """Serves the three pages."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def family() -> list[tuple[list[str], Path]]:
    """Returns this process and all its descendants, including the browser's driver and the browser.

    Each entry contains the fields of the process's `stat` file after the name, and the path of its folder in
    /proc.
    """
    words: dict[int, list[str]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words[int(file.parent.name)] = file.read_text().rpartition(")")[2].split()

    def ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = int(words[pid][1]) if pid in words else 0
        return pid == os.getpid()

    return [(found, Path("/proc", str(pid))) for pid, found in words.items() if ours(pid)]


def cpu() -> float:
    """Returns the CPU seconds of this process and its descendants, including their children that have ended."""
    return sum(sum(map(int, words[11:15])) for words, _ in family()) / os.sysconf("SC_CLK_TCK")


def memory() -> float:
    """Returns the memory of this process and its descendants in MB. Shared memory is counted once."""
    kilobytes = 0
    for _, folder in family():
        with contextlib.suppress(OSError):
            lines = (folder / "smaps_rollup").read_text().splitlines()
            kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1000


async def here(_host: str, _port: int) -> list[str]:
    """Resolves every name to this machine."""
    return ["127.0.0.1"]


async def measure(port: int, given: argparse.Namespace) -> None:
    """Prints the figures of both pages, or with `--growth` the memory over many pages."""
    collector = BrowserCollector(
        Resolver(["127.0.0.0/8"], lookup=here),
        agent="benchmark/1",
        render=lambda _: Render(),
        domain=lambda host: host,
        pages=given.at_once,
        program=given.program,
        recycle=10**6,
    )
    try:
        for path in ("/built",) if given.growth else ("/sent", "/built"):
            urls = [f"http://h{n % given.hosts}.test:{port}{path}" for n in range(given.pages)]
            await load(collector, urls[: given.hosts])
            if given.growth:
                await growth(collector, urls)
            elif given.pairs:
                await pairs(collector, path, urls, given.pairs)
            else:
                speed, spent = await cost(collector, urls)
                print(
                    f"{path}: {speed:.1f} pages/s, {1000 * spent:.0f} ms of CPU a page:"
                    f" {1 / spent:.1f} pages/s a core"
                )
    finally:
        await collector.close()


async def cost(collector: BrowserCollector, urls: list[str]) -> tuple[float, float]:
    """Fetches all URLs. Returns the pages per second and the CPU seconds per page."""
    began, before = time.perf_counter(), cpu()
    await load(collector, urls)
    return len(urls) / (time.perf_counter() - began), (cpu() - before) / len(urls)


async def built(_: Rendering, _ends: float) -> float:
    """Takes a page as built at once (`Rendering._unchanged_in`)."""
    return 0.0


async def pairs(collector: BrowserCollector, path: str, urls: list[str], count: int) -> None:
    """Prints the cost of a page with and without the wait for the last change by scripts."""
    waits: dict[str, Any] = {"with the wait": Rendering._unchanged_in, "without": built}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in waits}
    share = len(urls) // count
    for n in range(count):
        for name in sorted(waits, reverse=bool(n % 2)):
            Rendering._unchanged_in = waits[name]  # type: ignore[method-assign]
            found[name].append(await cost(collector, urls[n * share : (n + 1) * share]))
    for name, costs in found.items():
        speeds, spent = zip(*costs, strict=True)
        print(
            f"{path} {name}: {statistics.median(speeds):.2f} pages/s ({min(speeds):.2f} to {max(speeds):.2f}),"
            f" {1000 * statistics.median(spent):.0f} ms of CPU a page"
            f" ({1000 * min(spent):.0f} to {1000 * max(spent):.0f})",
            flush=True,
        )


async def load(collector: BrowserCollector, urls: list[str]) -> None:
    """Fetches all URLs, and prints how many pages are incomplete."""
    got = await asyncio.gather(*(collector.collect(Request(url), {}) for url in urls))
    bad = [str(one)[:200] for one in got if not isinstance(one, Page) or b"Book 199" not in one.body]
    if bad:
        print(f"{len(bad)} pages are not whole, the first: {bad[0]}", flush=True)


async def growth(collector: BrowserCollector, urls: list[str]) -> None:
    """Prints the memory after each tenth of the URLs, all in the same browser."""
    share = max(1, len(urls) // 10)
    for n in range(0, len(urls), share):
        await load(collector, urls[n : n + share])
        print(f"after {n + share} pages: {memory():.0f} MB", flush=True)


def main() -> None:
    """Runs the command."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--pages", type=int, default=100)
    words.add_argument("--at-once", type=int, default=4)
    words.add_argument("--hosts", type=int, default=4)
    words.add_argument("--program")
    words.add_argument("--growth", action="store_true")
    words.add_argument("--pairs", type=int, default=0)
    given = words.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asyncio.run(measure(server.server_port, given))
    server.shutdown()


if __name__ == "__main__":
    main()
