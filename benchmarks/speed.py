"""CPU a page against peers, on the same local web of real documentation, in the same minutes.

    python benchmarks/speed.py [--rounds 3] [--folder DIR] [--only gossamer,bare,scrapy,colly]

The web: Python's and PostgreSQL's documentation (Debian's packages, unpacked by ./test into .sites/) as one host, gzip, served by
tests/web in a process of its own that is not counted. 64 requests at once, no delay. Counted is the CPU time (user and system) of all
processes of a contender from its start to its end, the store included. Rounds are interleaved; medians. The machine is noisy: read
the ratios. Scrapy is installed into, and Colly built in, a folder of the user's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
PEERS = ROOT / "benchmarks" / "peers"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gossamer-benchmarks"
TICK = os.sysconf("SC_CLK_TCK")
LONGEST = 600
"""Seconds after which a contender is ended."""


def corpus(folder: Path, copies: int) -> Path:
    """Both documentations, some times over, under one start page: so start-up weighs as in a crawl of some size."""
    links = []
    for package in ("python3-doc", "postgresql-doc"):
        source = ROOT / ".sites" / package / "html"
        if not source.exists():
            sys.exit(f"{source} is missing: ./test unpacks it")
        for copy in range(copies):
            shutil.copytree(source, folder / f"{package}-{copy}", ignore_dangling_symlinks=True)
            links.append(f'<a href="{package}-{copy}/index.html">{package}</a>')
    (folder / "index.html").write_text(" ".join(links))
    return folder


def scrapy() -> list[str]:
    """The command of Scrapy, installed when it is not there."""
    python = CACHE / "scrapy" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / "scrapy")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "scrapy"], check=True)
    return [str(python), str(PEERS / "scrapy_peer.py")]


def colly() -> list[str]:
    """The command of Colly, built when it is not there."""
    binary = CACHE / "colly_peer"
    if not binary.exists():
        shutil.copytree(PEERS / "colly", CACHE / "colly", dirs_exist_ok=True)
        subprocess.run(["go", "mod", "tidy"], cwd=CACHE / "colly", check=True, capture_output=True)
        subprocess.run(["go", "build", "-o", str(binary), "."], cwd=CACHE / "colly", check=True)
    return [str(binary)]


class StoreWatch(threading.Thread):
    """CPU seconds of the embedded store, read until it is gone: it is no child of the crawler."""

    def __init__(self, run: Path) -> None:
        super().__init__(daemon=True)
        self.run_file, self.seconds, self.over = run, 0.0, False

    def run(self) -> None:
        """Look every 20 ms."""
        while not self.over:
            try:
                pid = json.loads(self.run_file.read_text())["pid"]
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                self.seconds = max(self.seconds, (int(fields[11]) + int(fields[12])) / TICK)
            except (OSError, ValueError, KeyError):
                pass
            time.sleep(0.02)


def measure(command: list[str], out: Path, store: Path | None = None) -> tuple[float, float, int]:
    """(CPU seconds of all its processes, wall seconds, rows written)."""
    watch = StoreWatch(store or out.parent / "none")
    watch.start()
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = threading.Timer(LONGEST, process.kill)
    limit.start()
    _, status, usage = os.wait4(process.pid, 0)
    limit.cancel()
    process.returncode = status
    wall = time.monotonic() - began
    watch.over = True
    watch.join()
    rows = sum(1 for _ in out.open("rb")) if out.exists() else 0
    return usage.ru_utime + usage.ru_stime + watch.seconds, wall, rows


def contenders(url: str, folder: Path, urls: Path) -> dict[str, tuple[list[str], Path, Path | None]]:
    """Command, output and store of each."""
    python, data = sys.executable, folder / "data"
    crawl = [
        python,
        "-m",
        "gossamer",
        "crawl",
        url,
        "--delay",
        "0",
        "--per-host",
        "80",
        "--concurrency",
        "64",
        "--quiet",
    ]
    crawl += ["--allow-private", "127.0.0.0/8", "--data", str(data)]
    return {
        "bare": ([python, str(PEERS / "bare_loop.py"), str(urls), str(folder / "bare.jsonl")], folder / "bare.jsonl", None),
        "gossamer": ([*crawl, "-o", str(folder / "g.jsonl")], folder / "g.jsonl", data / "store" / "run.json"),
        "gossamer, 2 processes": (
            [*crawl, "-o", str(folder / "g2.jsonl"), "--processes", "2"], folder / "g2.jsonl", data / "store" / "run.json"
        ),
        "scrapy": ([*scrapy(), url, str(folder / "s.jsonl")], folder / "s.jsonl", None),
        "colly": ([*colly(), url, str(folder / "c.jsonl")], folder / "c.jsonl", None),
    }  # fmt: skip


def main() -> None:
    """Measure and print a table."""
    from web import Plan, serve

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = options.folder or corpus(folder / "site", options.copies)
        with serve(Plan(folder=str(site.resolve()))) as web:
            urls = folder / "urls.txt"
            pages = sorted(str(path.relative_to(site)) for path in site.rglob("*.html") if path.is_file())
            urls.write_text("\n".join(web.url(0, f"/{page}") for page in pages))
            wanted = contenders(web.url(0, "/index.html"), folder, urls)
            found: dict[str, list[tuple[float, float, int]]] = {}
            for _ in range(options.rounds):
                for who, (command, out, store) in wanted.items():
                    if options.only and who.split(",")[0] not in options.only.split(","):
                        continue
                    shutil.rmtree(folder / "data", ignore_errors=True)
                    out.unlink(missing_ok=True)
                    found.setdefault(who, []).append(measure(command, out, store))
    report(found)


def report(found: dict[str, list[tuple[float, float, int]]]) -> None:
    """The table, medians, with ratios to gossamer."""
    cost = {who: statistics.median(cpu / max(rows, 1) * 1000 for cpu, _, rows in runs) for who, runs in found.items()}
    ours = cost.get("gossamer", float("nan"))
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, {len(next(iter(found.values())))} rounds"
    )
    print("| contender | CPU s per 1,000 pages | to gossamer | wall s | rows |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for who, runs in found.items():
        wall, rows = statistics.median(run[1] for run in runs), [run[2] for run in runs]
        print(f"| {who} | {cost[who]:.3f} | {cost[who] / ours:.2f} | {wall:.2f} | {min(rows)}-{max(rows)} |")


if __name__ == "__main__":
    main()
