"""A crawl with many items per page, and the memory that `gossamer serve` takes to stream them."""

from __future__ import annotations

import http.client
import http.server
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet

from gossamer.operations.row_streams import CSV, NDJSON, PARQUET
from operations.service_process import served_folder
from support.answers import answering

FORMATS = (NDJSON, CSV, PARQUET)
SITE = """
import gossamer


class Offer(gossamer.Item, key="n"):
    n: int
    title: str
    price: float
    tags: list[str]


site = gossamer.Site("offers", seeds=[f"WEB/{n}" for n in range(PAGES)])


@site.page(r"/\\d+$")
def shelf(page):
    first = int(page.url.rpartition("/")[2]) * ITEMS
    for n in range(first, first + ITEMS):
        yield Offer(n=n, title=f"Offer {n} of the shelf " + "x" * 40, price=n / 100, tags=["new", str(n % 7)])
"""


class Page(http.server.BaseHTTPRequestHandler):
    """Serves a short page at every address."""

    def do_GET(self) -> None:
        body = b"<title>a shelf</title>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


class Streamed(NamedTuple):
    """What one stream took. Memory in MB (10^6 bytes): of `serve` before it and at its peak, and of the largest child."""

    rows: int
    size: int
    seconds: float
    before: float
    peak: float
    child: float


def fill(folder: Path, pages: int, items: int) -> None:
    """Crawls once, if the folder has no crawl yet."""
    if (folder / "sites").is_dir():
        return
    (folder / "sites").mkdir(parents=True)
    with answering(Page) as port:
        text = SITE.replace("WEB", f"http://127.0.0.1:{port}")
        text = text.replace("PAGES", str(pages)).replace("ITEMS", str(items))
        (folder / "sites" / "offers.py").write_text(text)
        with served_folder(folder, "--sites", "sites") as server:
            server.ask("POST", "/v1/crawls", {"sites": ["offers"], "name": "offers"})
            while True:
                state = server.ask("GET", "/v1/crawls/offers?wait=50").json
                if state["state"] not in ("running", "starting", "queued"):
                    break
    assert (state["state"], state["pages"]) == ("finished", pages), state


def stream(folder: Path, form: str) -> Streamed:
    """Streams all items in one format from a new `serve`."""
    with served_folder(folder, "--sites", "sites") as server:
        server.ask("GET", "/v1/crawls/offers/items?limit=1")
        before, began = memory(server.process.pid, "VmRSS"), time.monotonic()
        rows = size = 0
        child = 0.0
        connection = http.client.HTTPConnection(server.host, server.port, timeout=300)
        connection.request("GET", "/v1/crawls/offers/items", headers={"Accept": form})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        with tempfile.TemporaryFile() as kept:
            while part := answer.read1(1 << 16):
                rows, size = rows + part.count(b"\n"), size + len(part)
                if form == PARQUET:
                    kept.write(part)
                    child = max([child, *(memory(one, "VmHWM") for one in children(server.process.pid))])
            took, peak = time.monotonic() - began, memory(server.process.pid, "VmHWM")
            connection.close()
            if form == PARQUET:
                rows = pyarrow.parquet.ParquetFile(kept).metadata.num_rows
            elif form == CSV:
                rows -= 1
        return Streamed(rows, size, took, before, peak, child)


def memory(pid: int, field: str) -> float:
    """Returns a field of /proc/PID/status in MB, or 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(found[0]) * 1024 / 1e6 if found else 0.0


def children(pid: int) -> list[int]:
    """Returns the processes that a process has started."""
    return [
        int(one) for file in Path(f"/proc/{pid}/task").glob("*/children") for one in file.read_text().split()
    ]
