"""Tests of pages that scripts fill, of several kinds, in real crawls: such pages climb to the browser.
Without the browser rung, such pages are counted and reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import Stage
from gossamer.cli.commands import run

SCRIPT = {"content-type": "text/javascript"}
MENU = (
    "<header><a href=/>Kettles</a></header><nav>"
    + "".join(
        f"<a href=/{name}>{name}</a>"
        for name in ("react", "menu", "skeleton", "template", "hydrated", "notice", "login", "gallery")
    )
    + "</nav>"
)
FOOTER = (
    "<footer><p>" + "We sell kettles, and we say here at length how cookies are used. " * 8 + "</p></footer>"
)
TEXT = "<h1>Kettles</h1><p>" + "A kettle boils a litre of water in some minutes. " * 12 + "</p>"
FILL = f"document.getElementById('%s').innerHTML = {json.dumps(TEXT)};"
KINDS = {
    "/react": f"<noscript>You need to enable JavaScript.</noscript><div id=root></div><script>{FILL % 'root'}</script>",
    "/menu": f"{MENU}<main id=m></main>{FOOTER}<script>{FILL % 'm'}</script>",
    "/skeleton": f"{MENU}<main><div id=s><div class='skeleton line'></div></div></main>{FOOTER}<script>{FILL % 's'}</script>",
    "/template": f"{MENU}<main id=t><h1>{{{{ name }}}}</h1></main>{FOOTER}<script>{FILL % 't'}</script>",
}
SENT = {
    "/": f"{MENU}<main>{TEXT}</main>{FOOTER}<script src=/app.js></script>",
    "/hydrated": f"<div id=__next>{MENU}<main id=h>{TEXT}</main>{FOOTER}</div><script>document.getElementById('h').dataset.on = 1</script>",
    "/notice": f"{MENU}<main><h1>Sold out</h1><p>This kettle is sold out.</p></main>{FOOTER}<script src=/app.js></script>",
    "/login": f"{MENU}<main><form><input name=u><input name=p type=password></form></main>{FOOTER}<script src=/app.js></script>",
    "/gallery": f"{MENU}<main><img src=a.png><img src=b.png></main>{FOOTER}<script src=/app.js></script>",
}


@pytest.fixture
def shop(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Serve a shop in which scripts fill some of the pages. The working folder is empty."""
    monkeypatch.chdir(tmp_path)
    pages = {
        path: f"<!doctype html><title>{path}</title><body>{body}" for path, body in (KINDS | SENT).items()
    }
    stage.pages |= pages | {"/app.js": (200, SCRIPT, "1"), "/robots.txt": (404, {}, "")}
    return stage


def crawl(shop: Stage, name: str, *more: str) -> int:
    words = [
        "--name",
        name,
        "--json",
        "--delay",
        "0.01",
        "--retries",
        "none",
        "-O",
        f"{name}.jsonl",
        "--text",
    ]
    return run(["crawl", shop.url(), *words, *more])


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_pages_that_scripts_fill_climb_and_no_others(shop: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert crawl(shop, "up", "--ladder", "plain,browser") == 0
    rows = {one["url"].removeprefix(shop.url("")): one for one in lines("up.jsonl")}
    assert set(rows) == {*KINDS, *SENT}
    assert {rows[path]["collector"] for path in KINDS} == {"browser"}
    assert all("A kettle boils" in rows[path]["text"] for path in KINDS)
    told = capsys.readouterr()
    assert json.loads(told.out)["unrendered"] == {}
    assert "look empty" not in told.err
    attempts = lines(".gossamer/up/attempts.jsonl")
    climbed = {one["url"].removeprefix(shop.url("")) for one in attempts if one["outcome"] == "climbed"}
    assert len(climbed) >= 2, "then the host begins in the browser"
    assert climbed <= set(KINDS), "what is complete does not climb"


def test_without_a_browser_they_are_counted_with_advice(
    shop: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    host = shop.url("").removeprefix("http://")
    assert crawl(shop, "plain") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["unrendered"] == {host: len(KINDS)}
    line = f"{len(KINDS)} pages of host {host} look empty without JavaScript: --ladder plain,browser"
    assert told.err.count(line) == 1
    assert run(["status", "plain"]) == 0
    assert "look empty without JavaScript" in " ".join(capsys.readouterr().out.split())
    assert run(["try", shop.url("/menu")]) == 0
    assert "add --ladder browser" in capsys.readouterr().err


def test_a_host_begins_in_the_browser_when_its_pages_need_it(shop: Stage) -> None:
    """The crawl learns the host's rung from empty pages, as it does from blocks."""
    more = {f"/menu/{n}": f"<!doctype html><title>{n}</title><body>{KINDS['/menu']}" for n in range(6)}
    shop.pages |= more
    shop.pages["/"] = (
        "<!doctype html><title>Menu</title>" + "".join(f"<a href={path}>{path}</a>" for path in more) + TEXT
    )
    assert crawl(shop, "learned", "--ladder", "plain,browser") == 0
    attempts = lines(".gossamer/learned/attempts.jsonl")
    rungs = [one["rung"] for one in attempts if "/menu/" in one["url"]]
    assert rungs.count("browser") == len(more)
    assert rungs.count("plain") <= 3


def test_no_items_name_must_have_and_the_browser(shop: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    Path("shop.py").write_text(
        f"from gossamer import Site\nsite = Site('shop', seeds=['{shop.url()}'])\n"
        "@site.page()\ndef kettle(page):\n    yield from ({'name': one} for one in page.css('.none::text').getall())\n"
    )
    assert run(["crawl", "shop.py", "-O", "items.jsonl"]) == 0
    told = capsys.readouterr().err
    assert "--ladder plain,browser and must_have=" in told
