"""Pages that scripts build are read like pages that a server sends: the items equal those of a static page
with the same content. Redirects, cookies and other media types are handled too."""

from __future__ import annotations

import json

import pytest
from turbohtml import parse

from collectors.browser.conftest import BOTH, IN_MODULE, Make, Stage, failure, page
from gossamer.collectors.browser.tab import Rendering
from gossamer.model.rendering import Render, Scroll
from gossamer.parsing.encodings import decode

pytestmark = [BOTH, IN_MODULE]

ROWS = "".join(f'<li class="book"><b>Caf\u00e9 {n}</b><i>{n} \u20ac</i></li>' for n in range(20))
STATIC = f"<!doctype html><meta charset=utf-8><title>t</title><ul>{ROWS}</ul>"
FETCH = "fetch('/rows').then(r => r.text()).then(t => { document.querySelector('ul').innerHTML = t });"
SHADOW = (
    "customElements.define('x-list', class extends HTMLElement { connectedCallback() {"
    " this.attachShadow({mode: 'open'}).innerHTML = '<ul><slot></slot></ul><p><slot name=none>else</slot></p>' } });"
)
SCROLLS = (
    "let n = 0; const add = () => { if (n < 20) { const made = document.createElement('div'); made.style.height = '900px';"
    " made.innerHTML = ROWS[n++]; document.querySelector('ul').append(made) } };"
    f"const ROWS = {json.dumps([row + '</li>' for row in ROWS.split('</li>')[:-1]])};"
    " add(); add(); addEventListener('scroll', () => { add(); add(); });"
)
BUILT = {
    "fetch": (f"<!doctype html><ul></ul><script>{FETCH}</script>", Render()),
    "late": (
        f"<!doctype html><ul></ul><script>setTimeout(() => {{ {FETCH} }}, 300)</script>",
        Render(".book:nth-child(20)"),
    ),
    "idle": (
        f"<!doctype html><ul></ul><script>setTimeout(() => {{ {FETCH} }}, 200)</script>",
        Render("idle"),
    ),
    "shadow": (
        f"<!doctype html><meta charset=utf-8><x-list>{ROWS}</x-list><script>{SHADOW}</script>",
        Render(),
    ),
    "frame": (
        "<!doctype html><script>const one = document.createElement('iframe'); one.src = '/in/frame'; document.documentElement.append(one)</script>",
        Render(),
    ),
    "scroll": (
        f"<!doctype html><meta charset=utf-8><ul></ul><script>{SCROLLS}</script>",
        Render(scroll=Scroll()),
    ),
}


def items(body: bytes, kind: str | None) -> list[tuple[str, str]]:
    """Return the books of a page, read as a site file would read them."""
    found = parse(decode(body, kind)).select("ul .book")
    return [(one.select("b")[0].text, one.select("i")[0].text) for one in found]


async def test_a_built_page_has_the_items_of_its_static_twin(stage: Stage, browser: Make) -> None:
    wanted = items(STATIC.encode(), None)
    stage.pages |= {"/rows": (200, {"content-type": "text/html; charset=utf-8"}, ROWS)}
    stage.pages |= {f"/{way}": body for way, (body, _) in BUILT.items()}
    inner = f"<!doctype html><ul></ul><a href=more>m</a><script>{FETCH}</script>"
    stage.pages["/in/frame"] = f"<!doctype html><iframe srcdoc='{inner.replace(chr(39), '&apos;')}'></iframe>"
    stage.pages["/fetch"] = (200, {"content-type": "text/html; charset=iso-8859-1"}, BUILT["fetch"][0])
    collector = browser(looks=lambda host: BUILT[host.partition(".")[0]][1])
    for way in BUILT:
        got = await page(collector, stage.url(f"/{way}", f"{way}.test"))
        assert items(got.body, got.content_type) == wanted, way
        assert (got.status, got.collector, got.address, got.version) == (200, "browser", "127.0.0.1", "1.1")
        assert (b'/in/more">m</a>' in got.body) == (way == "frame"), "links of a frame are relative to it"
        assert len(BUILT[way][0]) < got.wire < 20_000
    assert len(wanted) == 20
    assert {headers["user-agent"] for _, headers in stage.seen} == {"test/1"}


async def test_redirects_are_given_back(stage: Stage, browser: Make) -> None:
    stage.pages |= {
        "/http": (302, {"location": "/there", "set-cookie": "way=1; Path=/"}, ""),
        "/script": "<script>location.href = '/there?by=script'</script>",
        "/meta": "<meta http-equiv=refresh content='0; url=/there?by=meta'>",
        "/itself": lambda: (
            (403, {}, "<script>document.cookie = 'ok=1'; location.reload()</script>")
            if "ok=1" not in stage.seen[-1][1].get("cookie", "")
            else "<p>let in</p>"
        ),
    }
    collector = browser()
    found = await page(collector, stage.url("/http"))
    assert (found.status, found.header("location"), found.body) == (302, "/there", b"")
    assert [value for name, value in found.headers if name == "set-cookie"] == ["way=1; Path=/"]
    for way in ("script", "meta"):
        found = await page(collector, stage.url(f"/{way}"))
        assert (found.status, found.header("location")) == (302, stage.url(f"/there?by={way}"))
    found = await page(collector, stage.url("/itself"))
    assert (found.status, b"let in" in found.body, found.requests) == (200, True, 2)
    assert stage.paths() == ["/http", "/script", "/meta", "/itself", "/itself"]


async def test_cookies_go_both_ways(stage: Stage, browser: Make) -> None:
    stage.pages |= {"/a": "<script>document.cookie = 'made=here; path=/'</script>", "/b": "<p>b</p>"}
    collector = browser()
    first = await page(collector, stage.url("/a"), {"Cookie": "id=1; old=2"})
    assert stage.seen[-1][1]["cookie"] == "id=1; old=2"
    assert [value for name, value in first.headers if name == "set-cookie"] == ["made=here; Path=/"]
    await page(collector, stage.url("/b"), {"Cookie": "id=7; old=2; made=here"})
    assert sorted(stage.seen[-1][1]["cookie"].split("; ")) == ["id=7", "made=here", "old=2"]


async def test_what_is_no_page_of_html(stage: Stage, browser: Make) -> None:
    pixel = "<img src=/p.png><link rel=stylesheet href=/s.css><p>x</p>"
    stage.pages |= {
        "/json": (200, {"content-type": "application/json"}, b'{"a": "\xc3\xa9"}'),
        "/map": (200, {"content-type": "application/xml"}, b"<?xml version='1.0'?><urlset/>"),
        "/file": (200, {"content-type": "application/pdf"}, b"%PDF"),
        "/none": (204, {}, b""),
        "/gone": (410, {}, b""),
        "/lost": (404, {}, "<h1>lost</h1>"),
        "/pixel": pixel,
        "/big": "<p>" + "x" * 70_000,
        "/api": "<p>made</p>",
    }
    collector = browser(wire=30_000)
    assert (await page(collector, stage.url("/json"))).body == b'{"a": "\xc3\xa9"}'
    assert (await page(collector, stage.url("/map"))).body == b"<?xml version='1.0'?><urlset/>"
    got = await failure(collector, stage.url("/file"))
    assert (got.reason, got.final, got.status) == ("content-type", True, 200)
    got = await failure(collector, stage.url("/big"))
    assert (got.reason, got.final) == ("too-large", True)
    for path, status in (("/none", 204), ("/gone", 410)):
        empty = await page(collector, stage.url(path))
        assert (empty.status, empty.body) == (status, b"")
    assert b"<h1>lost</h1>" in (await page(collector, stage.url("/lost"))).body
    stage.seen.clear()
    await page(collector, stage.url("/pixel"))
    assert set(stage.paths()) == {"/pixel", "/s.css"}
    await page(browser(looks=lambda _: Render(load=("images",))), stage.url("/pixel"))
    assert "/p.png" in stage.paths()
    await page(collector, stage.url("/api"), {"X-Mine": "7"}, method="POST", body="q=1")
    assert (stage.bodies, stage.seen[-1][1]["x-mine"]) == ([b"q=1"], "7")


async def test_a_page_without_scripts_is_not_waited_for(
    stage: Stage, browser: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a page whose scripts may still build it is waited for, also if it has no text."""
    waits: list[float] = []
    unchanged_in = Rendering._unchanged_in

    async def noted(self: Rendering, ends: float) -> float:
        waits.append(await unchanged_in(self, ends))
        return waits[-1]

    monkeypatch.setattr(Rendering, "_unchanged_in", noted)
    later = "<script>setTimeout(() => { document.body.append('built') }, 300)</script>"
    stage.pages |= {"/text": "<p>x</p>", "/none": "<!doctype html><img alt='' src=i.png>", "/built": later}
    collector = browser()
    for path, waited in (("/text", False), ("/none", False), ("/built", True)):
        waits.clear()
        got = await page(collector, stage.url(path))
        assert any(one > 0 for one in waits) == waited, path
    assert b"built</body>" in got.body
