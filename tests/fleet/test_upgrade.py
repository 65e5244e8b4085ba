"""An upgrade during crawls: workers of an older commit and workers of this tree share one frontier."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fleet_workers import SRC, Fleet, Server, until
from web import Web, preset, serve


def git(*words: str) -> bytes:
    """Returns the output of a git command. The output is empty if git fails, for example outside of a
    clone."""
    return subprocess.run(["git", *words], cwd=SRC.parent, capture_output=True).stdout


def older() -> str:
    """Returns the newest commit whose `src` differs from this tree's `src`. Returns an empty string if there
    is no such commit, for example in a shallow clone or outside of a clone."""
    for commit in git("rev-list", "-n", "100", "HEAD").decode().split():
        if subprocess.run(["git", "diff", "--quiet", commit, "--", "src"], cwd=SRC.parent).returncode == 1:
            return commit[:12]
    return ""


def unpack(commit: str, folder: Path) -> None:
    """Extracts the `src` of a commit into a folder."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "src"))) as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # noqa: S202 - ours


def runs(fleet: Fleet) -> str:
    """Returns the path of the gossamer package that a fleet runs."""
    words = [sys.executable, "-c", "import gossamer; print(gossamer.__file__)"]
    return subprocess.run(
        words, env=fleet.env(), cwd=fleet.folder, capture_output=True, text=True, check=True
    ).stdout


@contextlib.contextmanager
def paused(fleet: Fleet, crawls: list[str]) -> Iterator[None]:
    """Pauses the crawls for the duration of the block."""
    for crawl in crawls:
        fleet.run("pause", crawl)
    yield
    for crawl in crawls:
        fleet.run("resume", crawl)


@pytest.fixture
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=8, pages=40, latency=0.01)) as web:
        yield web


@pytest.mark.parametrize(
    "commit", [pytest.param(older(), id=older() or "this tree beside itself: the clone has no older commit")]
)
def test_workers_of_two_versions_on_one_frontier(
    commit: str, server: Server, tmp_path: Path, web: Web
) -> None:
    """The older workers start, the newer workers join, and the older workers leave. Each version submits one
    crawl."""
    before = SRC
    if commit:
        before = tmp_path / "before" / "src"
        unpack(commit, before.parent)
    fleets = {
        name: Fleet(tmp_path, server.url(0), [server.url(1)], "3s", src)
        for name, src in (("old", before), ("new", SRC))
    }
    old, new = fleets.values()
    assert all(runs(fleet).startswith(str(fleet.src)) for fleet in fleets.values())

    def visits(name: str, crawl: str) -> int:
        log = tmp_path / f"d-{name}" / crawl / "attempts.jsonl"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        assert {line["worker"].partition("@")[0] for line in lines} <= {name}
        return len(lines)

    with old, new:
        leaves = old.worker("old", "--data", "d-old")
        old.ready(1)
        seeds = web.plan.seeds()
        crawls = [
            fleet.submit(*seeds, name=f"by-{name}", output=f"by-{name}/", delay="0.3")
            for name, fleet in fleets.items()
        ]
        until("the old one crawls both", lambda: all(visits("old", crawl) > 10 for crawl in crawls))
        with paused(new, crawls):  # the workers may start slowly on a busy machine
            new.worker("new", "--data", "d-new")
            new.ready(2)
        until("the new one joins both", lambda: all(visits("new", crawl) > 5 for crawl in crawls))
        seen = [visits("old", crawl) for crawl in crawls]
        until(
            "the old one goes on",
            lambda: all(visits("old", c) > n for c, n in zip(crawls, seen, strict=True)),
        )
        assert leaves.stop() == 0
        for crawl in crawls:
            summary = new.ended(crawl, 120)
            assert (summary["state"], summary["pending"], summary["dead"]) == ("finished", 0, 0)
            rows = [row["url"] for row in new.rows(crawl)]
            assert len(rows) == summary["pages"] == len(set(rows)) > 250
