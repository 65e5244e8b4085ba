"""Tests of the browser rung in whole crawls: a page that scripts fill makes the crawl climb, the user
agent is honest, pages are replayed from the cache, and a missing browser is reported in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import Stage
from gossamer.cli.commands import run
from gossamer.collectors.browser.document import BrowserDocument
from gossamer.errors import BrowserFailed, NothingFound

SHELL = (
    "<!doctype html><html><head><title>Shop</title><script src=/app.js></script></head>"
    "<body><div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript></body></html>"
)
APP = (
    "addEventListener('DOMContentLoaded', () => fetch('/rows').then(r => r.text())"
    ".then(t => { document.getElementById('root').innerHTML = t }));"
)
ROWS = "".join(
    f"<h2>Kettle {n}</h2><p>It is made of steel and boils a litre of water in a while.</p>" for n in range(9)
)
PLAIN = f"<!doctype html><title>News</title><h1>News</h1>{ROWS}"


@pytest.fixture
def shop(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Serve a front page with its content, and an app that scripts fill. The working folder is empty."""
    monkeypatch.chdir(tmp_path)
    stage.pages |= {
        "/": PLAIN + "<a href=/app>app</a><a href=/old>old</a>",
        "/app": SHELL,
        "/rows": ROWS + "<a href=/more>more</a>",
        "/more": SHELL,
        "/app.js": (200, {"content-type": "text/javascript"}, APP),
        "/old": (301, {"location": "/app"}, ""),
        "/robots.txt": (200, {"content-type": "text/plain"}, "User-agent: *\nDisallow: /private"),
    }
    return stage


def crawl(shop: Stage, ladder: str, name: str, *more: str) -> list[dict[str, str]]:
    """Crawl the shop, and return the attempts."""
    words = [
        "--name",
        name,
        "--quiet",
        "--delay",
        "0.01",
        "--retries",
        "none",
        "--ladder",
        ladder,
        "-O",
        f"{name}.jsonl",
        *more,
    ]
    assert run(["crawl", shop.url(), *words]) == 0
    return [json.loads(one) for one in Path(f".gossamer/{name}/attempts.jsonl").read_text().splitlines()]


def test_a_page_that_scripts_fill_is_climbed_for(shop: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    attempts = crawl(shop, "plain,browser", "up", "--cache", "kept")
    done = {
        one["url"].removeprefix(shop.url("")): one["rung"] for one in attempts if one["outcome"] == "done"
    }
    assert (done["/app"], done["/more"], done["/"]) == ("browser", "browser", "plain")
    assert {one["rung"] for one in attempts if one["url"].endswith("robots.txt")} == {"plain"}
    assert {one["url"].removeprefix(shop.url("")) for one in attempts if one["outcome"] == "redirected"} == {
        "/old"
    }
    agents = {headers["user-agent"].partition("/")[0] for _, headers in shop.seen}
    assert agents == {"gossamer"}
    texts = {json.loads(line)["url"]: json.loads(line) for line in Path("up.jsonl").read_text().splitlines()}
    assert texts[shop.url("/more")]["collector"] == "browser"

    shop.seen.clear()
    again = crawl(shop, "browser", "again", "--cache", "kept")
    assert {one["rung"] for one in again if not one["url"].endswith("robots.txt")} == {"browser"}
    assert "/app" not in shop.paths(), "what the browser made is kept"
    assert "/" in shop.paths(), "what came to the plain rung is not an answer to a browser"


def test_beside_the_impersonated_rung_it_does_not_name_us(shop: Stage) -> None:
    crawl(shop, "impersonated,browser", "dressed")
    agents = {headers["user-agent"] for path, headers in shop.seen if path == "/rows"}
    assert len(agents) == 1
    assert "Mozilla/5.0" in (agent := agents.pop())
    assert "Headless" not in agent
    assert "gossamer" not in agent


def test_what_is_missing_is_one_line(shop: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--name", "x", "--quiet", "--ladder", "browser", "--retries", "none"]
    assert run(["crawl", shop.url(), *words, "-s", "chromium=/nowhere/chromium"]) == 4
    assert "apt-get install chromium" in capsys.readouterr().err
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no library >&2\nexit 3\n")
    broken.chmod(0o755)
    assert run(["crawl", shop.url(), *words, "-s", f"chromium={broken}"]) == BrowserFailed.exit_code == 10
    assert "does not start" in capsys.readouterr().err
    assert run(["doctor", "-s", f"chromium={broken}"]) == 10
    assert f"{broken} does not start; no library" in capsys.readouterr().out
    assert run(["doctor"]) == 0
    assert "Chromium" in next(line for line in capsys.readouterr().out.splitlines() if "browser" in line)


def test_a_page_that_cannot_be_read_ends_after_its_retries(
    shop: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in the browser rung is an outcome with an attempt, and not a visit without end."""

    async def broken(*_: Any) -> None:
        raise KeyError("value")

    monkeypatch.setattr(BrowserDocument, "get", broken)
    words = ["--name", "broken", "--quiet", "--retries", "0.1", "--ladder", "browser", "--time-limit", "60s"]
    assert run(["crawl", shop.url(), *words]) == NothingFound.exit_code
    rows = [json.loads(one) for one in Path(".gossamer/broken/attempts.jsonl").read_text().splitlines()]
    assert [(one["outcome"], one["error"]) for one in rows if not one["url"].endswith("robots.txt")] == [
        ("retry", "collector"),
        ("dead", "collector"),
    ]
