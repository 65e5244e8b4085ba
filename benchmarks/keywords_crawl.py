"""Crawls generated pages and counts keywords on them in one command, and compares each count with the pages.

    python benchmarks/keywords_crawl.py [--pages 1000000] [--keywords 100] [--hosts 20]

A small server serves the pages on loopback addresses: a paragraph of 100 words from a vocabulary of 5,000, and
links to up to ten pages of the same host. `gossamer keywords count` crawls all hosts without delay, and counts
a list of keywords. The benchmark prints pages, seconds, pages per second, the CPU time of the command, its
children and its store per page, the maximum of their memory, the size of all files at the end, and the number of
keywords whose count is not the number of their words on the pages. The exit code is 1 if a page or a count is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import multiprocessing
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import product
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
from keywords_million import Memory

WORDS, VOCABULARY, FANOUT = 100, 5_000, 10
NAMES = [
    "".join(parts)
    for parts in product(("ba", "de", "ki", "lo", "mu", "ra", "se", "ti", "vo", "zu"), repeat=4)
]


def word_numbers(pages: int) -> np.ndarray:
    """Returns the word numbers of all pages, one row per page."""
    return np.random.default_rng(7).integers(0, VOCABULARY, (pages, WORDS), dtype=np.int16)


def serve(pages: int, hosts: int, port: int, ready: Event) -> None:
    """Serves the pages: page n of host h is row n * hosts + h."""
    numbers, names = word_numbers(pages), np.array(NAMES[:VOCABULARY], dtype=object)

    def answer(host: int, path: str) -> bytes:
        number = int(path[1:]) if path[1:].isdigit() else 0 if path == "/" else pages
        row = number * hosts + host
        if row >= pages:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        children = range(number * FANOUT + 1, number * FANOUT + FANOUT + 1)
        links = "".join(f'<li><a href="/{n}">{n}</a></li>' for n in children if n * hosts + host < pages)
        body = (
            f"<!doctype html><html lang=x><head><meta charset=utf-8><title>{row}</title></head><body><main>"
            f"<p>{' '.join(names[numbers[row]])}.</p></main><nav><ul>{links}</ul></nav></body></html>"
        ).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            self.transport, self.waiting = transport, b""
            self.host = int(transport.get_extra_info("sockname")[0].rpartition(".")[2]) - 1

        def data_received(self, data: bytes) -> None:
            *requests, self.waiting = (self.waiting + data).split(b"\r\n\r\n")
            for request in requests:
                self.transport.write(answer(self.host, request.split(b" ", 2)[1].decode()))

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for host in range(hosts):
            await loop.create_server(Connection, f"127.0.61.{host + 1}", port)
        ready.set()
        await asyncio.sleep(1e9)

    asyncio.run(run())


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_children(server: multiprocessing.process.BaseProcess) -> float:
    """Ends the server and waits for all children. Returns the CPU time of the others."""
    served = cpu_seconds(server.pid or 0)
    server.terminate()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime - served


def file_sizes(folder: Path) -> list[tuple[int, str]]:
    """Returns the sizes and the names of all files, the largest first."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(((path.stat().st_size, str(path.relative_to(folder))) for path in files), reverse=True)


def main() -> int:
    """Runs the command and prints the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--keywords", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--port", type=int, default=8961)
    options = parser.parse_args()
    pages, hosts = options.pages, options.hosts
    totals = np.bincount(word_numbers(pages).ravel(), minlength=VOCABULARY)
    chosen = range(0, VOCABULARY, VOCABULARY // options.keywords)
    ready = multiprocessing.Event()
    server = multiprocessing.Process(target=serve, args=(pages, hosts, options.port, ready), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory(prefix="gossamer-keywords-") as name:
        folder = Path(name)
        (folder / "words.txt").write_text("\n".join(NAMES[n] for n in chosen))
        ready.wait()
        # the store, which detaches itself, becomes a child of this process
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        began, load = time.monotonic(), os.getloadavg()[0]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gossamer", "keywords", "count"),
                *(f"http://127.0.61.{host + 1}:{options.port}/" for host in range(hosts)),
                *("--list", "words.txt", "-o", "out.sqlite", "--json", "--quiet", "--delay", "0"),
                *("-s", "per_host=8", "-s", "allow_private=127.0.0.0/8", "-s", "ignore_robots=true"),
            ],
            cwd=folder,
            stdout=subprocess.PIPE,
        )
        memory = Memory(os.getpid(), without={os.getpid(), server.pid or 0})
        output, _ = process.communicate()
        seconds, peak = time.monotonic() - began, memory.stop()
        cpu = cpu_of_children(server)
        told, sizes = json.loads(output)["result"], file_sizes(folder)
        with sqlite3.connect(folder / "out.sqlite") as found:
            counts = dict(found.execute("SELECT keyword, count FROM keyword_totals WHERE site = ''"))
            urls = [url for (url,) in found.execute("SELECT url FROM counted_pages")]
    wrong = sum(counts.get(NAMES[n]) != totals[n] for n in chosen)
    print(
        f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, {os.cpu_count()} cores, load {load:.1f}: "
        f"exit {process.returncode}, {told['pages']:,} of {pages:,} pages crawled and counted in {seconds:.0f} s "
        f"({pages / seconds:.0f} pages/s), {cpu / pages * 1e3:.2f} ms of CPU time per page, {told['words']:,} words of {pages * WORDS:,}, "
        f"{wrong} of {options.keywords} counts wrong, {len(urls) - len(set(urls))} pages double\n{peak}\n"
        f"files: {sum(size for size, _ in sizes) / pages:.0f} bytes per page; the largest: "
        + ", ".join(f"{name} {size / pages:.0f}" for size, name in sizes[:6])
    )
    return int(wrong > 0 or not told["pages"] == told["counted"] == len(set(urls)) == pages)


if __name__ == "__main__":
    sys.exit(main())
