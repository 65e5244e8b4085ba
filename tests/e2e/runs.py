"""Runs whole crawls against the test web, in this process or as a process that can be killed, and reads
their outputs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from gossamer import url as urls
from gossamer.app.job import Job, JobOutput
from gossamer.app.open_store import open_url
from gossamer.app.runner import crawl
from gossamer.config.settings import Settings
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.summary import Summary
from support import fork_server
from web import Plan
from web.judge import Stall
from web.truth import home

SRC = Path(__file__).parents[2] / "src"
QUICK: dict[str, Any] = {"delay": (0.0, 0.0), "retries": (0.1, 0.2, 0.3), "allow_private": ("127.0.0.0/8",)}
"""Settings without delays and with short retry intervals."""
STARTED: list[subprocess.Popen[str]] = []
"""Started processes that may still be running. `end_all` ends them after each test."""


def job(
    targets: Sequence[str], folder: Path, *, output: str = "out.jsonl", name: str = "c", **given: Any
) -> Job:
    """Create a job whose data and output are in the test's folder. Keywords that are not fields of a job
    are settings."""
    own = {key: given.pop(key) for key in list(given) if key in Job.__struct_fields__}
    settings = Settings(**({"data": str(folder / "data")} | QUICK | given))
    return Job(
        targets=list(targets), settings=settings, outputs=[JobOutput(str(folder / output))], name=name, **own
    )


async def watched(one: Job, store: str | None = None) -> tuple[Summary, list[Summary]]:
    """Run a crawl to its end, and read its summary repeatedly over a second connection meanwhile."""
    work = asyncio.create_task(crawl(one))
    looked: list[Summary] = []
    while not work.done():
        await asyncio.sleep(0.02)
        url = store or socket_of(Path(one.settings.data))
        if url is not None:
            looked += await _look(url, one.name or "", work, embedded=store is None)
    return await work, looked


async def _look(url: str, name: str, work: asyncio.Task[Any], *, embedded: bool) -> list[Summary]:
    looked: list[Summary] = []
    with contextlib.suppress(Exception):  # the store ends with the crawl, and the summaries read so far count
        store = await open_url(url, embedded=embedded)
        try:
            while not work.done():
                if name in await CrawlStatistics(store).crawls.names():
                    looked.append(await CrawlStatistics(store).summary(name))
                await asyncio.sleep(0.02)
        finally:
            await store.close()
    return looked


@contextlib.asynccontextmanager
async def stalls() -> AsyncIterator[list[Stall]]:
    """Until the `with` block ends, collect the periods in which this process's event loop was blocked for
    more than 10 ms. A crawl in this process sends no request in these periods."""
    found: list[Stall] = []

    async def watch() -> None:
        while True:
            before = time.monotonic_ns()
            await asyncio.sleep(0.002)
            if (now := time.monotonic_ns()) - before > 12_000_000:
                found.append(Stall(before, now))

    watching = asyncio.create_task(watch())
    try:
        yield found
    finally:
        watching.cancel()


def socket_of(data: Path) -> str | None:
    """Return the URL of the embedded store that runs for a data folder, or None if none is running."""
    try:
        return f"unix://{json.loads((data / 'store' / 'run.json').read_text())['socket']}"
    except (OSError, ValueError):
        return None


def store_pid(data: Path) -> int | None:
    """Return the process ID of the embedded store of a data folder."""
    try:
        return int(json.loads((data / "store" / "run.json").read_text())["pid"])
    except (OSError, ValueError):
        return None


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON lines output. A truncated row is an error."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n") or not text, "the last row is broken"
    return [json.loads(line) for line in text.splitlines()]


def wrong_rows(found: list[dict[str, Any]], plan: Plan) -> list[str]:
    """Return the differences between the rows and the plan: each page must occur once, with its status,
    title, depth and number of links."""
    wrong, seen = [], set()
    for row in found:
        key = urls.canonical(row["requested_url"])
        if key in seen:
            wrong.append(f"twice: {key}")
        seen.add(key)
        truth = plan.expected(row["url"])
        if truth is None:
            wrong.append(f"unknown: {row['url']}")
        elif truth.fate in ("once", "again"):
            wrong += [
                f"{what} {got!r}, not {right!r}: {row['url']}"
                for what, got, right in _facts(row, truth)
                # links that differ only in a session id count as one, unlike in the plan
                if got != right and not (what == "links" and plan.has("traps"))
            ]
    want = {page for page in plan.must_fetch(sitemaps=False) if _is_page(plan, page)}
    have = {urls.canonical(row["url"]) for row in found}
    return wrong + [f"no row: {page}" for page in sorted(want) if urls.canonical(page) not in have]


def _is_page(plan: Plan, url: str) -> bool:
    truth = plan.expected(url)
    return truth is not None and truth.status is not None and not 300 <= truth.status < 400


def _facts(row: dict[str, Any], truth: Any) -> list[tuple[str, Any, Any]]:
    if row["status"] is None:
        return [("error", row["error"] in truth.errors, True)]
    facts = [("status", row["status"], truth.status)]
    # visits overlap, so the first link found may be deeper than the shortest path
    if not truth.depth <= row["depth"] <= truth.depth + 2:
        facts.append(("depth", row["depth"], truth.depth))
    if truth.title:
        # the crawler collapses white space
        facts.append(("title", row["title"], " ".join(truth.title.split())))
    if truth.status == 200 and truth.links:
        facts.append(
            ("links", row["links"], len({home(link) for link in truth.links} - {truth.url}))
        )  # different spellings of one URL count once
    return facts


def command(one: Job, *words: str) -> list[str]:
    """Return the arguments of `gossamer crawl` that are equivalent to the job, for the settings that tests
    use."""
    s = one.settings
    out = [*one.targets, "--name", str(one.name), "--data", s.data, "--json", "--quiet"]
    out += [word for output in one.outputs for word in ("-o", output.spec)]
    out += ["--delay", str(s.delay[0])] if s.delay else []
    out += [
        "--retries",
        ",".join(f"{wait}s" for wait in s.waits),
        "--concurrency",
        str(s.concurrency),
        "--per-host",
        str(s.per_host),
    ]
    out += ["-s", f"cold={s.cold}"] if s.cold else []
    out += ["--processes", str(s.processes), "--allow-private", ",".join(s.allow_private), *words]
    return ["crawl", *out]


def begin(
    words: Sequence[str], code: str = "from gossamer.cli import main; main()", **more: Any
) -> subprocess.Popen[str]:
    """Start the command line as a process. `code` replaces the launcher."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")}
    env["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(SRC), str(SRC.parent / "tests"), env.get("PYTHONPATH")))
    )
    pipes: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    process = fork_server.Popen([sys.executable, "-c", code, *words], env=env, **(pipes | more))
    STARTED.append(process)
    return process


def end_all(data: Path) -> None:
    """End all processes of a test, even if the test failed."""
    while STARTED:
        process = STARTED.pop()
        for pid in (*children_of(process.pid), process.pid):
            if process.poll() is None:
                kill(pid)
        process.communicate()
    kill(store_pid(data))


def kill(pid: int | None) -> bool:
    """Kill a process (SIGKILL), and return whether it existed."""
    try:
        os.kill(pid or 0, signal.SIGKILL) if pid else None
    except ProcessLookupError:
        return False
    return pid is not None


def children_of(pid: int) -> list[int]:
    """Return the worker processes of a command."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat, words = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(stat.rsplit(")", 1)[1].split()[1]) == pid and b"gossamer.app.worker_processes" in words:
                found.append(int(entry.name))
    return found
