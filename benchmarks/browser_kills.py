"""Checks that a crawl loses nothing if its browser is killed at random moments.

    python benchmarks/browser_kills.py [--kills 10] [--pages 150] [--gap 4] [--seed 1] [--program firefox-esr]

The crawl uses only the rung `browser`. A script fills each page. The benchmark kills the browser with `kill -9`,
with at most `--gap` seconds between two kills. It prints how many pages are missing, stored twice, without the
script's content, or failed. The exit code is 1 if any such page exists.
"""

from __future__ import annotations

import argparse
import asyncio
import http.server
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import family

from e2e.runs import job
from gossamer.app.job import JobOutput
from gossamer.app.runner import crawl

FILLS = "<ul></ul><script>fetch('/rows').then(r => r.text()).then(t => { document.querySelector('ul').innerHTML = t })</script>"


def site(pages: int) -> type[http.server.BaseHTTPRequestHandler]:
    """Returns a handler for a start page that links to `pages` other pages."""

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            links = "".join(f"<a href=/p{n}>{n}</a>" for n in range(pages)) if self.path == "/" else ""
            body = (links + FILLS if self.path != "/rows" else "<li>brought by a script</li>").encode()
            self.send_response(404 if self.path in ("/robots.txt", "/favicon.ico") else 200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Answers


def strike(kills: int, gap: float, rng: random.Random, over: threading.Event, done: list[int]) -> None:
    """Kills the browser `kills` times, after a random delay of at most `gap` seconds each time."""
    while len(done) < kills and not over.wait(rng.uniform(0.5, gap)):
        for _, folder in family():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            chromium = b"--remote-debugging-pipe" in words and b"--type=" not in words
            if chromium or (b"--remote-debugging-port" in words and not words.startswith(b"sh")):
                os.kill(int(folder.name), signal.SIGKILL)
                done.append(int(folder.name))
                break


def main() -> None:
    """Runs the command."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--kills", type=int, default=10)
    words.add_argument("--pages", type=int, default=150)
    words.add_argument("--gap", type=float, default=4.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--program")
    given = words.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), site(given.pages))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    over, done = threading.Event(), list[int]()
    killer = threading.Thread(
        target=strike, args=(given.kills, given.gap, random.Random(given.seed), over, done)
    )
    with tempfile.TemporaryDirectory(prefix="gt-") as name:
        out = Path(name, "out.jsonl")
        one = job(
            [f"http://127.0.0.1:{server.server_port}/"],
            Path(name),
            ladder=("browser",),
            per_host=4,
            chromium=given.program,
            retries=(0.5,) * 20,
        )
        one.outputs, one.text = [JobOutput(str(out))], True
        began = time.perf_counter()
        killer.start()
        summary = asyncio.run(crawl(one))
        took = time.perf_counter() - began
        over.set()
        killer.join()
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    seen = Counter(row["url"] for row in rows)
    wrong = {
        "missing": given.pages + 1 - len(seen),
        "twice": sum(n > 1 for n in seen.values()),
        "without their rows": sum("brought by a script" not in (row.get("text") or "") for row in rows),
        "failed": sum(summary.errors.values()),
    }
    told = ", ".join(f"{n} {what}" for what, n in wrong.items())
    print(f"{len(rows)} pages, {len(done)} kills in {took:.0f} s: {told}")
    sys.exit(1 if any(wrong.values()) or len(done) < given.kills else 0)


if __name__ == "__main__":
    main()
