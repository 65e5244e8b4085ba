# ruff: noqa: F811 - pytest takes fixtures by their names
"""Item steps written by the user: classes, entry points, `open` and `close`."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer import Site
from gossamer.errors import ConfigError
from gossamer.items.steps import StepContext, close_steps, open_steps, prepare_steps
from support.answers import answering

SITE = """
import os
from gossamer import Site


class Numbered:
    def open(self, context):
        self.log = open(context.folder / "steps.log", "a")
        self.number = 0
        self.write(f"open {{context.crawl}} {{context.site}} {{context.args['mark']}}")

    def __call__(self, item, page):
        self.number += 1
        item["step"] = f"{{os.getpid()}}-{{self.number}}"

    def close(self):
        self.write(f"close {{self.number}}")
        self.log.close()

    def write(self, line):
        self.log.write(f"{{os.getpid()}} {{line}}\\n")
        self.log.flush()


site = Site("shop", seeds=["{web}/0"], pace="1ms", steps=[Numbered, "own_plugin:shout"], args={{"mark": "x"}})


@site.page()
def read(page):
    n = int(page.url.rpartition("/")[2])
    yield {{"name": "n", "n": n}}
    if n < 5:
        yield page.request(f"/{{n + 1}}")
"""


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<b>n</b>" * (26_000 if self.path == "/3" else 1)  # page 3 is parsed in another process
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def test_each_process_opens_and_closes_its_steps(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room / "own_plugin.py").write_text("def shout(item, page):\n    item['name'] = item['name'].upper()\n")
    monkeypatch.setenv("PYTHONPATH", str(room), prepend=":")
    with answering(Shop) as port:
        (room / "shop.py").write_text(SITE.format(web=f"http://127.0.0.1:{port}"))
        code, _, err = gossamer(
            room, "crawl", "shop.py", "-o", "items.jsonl", "-a", "mark=y", "--data", "data"
        )
    assert code == 0, err
    rows = [json.loads(line) for line in (room / "items.jsonl").read_text().splitlines()]
    assert sorted(row["n"] for row in rows) == [0, 1, 2, 3, 4, 5]
    assert {row["name"] for row in rows} == {"N"}
    processes = {row["step"].partition("-")[0] for row in rows}
    assert len(processes) == 2
    lines: dict[str, list[str]] = {}
    for line in (room / "data/shop/steps.log").read_text().splitlines():
        process, _, what = line.partition(" ")
        lines.setdefault(process, []).append(what)
    assert sorted(lines.values()) == [["open shop shop y", "close 1"], ["open shop shop y", "close 5"]]
    assert processes == set(lines)


def test_a_step_that_cannot_be_opened_ends_the_crawl_before_it_begins(room: Path) -> None:
    (room / "shop.py").write_text("""
from gossamer import Site
class Broken:
    def open(self, context):
        raise OSError("no database")
    def __call__(self, item, page): ...
site = Site("shop", seeds=["http://127.0.0.1:9/"], steps=[Broken()])
@site.page()
def read(page): ...
""")
    code, _, err = gossamer(room, "crawl", "shop.py", "-o", "items.jsonl")
    assert code == 4
    assert "site shop: step broken: open: OSError: no database" in err


def test_opened_steps_are_closed_when_a_later_one_fails(capsys: pytest.CaptureFixture[str]) -> None:
    said = list[str]()

    class Step:
        def __init__(self, name: str, fails: str = "") -> None:
            self.name, self.fails = name, fails

        def open(self, context: StepContext) -> None:
            said.append(f"open {self.name}")
            if self.fails == "open":
                raise ValueError("broken")

        def __call__(self, item: object, page: object) -> None: ...

        def close(self) -> None:
            said.append(f"close {self.name}")
            if self.fails == "close":
                raise ValueError("still broken")

    context = StepContext("c", "s", Path("."), {})
    with pytest.raises(ConfigError, match="site s: step step: open: ValueError: broken"):
        open_steps([Step("a"), Step("b", "close"), Step("c", "open"), Step("d")], context)
    assert said == ["open a", "open b", "open c", "close b", "close a"]
    assert "site s: step step: close: ValueError: still broken" in capsys.readouterr().err
    close_steps([], "s")


def test_a_class_is_made_for_each_crawl() -> None:
    class Counts:
        def __call__(self, item: object, page: object) -> None: ...

    site = Site("a", seeds=["http://a.example/"], steps=[Counts])
    one, *_ = prepare_steps(site.steps)
    other, *_ = prepare_steps(site.steps)
    assert isinstance(one, Counts)
    assert isinstance(other, Counts)
    assert one is not other


def test_steps_by_the_name_of_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gossamer.steps]\neuros = plugin_steps:Euros\n")
    (tmp_path / "plugin_steps.py").write_text("class Euros:\n    def __call__(self, item, page): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (step,) = Site("a", steps=["euros"]).steps
    assert step is sys.modules["plugin_steps"].Euros
    with pytest.raises(ConfigError, match="'pounds' is not installed; installed are: euros"):
        Site("a", steps=["pounds"])


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("no_such_module:Step", "cannot be loaded"),
        ("json:NoStep", "cannot be loaded"),
        (type("Bare", (), {}), "has no method __call__"),
        (
            type("Two", (), {"__init__": lambda self, one: None, "__call__": lambda *_: None}),
            "write steps=\\[Two",
        ),
    ],
)
def test_mistakes_are_named(step: object, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Site("a", steps=[step])
