"""Tests of the live display of a crawl at several terminal widths, with real processes on a real terminal."""

from __future__ import annotations

import http.server
import json
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import begin
from e2e.runs import end_all
from support import fork_server
from support.answers import answering
from support.screen import Screen, TerminalProcess

PAGES = 120
LONG = "a-page-with-a-name-that-is-longer-than-a-narrow-terminal"


class Shop(http.server.BaseHTTPRequestHandler):
    """Pages that link to the next three pages. Every seventeenth page is missing, and every twenty-third
    is broken."""

    def do_GET(self) -> None:
        status, body = 200, ""
        if self.path == "/robots.txt":
            body = "User-agent: *\nDisallow: /secret/\n"
        elif self.path == "/down":
            status = 503
        elif self.path == "/":
            body = f'<a href="/{LONG}-0"></a><a href="/secret/">s</a>'
        else:
            number = int(self.path.rpartition("-")[2])
            nexts = range(number * 3 + 1, min(number * 3 + 4, PAGES))
            body = "".join(f'<a href="/{LONG}-{n}">x</a>' for n in nexts)
            status = 404 if number % 17 == 16 else 500 if number % 23 == 22 else 200
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if "robots" in self.path else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with answering(Shop) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def nobody_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    TerminalProcess.kill_all()
    end_all(tmp_path / ".gossamer")


def crawl(shop: str, *more: str) -> list[str]:
    return ["crawl", f"{shop}/", "--name", "shop", "-o", "out.jsonl", *more]


def row(rows: list[str], label: str) -> str:
    return next((row for row in rows if row.startswith(label)), "")


@pytest.mark.parametrize("columns", [60, 80, 160, 200])
def test_the_screen_of_a_running_crawl(shop: str, tmp_path: Path, columns: int) -> None:
    terminal = TerminalProcess(crawl(shop, "--delay", "0.05", "--retries", "5m"), tmp_path, columns=columns)
    rows = terminal.until(
        lambda screen: (
            "5xx: 1" in row(screen.visible(), "responses")
            and "every" in row(screen.visible(), "slowest")
            and "next in" in row(screen.visible(), "waits")
        )
    )
    assert max(map(len, rows)) < columns
    assert re.match(r"shop +running for \d+s", rows[0])
    done, known = map(int, re.search(r"━+─+  (\d+) of (\d+) known URLs done$", rows[1]).groups())  # type: ignore[union-attr]
    assert 0 < done < known
    filled = rows[1].count("━") / (rows[1].count("━") + rows[1].count("─"))
    assert abs(filled - done / known) < 0.1
    assert re.match(r"rate +\d+\.\d pages/s, .*/s  \(last 10 s\)", row(rows, "rate"))
    assert re.match(r"queue +\d+ queued, \d+ in flight, \d+ retried", row(rows, "queue"))
    assert re.match(r"responses +200: \d+  404: \d+  5xx: 1", row(rows, "responses"))
    last = row(rows, "last")
    assert re.search(r"https?://.*-\d+  \d+ in \d+ ms$", last)
    assert ("…" in last) == (columns < 100)
    assert "waiting, every 0.05 s" in row(rows, "slowest")
    assert ("set by --delay or site" in row(rows, "slowest")) == (columns >= 80)
    assert "1 URL waits for a retry (http-5xx), next in" in row(rows, "waits")
    assert terminal.end(signal.SIGINT) == 11
    assert not any("━" in line for line in terminal.screen.everything()), "the lines are removed at the end"


def test_a_key_ends_the_wait_for_retries(shop: str, tmp_path: Path) -> None:
    words = ["crawl", f"{shop}/down", "--name", "shop", "-o", "out.jsonl", "--retries", "1h"]
    terminal = TerminalProcess(words, tmp_path, columns=160)
    terminal.shows(r"1 URL waits for a retry .*; the key f ends the wait")
    terminal.type("xf")
    assert terminal.end() == 9
    shown = "\n".join(terminal.screen.everything())
    assert "finishing: nothing is retried any more" in shown
    assert "To visit them again: gossamer dead requeue shop" in shown


def test_the_lines_stay_in_their_place(shop: str, tmp_path: Path) -> None:
    """After each update, the screen contains exactly one display, which starts in the top row."""
    terminal = TerminalProcess(crawl(shop, "--delay", "0.05", "--limit", "60"), tmp_path)
    assert terminal.end() == 0
    frames = [frame for frame in terminal.screen.frames if any("known URLs" in line for line in frame)]
    assert len(frames) > 2
    for frame in frames:
        assert [number for number, line in enumerate(frame) if line.startswith("shop  ")] == [0]
        assert sum(line.startswith("responses") for line in frame) == 1
    done = [
        int(found[1].replace(",", ""))
        for frame in frames
        if (found := re.search(r"([\d,]+) of [\d,]+ known URLs done", "\n".join(frame)))
    ]
    assert done == sorted(done)


def test_log_lines_scroll_above(shop: str, tmp_path: Path) -> None:
    words = crawl(shop, "--delay", "0.02", "--limit", "50", "-v", "--retries", "none")
    terminal = TerminalProcess(words, tmp_path, columns=200, rows=20)
    assert terminal.end() == 0
    rows = terminal.screen.everything()
    pages = [line for line in rows if re.match(r"\d{3} +\d+ ms +[\d,]+ B +0 items +\d+ links  http", line)]
    assert len(pages) >= 50
    assert any("(http-4xx)" in line for line in pages)
    assert any("(http-5xx: given up)" in line for line in pages)
    assert any("━" in line for frame in terminal.screen.frames for line in frame)
    assert not any("━" in line for line in rows)


@pytest.mark.parametrize(("before", "after"), [(120, 60), (60, 120)])
def test_a_resize(shop: str, tmp_path: Path, before: int, after: int) -> None:
    terminal = TerminalProcess(crawl(shop, "--delay", "0.1"), tmp_path, columns=before)
    terminal.shows(r"responses +200: [1-9]")
    terminal.resize(after)
    seen = len(terminal.screen.frames)
    rows = terminal.until(lambda screen: len(screen.frames) > seen + 2)
    assert sum("known URLs done" in line for line in rows) == 1
    assert abs(len(row(rows, "━")) - after) <= 2
    assert terminal.end(signal.SIGINT) == 11


@pytest.mark.parametrize(
    ("more", "env", "colours"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        (("--no-color",), {}, False),
        (("--no-color",), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours(
    shop: str, tmp_path: Path, more: tuple[str, ...], env: dict[str, str], colours: bool
) -> None:
    terminal = TerminalProcess(crawl(shop, "--delay", "0", "--limit", "30", *more), tmp_path, env=env)
    assert terminal.end() == 0
    styles = set(re.findall(r"\x1b\[([\d;]+)m", terminal.text)) - {"0"}
    assert bool(styles) == colours
    assert {number for style in styles for number in style.split(";")} <= {"1", "2", "31", "32", "35", "36"}


def test_forced_colours_on_a_pipe(shop: str, tmp_path: Path) -> None:
    words = ["-m", "gossamer", *crawl(shop, "--delay", "0", "--limit", "5"), "-v"]
    for env, colours in (({"FORCE_COLOR": "1"}, True), ({}, False)):
        done = fork_server.run(
            [sys.executable, *words, "--fresh"],
            cwd=tmp_path,
            env={"PATH": "/usr/bin", "PYTHONPATH": str(Path(__file__).parents[2] / "src")} | env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ("\x1b[32m200" in done.stderr) == colours
        assert len(re.findall(r"200\S* +\d+ ms", done.stderr)) >= 5


def test_a_dumb_terminal_gets_plain_lines(shop: str, tmp_path: Path) -> None:
    terminal = TerminalProcess(
        crawl(shop, "--delay", "0", "--limit", "5"), tmp_path, env={"TERM": "dumb"}, columns=200
    )
    assert terminal.end() == 0
    assert "\x1b" not in terminal.text


def test_a_line_for_each_page_of_all_processes(shop: str, tmp_path: Path) -> None:
    words = crawl(shop, "--delay", "0", "--retries", "none", "-v", "--processes", "2")
    process = begin(tmp_path, *words)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    lines = [line for line in err.splitlines() if re.match(r"\d{3} +\d+ ms", line)]
    summary = json.loads(next(line for line in err.splitlines() if line.startswith("{")))
    assert summary["state"] == "finished"
    assert len(lines) == summary["pages"] + summary["dead"] > PAGES / 2


def test_quiet_says_nothing(shop: str, tmp_path: Path) -> None:
    terminal = TerminalProcess(crawl(shop, "--delay", "0", "--limit", "5", "-q"), tmp_path)
    assert terminal.end() == 0
    assert terminal.text == ""
    both = TerminalProcess(crawl(shop, "-q", "-v"), tmp_path)
    assert both.end() == 2


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_why_nothing_moves(tmp_path: Path, columns: int) -> None:
    with answering(SlowRobots) as port:
        words = ["crawl", f"http://127.0.0.1:{port}/", "--name", "slow", "-o", "out.jsonl"]
        terminal = TerminalProcess(words, tmp_path, columns=columns)
        rows = terminal.shows("waits +next request to 127")
        text = " ".join(" ".join(rows[rows.index(row(rows, "waits")) :]).split())
        assert re.search(r"in \d+(\.\d+)?s \(every 9 s: robots.txt asks for it\)", text)
        assert "left" not in rows[0]
        assert terminal.end(signal.SIGINT) == 11


class SlowRobots(Shop):
    def do_GET(self) -> None:
        if self.path != "/robots.txt":
            return super().do_GET()
        body = b"User-agent: *\nCrawl-delay: 9\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None


def test_the_screen_of_the_tests_wraps_and_scrolls() -> None:
    screen = Screen(10, 3)
    screen.feed("0123456789ab\r\nnext\r\n\x1b[31mred\x1b[0m")
    assert screen.visible() == ["ab", "next", "red"]
    assert screen.lines[3].cells[0].style == (31,)
    screen.feed("\x1b[1A\rN")
    assert screen.visible()[1] == "Next"
    screen.resize(20)
    assert screen.everything() == ["0123456789ab", "Next", "red"]
