"""Pages a second and CPU a page of the browser rung: small pages on loopback, as sent and filled by a script's request.

python benchmarks/browser.py [--pages N] [--at-once N]
"""

from __future__ import annotations

import argparse
import asyncio
import http.server
import os
import threading
import time
from pathlib import Path

from gossamer.collectors.browser import BrowserCollector
from gossamer.egress.resolver import Resolver
from gossamer.page import Page
from gossamer.render import Render
from gossamer.request import Request

ROWS = "".join(f"<li><b>Book {n}</b><i>{n}</i></li>" for n in range(200))
FETCH = "fetch('/rows').then(r => r.text()).then(t => { document.querySelector('ul').innerHTML = t })"
PAGES = {
    "/sent": f"<!doctype html><ul>{ROWS}</ul>",
    "/built": f"<!doctype html><ul></ul><script>{FETCH}</script>",
    "/rows": ROWS,
}
HOSTS = 4


class Answers(http.server.BaseHTTPRequestHandler):
    """The three pages."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = PAGES[self.path].encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def cpu() -> float:
    """Seconds of CPU of this process and all below it: driver, browser, its children that ended, too."""
    parents, spent = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(file.parent.name)] = int(words[1])
        spent[int(file.parent.name)] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")

    def ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return sum(seconds for pid, seconds in spent.items() if ours(pid))


async def here(_host: str, _port: int) -> list[str]:
    """Every name leads to this machine."""
    return ["127.0.0.1"]


async def measure(port: int, pages: int, at_once: int) -> None:
    """Print the figures of both pages."""
    guard = Resolver(["127.0.0.0/8"], lookup=here)
    collector = BrowserCollector(
        guard, agent="benchmark/1", render=lambda _: Render(), domain=lambda host: host, pages=at_once
    )
    try:
        for path in ("/sent", "/built"):
            urls = [f"http://h{n % HOSTS}.test:{port}{path}" for n in range(pages)]
            await asyncio.gather(*(collector.collect(Request(url), {}) for url in urls[:HOSTS]))
            began, before = time.perf_counter(), cpu()
            got = await asyncio.gather(*(collector.collect(Request(url), {}) for url in urls))
            took, spent = time.perf_counter() - began, cpu() - before
            assert all(isinstance(one, Page) and b"Book 199" in one.body for one in got)
            print(f"{path}: {pages / took:.1f} pages/s, {1000 * spent / pages:.0f} ms of CPU a page")
    finally:
        await collector.close()


def main() -> None:
    """The command."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--pages", type=int, default=100)
    words.add_argument("--at-once", type=int, default=4)
    given = words.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asyncio.run(measure(server.server_port, given.pages, given.at_once))
    server.shutdown()


if __name__ == "__main__":
    main()
