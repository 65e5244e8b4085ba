"""Crawls a web of walls through the full command line, and returns the judge's figures."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from walls.judge import Judged, judge, lines
from walls.plan import web

TESTS = Path(__file__).resolve().parents[1]
SITE = """from gossamer import Site

default = Site("walls", follow=True, must_have=["main.goods"])


@default.page()
def goods(page):
    yield {"url": page.url, "token": page.css("main.goods::attr(data-token)").get()}
"""
SHAPE = '["status=header x-target", "credits=header x-credits", "cost=1", "at_once=8"]'


class Ran(NamedTuple):
    """A finished crawl: its exit code, duration in seconds, output on stderr, and figures."""

    code: int
    seconds: float
    said: str
    judged: Judged


class Size(NamedTuple):
    """The size of a web: hosts, pages per host (from, to), and the seconds for which an intermittent wall
    stands."""

    hosts: int = 60
    pages: tuple[int, int] = (28, 40)
    phase: float = 10.0


@contextlib.asynccontextmanager
async def walls(folder: Path, seed: int, size: Size) -> AsyncIterator[dict[str, Any]]:
    """Serves a web for the duration of the block. Yields the content of its `web.json`."""
    hosts, pages, phase = size
    words = ["--seed", f"{seed}", "--hosts", f"{hosts}", "--pages", *map(str, pages), "--phase", f"{phase:g}"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PYTHONPATH": str(TESTS)
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "walls", str(folder), *words, stdin=-1, stdout=-1, env=env
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield json.loads((folder / "web.json").read_text())
    finally:
        process.stdin.close()
        await process.wait()


async def crawl(
    folder: Path,
    seed: int,
    size: Size,
    *,
    costs: Mapping[str, float],
    delay: float = 1.0,
    retries: str = "3s,6s,12s,24s",
    ladder: str = "plain,impersonated,browser,unlocker",
    stand_in: bool = False,
    more: tuple[str, ...] = (),
) -> Ran:
    """Crawl the web of a seed into a folder. With `stand_in`, a substitute replaces the real browser."""
    (folder / "site.py").write_text(SITE)
    (folder / "gossamer.toml").write_text(f"unlocker_shape = {SHAPE}\n")
    made = web(seed, *size)
    async with walls(folder, seed, size) as said:
        chromium = f'exec chromium --ignore-certificate-errors-spki-list={said["spki"]} "$@"'
        (folder / "chromium").write_text(f"#!/bin/sh\n{chromium}\n")
        (folder / "chromium").chmod(0o755)
        words = [
            sys.executable,
            str(TESTS / "support" / "named_hosts.py"),
            "web.json",
            "crawl",
            "site.py",
            *(f"https://{one.name}:{said['port']}/" for one in made),
            "--ladder",
            ladder,
            "--name",
            "c",
            "--json",
            "--quiet",
            "--delay",
            f"{delay:g}",
            "--retries",
            retries,
            "--allow-private",
            "127.0.0.0/8",
            "-o",
            "out.jsonl",
            "-s",
            "ca_file=ca.pem",
            "-s",
            f"unlocker={said['unlocker']}",
            "-s",
            f"chromium={folder / 'chromium'}",
            *more,
        ]
        env = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        env |= {"STAND_IN": "1"} if stand_in else {}
        env["PYTHONPATH"] = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(*words, cwd=folder, stdout=-1, stderr=-1, env=env)
        _, err = await process.communicate()
        took = time.monotonic() - began
    (folder / "ran.json").write_text(
        json.dumps(
            {"code": process.returncode, "seconds": took, "size": size, "delay": delay, "said": err.decode()}
        )
    )
    return ran(folder, seed, costs)


def ran(folder: Path, seed: int, costs: Mapping[str, float]) -> Ran:
    """Judges the files that a crawl left in its folder."""
    said = json.loads((folder / "ran.json").read_text())
    log, attempts, items = (
        lines(path) if path.exists() else []
        for path in (
            folder / "log.jsonl",
            folder / ".gossamer" / "c" / "attempts.jsonl",
            folder / "out.jsonl",
        )
    )
    hosts, pages, phase = said["size"]
    found = judge(seed, web(seed, hosts, tuple(pages), phase), log, attempts, items, costs, said["delay"])
    return Ran(said["code"], said["seconds"], said["said"], found)
