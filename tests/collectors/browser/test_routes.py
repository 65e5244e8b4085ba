"""Tests of routes in URL fragments (#/guide), which are crawled as pages of their own by a real browser.
The tested applications are docsify and a small one that was written for this test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import Stage
from gossamer.cli.commands import run
from support import fork_server
from support.processes import until
from support.repetitions import first_case

DOCSIFY = Path(__file__).parents[3] / ".sites" / "docsify" / "package" / "dist" / "docsify.min.js"
SCRIPT = {"content-type": "text/javascript"}
PAGES = ("", "about", "items/1", "items/2", "items/3", "hidden/1")
APP = """
const show = () => {
  const route = location.hash.replace(/^#!?\\//, '');
  if (route === 'old') { location.replace('#/items/1'); return; }
  document.getElementById('view').innerHTML = '<h1>Page ' + (route || 'home') + '</h1><p>' + ('Words of ' + route + '. ').repeat(30)
    + '</p>' + (route === 'items/1' ? '<a href="#/items/3">three</a>' : '') + (route === 'about' ? '<a href="#/hidden/1">h</a>' : '');
};
addEventListener('hashchange', show); show();
"""
MENU = (
    '<nav><a href="#/">Home</a> <a href="#/about">About</a> <a href="#/items/1">One</a> '
    '<a href="#/items/2">Two</a> <a href="#/old">Old</a> <a href="#top">Top</a></nav>'
)
SHELL = (
    f"<!doctype html><title>App</title><body>{MENU}<main id=view></main><footer>Imprint</footer>"
    "<script src=/app.js></script>"
)


@pytest.fixture
def app(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Serve an application with a fragment router. The working folder is empty."""
    monkeypatch.chdir(tmp_path)
    stage.pages |= {"/": SHELL, "/app.js": (200, SCRIPT, APP), "/robots.txt": (404, {}, "")}
    return stage


def crawl(stage: Stage, name: str, *more: str, path: str = "/") -> tuple[dict[str, Any], dict[str, Any]]:
    """Crawl the application, and return its page records, keyed by the URL without scheme and host. The
    second value is an empty dict."""
    words = ["--name", name, "--json", "--delay", "0.01", "--retries", "none", "-O", f"{name}.jsonl", *more]
    assert run(["crawl", stage.url(path), *words]) == 0
    lines = [json.loads(one) for one in Path(f"{name}.jsonl").read_text().splitlines()]
    return {one["url"].removeprefix(stage.url("")): one for one in lines}, {}


def summary(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """Return the summary that the crawl printed to stdout, and its stderr."""
    got = capsys.readouterr()
    return json.loads(got.out), got.err


def balanced(told: dict[str, Any]) -> bool:
    """Return whether the summary accounts for every found URL."""
    ended = sum(told[name] for name in ("pages", "redirected", "failed", "dead", "pending"))
    return bool(told["found"] == ended + sum(told["skipped"].values()))


def test_routes_of_a_rendered_page_are_pages(app: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = crawl(app, "auto", "--ladder", "plain,browser", "--text")
    told, said = summary(capsys)
    assert set(rows) == {"/", "/#/about", "/#/items/1", "/#/items/2", "/#/items/3", "/#/hidden/1"}
    assert all(f"Words of {path[3:]}." in one["text"] for path, one in rows.items() if "#" in path)
    assert {one["collector"] for one in rows.values()} == {"browser"}
    assert rows["/#/hidden/1"]["depth"] == 2
    assert (told["pages"], told["redirected"], told["unfollowed_routes"]) == (6, 1, {})
    assert balanced(told)
    assert said.count("a router of fragments") == 1
    assert all("#" not in path for path in app.paths()), "no request has a fragment"
    assert run(["explain", app.url("/#/hidden/1"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["canonical"] == app.url("/#/hidden/1")
    assert [one["rung"] for one in told["attempts"]] == ["browser"]


def test_routes_that_are_not_followed_are_counted(app: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    app.pages["/"] = SHELL.replace("</main>", "<p>" + "Words as sent. " * 40 + "</p></main>")
    rows, _ = crawl(app, "plain")
    told, said = summary(capsys)
    assert set(rows) == {"/"}
    assert list(told["unfollowed_routes"].values()) == [4]
    assert balanced(told)
    assert "4 links to #/routes of host" in said
    assert "--ladder plain,browser --fragments routes" in said
    crawl(app, "drop", "--ladder", "browser", "--fragments", "drop")
    told, said = summary(capsys)
    assert (told["pages"], told["unfollowed_routes"]) == (1, {})
    assert "#/routes" not in said


def test_a_site_says_that_it_has_routes(app: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """`--exclude` is matched with the whole URL including the fragment, and the function of a route
    pattern gets each matching route once."""
    Path("shop.py").write_text(
        "from gossamer import Site\n"
        f"site = Site('shop', seeds=['{app.url('/#/about')}'], fragments='routes', ladder=['plain', 'browser'])\n"
        "@site.page(r'#/items/')\n"
        "def item(page):\n    yield {'name': page.css('h1::text').get(), 'url': page.url}\n"
        "@site.page()\n"
        "def other(page):\n    yield from page.follow('a')\n    yield page.request('#/items/3')\n"
    )
    assert (
        run(["crawl", "shop.py", "--json", "--delay", "0.01", "-O", "items.jsonl", "--exclude", "items/2"])
        == 0
    )
    told, _ = summary(capsys)
    items = [json.loads(line) for line in Path("items.jsonl").read_text().splitlines()]
    assert sorted(one["name"] for one in items) == ["Page items/1", "Page items/3"]
    assert told["skipped"]["filter"] >= 1
    assert balanced(told)
    Path("shop.py").write_text(
        "from gossamer import Site\nsite = Site('shop', seeds=['http://e.com/'], fragments='all')\n"
    )
    assert run(["crawl", "shop.py"]) == 4
    assert "fragments" in capsys.readouterr().err


def test_routes_need_the_browser(app: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crawl", app.url("/#/about"), "--fragments", "routes"]) == 4
    assert "--ladder plain,browser" in capsys.readouterr().err
    assert app.seen == []


def test_a_crawl_of_routes_is_resumed(app: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    crawl(app, "part", "--ladder", "plain,browser", "--limit", "2")
    capsys.readouterr()
    words = ["--name", "part", "--json", "--delay", "0.01", "-o", "part.jsonl", "--ladder", "plain,browser"]
    assert run(["crawl", app.url("/"), *words]) == 0
    told, _ = summary(capsys)
    urls = [json.loads(line)["url"] for line in Path("part.jsonl").read_text().splitlines()]
    assert len(urls) == len(set(urls)) == told["pages"] == len(PAGES)
    assert balanced(told)
    assert run(["crawl", app.url("/"), *words, "--refresh"]) == 0
    told, _ = summary(capsys)
    assert told["unchanged"] + told["changed"] == len(PAGES)


def test_a_killed_crawl_of_routes_has_each_once(app: Stage) -> None:
    """The process is killed (SIGKILL) after the first pages, with `./test --all` after each page. The same command then
    finishes the crawl."""
    out = Path("killed.jsonl")
    words = ["--name", "killed", "--quiet", "--json", "--ladder", "plain,browser", "--text", "-o", str(out)]
    words += [
        "--allow-private",
        "127.0.0.0/8",
        "--delay",
        "0.3",
        "--retries",
        "0.1s,0.2s,0.3s",
        "--fragments",
        "routes",
    ]
    command = [sys.executable, "-m", "gossamer", "crawl", app.url("/"), *words]

    def count() -> int:
        return out.read_bytes().count(b"\n") if out.exists() else 0

    kills = 0
    for wanted in first_case(range(1, len(PAGES)), 3):
        crawling = fork_server.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        until(lambda wanted=wanted, one=crawling: count() >= wanted or one.poll() is not None, 60)
        if crawling.poll() is None:
            os.killpg(crawling.pid, signal.SIGKILL)
            kills += 1
        crawling.wait()
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    told = json.loads(ended.stdout)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert kills >= 2
    assert sorted(one["url"].removeprefix(app.url("/")) for one in rows) == sorted(
        f"#/{path}" if path else "" for path in PAGES
    )
    assert all(
        f"Words of {one['url'].partition('#/')[2]}." in one["text"] for one in rows if "#" in one["url"]
    )
    assert (told["state"], told["pages"], told["redirected"]) == ("finished", 6, 1)


@pytest.mark.skipif(not DOCSIFY.exists(), reason="needs docsify (./test gets it)")
def test_docsify(app: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """Each Markdown file is a page. Links to headings lead to no further pages."""
    names = [f"page{n}" for n in range(8)]
    app.pages |= {
        "/": "<!doctype html><title>Docs</title><body><div id=app>Loading...</div><script>window.$docsify = "
        "{loadSidebar: true, subMaxLevel: 2}</script><script src=/docsify.min.js></script>",
        "/docsify.min.js": (200, SCRIPT, DOCSIFY.read_bytes()),
        "/README.md": "# Start\n\n## First\n\nRead [page0](page0.md) and [its part](page0.md#part).",
        "/_sidebar.md": "".join(f"- [{name}](/{name}.md)\n" for name in names[:6]),
    }
    app.pages |= {
        f"/{name}.md": f"# {name}\n\n## Part\n\nText of {name}. [next](page{n + 1})"
        for n, name in enumerate(names)
    }
    rows, _ = crawl(app, "docs", "--ladder", "plain,browser", "--text")
    told, said = summary(capsys)
    found = {path for path, one in rows.items() if one["status"] == 200}
    assert {"/", *(f"/#/{name}" for name in names)} <= found
    assert not [path for path in found if "?id=" in path]
    assert all(f"Text of {name}." in rows[f"/#/{name}"]["text"] for name in names)
    assert said.count("(docsify)") == 1
    assert balanced(told)
