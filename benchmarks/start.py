"""Compares two revisions by the CPU time of a start and of a small crawl, in interleaved pairs (Linux).

    python benchmarks/start.py --against REVISION [--rounds 15] [--instructions] [-- CRAWL OPTIONS]

Both revisions run the command `gossamer crawl` on a local web of 20 pages, with the same interpreter and
compiled modules. The CPU seconds are those of all processes of the command, including the embedded store. The
CPU seconds are read at two moments:

- to the first request: when the web receives the first request (robots.txt)
- the crawl: when all processes have ended

The floors are measured in the same rounds: an interpreter that does nothing, an interpreter that imports only
the libraries that every crawl needs, and the store's server from its start to its end. With `--instructions`,
valgrind also counts the instructions of crawls of 1 and 20 pages.
"""

from __future__ import annotations

import argparse
import ctypes
import http.server
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import instructions

ROOT = Path(__file__).resolve().parents[1]
PAGES = 20
PR_SET_CHILD_SUBREAPER = 36
LIBRARIES = "asyncio, click, hiredis, msgspec, pycurl, turbohtml, upa_url, uvloop"
CRAWL = ("--delay", "0", "--per-host", "8", "--allow-private", "127.0.0.0/8")


class Web(http.server.ThreadingHTTPServer):
    """Serves PAGES pages that link to each other. `on_first` is called once, before the first response."""

    daemon_threads = True
    request_queue_size = 128
    on_first: Callable[[], None] | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    """Responds to one request."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # sends headers and body in one packet
    server: Web

    def do_GET(self) -> None:
        if (first := self.server.on_first) is not None:
            self.server.on_first = None
            first()
        number = self.path.strip("/") or "0"
        links = "".join(f'<li><a href="/{n}">Page {n}</a></li>' for n in range(1, PAGES))
        text = "".join(f"<p>Paragraph {n} of page {number}.</p>" for n in range(40))
        page = f"<!doctype html><html><title>Page {number}</title><body><h1>Page {number}</h1>{text}<ul>{links}</ul>"
        robots = self.path == "/robots.txt"
        body = b"User-agent: *\nAllow: /\n" if robots else page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if robots else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def cpu_of(pid: int) -> float:
    """Returns the CPU seconds that a process and its threads have used so far, by the kernel's clock of the
    process."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def family(pid: int) -> list[int]:
    """Returns the process and all its living descendants."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(
                    Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1]
                )
            except OSError:
                continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def whole(words: list[str], source: Path | None = None, folder: Path | None = None) -> tuple[float, int]:
    """Runs a command to its end. Returns the CPU seconds of all processes of the command, and its process ID."""
    environment = {**os.environ, **({"PYTHONPATH": str(source)} if source else {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        words, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    if STARTED is not None:
        STARTED(process.pid)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"exit {process.returncode}: {said.decode()[-2000:]}")
    total = used.ru_utime + used.ru_stime
    while True:  # processes that the command left behind are now children of this process
        try:
            _, _, used = os.wait3(0)
        except ChildProcessError:
            return total, process.pid
        total += used.ru_utime + used.ru_stime


STARTED: Callable[[int], None] | None = None


def crawl(source: Path, folder: Path, options: list[str]) -> dict[str, float]:
    """Crawls the web with the package in `source`. Returns the measurements."""
    global STARTED
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    web = Web()
    threading.Thread(target=web.serve_forever, daemon=True).start()
    found: dict[str, float] = {}
    pids: list[int] = []
    began = time.monotonic()

    def first() -> None:
        found["seconds to the first request"] = time.monotonic() - began
        found["CPU to the first request"] = sum(map(cpu_of, family(pids[0])))

    web.on_first = first
    STARTED = pids.append
    output = folder / "out.jsonl"
    try:
        words = [sys.executable, "-m", "gossamer", "crawl", f"http://127.0.0.1:{web.server_port}/"]
        found["CPU of the crawl"], _ = whole(
            [*words, "--data", f"{folder}/data", "-o", str(output), *CRAWL, *options], source, folder
        )
        found["seconds of the crawl"] = time.monotonic() - began
    finally:
        STARTED = None
        web.shutdown()
        web.server_close()
    if (rows := len(output.read_bytes().splitlines())) != PAGES:
        sys.exit(f"{rows} rows instead of {PAGES}")
    return found


def store(folder: Path) -> float:
    """Returns the CPU seconds of the store's server from its start to its end, with the options of a data
    folder."""
    from gossamer.store.embedded import _options, server_binary

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    socket = str(folder / "s")
    code = f"until [ -S {socket} ]; do :; done"
    process = subprocess.Popen([server_binary(), *_options(folder, socket)], stdout=subprocess.DEVNULL)
    subprocess.run(["sh", "-c", code], check=True)
    process.terminate()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", required=True, help="a git revision")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--instructions", action="store_true", help="count instructions, too")
    parser.add_argument("options", nargs="*", help="more options of crawl, after --")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as name:
        old, new, folder = Path(name) / "old", Path(name) / "new", Path(name) / "run"
        unpack(options.against, old)
        shutil.copytree(ROOT / "src", new / "src")
        for tree in (old, new):
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree / "src")], check=True)
            crawl(tree / "src", folder, options.options)  # fills the caches of the file system
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for turn in range(options.rounds):
            for tree in (old, new) if turn % 2 else (new, old):
                for what, value in crawl(tree / "src", folder, options.options).items():
                    found[what][tree.name].append(value)
            found["an interpreter"]["floor"].append(whole([sys.executable, "-c", "pass"])[0])
            found["its libraries"]["floor"].append(whole([sys.executable, "-c", f"import {LIBRARIES}"])[0])
            found["the store's server"]["floor"].append(store(folder))
        report(found, options)
        if options.instructions:
            count(old / "src", new / "src", folder, options)


def unpack(revision: str, folder: Path) -> None:
    """Writes the package of a revision to a folder."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive.stdout, check=True)


def report(found: dict[str, dict[str, list[float]]], options: argparse.Namespace) -> None:
    """Prints the medians, and the median ratio of the pairs."""
    now = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    print(f"{now} UTC; {options.rounds} pairs, medians; ms; {PAGES} pages {' '.join(options.options)}\n")
    print(f"| ms | {options.against} | working tree | ratio of pairs (quartiles) |")
    print("| --- | ---: | ---: | ---: |")
    for what, by in found.items():
        if "floor" in by:
            print(f"| floor: {what} | | {1000 * statistics.median(by['floor']):.0f} | |")
            continue
        ratios = [new / old for old, new in zip(by["old"], by["new"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        medians = [f"{1000 * statistics.median(by[tree]):.0f}" for tree in ("old", "new")]
        print(f"| {what} | {' | '.join(medians)} | {middle:.2f} ({low:.2f} to {high:.2f}) |")


def count(old: Path, new: Path, folder: Path, options: argparse.Namespace) -> None:
    """Prints the instructions of crawls of 1 page and of all pages, as medians of 3."""
    print(f"\n| instructions | {options.against} | working tree | ratio |\n| --- | ---: | ---: | ---: |")
    for pages in (1, PAGES):
        counts: dict[Path, list[int]] = {old: [], new: []}
        web = Web()
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_port}/"
        for _ in range(3):
            for source, values in counts.items():
                words = [*options.options, "--limit", str(pages)]
                values.append(instructions.count(source, url, folder, words))
        web.shutdown()
        web.server_close()
        before, after = (statistics.median(counts[source]) for source in (old, new))
        print(f"| crawl, {pages} pages | {before:,.0f} | {after:,.0f} | {after / before:.3f} |")


if __name__ == "__main__":
    main()
