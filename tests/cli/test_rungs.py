"""Tests of the ladder on a host that serves only browsers. The crawl climbs once, remembers and reports
the rung, and obeys a rung that is fixed by hand."""

from __future__ import annotations

import http.server
import itertools
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blocks.block_pages import AKAMAI, page
from gossamer.cli.commands import run

LINKS = "".join(f'<a href="/{folder}/{n}">x</a>' for folder in ("shop", "news") for n in range(12))
DELAY = 0.05


class Wall(http.server.ThreadingHTTPServer):
    """Serves all pages to clients with a browser's user agent. Other clients get only the pages below
    /news/, and no robots.txt."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[tuple[float, str, bool]] = []


class Answers(http.server.BaseHTTPRequestHandler):
    server: Wall

    def do_GET(self) -> None:
        browser = "Mozilla/5.0" in self.headers.get("user-agent", "")
        self.server.asked.append((time.monotonic(), self.path, browser))
        if not browser and not self.path.startswith("/news/"):
            status, body = 403, AKAMAI.encode()
        elif self.path == "/robots.txt":
            status, body = 200, b"User-agent: *\nDisallow: /shop/7\n"
        else:
            status, body = 200, page("Kettles of all kinds", f"<p>{self.path}</p>" + LINKS)
        self.send_response(status)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def wall() -> Iterator[Wall]:
    server = Wall()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def crawl(capsys: pytest.CaptureFixture[str], wall: Wall, name: str, **changed: str) -> Any:
    """Crawl the whole host, and return the summary."""
    options = {"delay": str(DELAY), "ladder": "plain,impersonated", "retries": "none", **changed}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    target = f"http://127.0.0.1:{wall.server_port}/"
    assert run(["crawl", target, "--name", name, "--quiet", "--json", "-O", f"{name}.jsonl", *words]) in (
        0,
        9,
    )
    return json.loads(capsys.readouterr().out)


def test_a_wall_is_climbed_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wall: Wall
) -> None:
    monkeypatch.chdir(tmp_path)
    host = f"127.0.0.1:{wall.server_port}"
    summary = crawl(capsys, wall, "first")
    assert (summary["pages"], summary["skipped"]["robots"], summary["errors"]) == (24, 1, {})
    attempts = [json.loads(one) for one in Path(".gossamer/first/attempts.jsonl").read_text().splitlines()]
    pages = [one for one in attempts if not one["url"].endswith("/robots.txt")]
    shop, news = ([one for one in pages if f"/{folder}/" in one["url"]] for folder in ("shop", "news"))
    assert {one["rung"] for one in shop if one["outcome"] == "done"} == {"impersonated"}
    assert {one["rung"] for one in news} <= {"plain", "impersonated"}
    climbed = [one for one in pages if one["outcome"] == "climbed"]
    assert 1 <= len(climbed) <= 4
    assert {one["block"].partition(" ")[0] for one in climbed} == {"akamai"}
    assert all("/shop/7" not in path for _, path, _ in wall.asked), (
        "robots.txt lay behind the wall, and holds"
    )
    starts = [at for at, _, _ in wall.asked]
    assert min(after - before for before, after in itertools.pairwise(starts)) > DELAY - 0.02

    wall.asked.clear()
    assert crawl(capsys, wall, "second")["pages"] == 24
    asked = [one for one in wall.asked if one[1] != "/robots.txt"]
    assert len([one for one in asked if not one[2] and one[1].startswith("/shop/")]) <= 1, "a probe at most"

    assert run(["host", "show", host, "--json"]) == 0
    known = json.loads(capsys.readouterr().out)["ladder"]
    assert known["why"].startswith("plain: akamai denied")
    assert {known["rung"], *known["paths"].values()} >= {"impersonated"}
    assert run(["host", "rung", host, "plain"]) == 0
    assert run(["host", "show", host]) == 0
    assert "plain (fixed by hand)" in capsys.readouterr().out
    wall.asked.clear()
    assert crawl(capsys, wall, "third")["pages"] <= 12
    assert not any(browser for _, path, browser in wall.asked if path != "/robots.txt")
    assert run(["host", "rung", host, "auto"]) == 0
    assert run(["host", "rung", host, "staircase"]) == 2
    assert "unknown rung 'staircase'" in capsys.readouterr().err
