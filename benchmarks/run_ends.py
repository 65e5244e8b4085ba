"""Measures when a run records what is good, and when it ends, if half of its targets are dead in five ways.

    python benchmarks/run_ends.py [--uses crawl prices keywords ranks audit] [--targets 50] [--pages 200]

The targets of `crawl`, `prices` and `keywords` are one page each on a host of its own, those of `ranks` are
searches at one provider, and those of `audit` are the `--pages` pages of one host. A dead target answers with
500, never answers, refuses the connection, resets it, or redirects in a loop. A page of the audit and a search
cannot refuse the connection: the server closes it without an answer. The robots.txt of every second dead host
is dead in the same way.

Each use runs with its good targets alone, and then with all of them. For each run, the benchmark prints the
time until the last good target is recorded (in the output, history or database), the time of the end, and the
time of the last first request for a target. The times count from the start of the command. The options are the
defaults, except for a delay of 1 s (audit: 0.1 s). The uses run at the same time, unless `--one-by-one` is
given. The exit code is 1 if a good target is missing, if the good targets are recorded more than `--later`
seconds later than alone, or if a run ends later than planned: 2 minutes after the first request of the last
target has timed out (30 s, at the provider of searches 90 s), and after one more request. A price run then visits
the failing pages once more, with one retry after 10 s. Targets that share a host delay each other: the host of the
audit gets one request at a time, so each `hang` delays the other pages by 30 s. The provider gets five calls at
once, and a call without an answer counts fully among them for 16 s (10 s if the connection broke).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import sqlite3
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.processes import free_port  # noqa: E402 - they lie beside the tests
from support.search_providers import KEY, SearchProvider  # noqa: E402

WAYS = ("500", "hang", "refused", "reset", "loop")
RETRY_TIME_S = 120.0
"""The time for which a run goes on if only retries are left."""
TIMEOUT_S = {"ranks": 90.0}
"""The time-outs of requests, if they are not 30 s."""
BLOCKING = {"audit": (("hang",), 1, 30.0), "ranks": (("hang", "refused", "reset"), 5, 16.0)}
"""The ways to be dead that keep a place of a shared host, the number of places, and for how many seconds."""


@dataclass
class Servers:
    """The hosts of the targets, on loopback addresses with one port. `dead`: the way in which the target with
    a number is dead. `number_of`: returns the number of the target that a request names, or None."""

    hosts: list[str]
    dead: dict[int, str]
    number_of: Callable[[str, str], int | None]
    page: Callable[[int, str], bytes]
    port: int = 0
    first: dict[int, float] = field(default_factory=dict)
    """The time of the first request for each target (monotonic)."""

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while await self._answer((await reader.readuntil(b"\r\n\r\n")).decode(), writer):
                pass
        writer.close()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> bool:
        """Answers a request. Returns whether the connection stays open."""
        path = head.split(" ", 2)[1]
        host = writer.get_extra_info("sockname")[0]
        number = self.number_of(host, path)
        way = self.dead.get(number, "") if number is not None else ""
        if path == "/robots.txt":
            way = way if (number or 0) // 2 % 2 else ""
        elif number is not None:
            self.first.setdefault(number, time.monotonic())
        if way == "hang":
            await asyncio.sleep(3600)
        if way == "reset":
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            writer.transport.abort()
        if way in ("reset", "refused"):
            return False
        body = b"" if way else self.page(number or 0, path)
        status, more = ("200 OK" if body else "404 Not Found"), ""
        if way == "500":
            status = "500 Internal Server Error"
        elif way == "loop":
            plain, sign, times = path.partition("again=")
            step = str((int(times or 0) + 1) % 2)
            status = "302 Found"
            more = f"Location: {plain if sign else plain + ('&' if '?' in plain else '?')}again={step}\r\n"
        kind = "application/json" if body[:1] == b"{" else "text/html"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        return True


@contextlib.contextmanager
def serving(servers: Servers) -> Iterator[None]:
    """Serves the hosts for the duration of the block."""
    servers.port, up = free_port(), threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    over = asyncio.Event()

    async def serve() -> None:
        await asyncio.start_server(servers.connection, servers.hosts, servers.port)
        loops.append(asyncio.get_running_loop())
        up.set()
        await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert up.wait(30)
    yield
    loops[0].call_soon_threadsafe(over.set)
    thread.join()


@dataclass
class Use:
    """A command, its targets, and how many of them it has recorded."""

    servers: Servers
    command: Callable[[Path, list[int]], list[str]]
    recorded: Callable[[Path], int]


def address(number: int) -> str:
    return f"127.0.9.{number + 1}"


def of_hosts(
    dead: dict[int, str],
    count: int,
    page: Callable[[int, str], bytes],
    command: Callable[[Path, list[str]], list[str]],
    recorded: Callable[[Path], int],
) -> Use:
    """Returns a use whose targets are one page each, on a host of its own."""
    hosts = [address(n) for n in range(count) if dead.get(n) != "refused"]
    servers = Servers(hosts, dead, lambda host, _path: int(host.rpartition(".")[2]) - 1, page)

    def words(folder: Path, numbers: list[int]) -> list[str]:
        return command(folder, [f"http://{address(n)}:{servers.port}/p" for n in numbers])

    return Use(servers, words, recorded)


def product(number: int, path: str) -> bytes:
    data = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": f"Kettle {number}",
        "sku": f"k{number}",
        "offers": {
            "@type": "Offer",
            "price": f"{20 + number}.90",
            "priceCurrency": "EUR",
            "availability": "https://schema.org/InStock",
        },
    }
    text = f"<h1>Kettle {number}</h1><p>green tea and a kettle, for {20 + number}.90 €, number {number}.</p>"
    script = f'<script type="application/ld+json">{json.dumps(data)}</script>'
    html = f'<html lang="en"><title>Kettle {number}</title>{script}<main>{text}</main></html>'
    return b"" if path == "/robots.txt" else html.encode()


def lines(pattern: str, good: Callable[[dict[str, Any]], bool]) -> Callable[[Path], int]:
    """Returns a function that counts the good rows in JSON lines."""

    def count(folder: Path) -> int:
        found = [
            line for path in folder.glob(pattern) for line in path.read_bytes().splitlines(keepends=True)
        ]
        return sum(good(json.loads(line)) for line in found if line.endswith(b"\n"))

    return count


def table(pattern: str, question: str) -> Callable[[Path], int]:
    """Returns a function that counts rows in an SQLite file."""

    def count(folder: Path) -> int:
        for path in folder.glob(pattern):
            with (
                contextlib.suppress(sqlite3.OperationalError),  # the tables do not exist yet
                contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as base,
            ):
                return int(base.execute(question).fetchone()[0])
        return 0

    return count


LOCAL = ("-s", "allow_private=127.0.0.0/8")


def plain_crawl(dead: dict[int, str], options: argparse.Namespace) -> Use:
    def command(folder: Path, urls: list[str]) -> list[str]:
        (folder / "urls.txt").write_text("\n".join(urls))
        return ["crawl", "urls.txt", "-o", "out.jsonl", "--delay", "1", "--json", *LOCAL]

    return of_hosts(
        dead, options.targets, product, command, lines("out.jsonl", lambda row: row["status"] == 200)
    )


def prices(dead: dict[int, str], options: argparse.Namespace) -> Use:
    def command(folder: Path, urls: list[str]) -> list[str]:
        (folder / "t.csv").write_text("url\n" + "\n".join(urls))
        return ["prices", "run", "t.csv", "--delay", "1", "--json", *LOCAL]

    question = "SELECT count(*) FROM price_offers WHERE price IS NOT NULL"
    return of_hosts(dead, options.targets, product, command, table("prices.db", question))


def keywords(dead: dict[int, str], options: argparse.Namespace) -> Use:
    def command(folder: Path, urls: list[str]) -> list[str]:
        (folder / "words.txt").write_text("green tea\nkettle\n")
        return ["keywords", *urls, "--list", "words.txt", "--delay", "1", "--json", *LOCAL]

    recorded = lines("keywords/runs/*/pages*.jsonl", lambda row: True)
    return of_hosts(dead, options.targets, product, command, recorded)


def ranks(dead: dict[int, str], options: argparse.Namespace) -> Use:
    provider = SearchProvider("serpapi")

    def number_of(_host: str, path: str) -> int | None:
        words = parse_qs(urlsplit(path).query).get("q", [""])[0]
        return int(words.partition(" ")[2]) if words.startswith("kettle ") else None

    def page(_number: int, path: str) -> bytes:
        answer = provider.reply(path, {}, b"")[1] if "q=" in path else b""
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    servers = Servers([address(0)], dead, number_of, page)

    def command(folder: Path, numbers: list[int]) -> list[str]:
        rows = [f"kettle {n},site-3.example" for n in numbers]
        (folder / "k.csv").write_text("\n".join(["keyword,domain", *rows]))
        place = f"serpapi?endpoint=http://{address(0)}:{servers.port}/search.json"
        key = ("-s", "unlocker_key=${env:SEARCH_KEY}")
        return ["ranks", "run", "k.csv", "--provider", place, *key, *LOCAL, "--first", "10", "--json"]

    return Use(servers, command, table("ranks.db", "SELECT count(*) FROM rank_pages WHERE verdict = 'ok'"))


def audit(dead: dict[int, str], options: argparse.Namespace) -> Use:
    shown: list[int] = []

    def number_of(_host: str, path: str) -> int | None:
        text = path[1:].partition("?")[0]
        return int(text) if text.isdigit() else None

    def page(number: int, path: str) -> bytes:
        links = "".join(f'<a href="/{n}">Kettle {n}</a> ' for n in shown) if path == "/" else ""
        is_page = path == "/" or number_of("", path) is not None
        return product(number, path).replace(b"</main>", f"{links}</main>".encode()) if is_page else b""

    servers = Servers([address(0)], dead, number_of, page)

    def command(_folder: Path, numbers: list[int]) -> list[str]:
        shown[:] = numbers
        url = f"http://{address(0)}:{servers.port}/"
        port = ("-s", f"allow_port={servers.port}")
        return ["audit", url, "--delay", "0.1", "-o", "report.html", "--json", *LOCAL, *port]

    # the first page is no target
    question = "SELECT count(*) - 1 FROM pages WHERE status = 200"
    return Use(servers, command, table(".gossamer/audits/*.db", question))


USES: dict[str, Callable[[dict[int, str], argparse.Namespace], Use]] = {
    "crawl": plain_crawl,
    "prices": prices,
    "keywords": keywords,
    "ranks": ranks,
    "audit": audit,
}


@dataclass
class Run:
    """Times in seconds since the start of the command. `recorded`: the number of recorded targets."""

    recorded: int
    good_at: float
    last_first: float
    ended: float
    code: int
    said: str


async def _run(use: Use, numbers: list[int], good: int, folder: Path) -> Run:
    """Runs the command, and watches what it records."""
    use.servers.first.clear()
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SEARCH_KEY": KEY}
    began, good_at, recorded = time.monotonic(), 0.0, 0
    with (folder / "said").open("wb") as said, (folder / "told").open("wb") as told:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gossamer", *use.command(folder, numbers)),
            stdout=said,
            stderr=told,
            cwd=folder,
            env=env,
        )
        ending = asyncio.create_task(process.wait())
        while not ending.done():
            await asyncio.wait([ending], timeout=0.25)
            if not good_at and (recorded := use.recorded(folder)) >= good:
                good_at = time.monotonic() - began
    recorded = use.recorded(folder)
    ended, last = time.monotonic() - began, max(use.servers.first.values(), default=began) - began
    lines = (folder / "told").read_text().strip().splitlines()
    words = [line for line in lines if "requeue" in line or "--failed" in line] or lines or [""]
    return Run(recorded, good_at, last, ended, await ending, words[-1])


def measure(name: str, options: argparse.Namespace) -> tuple[str, bool]:
    """Runs a use twice. Returns its lines, and whether it has no faults."""
    count = options.pages - 1 if name == "audit" else options.targets
    dead = {n: WAYS[n // 2 % len(WAYS)] for n in range(0, count, 2)}
    good = [n for n in range(count) if n not in dead]
    out, runs = [], []
    use = USES[name](dead, options)
    with serving(use.servers):
        for label, numbers in (("good alone", good), ("with dead", [*range(count)])):
            with tempfile.TemporaryDirectory(prefix="gt-") as folder:
                run = asyncio.run(_run(use, numbers, len(good), Path(folder)))
            runs.append(run)
            out.append(
                f"{name:9} {label:10}  {len(numbers):4} targets  {run.recorded:4} of {len(good)} good recorded after "
                f"{run.good_at:6.1f} s; last first request {run.last_first:6.1f} s; end {run.ended:6.1f} s, exit {run.code}"
            )
    alone, both = runs
    timeout = TIMEOUT_S.get(name, 30.0)
    latest = max(both.last_first, both.good_at) + timeout + RETRY_TIME_S + timeout
    latest += 2 * timeout + 10 if name == "prices" else 0
    ways, places, seconds = BLOCKING.get(name, ((), 1, 0.0))
    blocked = sum(way in ways for way in dead.values()) / places * seconds
    is_good = (
        alone.recorded == both.recorded == len(good)
        and both.good_at <= alone.good_at + options.later + blocked
        and both.ended <= latest
    )
    out.append(f"{name:9} {'as planned' if is_good else 'NOT AS PLANNED'}; it said: {both.said}")
    return "\n".join(out), is_good


def main() -> None:
    """Measures all uses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--uses", nargs="+", choices=USES, default=[*USES])
    parser.add_argument("--targets", type=int, default=50)
    parser.add_argument("--pages", type=int, default=200, help="of the audit, with its first page")
    parser.add_argument("--later", type=float, default=30.0)
    parser.add_argument("--one-by-one", action="store_true")
    options = parser.parse_args()
    all_good = True
    with ThreadPoolExecutor(1 if options.one_by_one else len(options.uses)) as pool:
        for text, is_good in pool.map(lambda name: measure(name, options), options.uses):
            print(text, flush=True)
            all_good &= is_good
    sys.exit(not all_good)


if __name__ == "__main__":
    main()
