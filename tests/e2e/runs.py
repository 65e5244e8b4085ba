"""Running whole crawls against the test web, in this process or as a process that can be killed; reading what
they wrote."""

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
from gossamer.app.runner import crawl
from gossamer.app.wiring import open_url
from gossamer.config.settings import Settings
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.summary import Summary
from web import Plan
from web.judge import Stall
from web.truth import home

SRC = Path(__file__).parents[2] / "src"
QUICK: dict[str, Any] = {"delay": (0.0, 0.0), "retries": (0.1, 0.2, 0.3), "allow_private": ("127.0.0.0/8",)}
"""No politeness, and retries that a test can wait for."""
STARTED: list[subprocess.Popen[str]] = []
"""Processes begun and not known to have ended: `end_all` is called after each test."""


def job(
    targets: Sequence[str], folder: Path, *, output: str = "out.jsonl", name: str = "c", **given: Any
) -> Job:
    """A job whose data and output lie in a test's folder; what is no part of a job is a setting."""
    own = {key: given.pop(key) for key in list(given) if key in Job.__struct_fields__}
    settings = Settings(**({"data": str(folder / "data")} | QUICK | given))
    return Job(
        targets=list(targets), settings=settings, outputs=[JobOutput(str(folder / output))], name=name, **own
    )


async def watched(one: Job, store: str | None = None) -> tuple[Summary, list[Summary]]:
    """Run a crawl to its end while its summary is read as fast as it goes, from a second connection."""
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
    with contextlib.suppress(Exception):  # the store ends with the crawl; what was seen counts
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
    """While it is open, the times in which this process's event loop stood still for more than 10 ms: a crawl
    that runs in it sends nothing then, whatever it has begun."""
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
    """URL of the embedded store that runs for a data folder, None when none does."""
    try:
        return f"unix://{json.loads((data / 'store' / 'run.json').read_text())['socket']}"
    except (OSError, ValueError):
        return None


def store_pid(data: Path) -> int | None:
    """Process of the embedded store of a data folder."""
    try:
        return int(json.loads((data / "store" / "run.json").read_text())["pid"])
    except (OSError, ValueError):
        return None


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON lines output; a broken one is an error."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n") or not text, "the last row is broken"
    return [json.loads(line) for line in text.splitlines()]


def wrong_rows(found: list[dict[str, Any]], plan: Plan) -> list[str]:
    """What the rows say otherwise than the plan: each page once, with its status, title, depth and number of
    links."""
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
                # session ids make no link of their own
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
    # visits overlap: the way found first may be a longer one
    if not truth.depth <= row["depth"] <= truth.depth + 2:
        facts.append(("depth", row["depth"], truth.depth))
    if truth.title:
        facts.append(("title", row["title"], " ".join(truth.title.split())))  # blanks are folded
    if truth.status == 200 and truth.links:
        facts.append(
            ("links", row["links"], len({home(link) for link in truth.links} - {truth.url}))
        )  # writings of one
    return facts


def command(one: Job, *words: str) -> list[str]:
    """The words of `gossamer crawl` that do what the job says (those that tests use)."""
    s = one.settings
    out = [*one.targets, "--name", str(one.name), "--data", s.data, "--json", "--quiet"]
    out += [word for output in one.outputs for word in ("-o", output.spec)]
    out += ["--delay", str(s.delay[0])] if s.delay else []
    out += [
        "--retries",
        ",".join(f"{wait}s" for wait in s.retries),
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
    """Start the command line as a process of its own group; `code` stands for the launcher."""
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
    process = subprocess.Popen([sys.executable, "-c", code, *words], env=env, **(pipes | more))
    STARTED.append(process)
    return process


def end_all(data: Path) -> None:
    """Leave nobody behind, whatever became of the test."""
    while STARTED:
        process = STARTED.pop()
        for pid in (*children_of(process.pid), process.pid):
            if process.poll() is None:
                kill(pid)
        process.communicate()
    kill(store_pid(data))


def kill(pid: int | None) -> bool:
    """`kill -9`; whether there was such a process."""
    try:
        os.kill(pid or 0, signal.SIGKILL) if pid else None
    except ProcessLookupError:
        return False
    return pid is not None


def children_of(pid: int) -> list[int]:
    """Worker processes of a door."""
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
