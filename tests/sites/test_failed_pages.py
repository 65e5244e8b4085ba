"""The report when a site file cannot read a page: the file, the line, the error, and the command that tries
again without a request."""

from __future__ import annotations

import http.server
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import fork_server
from support.answers import answering

SRC = Path(__file__).resolve().parents[2] / "src"
SITE = """from gossamer import Site
site = Site("{name}", seeds=["{web}/"])
@site.page()
def listing(page):
    yield {{"title": page.css("h1::text").get().strip()}}
    yield from page.follow("a")
"""


class Pages(http.server.BaseHTTPRequestHandler):
    """A page with two links to pages without a heading."""

    def do_GET(self) -> None:
        body = b"<h1>T</h1><a href=/1>1</a><a href=/2>2</a>" if self.path == "/" else b"<p>none"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    with answering(Pages) as port:
        yield f"http://127.0.0.1:{port}"


def gossamer(folder: Path, *words: str) -> tuple[int, str, list[str]]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")} | {"PYTHONPATH": str(SRC)}
    done = fork_server.run(
        [sys.executable, "-m", "gossamer", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def test_a_crawl_a_check_and_a_try_name_the_line(tmp_path: Path, web: str) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SITE.format(name="shop", web=web))
    words = ("crawl", "shop.py", "-o", "out.jsonl", "--delay", "0")
    code, _, err = gossamer(tmp_path, *words)
    why = "gossamer: shop: shop.py:5 in listing: AttributeError: 'NoneType' object has no attribute 'strip'"
    assert code == 0
    assert [line for line in err if line.startswith("gossamer: shop")] == [
        f"{why} (2 pages, such as {web}/{err[0][-2]})"
    ]
    assert (
        "gossamer: these pages are stored in .gossamer/shop/failed: gossamer check SITE.py --pages .gossamer/shop/failed"
        in err
    )
    assert json.loads(err[-1])["errors"] == {"parse": 2}
    again = ("crawl", "shop.py", "-O", "out.jsonl", "--delay", "0", "--fresh", "--quiet")
    assert gossamer(tmp_path, *again)[2] == []
    code, out, _ = gossamer(tmp_path, "check", "shop.py", "--pages", ".gossamer/shop/failed")
    assert (code, out.count("shop.py:5 in listing")) == (4, 2)
    assert gossamer(tmp_path, "try", f"{web}/1", "--site", "shop.py")[::2] == (4, [why])
    file.write_text(file.read_text().replace(".get()", ".get('')"))
    code, out, _ = gossamer(tmp_path, "check", "shop.py", "--pages", ".gossamer/shop/failed", "--json")
    assert (code, [one["ok"] for one in json.loads(out)]) == (0, [True, True])
    assert gossamer(tmp_path, "try", f"{web}/1", "--site", "shop.py")[::2] == (0, [])


def test_how_a_page_differs_stands_in_lines(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SITE.format(name="shop", web="http://a.example"))
    for folder, name, text in (
        ("pages", "a.html", "<h1>Te&#27;a"),
        ("pages", "a.json", '{"url": "http://a.example/"}'),
        ("expected", "a.json", '[{"title": "T"}]'),
    ):
        (tmp_path / "shop" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / folder / name).write_text(text)
    code, out, _ = gossamer(tmp_path, "check", "shop.py")
    lines = [
        line.partition("--- ")[1] + line.partition("--- ")[2] or line.strip() for line in out.splitlines()[1:]
    ]
    assert (code, lines[:2]) == (4, ["--- expected", "+++ found"])
    assert any(line.startswith("+") and "Te" in line for line in lines)
    assert "\x1b" not in out


def test_a_site_keeps_its_items_itself(tmp_path: Path, web: str) -> None:
    text = (
        SITE.format(name="{name}", web=web)
        .replace(".get()", ".get('')")
        .replace('/"])', '/"], sinks="own.jsonl")')
    )
    for name, path in (("a", "^/$"), ("b", "^/[12]")):
        (tmp_path / f"{name}.py").write_text(
            text.replace("{name}", name).replace("sinks=", f"paths='{path}', sinks=")
        )
    code, out, err = gossamer(tmp_path, "crawl", ".", "--delay", "0", "--name", "c")
    assert (code, out) == (0, "")
    assert json.loads(err[-1])["outputs"] == ["own.jsonl"]
    rows = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    assert sorted(row["_site"] for row in rows) == ["a", "b", "b"]
    assert gossamer(tmp_path, "try", f"{web}/", "--site", "a.py")[0] == 0  # `try` saves no pages
    gossamer(tmp_path, "crawl", "a.py", "--delay", "0", "-o", "more.jsonl")
    assert [len((tmp_path / f"{name}.jsonl").read_text().splitlines()) for name in ("own", "more")] == [4, 1]


@pytest.mark.parametrize("name", ["h", "o", "c", "x"])
def test_a_site_of_one_letter_is_no_key_of_the_store(tmp_path: Path, web: str, name: str) -> None:
    (tmp_path / "site.py").write_text(SITE.format(name=name, web=web).replace(".get()", ".get('')"))
    code, _, err = gossamer(tmp_path, "crawl", "site.py", "-o", "out.jsonl", "--delay", "0")
    assert (code, json.loads(err[-1])["pages"]) == (0, 3)
    assert "surprises" not in "".join(err)
    named = gossamer(
        tmp_path, "crawl", "site.py", "--name", name, "--data", "other", "--delay", "0", "-o", "o.jsonl"
    )
    assert named[0] == (2 if name in "ho" else 0)


PRINTING = """print("loaded")
from gossamer import Site
def shout(item, page):
    print("step", item["title"])
site = Site("loud", seeds=["{web}/"], steps=(shout,), follow=lambda page: [print("follow")] and [])
@site.page()
def listing(page):
    print("read", page.url)
    yield {{"title": page.css("h1::text").get("none")}}
    yield from page.follow("a")
"""


@pytest.mark.parametrize("processes", ["1", "3"])
def test_what_a_site_prints_is_no_data(tmp_path: Path, web: str, processes: str) -> None:
    (tmp_path / "loud.py").write_text(PRINTING.format(web=web))
    code, out, err = gossamer(tmp_path, "crawl", "loud.py", "--delay", "0", "--processes", processes)
    assert (code, sorted(json.loads(line)["title"] for line in out.splitlines())) == (
        0,
        ["T", "none", "none"],
    )
    assert sorted(line for line in err if line.startswith(("read", "step"))) == [
        f"read {web}/",
        f"read {web}/1",
        f"read {web}/2",
        "step T",
        "step none",
        "step none",
    ]
    assert json.loads(err[-1])["state"] == "finished"


NOTHING = """from gossamer import Site
site = Site("nothing", seeds=["{web}/"])
@site.page()
def listing(page):
    yield from page.follow({query!r})
"""


def test_a_site_that_gives_nothing_is_named(tmp_path: Path, web: str) -> None:
    file = tmp_path / "nothing.py"
    file.write_text(NOTHING.format(web=web, query="a.wrong"))
    words = ("crawl", "nothing.py", "-o", "out.jsonl", "--delay", "0")
    hint = "not one item yielded; see what a page gives: gossamer try URL --site nothing.py"
    assert f"gossamer: nothing: 1 page read, {hint}" in gossamer(tmp_path, *words)[2]
    assert gossamer(tmp_path, *words, "--fresh", "--quiet")[2] == []
    file.write_text(NOTHING.format(web=web, query="a"))
    assert f"gossamer: nothing: 3 pages read, {hint}" in gossamer(tmp_path, *words, "--fresh")[2]
    file.write_text(file.read_text() + "    yield {'a': 1}\n")
    assert "not one item" not in "".join(gossamer(tmp_path, *words, "--fresh")[2])


def test_an_empty_field_says_what_to_do(tmp_path: Path, web: str) -> None:
    text = SITE.format(name="shop", web=web).replace(
        "import Site", "import Item, Site\nclass A(Item):\n    title: str\n"
    )
    (tmp_path / "shop.py").write_text(
        text.replace("yield {", "yield A(**{").replace(".get().strip()}", ".get()})")
    )
    err = gossamer(tmp_path, "crawl", "shop.py", "-o", "out.jsonl", "--delay", "0")[2]
    assert "gossamer: shop: a: title: Expected `str`, got `null` (2 items)" in err
    assert (
        "gossamer: `null` means that nothing was found: repair the selector, or annotate an optional field as `... | None`"
        in err
    )


@pytest.mark.parametrize("name", ["json", "logging", "asyncio", "random"])
def test_a_site_file_may_be_called_as_a_module_of_python(tmp_path: Path, web: str, name: str) -> None:
    (tmp_path / f"{name}.py").write_text(SITE.format(name=name, web=web).replace(".get()", ".get('')"))
    code, _, err = gossamer(
        tmp_path, "crawl", f"{name}.py", "-o", "out.jsonl", "--delay", "0", "--processes", "2"
    )
    assert (code, json.loads(err[-1])["items"]) == (0, 3)


def test_a_site_without_seeds_says_where_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from gossamer import Site\nsite = Site('a')\n")
    assert gossamer(tmp_path, "crawl", "a.py") == (
        2,
        "",
        ["gossamer: a.py names no seeds: write Site(..., seeds=[URL]), or give a URL after the file"],
    )


def test_an_export_names_the_files_it_wrote(tmp_path: Path, web: str) -> None:
    (tmp_path / "shop.py").write_text(SITE.format(name="shop", web=web).replace(".get()", ".get('')"))
    gossamer(tmp_path, "crawl", "shop.py", "-o", "out.jsonl", "--delay", "0")
    assert gossamer(tmp_path, "export", "shop", "all.csv")[1] == "3 items to all.item.csv\n"
    assert (tmp_path / "all.item.csv").exists()
    assert gossamer(tmp_path, "export", "shop", "all.jsonl")[1] == "3 items to all.jsonl\n"


WORDS = [
    (
        ["http://a.example/"],
        "gossamer: http://a.example/ is not a command: to crawl it, run gossamer crawl http://a.example/; see gossamer --help",
    ),
    (
        ["shop.py"],
        "gossamer: shop.py is not a command: to crawl it, run gossamer crawl shop.py; see gossamer --help",
    ),
    (
        ["--data", "x", "status"],
        "gossamer: --data must follow a command, as in gossamer crawl TARGET --data ...; see gossamer --help",
    ),
    (["craw"], "gossamer: no command 'craw' (did you mean crawl?); see gossamer --help"),
]


@pytest.mark.parametrize(("words", "line"), WORDS)
def test_words_in_the_wrong_place(tmp_path: Path, words: list[str], line: str) -> None:
    assert gossamer(tmp_path, *words) == (2, "", [line])


def test_a_package_that_lacks_says_for_which_python(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import no_such_package\n")
    (line,) = gossamer(tmp_path, "crawl", "a.py")[2]
    assert line.endswith(f"install it for {sys.executable}, or mend the line, and run the same command again")


SPREAD = """import time
from gossamer import Site
site = Site("spread", seeds=[url for host in ("127.0.0.1", "localhost") for url in [f"http://{{host}}:{port}/"]])
@site.page()
def listing(page):
    time.sleep(0.2)
    print("read", page.url)
    yield from page.follow("a")
"""


def test_what_a_site_prints_in_another_process_is_no_outcome(tmp_path: Path, web: str) -> None:
    (tmp_path / "spread.py").write_text(SPREAD.format(port=web.rpartition(":")[2]))
    words = ("crawl", "spread.py", "--delay", "1", "--processes", "3", "--concurrency", "1", "--json")
    code, out, err = gossamer(tmp_path, *words)
    assert (code, json.loads(out)["state"], json.loads(out)["pages"]) == (0, "finished", 6)
    assert len([line for line in err if line.startswith("read ")]) == 6
    log = (tmp_path / ".gossamer" / "spread" / "attempts.jsonl").read_text().splitlines()
    assert len({json.loads(line)["worker"] for line in log}) > 1


def test_a_try_prints_items_as_outputs_have_them(tmp_path: Path, web: str) -> None:
    (tmp_path / "site.py").write_text(f"""from decimal import Decimal
from gossamer import Site
site = Site("s", seeds=["{web}/"])
@site.page()
def one(page):
    yield {{"price": Decimal("1.50")}}
""")
    code, out, _ = gossamer(tmp_path, "try", f"{web}/", "--site", "site.py", "--json")
    assert (code, json.loads(out)["items"][0]["price"]) == (0, 1.5)
