"""Tests of two crawls with the same output file: while one crawl writes the file, another crawl is
refused. A crawl that has stopped or died does not block the file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import PAGES, begin, gossamer, wait_for


@contextlib.contextmanager
def stopped(process: subprocess.Popen[str]) -> Iterator[None]:
    """Stops a crawl while the block runs, so that it does not end before the block, however slow the machine
    is."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize(
    "words", [["-o", "link/out.jsonl"], ["-O", "out.jsonl"], ["-o", "out.sqlite"], ["-O", "out.sqlite"]]
)
def test_a_file_that_a_crawl_is_writing(room: Path, web: str, words: list[str]) -> None:
    (room / "link").symlink_to(room)
    mine = os.path.basename(words[1])
    process = begin(
        room, "crawl", f"{web}/", "-o", mine, "-o", "first.jsonl", "--name", "c", "--delay", "0.1"
    )
    wait_for(process, room / "first.jsonl", 1)
    refused = words != ["-o", "out.sqlite"]
    with stopped(process) if refused else contextlib.nullcontext():
        code, _, err = gossamer(room, "crawl", f"{web}/", *words, "--name", "d", "--limit", "1")
    if not refused:
        assert code == 0, err
    else:
        assert code == 2
        assert f"{mine} is being written by the crawl c, process {process.pid}" in err
        assert err.count("\n") == 1
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert (room / "first.jsonl").read_text().count("\n") == PAGES + 1


SITE = """
from gossamer import Site
site = Site("s", seeds=["http://127.0.0.1/"])
@site.page("/*")
def page(page):
    yield {"url": page.url}
"""


def test_no_other_command_writes_what_a_crawl_is_writing(room: Path, web: str) -> None:
    (room / "s.py").write_text(SITE)
    (room / "link.jsonl").symlink_to(room / "out.jsonl")
    written = ("-o", "out.jsonl", "-o", "o.sqlite", "-o", "p.warc.gz", "--attempts", "a.csv")
    process = begin(room, "crawl", f"{web}/", *written, "--name", "c", "--delay", "0.3")
    wait_for(process, room / "out.jsonl", 2)
    again = ("reparse", "--archive", "p.warc.gz", "--site", "s.py")
    for path in ("out.jsonl", "link.jsonl", "a.csv", "o.sqlite"):
        for words in ((*again, "-O", path), ("export", "c", path, "--what", "pages")):
            with stopped(process):
                code, _, err = gossamer(room, *words)
            assert (code, err.count("\n")) == (2, 1), (words, err)
            assert f"{path} is being written by the crawl c, process {process.pid}" in err
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    code, _, err = gossamer(room, "export", "c", ".gossamer/c/attempts.jsonl", "--what", "attempts")
    assert (code, "is what the crawl itself writes" in err) == (2, True), err
    assert gossamer(room, *again, "-o", "a.jsonl", "-o", "o.sqlite")[0] == 0


def test_what_a_site_keeps_for_itself_is_written_by_its_crawl(room: Path, web: str) -> None:
    site = SITE.replace("http://127.0.0.1", web).replace("seeds=", 'sinks=["own.jsonl"], seeds=')
    (room / "s.py").write_text(site + '    yield from page.follow("a")\n')
    process = begin(room, "crawl", "s.py", "-o", "first.jsonl", "--name", "c", "--delay", "0.3")
    wait_for(process, room / "own.jsonl", 2)
    with stopped(process):
        code, _, err = gossamer(room, "crawl", f"{web}/", "-o", "own.jsonl", "--name", "d", "--limit", "1")
    assert (code, "own.jsonl is being written by the crawl c" in err) == (2, True), err
    process.communicate(timeout=60)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_crawl_that_stopped_or_died_is_in_nobodys_way(room: Path, web: str, end: signal.Signals) -> None:
    process = begin(room, "crawl", f"{web}/", "-o", "out.jsonl", "--name", "c", "--delay", "0.5")
    wait_for(process, room / "out.jsonl", 1)
    process.send_signal(end)
    process.communicate(timeout=15)
    code, out, err = gossamer(
        room, "crawl", f"{web}/", "-o", "out.jsonl", "--name", "d", "--limit", "1", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["state"] == "limited"
