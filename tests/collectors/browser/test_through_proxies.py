"""Tests of the browser with real proxies of each kind: all resources of a page are loaded through the
proxy and never directly, and a failure is blamed on the proxy or the target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import BOTH, IN_MODULE, TOTAL_S, Make, Stage
from collectors.http.http2_server import made
from e2e.runs import job
from gossamer.app.runner import crawl
from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from support.byte_servers import answer, saying, serving
from support.light_proxies import Light, lights
from support.processes import free_port
from support.real_proxies import SOCKS, SQUID, TINY, microsocks, squid, tinyproxy

pytestmark = IN_MODULE

BUILT = (
    "<ul></ul><link rel=stylesheet href=/s.css><img src=http://127.0.0.1:PORT/i.png><script>"
    "fetch('/rows', {method: 'POST', body: 'x'.repeat(5000)}).then(r => r.text()).then(t => { document.querySelector('ul').innerHTML = t })"
    "</script>"
)


def build(stage: Stage) -> None:
    """Serve a page that scripts fill."""
    stage.pages |= {
        "/": BUILT.replace("PORT", str(stage.server_port)),
        "/rows": "<li>row</li>",
        "/s.css": (200, {"content-type": "text/css"}, "p {}"),
    }


async def got(collector: BrowserCollector, url: str, proxy: str) -> Page | Failure:
    """Fetch a URL through the proxy."""
    return await collector.collect(Request(url), {}, Guise(proxy=proxy))


@BOTH
@pytest.mark.skipif(not (SQUID and TINY and SOCKS), reason="squid, tinyproxy and microsocks are not here")
async def test_real_proxies_of_each_kind(
    stage: Stage, browser: Make, program: str | None, tmp_path: Path
) -> None:
    port = free_port()
    build(stage)
    with (
        squid(["127.0.7.1", "127.0.7.2"], port, "joe:s3cret"),
        tinyproxy(tmp_path, "127.0.7.3", port),
        microsocks("127.0.7.4", port),
        microsocks("127.0.7.5", port, "joe:pw"),
    ):
        ways = {
            f"http://joe:s3cret@127.0.7.1:{port}": "127.0.7.1",
            f"http://joe:s3cret@127.0.7.2:{port}": "127.0.7.2",
            f"http://127.0.7.3:{port}": "127.0.7.3",
            f"socks5h://127.0.7.4:{port}": "127.0.7.4",
            f"socks5://127.0.7.4:{port}": "127.0.7.4",
            f"socks5h://joe:pw@127.0.7.5:{port}": "127.0.7.5",
        }
        collector = browser()
        for way, address in ways.items():
            for _ in range(2):
                page = await got(collector, stage.url(), way)
                assert isinstance(page, Page), (way, page)
                assert (page.status, b"<li>row</li>" in page.body, page.address) == (200, True, None)
            assert (set(stage.came), set(stage.paths())) == ({address}, {"/", "/rows", "/s.css"}), way
            assert program or stage.came.total() == 6, way  # Firefox asks twice for a stylesheet
            stage.came.clear()
            stage.seen.clear()
        for way in (f"http://joe:wrong@127.0.7.1:{port}", f"socks5h://joe:no@127.0.7.5:{port}"):
            page = await got(collector, stage.url(), way)
            assert isinstance(page, Failure)
            assert (page.reason, page.blame) == ("proxy", "proxy"), page
        assert not stage.came, "a request left directly"


BLAMES = [
    ("dead", "http", "proxy"),
    ("breaks", "http", "path"),
    ("refuses", "http", "proxy"),
    ("refuses", "https", "proxy"),
    ("hangs", "socks5h", "path"),
    ("good", "closed", "path"),
    ("dead", "socks5", "proxy"),
    ("good", "inside", "proxy"),
]


async def test_whose_fault_it_is(stage: Stage, browser: Make) -> None:
    build(stage)
    collector = browser(Resolver(["127.0.0.0/8"]))
    for manner, how, blame in BLAMES:
        async with lights(one := Light("127.0.7.9", free_port(), manner)):
            scheme = how if how.startswith("socks") else "http"
            url = f"https://127.0.0.1:{free_port()}/" if how in ("https", "closed") else stage.url()
            place = "10.1.2.3" if how == "inside" else one.address
            for seconds in (4.0, 12.0, 36.0):  # on a slow machine, the browser connects late
                collector._total = seconds if manner == "hangs" else TOTAL_S
                failed = await got(collector, url, f"{scheme}://joe:hunter2@{place}:{one.port}")
                assert isinstance(failed, Failure), (manner, how)
                if failed.blame == blame or manner != "hangs":
                    break
            assert failed.blame == blame, (manner, how, failed)
            assert "hunter2" not in failed.detail
    assert not stage.came


@BOTH
async def test_tls_and_names_go_through_the_proxy(stage: Stage, browser: Make, tmp_path: Path) -> None:
    context, _ = made(tmp_path / "tls", "ok")
    build(stage)
    gate = Light("127.0.7.9", free_port())
    async with serving(saying(answer(b"<p>ok")), "127.0.0.1", tls=context) as server, lights(gate):
        collector = browser()
        for scheme in ("http", "socks5h"):
            failed = await got(
                collector, f"https://secure.test:{server.port}/", f"{scheme}://127.0.7.9:{gate.port}"
            )
            assert isinstance(failed, Failure)
            assert (failed.reason, failed.final, failed.blame) == ("tls", True, ""), failed
        assert gate.asked >= 2
        assert set(gate.names) == {"secure.test"}
        await got(collector, stage.url(host="site.test"), f"socks5://127.0.7.9:{gate.port}")
        assert gate.names[-1] == "127.0.0.1", "one that is given an address gets a checked one"
    assert set(stage.came) == {"127.0.7.9"}


async def test_each_proxy_has_cookies_of_its_own(stage: Stage, browser: Make) -> None:
    stage.pages["/"] = lambda: (200, {"set-cookie": f"id={len(stage.seen)}; Path=/"}, "<p>x")
    ways = [Light(f"127.0.7.{n}", free_port()) for n in (8, 9)]
    async with lights(*ways):
        collector = browser()
        for one in (*ways, *ways):
            assert isinstance(await got(collector, stage.url(), f"http://{one.address}:{one.port}"), Page)
    assert [headers.get("cookie") for _, headers in stage.seen] == [None, None, "id=1", "id=2"]


async def test_a_crawl_with_proxies_sends_nothing_directly(stage: Stage, tmp_path: Path) -> None:
    build(stage)
    stage.pages["/"] += "<a href=/two>two</a>"
    stage.pages["/two"] = stage.pages["/"]
    ways = [
        Light(f"127.0.8.{n}", free_port(), manner) for n, manner in ((1, "good"), (2, "good"), (3, "dead"))
    ]
    lines = tmp_path / "proxies.txt"
    lines.write_text("".join(f"{one.address}:{one.port}\n" for one in ways))
    given: dict[str, Any] = {
        "proxies": (str(lines),),
        "ladder": ("browser",),
        "timeout": 15.0,
        "rotation": "session",
    }
    async with lights(*ways):
        summary = await crawl(job([stage.url()], tmp_path, **given))
    assert (summary.succeeded, summary.errors) == (2, {})
    assert stage.came.total() >= 7
    assert set(stage.came) < {"127.0.8.1", "127.0.8.2"}, "one session, one address; none of ours"
