"""Measures searches of `gossamer ranks` by gossamer's own crawler, through one proxy and through two proxies.

    python benchmarks/ranks_exits.py [SEARCHES]

The benchmark prints the time between two searches at each exit, and the searches per second. The delay of 5
to 10 s is shortened to a tenth. The engine and the proxies are local servers, and each proxy connects from an
address of its own. The searches have different keywords, and each fetches page 1. Measurements with one and
with two proxies alternate.
"""

from __future__ import annotations

import asyncio
import http.server
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from gossamer.uses.ranks.keywords import read_keywords
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.run import RankRunOptions, run
from support.light_proxies import Light
from uses.ranks.simulated_days import OWN, page_html

SCALE = 10
ROUNDS = 3
CAME: dict[str, list[float]] = defaultdict(list)


class Engine(http.server.BaseHTTPRequestHandler):
    """A search engine that records the time of each search by client address."""

    def do_GET(self) -> None:
        CAME[self.client_address[0]].append(time.monotonic())
        body = page_html(parse_qs(urlsplit(self.path).query)["q"][0], 1, 3, None, False)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def measured(address: str, exits: list[str], searches: int) -> tuple[list[float], float]:
    """Runs searches through some exits.

    Returns the seconds between two searches at each exit, and the searches per second from the first to the
    last.
    """
    CAME.clear()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = "".join(f"kettle {n},{OWN}\n" for n in range(searches))
        (folder / "k.csv").write_text(f"keyword,domain\n{words}")
        (folder / "p.txt").write_text("\n".join(exits))
        crawl = {
            "data": str(folder / "data"),
            "delay": f"{5 / SCALE}-{10 / SCALE}",
            "allow_private": "127.0.0.0/8",
            "proxies": [str(folder / "p.txt")],
        }
        options = RankRunOptions(
            history=str(folder / "ranks.db"),
            depth=Depth("basic", 10),
            own=True,
            hosts={"google": address},
            crawl=crawl,
        )
        done = run(read_keywords([str(folder / "k.csv")]).keywords, options, lambda _: None, lambda _: None)
    assert done.done == searches
    gaps = [after - before for times in CAME.values() for before, after in itertools.pairwise(times)]
    every = sorted(itertools.chain.from_iterable(CAME.values()))
    return gaps, (searches - 1) / (every[-1] - every[0])


def main() -> None:
    searches = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    some = [Light("127.0.0.2", 18431), Light("127.0.0.3", 18431)]
    for one in some:
        asyncio.run_coroutine_threadsafe(one.start(), loop).result()
    lines = [f"http://{one.address}:{one.port}" for one in some]
    rates: dict[int, list[float]] = {1: [], 2: []}
    gaps: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for count, every in rates.items():
            found, rate = measured(
                f"http://127.0.0.1:{server.server_address[1]}", lines[:count], searches * count
            )
            gaps[count] += found
            every.append(rate)
    print(
        time.strftime("%Y-%m-%d"), f"delay {5 / SCALE:g}-{10 / SCALE:g} s, {searches} searches for each exit"
    )
    for count, values in gaps.items():
        print(
            f"{count} exits: {statistics.median(rates[count]):.2f} searches/s (median of {ROUNDS}); seconds between two "
            f"searches at an exit: {min(values):.2f} to {max(values):.2f}, mean {statistics.mean(values):.2f}"
        )
    pairs = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    print(
        f"two exits / one exit: {statistics.median(pairs):.2f} (lowest {min(pairs):.2f}, highest {max(pairs):.2f})"
    )
    for one in some:
        asyncio.run_coroutine_threadsafe(one.stop(), loop).result()


if __name__ == "__main__":
    main()
