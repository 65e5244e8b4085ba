"""What somebody hears whose site file cannot read a page: file, line, error, and how to try again without fetching."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
SITE = """from gossamer import Site
site = Site("{name}", seeds=["{web}/"])
@site.page()
def listing(page):
    yield {{"title": page.css("h1::text").get().strip()}}
    yield from page.follow("a")
"""


class Pages(http.server.BaseHTTPRequestHandler):
    """A page with two links to pages without a headline."""

    def do_GET(self) -> None:
        body = b"<h1>T</h1><a href=/1>1</a><a href=/2>2</a>" if self.path == "/" else b"<p>none"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def web() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def gossamer(folder: Path, *words: str) -> tuple[int, str, list[str]]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")} | {"PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-m", "gossamer", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60)  # fmt: skip
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
    assert "gossamer: such pages are kept in .gossamer/shop/failed: gossamer check SITE.py --pages .gossamer/shop/failed" in err  # fmt: skip
    assert json.loads(err[-1])["errors"] == {"parse": 2}
    assert gossamer(tmp_path, *words, "--fresh", "--quiet")[2] == []
    code, out, _ = gossamer(tmp_path, "check", "shop.py", "--pages", ".gossamer/shop/failed")
    assert (code, out.count("shop.py:5 in listing")) == (4, 2)
    assert gossamer(tmp_path, "try", f"{web}/1", "--site", "shop.py")[::2] == (4, [why])
    file.write_text(file.read_text().replace(".get()", ".get('')"))
    code, out, _ = gossamer(tmp_path, "check", "shop.py", "--pages", ".gossamer/shop/failed", "--json")
    assert (code, [one["ok"] for one in json.loads(out)]) == (0, [True, True])
    assert gossamer(tmp_path, "try", f"{web}/1", "--site", "shop.py")[::2] == (0, [])


def test_a_site_keeps_its_items_itself(tmp_path: Path, web: str) -> None:
    text = SITE.format(name="{name}", web=web).replace(".get()", ".get('')").replace('/"])', '/"], sinks="own.jsonl")')
    for name, path in (("a", "^/$"), ("b", "^/[12]")):
        (tmp_path / f"{name}.py").write_text(text.replace("{name}", name).replace("sinks=", f"paths='{path}', sinks="))
    code, out, err = gossamer(tmp_path, "crawl", ".", "--delay", "0", "--name", "c")
    assert (code, out) == (0, "")
    assert json.loads(err[-1])["outputs"] == ["own.jsonl"]
    rows = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    assert sorted(row["_site"] for row in rows) == ["a", "b", "b"]
    assert gossamer(tmp_path, "try", f"{web}/", "--site", "a.py")[0] == 0  # it keeps nothing
    gossamer(tmp_path, "crawl", "a.py", "--delay", "0", "-o", "more.jsonl")
    assert [len((tmp_path / f"{name}.jsonl").read_text().splitlines()) for name in ("own", "more")] == [4, 1]


@pytest.mark.parametrize("name", ["h", "o", "c", "x"])
def test_a_site_of_one_letter_is_no_key_of_the_store(tmp_path: Path, web: str, name: str) -> None:
    (tmp_path / "site.py").write_text(SITE.format(name=name, web=web).replace(".get()", ".get('')"))
    code, _, err = gossamer(tmp_path, "crawl", "site.py", "-o", "out.jsonl", "--delay", "0")
    assert (code, json.loads(err[-1])["pages"]) == (0, 3)
    assert "surprises" not in "".join(err)
    named = gossamer(tmp_path, "crawl", "site.py", "--name", name, "--data", "other", "--delay", "0", "-o", "o.jsonl")
    assert named[0] == (2 if name in "ho" else 0)


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
