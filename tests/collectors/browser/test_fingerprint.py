"""Tests of the browser's fingerprint: a browser with an identity is consistent, has one identity per
session, and passes a bot detector. Without an identity, the browser is honest."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import IN_MODULE, Make, Stage, page
from collectors.browser.test_crawls import APP, ROWS, SHELL, crawl
from gossamer.cli.commands import run
from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.collectors.browser.fingerprint import BrowserFingerprint
from gossamer.identity.browsers import BROWSERS, browser_for, browsers_named, drivable
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request
from support.light_proxies import Light, lights
from support.processes import free_port

BOTD = Path(__file__).parents[3] / ".sites" / "botd" / "package" / "dist" / "botd.esm.js"
TELLS = """<!doctype html><canvas id=c></canvas><script type=module>
const seen = { agent: navigator.userAgent, platform: navigator.platform, languages: navigator.languages, webdriver: navigator.webdriver,
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone, screen: [screen.width, screen.height], cores: navigator.hardwareConcurrency,
  inner: [innerWidth, innerHeight], outer: [outerWidth, outerHeight], plugins: navigator.plugins.length };
const data = navigator.userAgentData;
if (data) { seen.brands = data.brands.map(one => one.brand + one.version); seen.system = data.platform; }
const work = new Worker(URL.createObjectURL(new Blob(['postMessage([navigator.userAgent, navigator.platform])'])));
const told = new Promise(done => { work.onmessage = event => done(event.data); setTimeout(() => done(['', '']), 5000) });
const canvas = document.getElementById('c'), pen = canvas.getContext('2d');
pen.font = '17px serif'; pen.fillText('quick brown fox', 4, 20);
seen.canvas = canvas.toDataURL().length;
const gl = document.createElement('canvas').getContext('webgl'), card = gl && gl.getExtension('WEBGL_debug_renderer_info');
seen.card = card ? [gl.getParameter(card.UNMASKED_VENDOR_WEBGL), gl.getParameter(card.UNMASKED_RENDERER_WEBGL)] : null;
seen.native = gl ? gl.getParameter.toString() : '';
seen.worker = await told;
document.body.insertAdjacentHTML('beforeend', '<pre id=seen>' + btoa(unescape(encodeURIComponent(JSON.stringify(seen)))) + '</pre>');
</script>"""
DETECTS = """<!doctype html><title>x</title><body><script type=module>
import { load } from '/botd.js';
const found = await (await load({ monitoring: false })).detect();
document.body.insertAdjacentHTML('beforeend', '<p id=seen>' + JSON.stringify(found) + '</p>');
</script>"""


def wearing(make: Make, **more: Any) -> BrowserCollector:
    """Return a collector that gives the browser the fingerprint of the session's identity."""

    def worn(name: str) -> BrowserFingerprint:
        one = BROWSERS[name]
        return BrowserFingerprint(one.agent, one.language, one.hints)

    return make(agent=None, fingerprint=worn, looks=lambda _: Render("#seen"), **more)


async def told(collector: BrowserCollector, stage: Stage, guise: Guise) -> dict[str, Any]:
    """Return the properties of the browser that a page reads by script."""
    got = await collector.collect(Request(stage.url()), {}, guise)
    assert isinstance(got, Page), got
    assert got.session == (f"{guise.browser}/{guise.session}" if guise.browser else None)
    found: dict[str, Any] = json.loads(
        base64.b64decode(got.body.partition(b'id="seen">')[2].partition(b"<")[0])
    )
    return found


@pytest.mark.parametrize("name", ["chrome150", "edge150", "chrome118"])
@IN_MODULE
async def test_all_that_it_says_agrees(stage: Stage, browser: Make, name: str) -> None:
    stage.pages["/"] = TELLS
    one = BROWSERS[name]
    collector = wearing(browser, country=lambda _: "de")
    first = await told(collector, stage, Guise(name, session="1"))
    system, hints = dict(one.hints)["sec-ch-ua-platform"].strip('"'), dict(one.hints)
    assert first["agent"] == first["worker"][0] == one.agent == stage.seen[0][1]["user-agent"]
    assert first["platform"] == {"Windows": "Win32", "macOS": "MacIntel", "Linux": "Linux x86_64"}[system]
    assert first["languages"] == ["en-US", "en"]
    assert stage.seen[0][1]["accept-language"] == one.language
    if "brands" in first:  # browsers define this property only on secure pages
        assert all(brand in hints["sec-ch-ua"].replace('";v="', "") for brand in first["brands"])
    assert first["webdriver"] is False
    assert first["plugins"] > 0
    assert first["screen"][1] > first["inner"][1] > 500
    assert first["outer"][0] >= first["inner"][0]
    if first["card"]:
        assert {"Windows": "Intel", "macOS": "Apple", "Linux": "Mesa"}[system] in " ".join(first["card"])
        assert "[native code]" in first["native"]
    again = await told(collector, stage, Guise(name, session="1"))
    assert again == first, "the same for a session"


@IN_MODULE
async def test_the_clock_is_that_of_the_proxys_country(stage: Stage, browser: Make) -> None:
    stage.pages["/"] = TELLS
    async with lights(gate := Light("127.0.7.9", free_port())):
        collector = wearing(browser, country=lambda url: "jp" if "7.9" in url else "")
        seen = await told(
            collector, stage, Guise("chrome150", session="1", proxy=f"http://127.0.7.9:{gate.port}")
        )
    assert seen["zone"] == "Asia/Tokyo"


@pytest.mark.skipif(not BOTD.exists(), reason="needs @fingerprintjs/botd (./test gets it)")
@IN_MODULE
async def test_a_detector_of_bots(stage: Stage, browser: Make) -> None:
    stage.pages |= {"/": DETECTS, "/botd.js": (200, {"content-type": "text/javascript"}, BOTD.read_bytes())}
    got = await wearing(browser).collect(Request(stage.url()), {}, Guise("chrome150", session="1"))
    assert isinstance(got, Page), got
    assert b'{"bot":false}' in got.body, got.body
    honest = await page(browser(looks=lambda _: Render("#seen")), stage.url())
    assert b'"bot":true' in honest.body, "who says who it is looks like it"


@IN_MODULE
async def test_each_session_is_another_visitor(stage: Stage, browser: Make) -> None:
    stage.pages["/"] = lambda: (200, {"set-cookie": f"id={len(stage.seen)}; Path=/"}, "<p id=seen>x")
    collector = wearing(browser)
    for session in ("1", "2", "1"):
        got = await collector.collect(Request(stage.url()), {}, Guise("chrome150", session=session))
        assert isinstance(got, Page)
    assert [headers.get("cookie") for _, headers in stage.seen] == [None, None, "id=1"]


def test_rungs_of_one_identity_share_cookies(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stage.pages |= {
        "/": (200, {"set-cookie": "way=1; Path=/"}, f"<h1>News</h1>{ROWS}<a href=/app>app</a>"),
        "/app": SHELL,
        "/rows": ROWS,
        "/app.js": (200, {"content-type": "text/javascript"}, APP),
    }
    made = {
        one["url"].removeprefix(stage.url("")): one for one in crawl(stage, "impersonated,browser", "both")
    }
    assert (made["/"]["rung"], made["/app"]["rung"]) == ("impersonated", "browser")
    assert made["/"]["session"] == made["/app"]["session"]
    assert made["/app"]["session"].startswith(("chrome", "edge"))
    asked = [
        (path, headers["user-agent"], headers.get("cookie", ""))
        for path, headers in stage.seen
        if path != "/robots.txt"
    ]
    assert len({agent for _, agent, _ in asked}) == 1
    assert {cookie for path, _, cookie in asked if path == "/rows"} == {"way=1"}


def test_only_what_chromium_can_be_is_worn(
    stage: Stage, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert {browser_for(drivable(["any"]), str(n)).engine for n in range(50)} == {"chromium"}
    assert not any(one.mobile for name in drivable(["any", "chrome_android"]) for one in browsers_named(name))
    words = ["crawl", stage.url(), "--quiet", "--ladder", "impersonated,browser", "-s", "browser=firefox"]
    assert run(words) == 4
    assert "the browser rung uses Chromium, which cannot imitate firefox" in capsys.readouterr().err
