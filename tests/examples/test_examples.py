"""Tests of the shipped examples: each example crawls its saved pages on a local server, and the outputs
equal the expected ones."""

from __future__ import annotations

import csv
import http.server
import json
import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from e2e.item_files.file_server import png
from gossamer.app.job import Job, JobOutput
from gossamer.app.runner import crawl
from gossamer.config.settings import Settings
from gossamer.model.summary import Summary
from gossamer.sites.check import check, read_saved_page

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = ["quotes", "shop", "books"]
HOSTS = {
    "quotes": "https://quotes.toscrape.com",
    "shop": "https://scrapeme.live",
    "books": "https://books.toscrape.com",
}
OWN = {"_url", "_site", "_kind", "_key", "_seen_at", "_version", "_hash"}


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves the saved pages of one example under their own paths. A path without a trailing slash
    redirects to the same path with a slash, as on the quotes site."""

    pages: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.pages.get(self.path)
        if body is None and f"{self.path}/" in self.pages:
            self.send_response(308)
            self.send_header("Location", f"{self.path}/")
        else:
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


class Local:
    """An example whose host is replaced with a local server of its pages."""

    def __init__(
        self,
        name: str,
        folder: Path,
        server: http.server.ThreadingHTTPServer,
        examples: Path = EXAMPLES,
        there: str = "",
    ) -> None:
        self.there = there or HOSTS[name]
        self.host = f"127.0.0.1:{server.server_port}"
        self.file = folder / f"{name}.py"
        self.expected: dict[str, list[dict[str, Any]]] = {}
        Pages.pages, Pages.asked = {}, []
        for file in (examples / name / "pages").glob("*.html"):
            page, _ = read_saved_page(file)
            Pages.pages[page.url.removeprefix(self.there)] = self._moved(page.body.decode()).encode()
            for item in json.loads(
                self._moved((examples / name / "expected" / f"{file.stem}.json").read_text())
            ):
                self.expected.setdefault(item.pop("_kind"), []).append(item)
        text = self._moved((examples / f"{name}.py").read_text())
        self.file.write_text(text.replace(f'"{self.there[8:]}"', f'"{self.host}"'))

    def _moved(self, text: str) -> str:
        return text.replace(self.there, f"http://{self.host}")

    async def crawl(self, *outputs: str) -> Summary:
        folder = self.file.parent
        settings = Settings(data=str(folder / "data"), delay=(0.0, 0.0), retries=())
        return await crawl(
            Job(
                targets=[str(self.file)],
                settings=settings,
                outputs=[JobOutput(str(folder / o)) for o in outputs],
            )
        )


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with serving(Pages) as found:
        yield found


@contextmanager
def serving(pages: type[Pages]) -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), pages) as found:
        found.daemon_threads = True
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def in_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_saved_pages_give_what_is_expected(name: str) -> None:
    assert [(result.page, result.detail) for result in check(EXAMPLES / f"{name}.py") if not result.ok] == []


def test_all_examples_are_one_folder_of_sites() -> None:
    results = check(EXAMPLES)
    assert all(result.ok for result in results)
    assert {Path(result.page).parents[1].name for result in results} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_a_crawl_writes_what_is_expected(
    name: str, tmp_path: Path, server: http.server.ThreadingHTTPServer
) -> None:
    local = Local(name, tmp_path, server)
    summary = await local.crawl("out.jsonl", "out.csv", "out.sqlite")
    total = sum(map(len, local.expected.values()))
    assert (summary.state, summary.items, summary.failed, summary.errors) == ("finished", total, 0, {})
    assert summary.pages == len(Pages.pages)
    asked = [path for path in Pages.asked if path != "/robots.txt"]
    # each page is requested once, and the other requests are redirects of author pages
    assert sorted(path for path in asked if path in Pages.pages) == sorted(Pages.pages)
    assert {path for path in asked if path not in Pages.pages} == {
        path[:-1] for path in Pages.pages if path.startswith("/author/")
    }
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row["_site"] for row in rows} == {name}
    assert all(row["_url"].startswith(f"http://{local.host}/") for row in rows)
    for kind, expected in local.expected.items():
        own = [
            {key: value for key, value in row.items() if key not in OWN}
            for row in rows
            if row["_kind"] == kind
        ]
        assert in_order(own) == in_order(expected)
    _same_elsewhere(tmp_path, name, local.expected)


def _same_elsewhere(folder: Path, name: str, expected: dict[str, list[dict[str, Any]]]) -> None:
    """CSV has one file per kind, and SQLite has one table per kind."""
    files = {f"out.{kind}.csv" for kind in expected}
    link = {"out.csv"} if len(expected) == 1 else set()  # `out.csv` is a link to the file of the only kind
    assert {file.name for file in folder.glob("out*.csv")} == files | link
    with sqlite3.connect(folder / "out.sqlite") as base:
        base.row_factory = sqlite3.Row
        for kind, items in expected.items():
            with open(folder / f"out.{kind}.csv", newline="", encoding="utf-8-sig") as file:
                rows = list(csv.DictReader(file))
            table = [dict(row) for row in base.execute(f'select * from "{kind}"')]  # noqa: S608 - a kind of ours
            assert len(rows) == len(table) == len(items)
            for field in (field for field, value in items[0].items() if isinstance(value, str)):
                assert sorted(row[field] for row in rows) == sorted(item[field] for item in items)
                assert sorted(row[field] for row in table) == sorted(item[field] for item in items)
    base.close()
    if name == "shop":
        with open(folder / "out.product.csv", newline="", encoding="utf-8-sig") as file:
            # the price has the same digits as the page
            assert {row["id"]: row["price"] for row in csv.DictReader(file)}["730"] == "1105.50"


class Members(Pages):
    """Serves its pages to logged-in clients, and redirects others to the log-in form."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if "sid=in" in self.headers.get("Cookie", "") or self.path in ("/login", "/robots.txt"):
            self.pages["/login"] = (
                b"<form method=post><input name=csrf_token value=t><input name=username><input type=password name=password>"
            )
            super().do_GET()
        else:
            self._to("/login")

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(sent.decode())
        self._to("/", *(["sid=in; Path=/"] if sent == b"csrf_token=t&username=me&password=word" else []))

    def _to(self, place: str, *cookies: str) -> None:
        self.send_response(302)
        for name, value in [
            ("Location", place),
            ("Content-Length", "0"),
            *(("Set-Cookie", one) for one in cookies),
        ]:
            self.send_header(name, value)
        self.end_headers()


async def test_members_are_logged_in_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUOTES_USER", "me")
    monkeypatch.setenv("QUOTES_PASSWORD", "word")
    with serving(Members) as server:
        local = Local("members", tmp_path, server, EXAMPLES / "login", HOSTS["quotes"])
        summary = await local.crawl("out.jsonl")
        assert (summary.state, summary.items, summary.failed, summary.dead) == ("finished", 3, 0, 0)
        rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        own = [{key: value for key, value in row.items() if key not in OWN} for row in rows]
        assert in_order(own) == in_order(local.expected["quote"])
        assert Members.asked.count("csrf_token=t&username=me&password=word") == 1
    assert [(one.page, one.detail) for one in check(EXAMPLES / "login") if not one.ok] == []


async def test_covers_are_kept_once_and_join_with_their_books(
    tmp_path: Path, server: http.server.ThreadingHTTPServer
) -> None:
    local = Local("covers", tmp_path, server, EXAMPLES / "covers", HOSTS["books"])
    covers = {
        f"/media/cache/{name}.jpg": png(60, 80, n)
        for n, name in enumerate(("1c/2d/1c2d3e4f5a6b", "7e/8f/7e8f9a0b1c2d"))
    }
    Pages.pages |= covers
    summary = await local.crawl("out.sqlite")
    assert (summary.state, summary.items, summary.files, summary.errors) == ("finished", 6, 2, {})
    assert [path for path in Pages.asked if path in covers] == [
        *dict.fromkeys(path for path in Pages.asked if path in covers)
    ]
    with sqlite3.connect(tmp_path / "out.sqlite") as base:
        queries = re.findall(
            r'covers.sqlite "(SELECT.*?)"', (EXAMPLES / "covers" / "covers.py").read_text(), re.DOTALL
        )
        paths, counts = (dict(base.execute(query).fetchall()) for query in queries)
    base.close()
    assert counts == {"Science": 1, "Travel": 2}
    kept = tmp_path / "data" / "covers" / "files"
    assert {title: (kept / path).read_bytes() for title, path in paths.items()} == {
        "Tidal Clocks": covers["/media/cache/1c/2d/1c2d3e4f5a6b.jpg"],
        "The Ferry to Anywhere": covers["/media/cache/7e/8f/7e8f9a0b1c2d.jpg"],
        "Slow Maps": covers["/media/cache/7e/8f/7e8f9a0b1c2d.jpg"],
    }
    assert [(one.page, one.detail) for one in check(EXAMPLES / "covers") if not one.ok] == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the five lines of the README do not close their file
async def test_quotes_are_grouped_by_author_as_the_readme_says(
    tmp_path: Path, server: http.server.ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = Local("quotes", tmp_path, server)
    await local.crawl("quotes.jsonl")
    (code,) = re.findall(r"```python\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 5
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own text
    found = {
        author: sorted(quote["text"] for quote in quotes) for author, quotes in names["by_author"].items()
    }
    assert {author: len(quotes) for author, quotes in found.items()} == {
        "Mira Holt": 3,
        "J.P. Ansel": 2,
        "Odile Fürst": 2,
    }
    assert found["Odile Fürst"] == [
        "Nobody's map shows the weather.",
        "“Later” is where the unfinished lives.",
    ]


async def test_a_page_that_lost_its_markup_is_an_error_that_can_be_replayed(
    tmp_path: Path, server: http.server.ThreadingHTTPServer
) -> None:
    local = Local("shop", tmp_path, server)
    Pages.pages["/shop/page/2/"] = re.sub(
        rb'data-product_id="732"|post-732', b"", Pages.pages["/shop/page/2/"]
    )
    summary = await local.crawl("out.jsonl")
    assert summary.errors == {"parse": 1}
    assert summary.items == 4  # all items and links of the page are dropped, not only some of them
    (kept,) = (tmp_path / "data" / "shop" / "failed").glob("*.html")
    page, meta = read_saved_page(kept)
    assert page.url == f"http://{local.host}/shop/page/2/"
    assert page.body == Pages.pages["/shop/page/2/"]
    assert re.search(r"shop\.py:\d+ in listing: TypeError", meta.why)
    own = tmp_path / "shop" / "pages"
    own.mkdir(parents=True)
    for file in (kept, kept.with_suffix(".json")):
        shutil.move(file, own / file.name)
    (result,) = check(local.file)
    assert not result.ok
    assert "TypeError" in result.detail
