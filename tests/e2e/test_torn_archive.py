"""Tests of truncated archives: the crawl reports the place of the damage, and reads the rest."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from e2e.runs import begin, command, job, rows
from gossamer.collectors.archive.collector import archive_collector
from gossamer.model.page import Exchange
from gossamer.model.visit import RAW, Raw, RequestContext, Row
from gossamer.sinks.object_files import Objects
from gossamer.sinks.warc import Warc

PAGES = 6


def stored(n: int) -> Row:
    body = f"<h1>{n}</h1>{os.urandom(2000).hex()}<a href='/{n + 1}'>next</a>".encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    url = f"http://torn.test/{n}"
    return Row(
        RAW, url, Raw(url, 200, "text/html", 1700000000.5 + n, Exchange(b"", head, body), RequestContext())
    )


def archived(folder: Path) -> Path:
    path = folder / "a.warc.gz"
    sink = Warc(str(path))
    sink.close(sink.append(sink.prepare(), [stored(n) for n in range(PAGES)]))
    return path


@pytest.mark.parametrize("index", ["none", "newer", "older"])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_crawl_of_a_torn_warc_says_where_and_reads_the_rest(
    tmp_path: Path, index: str, processes: int
) -> None:
    path = archived(tmp_path)
    beside, cut = path.with_name("a.cdxj"), path.stat().st_size - 1000
    last = max(int(json.loads(line.split(b" ", 2)[2])["offset"]) for line in beside.read_bytes().splitlines())
    path.write_bytes(path.read_bytes()[:cut])
    if index == "none":
        beside.unlink()
    else:
        at = path.stat().st_mtime + (60 if index == "newer" else -60)
        os.utime(beside, (at, at))
    replay = begin(
        command(job(["http://torn.test/0"], tmp_path, processes=processes), "--archive", str(path))
    )
    _, err = replay.communicate(timeout=60)
    told = [line for line in err.splitlines() if "--archive" in line]
    why = "its index lists records beyond its end" if index == "newer" else "cut off in the block of a record"
    assert told == [
        f"gossamer: --archive: {path} is broken from byte {last} on ({why}); the intact parts are read"
    ]
    got = {row["url"].rpartition("/")[2]: row["status"] for row in rows(tmp_path / "out.jsonl")}
    assert got == {str(n): 200 if n < PAGES - 1 else 404 for n in range(PAGES)}
    assert replay.returncode == 0


def test_a_whole_one_and_what_is_no_page_are_not_told_of(tmp_path: Path) -> None:
    path = archived(tmp_path)
    other = b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: metadata://gnu.org/x\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"
    path.with_name("a.cdxj").unlink()
    path.write_bytes(gzip.compress(other) + path.read_bytes())
    opened = archive_collector(str(path))
    opened.shut()
    assert (opened.skipped, opened.broken) == ([], [])


def test_a_torn_line_of_plain_objects_is_told(tmp_path: Path) -> None:
    sink = Objects(str(tmp_path / "plain"))
    sink.close(sink.append(sink.prepare(), [stored(n) for n in range(2)]))
    (part,) = (tmp_path / "plain").glob("*.jsonl")
    part.write_bytes(part.read_bytes()[:-30])
    opened = archive_collector(str(tmp_path / "plain"))
    opened.shut()
    assert len(opened.keys()) == 1
    assert f"{part} is broken from byte " in opened.broken[0]
