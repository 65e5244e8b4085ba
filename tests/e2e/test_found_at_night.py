"""Twelve faults, each with the single command that names its cause. At the end of a run, pytest prints a
table of the faults, the commands, and the words that name the cause."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import begin, gossamer
from support.answers import answering
from support.fleet_workers import Fleet, Server

WAIT_S = 40.0


class Shop(BaseHTTPRequestHandler):
    """Serves the pages of a shop. `/slow/` responds late, `/broken/` with status 500, and `/blocked/` with
    a challenge."""

    robots = 404

    def do_GET(self) -> None:
        status, body = (
            200,
            "<html><h1>Tea</h1>" + "".join(f'<a href="/{n}">{n}</a>' for n in range(90)) + "</html>",
        )
        if self.path == "/robots.txt":
            status, body = self.robots, ""
        elif "/slow/" in self.path:
            time.sleep(20)
        elif "/broken/" in self.path:
            status = 500
        elif "/blocked/" in self.path:
            status, body = (
                403,
                "<html><title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/x'></script></html>",
            )
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            if "/blocked/" in self.path:
                self.send_header("cf-mitigated", "challenge")
                self.send_header("Server", "cloudflare")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


class NoRobots(Shop):
    """A host whose robots.txt cannot be read."""

    robots = 500


SITE = """
from gossamer import Item, Site
site = Site("shop", seeds=[{url!r}])
class Tea(Item, key="name"):
    name: str
    price: float
@site.page()
def page(page):
    {body}
    yield from page.follow("a")
"""


@contextlib.contextmanager
def crawling(room: Path, *words: str) -> Iterator[None]:
    """Run a crawl until the `with` block ends."""
    own = ("crawl", *words, "--name", "c", "--quiet", "--allow-private", "127.0.0.0/8")
    process = begin(room, *own, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.communicate()
        gossamer(room, "stop", "c")


def answer(room: Path, wanted: str, *words: str) -> str:
    """Repeat a command until its output contains the given words, and return the output."""
    end = time.monotonic() + WAIT_S
    while True:
        _, out, err = gossamer(room, *words)
        if wanted in out + err:
            return out + err
        assert time.monotonic() < end, (words, wanted, out, err)
        time.sleep(0.2)


Found = tuple[str, str]


def on_a_laptop(room: Path, fault: str) -> Found:
    """Inject a fault, and return the command and the words that name its cause."""
    handler = NoRobots if fault == "robots.txt cannot be read" else Shop
    with answering(handler) as port:
        url = f"http://127.0.0.1:{port}/"
        for name, body in (
            ("selector", 'yield Tea(name=page.css("h2::text").get(), price=1.0)'),
            ("bug", "1 / 0"),
        ):
            (room / f"{name}.py").write_text(SITE.format(url=url, body=body))
        targets: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
            "a person paused it": ((url, "--delay", "1"), ("status", "c"), "paused"),
            "a person paused the host": ((url, "--delay", "1"), ("status", "c"), "paused for"),
            "the host does not answer": (
                (f"{url}slow/",),
                ("status", "c"),
                "being visited, and has not answered yet",
            ),
            "the host is down": (
                ("http://127.0.0.1:1/x", "--ignore-robots", "--retries", "1h"),
                ("status", "c"),
                "wait for a retry",
            ),
            "robots.txt cannot be read": ((url,), ("status", "c"), "robots.txt of"),
            "pages answer 500": (
                (f"{url}broken/", "--retries", "none"),
                ("attempts", "c", "--by", "reason"),
                "http-5xx",
            ),
            "the site blocks": (
                (f"{url}blocked/", "--retries", "none"),
                ("attempts", "c", "--by", "reason"),
                "blocked",
            ),
            "a selector finds nothing": (("selector.py",), ("status", "c"), "rejected"),
            "a site function has a bug": (("bug.py",), ("status", "c"), "parse"),
        }
        words, command, wanted = targets[fault]
        with crawling(room, *words):
            if fault.startswith("a person paused"):
                answer(room, "last page", "status", "c")
            if fault == "a person paused it":
                gossamer(room, "pause", "c")
            if fault == "a person paused the host":
                gossamer(room, "host", "pause", f"127.0.0.1:{port}", "--for", "1h")
                wanted = "is paused for"
            answer(room, wanted, *command)
        return " ".join(command), wanted


LAPTOP = [
    "a person paused it",
    "a person paused the host",
    "the host does not answer",
    "the host is down",
    "robots.txt cannot be read",
    "pages answer 500",
    "the site blocks",
    "a selector finds nothing",
    "a site function has a bug",
]


@pytest.mark.parametrize("fault", LAPTOP)
def test_a_fault_on_a_laptop_is_named_by_one_command(
    tmp_path: Path, fault: str, record_property: Callable[..., None]
) -> None:
    record_property("fault", (fault, *on_a_laptop(tmp_path, fault)))


def test_faults_of_a_fleet_are_named_by_one_command(
    tmp_path: Path, record_property: Callable[..., None]
) -> None:
    with (
        answering(Shop) as port,
        Server(tmp_path / "server") as server,
        Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet,
    ):
        url = f"http://127.0.0.1:{port}/"

        def reason(name: str) -> str:
            end = time.monotonic() + WAIT_S
            while True:
                idle = fleet.json("status", name)["now"]["idle"]
                if idle is not None and idle["reason"] not in (
                    "nothing-pending",
                    "not-claimed",
                    "host-delay",
                    "busy",  # a worker that starts takes no work yet
                ):
                    return str(idle["reason"])
                assert time.monotonic() < end, idle
                time.sleep(0.3)

        fleet.submit(url, name="alone", output="out/")
        assert reason("alone") == "no-worker"
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "far.py").write_text(SITE.format(url=url, body="pass"))
        (tmp_path / "none").mkdir()
        fleet.worker("w", "--sites", "none")
        fleet.ready(1)
        fleet.submit(url, name="lane", output="lane/", lane="far")
        assert reason("lane") == "no-lane"
        fleet.run(
            "submit",
            "own/far.py",
            "--name",
            "site",
            "-o",
            "site/",
            "--allow-private",
            "127.0.0.0/8",
            "--quiet",
        )
        assert reason("site") in ("refused", "no-lane")
        assert "its file is missing" in json.dumps(fleet.json("workers", "list"))
    record_property("fault", ("no worker lives", "status alone", "no-worker"))
    record_property("fault", ("no worker has the lane", "status lane", "no-lane"))
    record_property("fault", ("workers lack a site file", "workers list", "its file is missing"))


def test_gates_count_over_the_whole_crawl(tmp_path: Path) -> None:
    with answering(Shop) as port:
        url = f"http://127.0.0.1:{port}/broken/"
        (tmp_path / "urls.txt").write_text("".join(f"{url}{n}\n" for n in range(40)))
        words = (
            "urls.txt",
            "--retries",
            "none",
            "--delay",
            "0.1",
            "--allow-private",
            "127.0.0.0/8",
            "--name",
            "c",
        )
        code, _, err = gossamer(
            tmp_path, "crawl", *words, "--fail-on", "stop if dead>3", "--fail-on", "warn if dead>1"
        )
        summary = json.loads(gossamer(tmp_path, "status", "c", "--json")[1])
    assert code == 30, err
    assert "warning: gate 'warn if dead>1'" in err
    assert 3 < summary["dead"] < 40
    assert summary["reason"].startswith("gate 'stop if dead>3' over")
