"""Tests of `--host-bytes` and `--host-time` on real crawls: the requests that a host gets, the output of
`explain` and `host show`, and the continuation with a higher limit."""

from __future__ import annotations

import http.server
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from e2e.runs import rows
from gossamer.cli.commands import run
from support.answers import answering

PAGES = 12


class Answers(http.server.BaseHTTPRequestHandler):
    """Two hosts, each with an index and pages. A page has 1,000 bytes on 127.0.0.1 and ten bytes on
    127.0.0.2."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        host = self.headers["host"].split(":")[0]
        self.asked.append((host, self.path))
        body = b"x" * (1000 if host == "127.0.0.1" else 10)
        if self.path == "/":
            body = "".join(f'<a href="/{n}">x</a>' for n in range(PAGES)).encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def seeds() -> Iterator[list[str]]:
    Answers.asked.clear()
    with answering(Answers) as port, answering(Answers, "127.0.0.2", port):
        yield [f"http://127.0.0.{n}:{port}/" for n in (1, 2)]


def asked(host: str) -> int:
    return sum(where == host and path != "/robots.txt" for where, path in Answers.asked)


def test_a_host_has_its_bytes_and_goes_on_with_more(
    seeds: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = ["--data", str(tmp_path / "data")], tmp_path / "out.jsonl"
    usual = [
        *seeds,
        "--name",
        "c",
        *data,
        "--delay",
        "0",
        "--allow-private",
        "127.0.0.0/8",
        "--json",
        "--quiet",
        "-o",
        str(out),
    ]

    def told(*words: str) -> dict[str, Any]:
        assert run(list(words)) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    first = told("crawl", *usual, "--host-bytes", "4k")
    few = asked("127.0.0.1")
    assert 5 <= few < PAGES, "the index and four pages; one more where a commit took long"
    assert (first["state"], first["skipped"]) == ("finished", {"budget": 1 + PAGES - few})
    assert first["found"] == first["pages"] + sum(first["skipped"].values())
    assert asked("127.0.0.2") == 1 + PAGES

    left = next(f"{seeds[0]}{n}" for n in range(PAGES) if ("127.0.0.1", f"/{n}") not in Answers.asked)
    why = told("explain", left, *data, "--json")
    assert why["now"] == "parked"
    assert "--host-bytes" in why["why"]
    assert "at most 4.0 KiB (--host-bytes)" in next(
        gate["rule"] for gate in why["gates"] if gate["gate"] == "budget"
    )
    (held,) = told("host", "show", seeds[0], *data, "--json")["crawls"]
    assert (held["parked"], held["bytes"] >= 4096, held["levels"]) == (1 + PAGES - few, True, {})

    again = told("crawl", *usual, "--host-bytes", "4k")
    assert (again["pages"], asked("127.0.0.1")) == (first["pages"], few), "nothing is left that it may have"
    whole = told("crawl", *usual, "--host-bytes", "1M")
    assert (whole["pages"], "budget" in whole["skipped"]) == (2 * (1 + PAGES), False)
    assert len(rows(out)) == len({row["url"] for row in rows(out)}) == 2 * (1 + PAGES)


def test_a_host_has_its_time(seeds: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        seeds[0],
        "--name",
        "c",
        "--data",
        str(tmp_path / "data"),
        "--allow-private",
        "127.0.0.0/8",
        "--json",
        "--quiet",
    ]
    assert (
        run(["crawl", *words, "--delay", "0.4", "--host-time", "1s", "-o", str(tmp_path / "out.jsonl")]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["state"] == "finished"
    assert asked("127.0.0.1") <= 2, "robots.txt at 0, pages at 0.4 s and 0.8 s"
    assert found["skipped"]["budget"] == found["found"] - asked("127.0.0.1") > 0
    assert run(["host", "show", seeds[0], "--data", str(tmp_path / "data")]) == 0
    assert "since its first request" in capsys.readouterr().out
