"""What can be told before a crawl forgets or overwrites anything: whether its parts can be made and its files written."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator

from gossamer.assemble import Bench
from gossamer.errors import SinkError, UsageError
from gossamer.frontier.store import Store
from gossamer.job import Job, Setup
from gossamer.sinks.formats import parse

FILES = ("jsonl", "csv", "sqlite", "parquet")


async def rehearse(setup: Setup, store: Store) -> None:
    """Leaves all as it is; raises what would else end the crawl when its past is gone (UsageError, ConfigError, SinkError)."""
    for path, parts in places(setup.job):
        look(path, parts)
    if setup.job.fresh:
        await Bench(setup, store, "door", asyncio.Event()).close()


def places(job: Job) -> Iterator[tuple[str, bool]]:
    """The paths of the job's own outputs, and whether each is a folder of parts."""
    for spec in [*(output.spec for output in job.outputs), *filter(None, [job.pages, job.attempts, job.graph])]:
        path, form = parse(spec)
        if form in FILES:
            yield os.path.abspath(path), form == "parquet"


def look(path: str, parts: bool) -> None:
    """Raises when nothing can be written there, for all that can be seen."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: there is no folder {folder}; make it first")
    there = path
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        there, mode = folder, 0
    except OSError as error:
        raise SinkError(f"cannot write {path}: {error.strerror}") from error
    if mode and not parts and not stat.S_ISREG(mode):
        raise UsageError(f"{path} is no plain file: name a file, or use - for the standard output")
    if not os.access(there, os.W_OK):
        raise SinkError(f"cannot write {path}: Permission denied")
