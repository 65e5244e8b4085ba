"""The host settings of a site take effect in a crawl: headers, pace, retries, robots.txt, links, and the
hosts in scope."""

from __future__ import annotations

import http.server
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gossamer.app.job import Job, JobOutput
from gossamer.app.open_store import open_store
from gossamer.app.runner import crawl
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Crawls
from gossamer.model.summary import Summary
from gossamer.sites import load
from support import fork_server
from support.answers import answering

SRC = Path(__file__).resolve().parents[2] / "src"


class Asked(http.server.BaseHTTPRequestHandler):
    """Answers by path, and records the host, path, time and headers of each request."""

    answers: ClassVar[dict[str, Any]] = {}
    log: ClassVar[list[tuple[str, str, float, dict[str, str]]]] = []

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        self.log.append((host, self.path, time.monotonic(), {k.lower(): v for k, v in self.headers.items()}))
        answer = self.answers.get(self.path, 404)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        status, body = (answer, b"") if isinstance(answer, int) else (200, answer.encode())
        self.send_response(status)
        self.send_header(
            "Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8"
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def web() -> Iterator[tuple[str, str]]:
    """Two hosts with the same pages: `127.0.0.1:PORT` and `127.0.0.2:PORT`."""
    Asked.answers, Asked.log = {}, []
    with answering(Asked) as port, answering(Asked, "127.0.0.2", port):
        yield f"127.0.0.1:{port}", f"127.0.0.2:{port}"


def paths(host: str = "127.0.0.1") -> list[str]:
    return [path for at, path, _, _ in Asked.log if at == host and path != "/robots.txt"]


async def run(folder: Path, site: str, rest: str = "", **given: Any) -> Summary:
    """Runs a crawl with a site file that contains the given `Site` arguments and the given rest."""
    (folder / "a.py").write_text(f"from gossamer import Item, Site\nsite = Site('a', {site})\n{rest}")
    own = {key: given.pop(key) for key in list(given) if key in Job.__struct_fields__}
    settings = Settings(**({"data": str(folder / "data"), "delay": (0.0, 0.0), "retries": ()} | given))
    return await crawl(
        Job(
            targets=[str(folder / "a.py")],
            settings=settings,
            outputs=[JobOutput(str(folder / "o.jsonl"))],
            **own,
        )
    )


LINKS = "<h1>T</h1><a href=/a>a</a><a href=/b/c>b</a><a rel=nofollow href=/n>n</a><a href=mailto:x@y>m</a>"


@pytest.mark.parametrize(
    ("site", "want"),
    [
        ("", {"/", "/a", "/b/c"}),  # a site without rules for links follows all of them
        ("follow=True", {"/", "/a", "/b/c"}),
        ("follow=False", {"/"}),
        ("follow=[r'/b/']", {"/", "/b/c"}),
        ("follow='nothing'", {"/"}),
        ("follow=lambda page: page.follow('h1 + a')", {"/", "/a"}),
    ],
)
async def test_follow(tmp_path: Path, web: tuple[str, str], site: str, want: set[str]) -> None:
    Asked.answers = {"/": LINKS, "/a": LINKS, "/b/c": LINKS}
    summary = await run(tmp_path, f"hosts=['{web[0]}'], seeds=['http://{web[0]}/'], {site}")
    assert set(paths()) == want
    assert len(paths()) == len(want)
    assert summary.adds_up()
    assert summary.state == "finished"


async def test_nofollow_in_a_page_function_is_counted(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": LINKS, "/a": "", "/b/c": ""}
    rest = "@site.page(r'^/$')\ndef f(page):\n    yield from page.follow('a')\n"
    summary = await run(tmp_path, f"hosts=['{web[0]}'], seeds=['http://{web[0]}/'], follow=False", rest)
    assert sorted(paths()) == ["/", "/a", "/b/c"]
    assert summary.skipped == {"nofollow": 1}
    assert summary.adds_up()


async def test_a_page_gives_so_many_links_and_each_once(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": "<h1>T</h1>"}
    rest = "@site.page(r'^/$')\ndef f(page):\n    for n in range(20000):\n        yield f'https://other.example/{n // 2}'\n"
    summary = await run(tmp_path, f"hosts=['{web[0]}'], seeds=['http://{web[0]}/']", rest)
    assert summary.skipped == {"scope": 5000, "trap": 5000}


async def test_an_item_that_cannot_be_written_is_rejected(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": "<h1>T</h1>"}
    rest = (
        "class Bad(Item):\n    what: object\n@site.page()\ndef f(page):\n    yield Bad(what=page.css('h1'))\n"
    )
    summary = await run(tmp_path, f"hosts=['{web[0]}'], seeds=['http://{web[0]}/']", rest)
    assert (summary.state, summary.errors, summary.items) == ("finished", {}, 0)
    assert summary.rejected == 1
    assert len(list((tmp_path / "data" / "a" / "failed").glob("*.html"))) == 1


async def test_headers_go_to_the_sites_hosts_alone(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": f"<a href='http://{web[1]}/x'>x</a><a href=/y>y</a>", "/x": "x", "/y": "y"}
    await run(
        tmp_path,
        f"hosts=['{web[0]}'], seeds=['http://{web[0]}/'], headers={{'X-Key': 'k', 'Cookie': 'c=1', 'accept-language': 'de'}}",
        scope="any",
        headers={"Accept-Language": "fr"},
        allow_private=("127.0.0.0/8",),
        retries=(),
    )
    seen = {(host, path): headers for host, path, _, headers in Asked.log if path != "/robots.txt"}
    assert set(seen) == {("127.0.0.1", "/"), ("127.0.0.1", "/y"), ("127.0.0.2", "/x")}
    assert [seen["127.0.0.1", path].get("x-key") for path in ("/", "/y")] == ["k", "k"]
    assert seen["127.0.0.1", "/y"]["cookie"] == "c=1"
    # the command line has precedence
    assert {headers["accept-language"] for headers in seen.values()} == {"fr"}
    other = seen["127.0.0.2", "/x"]
    assert "x-key" not in other
    assert "cookie" not in other


async def test_every_host_that_a_site_names_is_in_scope(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": f"<a href='http://{web[1]}/x'>x</a><a href='http://127.0.0.3/z'>z</a>", "/x": "x"}
    summary = await run(
        tmp_path,
        f"hosts=['{web[0]}', '{web[1]}'], seeds=['http://{web[0]}/']",
        allow_private=("127.0.0.0/8",),
    )
    assert (paths(), paths("127.0.0.2")) == (["/"], ["/x"])
    assert summary.skipped == {"scope": 1}


async def test_pace_and_its_floor(tmp_path: Path, web: tuple[str, str]) -> None:
    async def gaps(pace: float, data: str) -> list[float]:
        Asked.log.clear()
        site = f"hosts=['{web[0]}'], seeds=['http://{web[0]}/'], pace={pace}"
        await run(tmp_path, site, data=str(tmp_path / data))
        starts = [at for _, path, at, _ in Asked.log if path != "/robots.txt"]
        assert len(starts) == 3
        return [later - earlier for earlier, later in itertools.pairwise(starts)]

    async def kept(
        pace: float, least: float
    ) -> bool:  # repeated, because on a busy machine a delayed request may arrive close to the next one
        for n in range(3):
            if min(await gaps(pace, f"{pace}-{n}")) >= least:
                return True
        return False

    Asked.answers = {"/": LINKS, "/a": "", "/b/c": ""}
    assert await kept(0.3, 0.2)
    Asked.answers["/robots.txt"] = "User-agent: *\nCrawl-delay: 0.4\n"
    assert await kept(0.01, 0.28)


async def test_how_many_at_once_is_held_for_the_named_hosts(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": "x"}
    text = f"hosts=['{web[0]}'], seeds=['http://{web[0]}/'], pace=Pace(0.0, 3)"
    await run(tmp_path, text.replace("Pace(", "__import__('gossamer.model.site', fromlist=['Pace']).Pace("))
    store, embedded = await open_store(Settings(data=str(tmp_path / "data")))
    try:
        assert await store.client.hget(f"{{b:000}}h:{web[0]}", "m") == b"3"  # type: ignore[misc] # redis joins both kinds
        record = await Crawls(store).need("a")
        assert record.sites == {"a": load(tmp_path / "a.py")[0].version}
    finally:
        await store.close()
        if embedded is not None:
            embedded.leave()


async def test_retries_of_a_site(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": [500, 500, "<h1>T</h1>"]}
    site = f"hosts=['{web[0]}'], seeds=['http://{web[0]}/'], retries=[0.05, 0.05]"
    summary = await run(tmp_path, site, retries=(3600.0,), time_limit=20.0)
    assert paths() == ["/", "/", "/"]
    assert (summary.succeeded, summary.dead) == (1, 0)


async def test_robots_of_one_site(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/robots.txt": "User-agent: *\nDisallow: /a\n", "/": LINKS, "/a": "", "/b/c": ""}
    await run(tmp_path, f"hosts=['{web[0]}'], seeds=['http://{web[0]}/'], robots=False")
    assert sorted(paths()) == ["/", "/a", "/b/c"]
    Asked.log.clear()
    await run(tmp_path, f"hosts=['{web[0]}'], seeds=['http://{web[0]}/']", fresh=True)
    assert sorted(paths()) == ["/", "/b/c"]


def gossamer(folder: Path, *words: str, text: str = "") -> tuple[int, str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")}
    env["PYTHONPATH"] = os.pathsep.join([str(SRC), env.get("PYTHONPATH", "")])
    code = "from gossamer.cli import main; main()"
    done = fork_server.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=env,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_verbs_from_outside(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {
        "/1": "<title>T</title><h1>One</h1><p class=price>1.50 &euro;</p><a href=/2>2</a>",
        "/2": "<h1>Two</h1><p class=price>2.50 &euro;</p><a href=/about>about</a>",
        "/about": "<h1>About us</h1>",  # not a product, so this page gives no item
    }
    code, out, err = gossamer(tmp_path, "new", "shop", f"http://{web[0]}/1")
    assert (code, out.split()) == (
        0,
        ["shop.py", "shop/pages/first.html", "shop/pages/first.json", "shop/expected/first.json"],
    )
    assert "gossamer check shop.py" in err
    code, _, err = gossamer(tmp_path, "new", "shop", f"http://{web[0]}/1")
    assert code == 4
    assert "shop.py is there already" in err
    assert gossamer(tmp_path, "check", "shop.py")[0] == gossamer(tmp_path, "check")[0] == 0
    expected = tmp_path / "shop" / "expected" / "first.json"
    expected.write_text(expected.read_text().replace("One", "Other"))
    code, out, _ = gossamer(tmp_path, "check", "shop.py", "--json")
    assert code == 4
    assert '+    "title": "One"' in json.loads(out)[0]["detail"]
    code, out, _ = gossamer(
        tmp_path, "shell", f"http://{web[0]}/1", text="page.css('h1::text').get(), page.price('.price')\n"
    )
    assert code == 0
    assert "('One', Decimal('1.50'))" in out
    code, out, err = gossamer(
        tmp_path, "crawl", "shop.py", "--delay", "0", "-o", "out.jsonl", "--json", "--quiet"
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["items"] == 2
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted((row["title"], row["_site"], row["_kind"]) for row in rows) == [
        ("One", "shop", "product"),
        ("Two", "shop", "product"),
    ]


def test_a_site_that_ignores_robots_is_named_loudly(tmp_path: Path, web: tuple[str, str]) -> None:
    Asked.answers = {"/": "x"}
    (tmp_path / "a.py").write_text(
        f"from gossamer import Site\nsite = Site('loud', seeds=['http://{web[0]}/'], robots=False)"
    )
    code, _, err = gossamer(tmp_path, "crawl", "a.py", "--delay", "0", "--quiet", "--json")
    assert code == 0
    assert "WARNING: robots.txt is ignored for loud (a.py)" in err
