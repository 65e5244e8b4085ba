# ruff: noqa: F811 - pytest takes fixtures by their names
"""Sinks written by the user: in a site file, by module, by entry point."""

from __future__ import annotations

import json
import sqlite3
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer import Site
from gossamer.errors import ConfigError, SinkAway, SinkError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks.output_spec import open_output, parse
from gossamer.sinks.own_sink import OwnSink
from support.answers import answering

SINK = """
import json
import sqlite3
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class Lines:
    def __init__(self, url):
        self.name = parse_qs(urlsplit(url).query)["file"][0]

    def open(self, context):
        self.file = open(self.name, "a")
        self.file.write(json.dumps({"open": context.crawl, "folder": context.folder.is_dir()}) + "\\n")

    def write(self, rows):
        for row in rows:
            self.file.write(json.dumps(row, default=str) + "\\n")
        self.file.flush()

    def close(self):
        self.file.write(json.dumps({"closed": True}) + "\\n")
        self.file.close()
"""
SITE = """
import json
import sqlite3
from gossamer import Site


class Titles:
    failures = {failures}

    def write(self, rows):
        print("this does not reach the standard output")
        if Titles.failures:
            raise Titles.failures.pop()
        with open("titles.txt", "a") as file:
            file.writelines(row["title"] + "\\n" for row in rows)


site = Site("shop", seeds=["{web}/0"], pace="1ms", sinks=[Titles])


@site.page()
def read(page):
    n = int(page.url.rpartition("/")[2])
    yield {{"title": f"title {{n}}"}}
    if n < 9:
        yield page.request(f"/{{n + 1}}")
"""


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None: ...


TITLES = sorted(f"title {n}" for n in range(10))


def test_a_class_of_a_site_file_and_one_of_a_module(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room / "my_sinks.py").write_text(SINK)
    monkeypatch.setenv("PYTHONPATH", str(room), prepend=":")
    with answering(Shop) as port:
        site = SITE.format(web=f"http://127.0.0.1:{port}", failures="[ConnectionResetError('away')]")
        (room / "shop.py").write_text(site)
        words = ("-o", "python://my_sinks:Lines?file=lines.txt", "-o", "items.jsonl")
        code, _, err = gossamer(room, "crawl", "shop.py", *words)
    assert code == 0, err
    assert sorted((room / "titles.txt").read_text().splitlines()) == TITLES, "a lost connection is retried"
    first, *rows, last = [json.loads(line) for line in (room / "lines.txt").read_text().splitlines()]
    assert first == {"open": "shop", "folder": True}
    assert last == {"closed": True}
    assert rows == [json.loads(line) for line in (room / "items.jsonl").read_text().splitlines()]
    assert (rows[0]["_kind"], rows[0]["_site"]) == ("item", "shop")


def test_another_error_ends_the_crawl_and_the_next_run_writes_the_rows(room: Path) -> None:
    with answering(Shop) as port:
        web = f"http://127.0.0.1:{port}"
        (room / "shop.py").write_text(SITE.format(web=web, failures="[ValueError('bad row')]"))
        code, _, err = gossamer(room, "crawl", "shop.py", "-o", "items.jsonl")
        assert code == 20
        assert "site://shop/Titles: write: ValueError: bad row" in err
        (room / "shop.py").write_text(SITE.format(web=web, failures="[]"))
        code, _, err = gossamer(room, "crawl", "shop.py", "-o", "items.jsonl")
    assert code == 0, err
    assert sorted(set((room / "titles.txt").read_text().splitlines())) == TITLES


def test_an_installed_sink_is_named_by_its_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "sheets-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sheets\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gossamer.sinks]\nsheet = sheet_sinks:Sheet\n")
    (tmp_path / "sheet_sinks.py").write_text(
        "class Sheet:\n    def __init__(self, url): self.url = url\n    def write(self, rows): rows[0]['url'] = self.url\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SHEET_KEY", "k/1")
    spec = "sheet://docs.example/prices?tab=a&key=${env:SHEET_KEY}"
    assert parse(spec) == (spec, "own")
    sink = open_output(spec, {}, folder=str(tmp_path / "crawl"))
    assert isinstance(sink, OwnSink)
    row: dict[str, Any] = {}
    sink.prepare()
    sink.upsert([Row("item", "1", row)])
    assert row["url"] == "sheet://docs.example/prices?tab=a&key=k%2F1"
    assert sink.target() == spec, "no secret in a name that is shown"
    with pytest.raises(
        UsageError, match=r"no store sheets:// \(did you mean sheet://\?\)|no store sheets://"
    ):
        parse("sheets://docs.example/")


@pytest.mark.parametrize(
    ("spec", "error", "reason"),
    [
        ("python://json", UsageError, "write python://MODULE:CLASS"),
        ("python://no_such_module:Sink", ConfigError, "cannot be loaded"),
        ("python://json:loads", ConfigError, None),
        ("site://shop/Sheet", ConfigError, "crawl with that file"),
    ],
)
def test_mistakes_are_named(spec: str, error: type[Exception], reason: str | None, tmp_path: Path) -> None:
    if reason is None:  # reported when the sink is opened
        sink = open_output(spec, {}, folder=str(tmp_path))
        assert isinstance(sink, OwnSink)
        with pytest.raises(SinkError, match="python://json:loads: __init__: JSONDecodeError"):
            sink.prepare()
        return
    with pytest.raises(error, match=reason):
        open_output(spec, {}, folder=str(tmp_path))


def test_a_timeout_is_retried_and_close_never_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Slow:
        def write(self, rows: object) -> None:
            raise TimeoutError("slow")

        def close(self) -> None:
            raise OSError("gone")

    sink = OwnSink("site://a/Slow", Slow, tmp_path)
    sink.prepare()
    with pytest.raises(SinkAway, match="site://a/Slow: write: TimeoutError: slow"):
        sink.upsert([])
    sink.close()
    assert "site://a/Slow: close: OSError: gone" in capsys.readouterr().err


def test_what_is_no_sink_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"have a method write\(rows\)"):
        Site("a", sinks=[object()])
    with pytest.raises(ConfigError, match=r"no method write\(rows\)"):
        OwnSink("x", object, Path(".")).prepare()


def test_the_example_runs_as_printed(room: Path) -> None:
    quote = "<div class=quote><span class=text>{}</span><small class=author>{}</small></div>".format
    pages = {
        "/": quote("One.", "Jane Austen") + '<li class=next><a href="/page/2/">Next</a></li>',
        "/page/2/": quote("Two.", "Jane Austen") + quote("Three.", "Steve Martin"),
    }

    class Quotes(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with sqlite3.connect(room / "authors.sqlite") as database:
        database.execute("CREATE TABLE author (name TEXT PRIMARY KEY, birthplace TEXT)")
        database.execute("INSERT INTO author VALUES ('Jane Austen', 'Steventon')")
    database.close()
    text = (Path(__file__).parents[2] / "examples/own_sink.py").read_text()
    with answering(Quotes) as port:
        (room / "own_sink.py").write_text(
            text.replace("https://quotes.toscrape.com", f"http://127.0.0.1:{port}")
        )
        code, _, err = gossamer(room, "crawl", "own_sink.py", "-o", "quotes.jsonl", "--delay", "0.01")
    assert code == 0, err
    assert (room / "quotes/jane-austen.md").read_text() == "- One.\n- Two.\n"
    assert (room / "quotes/steve-martin.md").read_text() == "- Three.\n"
    rows = [json.loads(line) for line in (room / "quotes.jsonl").read_text().splitlines()]
    assert [row["birthplace"] for row in rows] == ["Steventon", "Steventon", None]
