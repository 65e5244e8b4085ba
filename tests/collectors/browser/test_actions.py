"""Tests of a site's `render` options: steps, captured responses, the console and screenshots. If an
awaited element never appears, the page is kept and the failed step is reported."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import IN_MODULE, Make, Stage, page
from collectors.browser.test_crawls import crawl
from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.model import rendering

FORM = """<!doctype html><form action=/found method=METHOD><input id=q name=q><input id=p name=p type=password><button>go</button></form>
<p id=log></p><script>
const log = document.getElementById('log'), kinds = new Set();
for (const kind of ['mousemove', 'mousedown', 'keydown', 'click']) addEventListener(kind, event => {
  kinds.add(kind + (event.isTrusted ? '' : '!')); if (kind == 'mousemove') log.dataset.moves = 1 + Number(log.dataset.moves || 0);
  log.textContent = [...kinds].sort().join(' ') });
console.log('hello', 7); setTimeout(() => { throw new Error('broken') });
</script>"""
HAND = [
    {"type": "#q", "with": "tea"},
    {"hover": "#p"},
    {"click": "#p"},
    {"until": "document.getElementById('log').dataset.moves > 5"},
]
MORE = "<button onclick=\"fetch('/api?n=2').then(r => r.json()).then(d => { document.body.append(d.name); window.done = 1 })\">more</button>"
LOADS = "<p>x</p><script>fetch('/api?n=1'); fetch('/text'); fetch('/big')</script>" + MORE


def looking(make: Make, said: Any, **more: Any) -> BrowserCollector:
    """Return a collector that renders every page with the given options."""
    wanted = rendering.read_rendering(said)
    return make(looks=lambda _: wanted, **more)


@pytest.mark.parametrize("human", [False, True])
@IN_MODULE
async def test_steps_fill_a_form_and_follow_it(stage: Stage, browser: Make, human: bool) -> None:
    stage.pages |= {
        "/": FORM.replace("METHOD", "post"),
        "/found": lambda: (303, {"location": "/there", "set-cookie": "in=1"}, ""),
        "/there": "<p id=end>there</p><a href=next>n</a>",
    }
    acts = [
        {"fill": "#q", "with": "tea"},
        {"type": "#p", "with": "s3c ret"},
        {"press": "Enter"},
        {"wait": "#end"},
    ]
    got = await page(looking(browser, {"steps": acts, "human": human}), stage.url())
    assert (got.status, got.url, got.late, b"there" in got.body) == (200, stage.url("/there"), "", True)
    assert stage.paths() == ["/", "/found", "/there"]
    assert stage.bodies == [b"q=tea&p=s3c+ret"]
    assert "s3c" not in repr(rendering.read_actions(acts))
    assert [value for name, value in got.headers if name == "set-cookie"] == ["in=1; Path=/"]


@IN_MODULE
async def test_the_document_after_a_step_gets_the_credentials_of_the_origin(
    stage: Stage, browser: Make
) -> None:
    stage.pages |= {"/": "<a id=a href=/next>n</a>", "/next": "<p>inside</p>"}
    collector = looking(browser, {"steps": [{"click": "#a"}]})
    got = await page(collector, stage.url(), {"Authorization": "Basic eDp5"})
    assert (b"inside" in got.body, got.url) == (True, stage.url("/next"))
    assert [headers.get("authorization") for _, headers in stage.seen] == ["Basic eDp5"] * 2


@IN_MODULE
async def test_odd_lengths_of_captured_responses(stage: Stage, browser: Make) -> None:
    """A response whose `Content-Length` is no number is left out or kept, and the page is read."""
    stage.pages |= {
        "/": "<p>here</p><script>fetch('/api').then(r => r.text()).then(() => { window.done = 1 })</script>",
        "/api": (200, {"content-type": "application/json", "x-tail": "1\r\nContent-Length: 2"}, b"{}"),
    }
    got = await page(looking(browser, {"capture": "/api", "until": "window.done"}), stage.url())
    assert (b"here" in got.body, len(got.captured)) == (True, 1)


@IN_MODULE
async def test_a_hand_moves_clicks_and_types(stage: Stage, browser: Make) -> None:
    stage.pages["/"] = FORM.replace("METHOD", "get")
    got = await page(looking(browser, {"steps": HAND, "human": True, "console": True}), stage.url())
    assert b">click keydown mousedown mousemove<" in got.body
    assert got.console == ("log: hello 7", "exception: broken")
    assert (await page(looking(browser, "load"), stage.url())).console == ()


@IN_MODULE
async def test_what_scripts_got_is_kept_within_bounds(stage: Stage, browser: Make) -> None:
    api = 200, {"content-type": "application/json"}, json.dumps({"name": "Kettle"})
    stage.pages |= {"/": LOADS, "/api?n=1": api, "/api?n=2": api, "/text": "t", "/big": "x" * 40_000}
    said = {"steps": [{"click": "button"}, {"until": "window.done"}], "capture": "/api|/big"}
    got = await page(looking(browser, said, wire=30_000), stage.url())
    assert b"Kettle" in got.body
    assert sorted((one.url, one.status, one.json()["name"]) for one in got.captured) == [
        (stage.url(f"/api?n={n}"), 200, "Kettle") for n in (1, 2)
    ]


@IN_MODULE
async def test_blocked_hosts_are_not_asked(stage: Stage, browser: Make) -> None:
    stage.pages |= {
        "/": "".join(
            f"<script src=http://{host}:{stage.server_port}/{host}.js></script><iframe src=http://{host}:{stage.server_port}/f></iframe>"
            for host in ("x.ads.test", "ads.test", "good.test", "static.doubleclick.net")
        ),
    }
    await page(looking(browser, {"block": ["ads", "*.ads.test"]}), stage.url(host="shop.test"))
    assert set(stage.paths()) == {"/", "/good.test.js", "/f"}
    assert stage.paths().count("/f") == 1


@IN_MODULE
async def test_pictures(stage: Stage, browser: Make, tmp_path: Path) -> None:
    stage.pages["/"] = (
        "<body style='margin:0'><div id=box style='width:80px;height:60px;background:red'></div><p style='height:2000px'>"
    )
    sizes = {}
    for what in ("page", "full", "#box"):
        got = await page(looking(browser, {"screenshot": what}, folder=tmp_path), stage.url())
        assert got.screenshot is not None
        data = await asyncio.to_thread(Path(got.screenshot).read_bytes)
        assert data[:4] == b"\x89PNG"
        sizes[what] = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert sizes["#box"] == (80, 60)
    assert sizes["full"][1] > 2000 > sizes["page"][1]
    assert len(os.listdir(tmp_path)) == 3
    got = await page(looking(browser, {"screenshot": "#none"}, folder=tmp_path), stage.url())
    assert (got.screenshot, got.late) == (None, "")


@IN_MODULE
async def test_what_never_comes_is_named_and_the_page_kept(stage: Stage, browser: Make) -> None:
    stage.pages["/"] = "<p>here</p>"
    expected = {
        "p >>": "wait p >>: p >> is not a CSS selector",
        ".price": "wait .price: the page has no .price",
        "never": "until window.never: window.never never became true",
        "#no": "step 1 of 1 (click #no): the page has no #no",
    }
    said: dict[str, Any] = {
        "p >>": "p >>",
        ".price": ".price",
        "never": {"until": "window.never"},
        "#no": {"steps": [{"click": "#no"}]},
    }
    visits = [page(looking(browser, one, total=5.0), stage.url()) for one in said.values()]
    for late, got in zip(expected.values(), await asyncio.gather(*visits), strict=True):
        assert (got.late, b"<p>here</p>" in got.body) == (f'{late}; the page is {stage.url()} "here"', True)


def test_in_a_crawl_it_is_missing_and_what_was_kept_is_told(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stage.pages |= {
        "/": "<p>here</p><a href=/well>w</a>",
        "/well": LOADS + "<b class=price>1</b><script>console.warn('w')</script>",
    }
    stage.pages["/api?n=1"] = 200, {"content-type": "application/json"}, '{"name": "K"}'
    Path("site.py").write_text(
        "from gossamer import Site\n"
        "site = Site('shop', seeds=['URL', 'URLwell'], ladder='browser', render={'wait': '.price', 'capture': '/api',"
        " 'screenshot': 'page', 'console': True})\n"
        "@site.page()\ndef p(page):\n    yield {'name': page.captured[0].json()['name'], 'shot': page.screenshot}\n".replace(
            "URL", stage.url()
        )
    )
    made = {
        one["url"].removeprefix(stage.url("")): one
        for one in crawl(stage, "browser", "late", "site.py", "-s", "timeout=4")
    }
    assert (made["/"]["outcome"], made["/"]["status"], made["/"]["error"]) == ("dead", 200, "missing")
    why = f'wait .price: the page has no .price; the page is {stage.url()} "here w"'
    assert made["/"]["console"][-1] == f"gossamer: {why}"
    assert "warning: w" in made["/well"]["console"]
    kept = [path.read_bytes() for path in Path(".gossamer/late/failed").rglob("*") if path.is_file()]
    assert any(b"<p>here</p>" in data for data in kept)
    item = next(
        line for line in map(json.loads, Path("late.jsonl").read_text().splitlines()) if "shot" in line
    )
    assert (item["name"], item["shot"]) == ("K", made["/well"]["screenshot"])
    assert Path(item["shot"]).parent == Path(".gossamer/late/screenshots")


def test_what_is_no_rendering_is_said() -> None:
    bad = {
        "a step is one of": {"steps": [{"jump": "x"}]},
        'fill has a text in "with"': {"steps": [{"fill": "#q"}]},
        "steps must be a list": {"steps": {"click": "x"}},
        "pause must be a number": {"steps": [{"pause": 100}]},
        "block may contain": {"block": ["a b"]},
        "capture must be a list": {"capture": ["("]},
        "unknown key 'shots'": {"shots": 1},
        "more than 50": {"steps": ["scroll"] * 51},
        "select has a text": {"steps": [{"select": "#q"}]},
        "pause has no frame": {"steps": [{"pause": 1, "frame": "iframe"}]},
        "wait has no frame": {"steps": [{"wait": "idle", "frame": "iframe"}]},
        "frame must be the selector of an iframe": {"steps": [{"click": "b", "frame": [1]}]},
        "press has a character, or one of Enter": {"steps": [{"press": "Return"}]},
        "wait_url has a pattern of URLs, and '(' is none": {"steps": [{"wait_url": "("}]},
        "until is an expression": {"until": " "},
        "human is True or False": {"human": 1},
    }
    for said, value in bad.items():
        with pytest.raises(ValueError, match=re.escape(said)):
            rendering.read_rendering(value)
