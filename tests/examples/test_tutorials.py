"""The programs of tutorials (examples/README.md): each command runs as printed, against loopback sites and a real
server, and the results equal those of the tutorials' own code (`tutorial_code`)."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from cli.command_line import gossamer
from examples import tutorial_code
from house.tree import ROOT
from support.fleet_workers import Server
from support.scripts import script

README = (ROOT / "examples" / "README.md").read_text().partition("## Programs of tutorials")[2]
SITES: dict[str, dict[str, str]] = script("examples/tutorials/serve.py").PAGES
SHOP, QUOTES, ARTICLES = SITES.values()


class Checkout:
    """A copy of the examples in a folder, with the addresses of the running sites and of the server."""

    def __init__(self, folder: Path, port: str, server: Server) -> None:
        self.folder, self._port, self._server = folder, port, server
        self.articles = f"http://127.0.0.3:{port}"
        there = folder / "examples" / "tutorials"
        shutil.copytree(ROOT / "examples" / "tutorials", there, ignore=shutil.ignore_patterns("__pycache__"))
        for file in [*there.glob("*.py"), *there.glob("*.csv")]:
            file.write_text(self.moved(file.read_text()))

    def moved(self, text: str) -> str:
        """Returns the text with the addresses of this run."""
        return text.replace(":8000", f":{self._port}").replace(
            "127.0.0.1:6379", f"127.0.0.1:{self._server.port}"
        )

    def run(self, title: str, *more: str) -> list[str]:
        """Runs the commands below a title of the README. `more`: options for its last gossamer command. Returns
        the standard outputs."""
        section = re.search(rf"\*\*{re.escape(title)}\.\*\*(.*?)(\n\*\*|\Z)", README, re.DOTALL)
        assert section, title
        lines = "".join(re.findall(r"```sh\n(.*?)```", section[1], re.DOTALL)).splitlines()
        return [self._run(shlex.split(self.moved(line)), more) for line in lines]

    def _run(self, words: list[str], more: tuple[str, ...]) -> str:
        if words[0] == "gossamer":
            code, out, err = gossamer(self.folder, *words[1:], *more)
            assert code == 0, err
            return out
        if words[0] == "python":
            program = [sys.executable, *words[1:]]
            return subprocess.run(program, cwd=self.folder, capture_output=True, text=True, check=True).stdout
        assert words[0] == "sqlite3"
        with sqlite3.connect(self.folder / words[1]) as base:
            rows = base.execute(words[2]).fetchall()
        base.close()
        return json.dumps(rows)

    def client(self) -> Any:
        return redis.Redis.from_url(self._server.url(0).replace("valkey", "redis"), decode_responses=True)


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """Runs the sites, and yields their port."""
    command = [sys.executable, str(ROOT / "examples" / "tutorials" / "serve.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        found = re.search(r":(\d+)/", served.stdout.readline())
        assert found
        yield found[1]
        served.kill()


@pytest.fixture
def checkout(tmp_path: Path, port: str) -> Iterator[Checkout]:
    with Server(tmp_path / "server") as server:
        yield Checkout(tmp_path, port, server)


def test_products_are_in_a_hash_by_id(checkout: Checkout) -> None:
    checkout.run("Products by id")
    wanted = tutorial_code.product_hash(SHOP)
    assert len(wanted) == 4
    with checkout.client() as client:
        found = {one: json.loads(text) for one, text in client.hgetall("crawling:product").items()}
    assert {one: {name: row[name] for name in wanted[one]} for one, row in found.items()} == wanted


def test_quotes_are_in_lists_by_author_and_a_fresh_run_replaces_them(checkout: Checkout) -> None:
    def stored() -> dict[str, list[str]]:
        with checkout.client() as client:
            return {name: client.lrange(name, 0, -1) for name in client.keys("crawling:quote:*")}

    wanted = tutorial_code.quote_lists(QUOTES)
    assert len(wanted) == 3
    checkout.run("Quotes by author")
    assert stored() == wanted
    checkout.run("Quotes by author")  # the crawl is finished
    assert stored() == wanted
    checkout.run("Quotes by author", "--fresh")
    assert stored() == wanted


def test_titles_are_in_a_hash_by_url(checkout: Checkout) -> None:
    checkout.run("Titles by URL")
    with checkout.client() as client:
        found = {url: json.loads(row)["title"] for url, row in client.hgetall("crawling:page").items()}
    assert found == tutorial_code.title_hash(ARTICLES, checkout.articles)


def test_tasks_of_a_sorted_set_give_results_with_their_ids_in_order(checkout: Checkout) -> None:
    sent, _ = checkout.run("A queue of tasks")
    with checkout.client() as client:
        results = [json.loads(row) for row in client.lrange("scraping_results", 0, -1)]
        assert client.keys("scraping_tasks*") == []
    assert [f"{row['id']} {row['requested_url']}" for row in results] == sent.splitlines()
    assert [row["status"] for row in results] == [200, 200, 200]
    assert all(row["added_at"] for row in results)


def test_a_price_run_gives_url_price_and_status(checkout: Checkout) -> None:
    _, found, _ = checkout.run("Prices, every day")
    _, schedules, _ = gossamer(checkout.folder, "schedule", "list", "--json")
    assert "prices run examples/tutorials/targets.csv" in schedules
    own = {"127.0.0.1": ".buybox .now"}
    wanted = [
        [
            checkout.moved(f"http://{address}:8000/p/1"),
            tutorial_code.price(site["/p/1"], own.get(address)),
            "priced",
        ]
        for address, site in SITES.items()
    ]
    missing = [checkout.moved("http://127.0.0.3:8000/p/2"), None, "gone"]
    assert sorted(json.loads(found)) == sorted([*wanted, missing])


def test_keyword_records_have_the_frequency_of_each_page(checkout: Checkout) -> None:
    checkout.run("Keywords")
    with sqlite3.connect(checkout.folder / "words.sqlite") as base:
        # the tutorial's text contains the title, which gossamer counts in a column of its own
        rows = base.execute("SELECT keyword, count + in_title, url, site FROM keyword_pages").fetchall()
    base.close()
    words = (ROOT / "examples" / "tutorials" / "words.txt").read_text().splitlines()
    pages = {path: page for path, page in ARTICLES.items() if path != "/p/1"}
    wanted = tutorial_code.keyword_records(pages, checkout.articles, words)
    assert len(wanted) == 5
    assert sorted(rows) == sorted(tuple(record.values()) for record in wanted)


def test_rank_records_have_position_title_url_and_snippet(checkout: Checkout) -> None:
    checkout.run("Ranks")
    with open(checkout.folder / "results.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for engine in ("google", "bing"):
        page = (ROOT / "examples" / "tutorials" / "results" / f"{engine}.html").read_text()
        wanted = tutorial_code.rank_records("tea pot", page)
        assert len(wanted) == 3
        found = [row for row in rows if row["engine"] == engine]
        assert [
            (row["keyword"], int(row["position"]), row["title"], row["url"], row["text"]) for row in found
        ] == [(one["keyword"], one["position"], one["title"], one["url"], one["snippet"]) for one in wanted]
        assert all(row["time"] for row in found)
