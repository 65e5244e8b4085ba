"""Tests of pages that are made to exhaust the process: the crawl continues, other hosts are visited, and
the memory of the process stays limited."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from e2e.runs import job
from gossamer.app.runner import crawl

EXPLODES = b"".join(b"<b class=c%d><p>" % n for n in range(40_000))
LONG_BASE = (
    b"<base href='/" + b"a" * 800_000 + b"/'>" + b"".join(b"<a href=x%d>x</a>" % n for n in range(50_000))
)
ENDS = {"too-complex": EXPLODES, None: LONG_BASE}


@contextmanager
def served(pages: dict[str, bytes]) -> Iterator[str]:
    """Serve the given pages, keyed by path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux tells what a process takes")
@pytest.mark.parametrize("error", ENDS)
async def test_other_hosts_go_on(tmp_path: Path, error: str | None) -> None:
    hostile = ENDS[error]
    good = {f"/{n}": b"<title>good</title><a href=/%d>next</a>" % (n + 1) for n in range(5)}
    out = tmp_path / "out.jsonl"
    before = peak()
    with served({"/": hostile}) as bad, served(good) as one, served(good) as other:
        made = job([f"{bad}/", f"{one}/0", f"{other}/0"], tmp_path, links=True)
        summary = await crawl(made)
    assert summary.state == "finished"
    assert summary.adds_up()
    rows = [msgspec.json.decode(line) for line in out.read_text().splitlines()]
    assert sum(row["title"] == "good" for row in rows) == 10
    (told,) = [row for row in rows if row["url"] == f"{bad}/"]
    assert told["error"] == error
    assert len(told.get("out_links", ())) == 0
    assert (summary.errors or {}).get("too-complex", 0) == (error == "too-complex")
    assert summary.skipped.get("trap", 0) == (0 if error else 50_000)
    assert peak() - before < (64 << 20) + 8 * len(hostile)
