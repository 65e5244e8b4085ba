"""The examples of the README run unchanged, except that local servers replace the named sites."""

from __future__ import annotations

import csv
import http.server
import json
import os
import re
import shlex
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.sites.check import read_saved_page
from support import fork_server
from support.answers import answering

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BOOKS = ROOT / "examples" / "books"
LINKS = '<a href="/a">a</a> <a href="/b">b</a> <a href="/sitemap.xml">all</a>'
PAGE = "<title>{0}</title>" + LINKS + "<p>This is the page {0}, and it says so in a sentence of its own."


def blocks(language: str) -> list[str]:
    """Return the README's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def own_site() -> str:
    """Return the site file that the README shows, without the comment with its name."""
    return next(block for block in blocks("python") if "Site(" in block).removeprefix("# books.py\n")


@contextmanager
def served(pages: dict[str, bytes]) -> Iterator[str]:
    """Serve the given pages, and yield the server's `127.0.0.1:PORT`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header(
                "Content-Type", "text/xml" if self.path.endswith(".xml") else "text/html; charset=utf-8"
            )
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Disable the request log."""

    with answering(Handler) as port:
        yield f"127.0.0.1:{port}"


class Reader:
    """A reader who types the commands of the README in an empty folder."""

    def __init__(self, folder: Path, example: str, books: str) -> None:
        self.folder, self.example, self.books = folder, example, books

    def moved(self, text: str) -> str:
        """Return the text with the names of the sites replaced by the local servers."""
        text = text.replace("https://example.com", f"http://{self.example}").replace(
            '"books.toscrape.com"', f'"{self.books}"'
        )
        return text.replace("https://books.toscrape.com", f"http://{self.books}")

    def run(self, *words: str) -> str:
        """Run Python with the given arguments, and return its stdout. Any error fails the test."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("GOSSAMER_")}
        env |= {"GOSSAMER_DELAY": "0", "PYTHONPATH": str(ROOT / "src")}
        done = fork_server.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def types(self, line: str) -> str:
        """Run one line of a shell block."""
        program, *words = shlex.split(self.moved(line), comments=True)
        assert program == "./gossamer"
        return self.run("-m", "gossamer", *words)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    kept = [read_saved_page(file)[0] for file in (BOOKS / "pages").glob("*.html")]
    books = {page.url.removeprefix("https://books.toscrape.com"): page.body for page in kept}
    example = {path: PAGE.format(path).encode() for path in ("/", "/a", "/b")}
    with served(example) as one, served(books) as other:
        example["/sitemap.xml"] = f"<urlset><url><loc>http://{one}/b</loc></url></urlset>".encode()
        (tmp_path / "urls.txt").write_text(f"http://{one}/\nhttp://{one}/a\n")
        book = next(path for path, body in books.items() if b"price_color" in body and "/catalogue/" in path)
        (tmp_path / "words.txt").write_text("page\n")
        (tmp_path / "targets.csv").write_text(f"url,rules\nhttp://{other}{book},below 1000\n")
        reader = Reader(tmp_path, one, other)
        (tmp_path / "books.py").write_text(reader.moved(own_site()))
        yield reader


def titles(folder: Path) -> list[str]:
    """Return the expected titles of the saved pages of the books example."""
    items = [item for file in (folder / "expected").glob("*.json") for item in json.loads(file.read_text())]
    return sorted(item["title"] for item in items)


def test_the_site_file_of_the_readme_is_the_tested_example() -> None:
    example = (ROOT / "examples" / "books.py").read_text()
    assert example.endswith('"""\n\n' + own_site())


def test_the_commands_of_the_readme(reader: Reader) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("./gossamer")]
    said = {line: reader.types(line) for line in lines}
    assert len(said) >= 7
    rows = [json.loads(line) for line in (reader.folder / "books.jsonl").read_text().splitlines()]
    assert {row["status"] for row in rows} >= {200}
    with open(reader.folder / "pages.csv", newline="") as file:
        assert sorted(row["title"] for row in csv.DictReader(file) if row["title"]) == ["/", "/a", "/b"]
    import pyarrow.dataset

    parquet = pyarrow.dataset.dataset(reader.folder / "pages.parquet").to_table().to_pylist()
    assert f"http://{reader.example}/b" in [row["url"] for row in parquet]
    assert len((reader.folder / "pages.jsonl").read_text().splitlines()) >= 3
    assert "finished" in next(out for line, out in said.items() if "status" in line)
    assert "done" in next(out for line, out in said.items() if "explain" in line)
    with sqlite3.connect(reader.folder / "books.sqlite") as database:
        found = sorted(title for (title,) in database.execute("SELECT title FROM book"))
    database.close()
    assert found == titles(BOOKS)
    assert "below 1000" in next(out for line, out in said.items() if "prices alert" in line)
    assert "page" in next(out for line, out in said.items() if "keywords" in line)
    assert "/b" in next(out for line, out in said.items() if "gossamer find" in line)
    assert len(list(reader.folder.glob("*.html"))) == 2, "the report of the prices and of the audit"
    assert "<h1>Prices" in (reader.folder / "prices.html").read_text()


def test_the_python_of_the_readme(reader: Reader) -> None:
    code = next(block for block in blocks("python") if "gossamer.crawl(" in block)
    said = reader.run("-c", reader.moved(code)).splitlines()
    assert {
        f"http://{reader.example}/ / None",
        f"http://{reader.example}/a /a None",
        f"http://{reader.example}/b /b None",
    } <= set(said)
    assert said[-1] == f"finished {len(titles(BOOKS))}"


def test_the_loop_in_one_s_own_loop(reader: Reader) -> None:
    code = f"""
import asyncio, gossamer
async def main():
    async for page in gossamer.crawl("http://{reader.example}/", limit=100):
        print(page.url)
asyncio.run(main())
"""
    assert set(reader.run("-c", code).split()) >= {
        f"http://{reader.example}/{name}" for name in ("", "a", "b")
    }
