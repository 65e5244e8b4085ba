"""A simulated time of schedules: five uses and the cleaning run by schedulers as processes, on a store whose clock
is moved from one due time to the next. Schedulers use only this clock. The shop, the site and the search provider are
servers on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from gossamer.app.open_store import open_url
from gossamer.recrawl.cron import Cron
from gossamer.state.schedules import ScheduledRun, Schedules, StoredSchedule
from support import fork_server
from support.answers import answering
from support.moving_clock import Moved
from support.search_providers import KEY, SearchProvider
from support.search_providers import serving as serving_provider

SRC = Path(__file__).parents[2] / "src"
WAIT_S = 120.0
PRODUCTS = 3


class Site(http.server.BaseHTTPRequestHandler):
    """A shop whose prices change at every visit, and a few pages. `delay`: seconds before each answer."""

    delay: ClassVar[float] = 0.0
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        time.sleep(self.delay)
        number = self.path.strip("/").removeprefix("p")
        is_page = self.path == "/" or number.isdecimal()
        body = page(int(number or 0)).encode() if is_page else b"none"
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the server calls it by this name

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


def page(number: int) -> str:
    """Returns the page of a product. The page 0 links all products."""
    offer = {"@type": "Offer", "price": f"{20 + number}.90", "priceCurrency": "EUR"}
    data = {"@context": "https://schema.org", "@type": "Product", "name": f"Kettle {number}", "offers": offer}
    links = "".join(f'<a href="/p{n}">Kettle {n}</a> ' for n in range(1, PRODUCTS + 1))
    text = f"<h1>Kettle {number}</h1><p>green tea and a kettle, for {20 + number}.90 €, number {number}.</p>"
    script = f'<script type="application/ld+json">{json.dumps(data)}</script>' if number else ""
    return f'<html lang="en"><title>Kettle {number}</title>{script}<main>{text}{links}</main></html>'


class Clocked(NamedTuple):
    """A schedule of the simulation. `starts`: returns how many runs the history of the use itself contains."""

    name: str
    cron: str
    words: tuple[str, ...]
    starts: Callable[[Path], int]


def rows(pattern: str, question: str) -> Callable[[Path], int]:
    """Returns a function that asks an SQLite file for a number."""

    def count(folder: Path) -> int:
        for path in folder.glob(pattern):
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as base:
                return int(base.execute(question).fetchone()[0] or 0)
        return 0

    return count


def last_run_number(name: str) -> Callable[[Path], int]:
    """Returns a function that returns the number of the last run, which the use counts itself."""

    def number(folder: Path) -> int:
        found = [
            line for log in logs(folder, name) for line in log.read_text().splitlines() if line[:1] == "{"
        ]
        return max((json.loads(line).get("run", 0) for line in found), default=0)

    return number


def logs(folder: Path, name: str) -> list[Path]:
    """Returns the logs of a schedule, oldest first."""
    return sorted((folder / "data" / "schedules" / name).glob("*.log"))


def commands_of(site: str, provider: str, crons: Sequence[str]) -> list[Clocked]:
    """Returns the schedules of prices, ranks, keywords, audit, find and clean, with their cron lines."""
    local = ("-s", "allow_private=127.0.0.0/8")
    port = site.rpartition(":")[2].strip("/")
    ranks = ("ranks", "run", "k.csv", "--provider", provider, "-s", "unlocker_key=${env:SEARCH_KEY}", *local)
    words = {
        "prices": ("prices", "run", "t.csv", "--delay", "0.1", "--json", *local),
        "ranks": (*ranks, "--first", "10", "--json"),
        "keywords": (
            "keywords",
            f"{site}p1",
            "--list",
            "words.txt",
            "--limit",
            "1",
            "--delay",
            "0.1",
            *local,
        ),
        "audit": (
            "audit",
            site,
            "--delay",
            "0.1",
            "-o",
            "audit-{date}.html",
            *local,
            "-s",
            f"allow_port={port}",
        ),
        "find": ("find", "kettle", "--archive", "pages.warc.gz", "--index", "search.db", "--count"),
        "clean": ("clean", "--json"),
    }
    starts: dict[str, Callable[[Path], int]] = {
        "prices": last_run_number("prices"),
        "ranks": last_run_number("ranks"),
        "keywords": lambda folder: len(list(folder.glob("keywords/runs/*/run.json"))),
        "audit": rows(".gossamer/audits/*.db", "SELECT count(*) FROM audits WHERE ended IS NOT NULL"),
        "find": lambda folder: sum(
            log.read_text().splitlines()[-1:] == ["4"] for log in logs(folder, "find")
        ),
        "clean": lambda folder: len(logs(folder, "clean")),
    }
    return [Clocked(name, cron, words[name], starts[name]) for name, cron in zip(words, crons, strict=True)]


class Simulation:
    """Schedules, scheduler processes, and the clock of all of them."""

    def __init__(self, folder: Path, moved: Moved, schedules: Sequence[Clocked]) -> None:
        self.folder, self.moved, self.schedules = folder, moved, schedules
        self.processes: list[subprocess.Popen[bytes]] = []
        self.where = ("--store", moved.url, "--data", str(folder / "data"))

    def gossamer(self, *words: str) -> str:
        """Runs a command. Returns its standard output."""
        command = [sys.executable, "-m", "gossamer", *words]
        done = fork_server.run(
            command, env=self._env(), cwd=self.folder, capture_output=True, text=True, timeout=WAIT_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    def add_all(self) -> None:
        """Adds all schedules."""
        for one in self.schedules:
            self.gossamer("schedule", "add", one.name, one.cron, *self.where, *one.words)

    def _env(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        path = os.pathsep.join(filter(None, [str(SRC), env.get("PYTHONPATH", "")]))
        return {**env, "PYTHONPATH": path, "SEARCH_KEY": KEY}

    def start(self) -> subprocess.Popen[bytes]:
        """Starts a scheduler."""
        with (self.folder / f"scheduler{len(self.processes)}.log").open("wb") as log:
            words = [sys.executable, "-m", "gossamer", "scheduler", "--json", "--at-once", "2", *self.where]
            process = subprocess.Popen(words, cwd=self.folder, stdout=log, stderr=log, env=self._env())
        self.processes.append(process)
        return process

    def leader(self) -> subprocess.Popen[bytes]:
        """Waits for a leading scheduler and returns its process."""
        pids = {process.pid: process for process in self.processes if process.poll() is None}

        def leading() -> subprocess.Popen[bytes] | None:
            found = self.asked(lambda schedules: schedules.leader())
            return pids.get(int(found.split(":")[1])) if found else None

        found: subprocess.Popen[bytes] = wait("a scheduler leads", leading)
        return found

    def events(self, event: str) -> list[dict[str, Any]]:
        """Returns the events of one kind that all schedulers have logged."""
        lines = [line for log in self.folder.glob("scheduler*.log") for line in log.read_text().splitlines()]
        found = [json.loads(line) for line in lines if line.startswith("{")]
        return [one for one in found if one["event"] == event]

    def asked(self, question: Callable[[Schedules], Any]) -> Any:
        """Asks the store about its schedules."""

        async def inside() -> Any:
            store = await open_url(self.moved.url, embedded=False)
            try:
                return await question(Schedules(store))
            finally:
                await store.close()

        return asyncio.run(inside())

    def runs(self, name: str) -> list[ScheduledRun]:
        """Returns the ended runs of a schedule, oldest first."""
        found: list[ScheduledRun] = self.asked(lambda schedules: schedules.ended(name))
        return sorted(found, key=lambda run: run.due)

    def is_idle(self, name: str) -> bool:
        """Returns whether a schedule has no open run."""
        return not self.asked(lambda schedules: schedules.open(name))

    def counts(self, name: str) -> dict[str, int]:
        """Returns the counts of a schedule."""
        entry: StoredSchedule = self.asked(lambda schedules: schedules.need(name))
        return entry.counts

    def due_times(self, first: str, last: str) -> list[tuple[float, str]]:
        """Returns all due times of all schedules between two moments, in order."""
        begin, end = (datetime.fromisoformat(moment).timestamp() for moment in (first, last))
        found = []
        for one in self.schedules:
            for at in Cron(one.cron, "UTC").all_after(begin):
                if at > end:
                    break
                found.append((at, one.name))
        return sorted(found)

    def go_to(self, at: float) -> None:
        """Sets the clock to a second after a time."""
        self.moved.move(at + 1 - self.moved.now())

    def wait_for(self, name: str, due: float) -> ScheduledRun:
        """Waits until the run of a due time, or a run that makes up for the due time, has ended."""

        def over() -> ScheduledRun | None:
            found = [run for run in self.runs(name) if run.due >= due - 1 and run.state != "missed"]
            return found[0] if found else None

        run: ScheduledRun = wait(f"{name} of {datetime.fromtimestamp(due, UTC)}", over)
        return run

    def commands(self) -> list[int]:
        """Returns the pids of the scheduled commands that run now."""
        found = []
        for proc in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (proc / "cmdline").read_bytes()
                if b"gossamer.cli.command_process" in words and (proc / "cwd").samefile(self.folder):
                    found.append(int(proc.name))
        return found

    def stop_all(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends all schedulers."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(how)
        for process in self.processes:
            process.wait(30)


def wait(what: str, call: Callable[[], Any]) -> Any:
    """Waits until `call()` returns something true, and returns it."""
    deadline = time.monotonic() + WAIT_S
    while not (found := call()):
        assert time.monotonic() < deadline, f"{what}: it does not happen"
        time.sleep(0.1)
    return found


@contextmanager
def simulation(folder: Path, moved: Moved, crons: Sequence[str], begin: str) -> Iterator[Simulation]:
    """Prepares the lists, the site and the provider, and adds the schedules at the moment `begin`."""
    Site.delay = 0.0
    Site.asked = []
    provider = SearchProvider("serpapi")
    with answering(Site) as port, serving_provider(provider):
        site = f"http://127.0.0.1:{port}/"
        place = f"serpapi?endpoint={provider.url}"
        one = Simulation(folder, moved, commands_of(site, place, crons))
        (folder / "t.csv").write_text(
            "url\n" + "\n".join(f"{site}p{n}" for n in range(1, PRODUCTS + 1)) + "\n"
        )
        (folder / "k.csv").write_text("keyword,domain\nkettle,site-3.example\n")
        (folder / "words.txt").write_text("green tea\nkettle\n")
        moved.set(begin)
        kept = ("--delay", "0.05", "-s", "allow_private=127.0.0.0/8", "-q")
        one.gossamer("crawl", site, "-o", "pages.warc.gz", "--data", str(folder / "first"), *kept)
        one.add_all()
        try:
            yield one
        finally:
            one.stop_all(signal.SIGKILL)
