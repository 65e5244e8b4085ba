"""Tests of the progress of a running crawl, as a terminal displays it and as a log file receives it, with
real processes on a real terminal."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import http.server
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import SRC, command, end_all, job
from gossamer.app.job import Job
from gossamer.app.runner import Live, crawl
from gossamer.cli.crawl_view import crawl_lines
from gossamer.cli.progress import Lines
from gossamer.cli.responses import Responses
from gossamer.cli.terminal import painter
from gossamer.config.settings import Settings
from gossamer.frontier.stats import HostLine, Retries
from gossamer.model.summary import Summary
from support import fork_server
from support.answers import answering
from web import Web, preset, serve

TURN_BACK = r"\x1b\[[1-9]\d*A"


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=2, pages=100, latency=0.01)) as web:
        yield web


@pytest.fixture(autouse=True)
def nobody_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    end_all(tmp_path / "data")


class Terminal:
    """A crawl whose stdin and stderr are a terminal."""

    def __init__(self, words: list[str], env: dict[str, str] | None = None) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        base = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith("GOSSAMER_") and k not in ("NO_COLOR", "COLUMNS")
        }
        code = "from gossamer.cli import main; main()"
        self.process = fork_server.Popen(
            [sys.executable, "-c", code, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=base | {"PYTHONPATH": str(SRC), "TERM": "xterm"} | (env or {}),
        )
        os.close(theirs)
        self.text = ""

    def until(self, text: str) -> None:
        """Read until the text appears in the output. With an empty text, read until the process ends."""
        deadline = time.monotonic() + 60
        while text not in self.text or not text:
            assert time.monotonic() < deadline, self.text
            try:
                raw = os.read(self.ours, 65536)
            except OSError:  # the process closed its end of the terminal
                raw = b""
            if not raw:
                assert not text, self.text
                return
            self.text += raw.decode("utf-8", "replace")

    def end(self) -> int:
        self.until("")
        os.close(self.ours)
        return self.process.wait(timeout=30)


def words(web: Web, tmp_path: Path, *more: str, delay: float = 0.02) -> list[str]:
    one = job([*web.plan.seeds(), "http://nobody.invalid/"], tmp_path, delay=(delay, delay), retries=())
    found = [word for word in command(one) if word not in ("--json", "--quiet")]
    found[found.index("--retries") + 1] = "none"
    return [*found, *more]


def test_a_terminal_sees_it_live(web: Web, tmp_path: Path) -> None:
    shown = Terminal(words(web, tmp_path))
    assert shown.end() == 0
    for part in (
        r"running for",
        r"\d+ of [1-9]\d* known URLs done",
        r"\d+\.\d pages/s",
        r"[1-9]\d* pages, ",
        r"[1-9]\d* queued, \d+ in flight",
        r"errors .*dns 1",
        r"127\.\d+\.\d+\.\d+:\d+: [1-9]\d* waiting",
        r"\x1b\[31m",
    ):
        assert re.search(part, shown.text), part
    assert re.search(TURN_BACK, shown.text)
    assert "\x1b[?25l" not in shown.text, "the cursor is never hidden, so a kill leaves it"


@pytest.mark.parametrize(
    ("more", "env", "live", "colours"),
    [
        ((), {"NO_COLOR": "1"}, True, False),
        ((), {"TERM": "dumb"}, False, False),
        (("--quiet",), {}, False, False),
    ],
)
def test_less_of_it(
    web: Web, tmp_path: Path, more: tuple[str, ...], env: dict[str, str], live: bool, colours: bool
) -> None:
    shown = Terminal(words(web, tmp_path, "--limit", "40", *more), env)
    assert shown.end() == 0
    assert (bool(re.search(TURN_BACK, shown.text)), bool(re.search(r"\x1b\[\d*m", shown.text))) == (
        live,
        colours,
    )
    assert "--quiet" not in more or shown.text == ""


def test_ctrl_c_at_a_terminal(web: Web, tmp_path: Path) -> None:
    shown = Terminal(words(web, tmp_path, delay=0.5))
    shown.until(" pages/s")
    os.kill(shown.process.pid, signal.SIGINT)
    assert shown.end() == 11
    assert "test_ctrl_c_at_a_terminal0/out.jsonl" in shown.text.replace("\r\n", "").replace(" ", "")
    assert "a second signal stops immediately" in shown.text
    assert "nothing is lost. Continue with: gossamer crawl" in shown.text
    again = Terminal(words(web, tmp_path, delay=0.5))
    again.until(" pages/s")
    os.kill(again.process.pid, signal.SIGINT)
    again.until("a second signal stops immediately")
    with contextlib.suppress(ProcessLookupError):
        os.kill(again.process.pid, signal.SIGINT)
    assert again.end() in (11, 13)  # the first signal may have stopped the crawl before the second arrived
    assert "nothing is lost" in again.text


def live() -> Live:
    names = (
        "found",
        "pages",
        "redirected",
        "items",
        "succeeded",
        "unchanged",
        "gone",
        "failed",
        "retried",
        "dead",
        "bytes",
    )
    summary = Summary(
        crawl="c",
        state="running",
        reason=None,
        started_at="",
        elapsed=5.0,
        skipped={},
        pending=9,
        pages_per_second=1.0,
        hosts=1,
        errors={"timeout": 2, "dns": 1},
        outputs=[],
        **dict.fromkeys(names, 0),
    )
    hosts = [
        HostLine("slow\x1b[2J.example", "waiting", 9, 0, 10.0, 3.0, crawl_delay=10.0),
        HostLine("done.example", "idle", 0, 0, None, 0.0),
    ]
    return Live(summary, 9, 1, 1.0, 90.0, hosts)


def plain(live: Live, width: int = 80) -> list[str]:
    return crawl_lines(live, Responses(Path("missing"), 0.0), width, painter(False))


def test_lines_of_the_display() -> None:
    lines = plain(live())
    assert re.fullmatch(r"c  running for 5s +about 1m 30s left", lines[0])
    assert lines[1].endswith("  0 of 9 known URLs done")
    assert "errors     timeout 2, dns 1" in lines
    assert lines[-1] == "slowest    slow�[2J.example: 9 waiting, every 10 s: robots.txt asks for it"


def test_a_wait_for_retries_is_told_with_its_end() -> None:
    """The display shows no remaining time ("left"), because a crawl that only waits has no rate."""
    waits = live()
    waits.left, waits.retries = None, Retries(5, 43.0, 2100.0)
    lines = plain(waits)
    assert lines[0] == "c  running for 5s"
    assert "waits      5 URLs wait for a retry, next in 43s, last in 35m 0s" in lines
    waits.retries = Retries(1, 0.0, 0.5)
    assert "waits      1 URL waits for a retry, next in 0s" in plain(waits)


def test_the_end_of_a_run_of_which_only_retries_are_left(capsys: pytest.CaptureFixture[str]) -> None:
    waits = live()
    waits.left, waits.retries, waits.only_retries, waits.waits_end = None, Retries(1, 43.0, 43.0), True, 100.0
    lines = " ".join(line.strip() for line in plain(waits, 200))
    assert "; the run ends in at most 1m 40s, and gossamer finish c ends the wait" in lines
    shown = Lines()
    for _ in range(2):
        shown.show(waits)
    err = capsys.readouterr().err
    assert (
        err.count(
            "only retries are left: 1 URL waits for a retry, next in 43s; the run ends in at most 1m 40s"
        )
        == 1
    )


async def test_the_retries_of_a_running_crawl(tmp_path: Path) -> None:
    """The server answers every request with status 500: the URLs wait for a retry, and no remaining time
    is estimated."""
    seen: list[Live] = []
    stop = asyncio.Event()

    def watch(live: Live) -> None:
        seen.append(live)
        if live.retries.urls == 3:
            stop.set()

    class Broken(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404 if self.path == "/robots.txt" else 500)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with answering(Broken) as port:
        seeds = [f"http://127.0.0.1:{port}/{n}" for n in range(3)]
        settings = Settings(
            data=str(tmp_path), delay=(0.0, 0.0), retries=(60.0,), allow_private=("127.0.0.0/8",)
        )
        await asyncio.wait_for(crawl(Job(targets=seeds, settings=settings, name="c"), watch, stop), 60)
    last = next(live for live in seen if live.retries.urls == 3)
    assert last.left is None
    assert 50 < last.retries.next <= last.retries.last <= 72


def test_a_host_that_gives_nothing_is_named() -> None:
    silent = live()
    silent.silent = "gone.example", "connect"
    line = (
        "no page yet: gone.example gives connect: check whether the server is up; it is retried after the waits of "
        "--retries, and Ctrl-C keeps it for later"
    )
    assert f"waits      {line}" in plain(silent, 300)
    assert " ".join(plain(silent)[-3:]).split()[-8:] == line.split()[-8:]
    silent.summary.pending = 0
    assert line not in "".join(plain(silent, 300))


@pytest.mark.parametrize("answer", ["closed", "503", "stalls"])
def test_who_waits_for_a_host_hears_why(tmp_path: Path, answer: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if answer == "closed":
            server.close()
        elif answer == "503":
            threading.Thread(target=refuse, args=(server,), daemon=True).start()
        words = [
            "crawl",
            f"http://127.0.0.1:{port}/",
            "--data",
            str(tmp_path / "data"),
            "-o",
            str(tmp_path / "o.jsonl"),
        ]
        process = fork_server.Popen(
            [sys.executable, "-m", "gossamer", *words, "-s", "timeout=1s"],
            env=os.environ | {"PYTHONPATH": str(SRC)},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        why = {"closed": "connect", "503": "http-5xx", "stalls": "timeout"}[answer]
        assert process.stderr.readline().startswith(f"gossamer: no page yet: 127.0.0.1:{port} gives {why}: ")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=15)
        assert process.returncode == 11


def refuse(server: socket.socket) -> None:
    """Answer every request with status 503."""
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            with client:
                client.recv(4096)
                client.sendall(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
