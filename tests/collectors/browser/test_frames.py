"""Frames of other origins are read as parts of the page: in order, nested, and within limits. Frames that
hang, are huge or are blocked are left out."""

from __future__ import annotations

import re

import pytest
from turbohtml import parse

from collectors.browser.conftest import BOTH, IN_MODULE, Make, Stage, page
from gossamer.collectors.browser import frames
from gossamer.model.rendering import Render

pytestmark = IN_MODULE

ORIGINS = ("two.test", "three.test", "a.test", "b.a.test")
"""The last two origins share a process, because they belong to one site."""
SWALLOWS = "const one = document.createElement('style'); one.textContent = '</' + 'style><plaintext>'; document.body.append(one)"
"""A script that adds an element whose serialized form would swallow the rest of the page."""


def rows(*numbers: int) -> str:
    return "".join(f"<li class=book><a href=more/{n}>Tea {n}</a></li>" for n in numbers)


def frame(url: str, more: str = "") -> str:
    return f"<iframe src='{url}' {more}></iframe>"


def books(body: bytes) -> list[str]:
    return [one.text for one in parse(body.decode()).select(".book a")]


@BOTH
async def test_they_are_read_in_order_as_in_a_static_twin(stage: Stage, browser: Make) -> None:
    two, three, a, b = (stage.url(f"/in/{host}", host) for host in ORIGINS)
    made = f"<script>document.body.insertAdjacentHTML('beforeend', '{rows(3)}')</script>"
    bodies = {
        "page": rows(0)
        + frame(two)
        + rows(5)
        + frame(a)
        + rows(9)
        + "<iframe sandbox srcdoc='<p class=book><a>Tea 10</a></p>'></iframe>"
        + frame("/none")
        + rows(11),
        "two.test": f"<base href=http://base.test/x/><!--c--><meta name=robots content=none><ul>{rows(1)}</ul>{frame(three)}{made}{rows(4)}<noscript>n",
        "three.test": rows(2),
        "a.test": rows(6) + frame(b) + rows(8),
        "b.a.test": rows(7),
    }
    stage.pages |= {
        f"/in/{name}": f"<!doctype html><meta charset=utf-8><body>{body}" for name, body in bodies.items()
    }
    stage.pages["/none"] = ""
    got = await page(browser(), stage.url("/in/page", "shop.test"))
    assert books(got.body) == [f"Tea {n}" for n in range(12)]
    tree = parse(got.body.decode())
    assert [one.attrs["data-frame"] for one in tree.select("[data-frame]")] == [
        two,
        three,
        a,
        b,
        "about:srcdoc",
    ]
    links = {one.text: one.attrs["href"] for one in tree.select(".book a[href]")}
    assert (links["Tea 0"], links["Tea 1"]) == ("more/0", "http://base.test/x/more/1")
    assert not tree.select("base, noscript, meta[name]"), "it says nothing of the page"
    assert (links["Tea 2"], links["Tea 7"]) == (
        stage.url("/in/more/2", "three.test"),
        stage.url("/in/more/7", "b.a.test"),
    )


async def test_what_hangs_is_huge_or_blocked_is_left_out(stage: Stage, browser: Make) -> None:
    inner = {
        "hangs": f"{rows(90)}<script>onload = () => {{ setTimeout(() => {{ for (;;); }}) }}</script>",
        "huge": f"{rows(91)}<script>document.body.append('x'.repeat(3e6))</script>",
        "ads": rows(92),
        "swallows": f"{rows(94)}<script>{SWALLOWS}</script>",
        "asks": rows(95),
        "strict": "",
        "well": rows(1) + frame(stage.url("/ads", "ads.test")) + rows(2),
    }
    stage.pages |= {f"/{way}": f"<!doctype html><body>{body}" for way, body in inner.items()}
    typed = {"content-security-policy": "require-trusted-types-for 'script'; default-src 'none'"}
    stage.pages["/strict"] = 200, typed, rows(93)
    names = (
        "two.test",
        "three.test",
        "ads.test",
        "four.test",
        "newassets.hcaptcha.com",
        "five.test",
        "six.test",
    )
    hosts = zip(inner, names, strict=True)
    stage.pages["/"] = rows(0) + "".join(frame(stage.url(f"/{way}", host)) for way, host in hosts) + rows(3)
    collector = browser(looks=lambda _: Render(block=("ads.test",)))
    got = await page(collector, stage.url())
    assert books(got.body) == ["Tea 0", "Tea 93", "Tea 1", "Tea 2", "Tea 3"]
    assert len(re.findall(rb"data-frame", got.body)) == 2
    assert books((await page(collector, stage.url("/strict"))).body) == ["Tea 93"], (
        "the tab serves the next page"
    )


@BOTH
async def test_there_are_bounds_for_all_together(
    stage: Stage, browser: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MAX_FRAMES", 4)
    long = (
        rows(2)
        + "<script>document.body.append('x'.repeat(70_000))</script>"
        + frame(stage.url("/3", "two.test"))
    )
    stage.pages |= {f"/{n}": rows(n) for n in range(6)} | {"/2": long}
    stage.pages["/"] = "".join(frame(stage.url(f"/{n}", "two.test")) for n in (0, 2, 1, 4, 5))
    collector = browser(wire=30_000)
    assert books((await page(collector, stage.url())).body) == ["Tea 0", "Tea 1", "Tea 4"]
    monkeypatch.setattr(frames.Frames, "_within", None)
    assert books((await page(collector, stage.url("/1"))).body) == ["Tea 1"], (
        "without frames nothing more is asked"
    )


@pytest.mark.parametrize("program", ["firefox-esr"], ids=["firefox"])
async def test_firefox_forgets_the_frames_and_windows_of_finished_pages(stage: Stage, browser: Make) -> None:
    opens = "<script>open('/in')</script>"
    stage.pages |= {"/": frame("/in") + frame(stage.url("/in", "two.test")) + opens, "/in": rows(1)}
    collector = browser()
    for _ in range(3):
        assert b"Tea 1" in (await page(collector, stage.url(host="shop.test"))).body
    known = collector._now._tabs
    assert [(name, tab.frame) for name, tab in known.items()] == [(next(iter(known)),) * 2]
