"""Own searches happen only on request and after a notice, one at a time. A captcha is a failed check."""

from __future__ import annotations

import http.server
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cli.command_line import gossamer
from gossamer.uses.ranks.keywords import read_keywords
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.result_page_sources import ResultPageSource, choose_source, crawl_options
from gossamer.uses.ranks.run import RankRunOptions, run
from support.answers import answering
from uses.ranks.simulated_days import CAPTCHA, OWN, page_html


@pytest.fixture
def engine() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """A search engine on loopback that shows a captcha for the keyword `robot`."""
    asked: list[tuple[str, dict[str, str]]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            query = parse_qs(urlsplit(self.path).query)
            words, page = query.get("q", [""])[0], int(query.get("start", ["0"])[0]) // 10 + 1
            status, body = 200, page_html(words, page, 12, None, False)
            if words == "robot":
                status, body = 429, CAPTCHA
            if words == "tomorrow":
                body = page_html(words, page, 12, None, True)
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with answering(Handler) as port:
        yield f"http://127.0.0.1:{port}", asked


def test_pages_of_the_engine_are_read(tmp_path: Path, engine: tuple[str, list[Any]]) -> None:
    address, asked = engine
    (tmp_path / "k.csv").write_text(
        f"keyword,domain,device\nkettle,{OWN},mobile\nrobot,{OWN},\ntomorrow,{OWN},\n"
    )
    said: list[str] = []
    options = RankRunOptions(
        history=str(tmp_path / "ranks.db"),
        depth=Depth("smart", 20),
        own=True,
        hosts={"google": address},
        crawl={"data": str(tmp_path / "data"), "delay": "0.05", "allow_private": "127.0.0.0/8"},
    )
    done = run(read_keywords([str(tmp_path / "k.csv")]).keywords, options, said.append, lambda _: None)
    assert (done.done, done.failed, done.credits) == (1, 2, 0)
    assert any("You decide that you may do this" in line for line in said)
    assert [path for path, _ in asked if "robots" in path] == []
    searches = {path: headers for path, headers in asked if "kettle" in path}
    assert list(searches) == ["/search?q=kettle", "/search?q=kettle&start=10"]
    for headers in searches.values():
        assert headers["referer"] == "https://www.google.com/"
        assert "Mobile" in headers["user-agent"]
    import sqlite3

    base = sqlite3.connect(tmp_path / "ranks.db")
    assert base.execute("SELECT position FROM rank_positions").fetchall() == [(12,)]
    errors = sorted(
        error for (error,) in base.execute("SELECT error FROM rank_checks WHERE state = 'failed'")
    )
    assert [error.partition(":")[0] for error in errors] == ["captcha", "layout unknown"]


def test_the_pace_is_one_search_every_five_to_ten_seconds() -> None:
    source = choose_source({}, own=True)
    options = crawl_options(source, {}, None, None)
    assert (options["delay"], options["per_host"], options["ignore_robots"]) == ("5-10", 1, True)
    assert ResultPageSource("own").account is None


def test_retries_of_the_settings_replace_those_of_the_source() -> None:
    source = choose_source({}, own=True)
    assert crawl_options(source, {}, None, None)["retries"] == "none"
    given = crawl_options(source, {"setting": ("retries=2s,4s",)}, None, None)
    assert (given["setting"], "retries" in given) == (("retries=2s,4s",), False)


def test_nothing_is_fetched_without_a_choice(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text(f"keyword,domain\nkettle,{OWN}\n")
    code, _, err = gossamer(tmp_path, "ranks", "run", "k.csv")
    assert code == 4
    assert "name it with --provider serper" in err
    assert "--own" in err
    code, _, err = gossamer(tmp_path, "ranks", "run", "k.csv", "--provider", "serper")
    assert code == 4
    assert "needs a key" in err
    code, _, err = gossamer(tmp_path, "ranks", "run", "k.csv", "--provider", "serper", "--proxies", "p.txt")
    assert code == 2
