"""The Python blocks of docs/python.md run, and they print the documented output. mypy --strict accepts the
blocks and rejects misuses of the API."""

from __future__ import annotations

import http.server
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mypy import api as mypy_api

from house.tree import ROOT
from support import fork_server
from support.answers import answering

TEXT = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", TEXT, re.MULTILINE | re.DOTALL)
README = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
PAGES = {
    "/": '<title>Books</title><article><h3><a href="/catalogue/tea_1/index.html">Tea</a></h3></article>',
    "/catalogue/tea_1/index.html": '<title>Tea</title><h1>Tea</h1><p class="price_color">£51.77</p>',
}
MISUSES = """
gossamer.crawl("https://a.example", limt=3)
gossamer.crawl("https://a.example", limit="many")
gossamer.crawl("https://a.example", header=3)
gossamer.crawl("https://a.example", fresh="yes")
gossamer.crawl("https://a.example", include=3)
gossamer.crawl(3)
gossamer.crawl(["https://a.example", 3])
gossamer.crawl(["https://a.example"]).summry
gossamer.run("https://a.example", outputs="a.jsonl")
gossamer.run("https://a.example", output=3)
gossamer.run("https://a.example").pgaes
gossamer.run("https://a.example", depth="all")
gossamer.fetch("https://a.example", limit=3)
gossamer.fetch(["https://a.example"])
gossamer.fetch("https://a.example", timeout=[3])
gossamer.fetch("https://a.example").css(3)
gossamer.fetch("https://a.example").statsu()
gossamer.fetch_async("https://a.example").title
gossamer.Site("a", pase="/")
gossamer.Site(seeds=["https://a.example"])
gossamer.Found(3)
gossamer.fetch_page("https://a.example")
""".strip().splitlines()

REVEALED = {
    'gossamer.crawl("https://a.example")': ("CrawledPage", "Found"),
    'gossamer.crawl(gossamer.Site("a"))': ("Found",),
    'gossamer.crawl(["https://a.example"], limit=3)': ("CrawledPage",),
    'gossamer.crawl(gossamer.Request("https://a.example"))': ("CrawledPage",),
    'gossamer.crawl(gossamer.Site("a"), "https://a.example")': ("CrawledPage", "Found"),
}
"""Crawls, with the classes of the records over which a loop iterates."""


@pytest.fixture(scope="module")
def books() -> Iterator[str]:
    """Serve two pages that replace books.toscrape.com, and yield the server's URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PAGES.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Disable the request log."""

    with answering(Handler) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(("code", "output"), BLOCKS)
def test_each_block_prints_what_the_page_says(code: str, output: str, books: str, tmp_path: Path) -> None:
    if "fastapi" in code:
        pytest.importorskip("fastapi")
    (tmp_path / "block.py").write_text(code.replace("https://books.toscrape.com", books))
    done = fork_server.run(
        [sys.executable, "block.py"], cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
    )
    assert (done.returncode, done.stdout) == (0, output), done.stderr


def test_mypy_accepts_the_blocks_and_refuses_each_misuse(tmp_path: Path) -> None:
    files = []
    for number, (code, _) in enumerate(BLOCKS):
        if "fastapi" not in code:  # FastAPI may not be installed
            files.append(tmp_path / f"block_{number}.py")
            files[-1].write_text(code)
    script = next(code for code in README if "gossamer.crawl(" in code)
    files.append(tmp_path / "readme.py")
    files[-1].write_text(script)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import gossamer\n" + "".join(f"{line}\n" for line in MISUSES))
    typed = tmp_path / "typed.py"
    typed.write_text(
        "import gossamer\n" + "".join(f"for one in {code}: reveal_type(one)\n" for code in REVEALED)
    )
    files.append(typed)
    config = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--strict",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    out, err, _ = mypy_api.run([*config, *map(str, files), str(wrong)])
    found = re.findall(r"^(.*?):(\d+): error: (.*)$", out, re.MULTILINE)
    assert [line for line in found if not line[0].endswith("wrong.py")] == [], err
    lines = {int(number) for name, number, _ in found if name.endswith("wrong.py")}
    assert [line for number, line in enumerate(MISUSES, 2) if number not in lines] == []
    revealed = re.findall(r'typed.py:\d+: note: Revealed type is "(.*)"', out)
    shown = [tuple(re.findall(r"\w+$", part)[0] for part in kind.split(" | ")) for kind in revealed]
    assert shown == list(REVEALED.values())
