"""A long `submit`: it prints the crawl's name first, leaves a defined state after a signal or a kill, and can
be continued."""

from __future__ import annotations

import contextlib
import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import fork_server
from support.fleet_workers import Fleet, until

URLS = 200_000


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A list of URLs that takes seconds to add."""
    path = tmp_path / "long.txt.gz"
    path.write_bytes(
        gzip.compress("".join(f"https://h{n % 400}.invalid/{n}\n" for n in range(URLS)).encode(), 1)
    )
    return path


@contextlib.contextmanager
def submitting(fleet: Fleet, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a `submit` whose standard input stays open."""
    process = fork_server.Popen(
        [sys.executable, "-m", "gossamer", "submit", *words],
        env=fleet.env() | {"PYTHONUNBUFFERED": ""},
        cwd=fleet.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stopped_with_urls(fleet: Fleet, process: subprocess.Popen[str]) -> None:
    """Stop a `submit` that has added some of its URLs, so that the number of URLs stays constant during the
    check."""

    def added() -> bool:
        process.send_signal(signal.SIGSTOP)
        if enough := found(fleet) > 10_000:
            return enough
        process.send_signal(signal.SIGCONT)
        return False

    until("URLs", added)


def found(fleet: Fleet) -> int:
    """Returns the number of URLs that the crawl has so far."""
    crawls = fleet.json("status")
    return int(crawls[0]["found"]) if crawls else 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_one_line_and_the_same_command_goes_on(
    fleet: Fleet, long: Path, number: signal.Signals
) -> None:
    words = [str(long), "--name", "c"]
    with submitting(fleet, *words) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "c\n"
        stopped_with_urls(fleet, process)
        fleet.run("pause", "c")
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (11, "")
    (line,) = err.splitlines()
    assert f"list {long}: " in line
    assert " URLs added" in line
    assert f"Continue with: gossamer submit {long} --name c" in line
    status = fleet.json("status", "c")
    assert 0 < status["found"] < URLS
    assert status["broken_off"] == [f"list {long}"]
    assert fleet.run("submit", *words) == "c\n"
    status = fleet.json("status", "c")
    assert (status["found"], status["pending"], status["broken_off"], status["go_on"]) == (
        URLS,
        URLS,
        [],
        None,
    )


def test_what_a_killed_one_left_is_told(fleet: Fleet, long: Path) -> None:
    with submitting(fleet, str(long), "--name", "c") as process:
        until("URLs", lambda: found(fleet))
        assert fleet.json("status", "c")["broken_off"] == []  # the `submit` is still running
        process.kill()
        process.wait()
    until("its lease ran out", lambda: fleet.json("status", "c")["broken_off"] == [f"list {long}"])
    on = f"gossamer submit {long} --name c"
    assert fleet.json("status")[0]["go_on"] == fleet.json("status", "c")["go_on"] == on
    assert f"not read to the end: list {long}; go on, with the same options: {on}" in fleet.run("status", "c")


def test_the_summary_alone_goes_to_stdout(fleet: Fleet) -> None:
    with submitting(fleet, "-", "--name", "c", "--json") as process:
        assert process.stderr is not None
        assert "c is on the fleet" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 11
    assert json.loads(out)["crawl"] == "c"
    assert "nothing of its lists was added yet" in err or "stdin: 0 URLs added" in err
    assert json.loads(fleet.run("submit", "https://a.invalid/", "--name", "d", "--json"))["found"] == 1


def test_waiting_is_ended_by_a_signal_and_the_crawl_is_not(fleet: Fleet) -> None:
    with submitting(fleet, "https://a.invalid/", "--name", "c", "--wait") as process:
        assert process.stderr is not None
        assert "c is on the fleet" in process.stderr.readline()
        until("it waits", lambda: found(fleet))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 11
    assert (
        "c continues on the fleet. Wait again with: gossamer submit https://a.invalid/ --name c --wait" in err
    )
    assert fleet.json("status", "c")["state"] == "running"


def test_lines_that_are_no_requests_are_told(fleet: Fleet) -> None:
    (fleet.folder / "odd.txt").write_text("https://a.invalid/\nfoo bar\nftp://x/\n")
    with submitting(fleet, "odd.txt", "--name", "c") as process:
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "c\n")
    assert "odd.txt line 2: " in err
    assert "2 bad lines are rejected: they are in .gossamer/c/rejected.jsonl; the rest was taken" in err
    assert "--name ''" in fleet.run("submit", "https://a.invalid/", "--name", "", code=2)
