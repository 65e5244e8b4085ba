"""Tests of problems of the machine: the crawl ends with one clear line and the right exit code, nothing is
lost, and the same command continues afterwards."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import redis

from e2e.runs import begin, command, job, kill, rows, store_pid
from gossamer.store.embedded import Embedded
from gossamer.store.keys import VERSION
from web import Web, preset, serve

PAGES = 150


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=1, pages=PAGES, latency=0.01)) as web:
        yield web


def ended(door: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code of a command, and the one line on its stderr."""
    _, err = door.communicate(timeout=60)
    assert err.count("\n") == (1 if door.returncode else 0), err
    return door.returncode, err


def no_larger(size: int) -> str:
    """Return the code of a driver whose files may not exceed `size` bytes. The driver starts the store
    first, because the store would not survive this limit."""
    return (
        f"import resource; from gossamer.store.embedded import Embedded; from pathlib import Path; import sys; "
        f"one = Embedded(Path(sys.argv[sys.argv.index('--data') + 1])); one.start(); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {resource.RLIM_INFINITY})); "
        "from gossamer.cli import main; main()"
    )


@pytest.mark.parametrize("output", ["out.jsonl", "out.csv", "no.jsonl"])
def test_a_file_that_may_not_grow(tmp_path: Path, web: Web, output: str) -> None:
    one = job(web.plan.seeds(), tmp_path, output=output, per_host=8)
    words = command(one)
    if output == "no.jsonl":  # in this case, the growing file is the attempts log
        words = [*words[: words.index("-o")], *words[words.index("-o") + 2 :]]
    code, err = ended(begin(words, no_larger(20_000)))
    assert (code, "then run the same command again" in err) == (16, True), err
    assert ended(begin(command(one))) == (0, "")
    if output == "out.jsonl":
        urls = [row["url"] for row in rows(tmp_path / output)]
        assert len(urls) == len(set(urls)) == PAGES


def test_a_store_that_is_killed_for_good(tmp_path: Path, web: Web) -> None:
    one, data = job(web.plan.seeds(), tmp_path, delay=(0.2, 0.2)), tmp_path / "data"
    door = begin(command(one))
    deadline = time.monotonic() + 60
    while door.poll() is None:
        kill(store_pid(data))
        time.sleep(0.1)
        assert time.monotonic() < deadline
    code, err = ended(door)
    assert (code, "run the same command again" in err) == (8, True), err
    one.settings = msgspec.structs.replace(one.settings, delay=(0.0, 0.0), per_host=8)
    assert ended(begin(command(one))) == (0, "")
    urls = [row["url"] for row in rows(tmp_path / "out.jsonl")]
    assert len(urls) == len(set(urls)) == PAGES


def test_a_data_folder_of_a_newer_version(tmp_path: Path, web: Web) -> None:
    one, data = job(web.plan.seeds(), tmp_path, per_host=8), tmp_path / "data"
    store = Embedded(data)
    try:
        with redis.Redis.from_url(store.start()) as client:
            client.hset("gossamer", "version", 99)
            code, err = ended(begin(command(one)))
            assert (code, "use a newer gossamer, or another --data" in err) == (4, True), err
            client.hset("gossamer", "version", VERSION)
        assert ended(begin(command(one))) == (0, "")
    finally:
        store.leave()


@pytest.mark.parametrize("verb", ["status", "crawl"])
def test_a_standard_output_that_is_full(tmp_path: Path, web: Web, verb: str) -> None:
    one = job(web.plan.seeds(), tmp_path)
    assert ended(begin(command(one, "--limit", "2")))[0] == 0
    words = command(one, "--limit", "2") if verb == "crawl" else ["status", "--data", one.settings.data]
    with open("/dev/full", "w") as full:
        code, err = ended(begin(words, stdout=full))
    assert (code, "no space left for the standard output" in err) == (16, True), err
