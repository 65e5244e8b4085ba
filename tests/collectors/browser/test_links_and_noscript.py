"""The links of a page that scripts have changed, and the same page on the plain and on the browser rung. Links
are relative to the URL that the tab shows. A noscript does not count, because the page's scripts have run."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import pytest

from collectors.browser.conftest import IN_MODULE, Shared, Stage, page
from gossamer.model.page import Page
from gossamer.parsing import html
from gossamer.parsing.links import links_of

pytestmark = IN_MODULE


def document(got: Page) -> html.Document:
    """Return the page as a site file reads it."""
    return html.parse(got.body, got.content_type, got.url)


def links(got: Page) -> set[str]:
    return {one.url for one in links_of(document(got))}


@pytest.mark.parametrize("call", ["pushState", "replaceState"])
async def test_links_are_relative_to_the_url_of_the_tab(stage: Stage, shared: Shared, call: str) -> None:
    anchors = "<a href=rel>r</a><a href=../up?x=1#y>u</a><a href=/root>o</a><a href='mailto:a@b.test'>m</a><a href='#top'>t</a>"
    rest = "<form action=go><input></form><img src=i.png srcset='a.png 1x, b.png 2x'><svg><a href=in-svg><text>s</text></a></svg>"
    state = f"<script>history.{call}(null, '', '/shop/tea/')</script>"
    stage.pages["/list?from=ad"] = f"<!doctype html><p>x</p>{anchors}{rest}{state}"
    asked = stage.url("/list?from=ad")
    got = await page(shared.collector, asked)
    assert got.url == asked, "the record keeps the URL that was asked for"
    shop = stage.url("/shop/tea/")
    wanted = {urljoin(shop, href) for href in ("rel", "../up?x=1", "/root", "in-svg")}
    assert links(got) - {asked} == wanted
    tree = document(got).tree
    assert tree.select("form")[0].attrs["action"] == f"{shop}go"
    assert tree.select("img")[0].attrs["srcset"] == f"{shop}a.png 1x, {shop}b.png 2x"
    assert [str(one.attrs["href"]) for one in tree.select("a")][3:5] == ["mailto:a@b.test", "#top"]


async def test_a_base_element_keeps_its_meaning(stage: Stage, shared: Shared) -> None:
    state = "<script>history.pushState(null, '', '/deep/er/')</script>"
    stage.pages |= {
        "/a/page": f"<!doctype html><base href=/fixed/><a href=x>x</a>{state}",
        "/b/page": f"<!doctype html><base href=rel/><a href=x>x</a><a href=y>y</a>{state}",
        "/c/page": "<!doctype html><a href=x>x</a><script>document.head.innerHTML = '<base href=/late/>'</script>",
    }
    for path, wanted in (("/a/page", "/fixed/x"), ("/c/page", "/late/x")):
        got = await page(shared.collector, stage.url(path))
        assert links(got) == {stage.url(wanted)}, path
        assert b'href="x"' in got.body, "links that resolve as they are stay as they are"
    got = await page(shared.collector, stage.url("/b/page"))
    assert links(got) in ({stage.url("/b/rel/x"), stage.url("/b/rel/y")}, {stage.url("/deep/er/rel/x"), stage.url("/deep/er/rel/y")})  # fmt: skip


async def test_links_in_shadow_roots_and_frames_of_such_a_page(stage: Stage, shared: Shared) -> None:
    stage.pages |= {
        "/": "<!doctype html><x-list></x-list><iframe src=/in/frame></iframe><script>"
        "document.querySelector('x-list').attachShadow({mode: 'open'}).innerHTML = '<a href=shadow>s</a>';"
        "history.pushState(null, '', '/moved/')</script>",
        "/in/frame": "<a href=framed>f</a><a href='#here'>h</a>",
    }
    got = await page(shared.collector, stage.url())
    assert {stage.url("/moved/shadow"), stage.url("/in/framed")} <= links(got)


@pytest.mark.parametrize("more", ["", "<x-card></x-card>"])
async def test_a_noscript_does_not_count_after_scripts_ran(stage: Stage, shared: Shared, more: str) -> None:
    shadow = "<script>for (const one of document.querySelectorAll('x-card')) one.attachShadow({mode: 'open'}).innerHTML = 'card'</script>"
    stage.pages["/"] = (
        "<!doctype html><head><title>t</title><noscript><link rel=canonical href=/off><meta name=robots content='noindex, nofollow'>"
        "<style>p { display: none }</style></noscript></head>"
        f"<body><p>shown</p><noscript><p>Please enable JavaScript</p><a href=/off>off</a></noscript><a href=/on>on</a>{more}{shadow}"
    )
    got = await page(shared.collector, stage.url())
    read = document(got)
    assert links(got) == {stage.url("/on")}
    assert not any(one.nofollow for one in links_of(read))
    assert "nofollow" not in read.robots
    assert b"canonical" not in got.body
    assert "enable" not in read.tree.select("body")[0].text
    assert len(read.tree.select("noscript")) == 2, "the order of the elements stays"


async def test_a_noscript_counts_where_the_server_forbids_scripts(stage: Stage, shared: Shared) -> None:
    sandbox = {"content-security-policy": "sandbox"}
    stage.pages["/"] = (200, sandbox, "<p>x</p><noscript><a href=/off>off</a></noscript>")
    assert links(await page(shared.collector, stage.url())) == {stage.url("/off")}


SAME: dict[str, Any] = {
    "utf-8": "<!doctype html><html lang=de><title>Grüße</title><link rel=canonical href=/c><h1>Tee</h1><a href='a?q=é#x'>a</a>"
    "<a rel=nofollow href=b>b</a><map><area href=m></map><link rel=next href='?p=2'><iframe src=/empty></iframe>",
    "latin-1": (200, {"content-type": "text/html; charset=iso-8859-1"}, "<title>Caf\xe9</title><a href='?q=\xe9&amp;r=1'>\xe9</a><a href='/\xe9'>p</a><a href=plain>x</a>".encode("latin-1")),
    "declared": "<meta charset=windows-1251><title>Чай</title><a href='?q=чай'>чай</a>".encode("windows-1251"),
    "shift_jis": "<meta charset=shift_jis><title>お茶</title><a href='/s?q=お茶'>お茶</a>".encode("shift_jis"),
    "base": "<base href=/other/><a href=x>x</a><a href='//two.test/y'>y</a><a href='?z'>z</a><a href=''>e</a>",
    "robots": "<meta name=robots content=nofollow><title>t</title><a href=x>x</a><a href=y>y</a>",
    "broken": "<p>one<table><a href=1>1</a><tr><td>cell<a href=2>2</table><ul><li>x<li>y</b></i><a href=3>3<a href=4>4<!--x--><plaintext-not>",
    "template": "<template><a href=hidden>h</a></template><a href=shown>s</a><select><option>o</select><svg><a href=svg><title>in svg</title></a></svg>",
    "entities": "<title>a &amp; b &lt;c&gt;</title><a href='?a=1&amp;b=2&copy=3'>&nbsp;x &#8364;</a><pre>\n\nline</pre><textarea>\n\nt</textarea>",
    "lines": "<noscript></noscript><pre>\n\nline</pre>\n<pre>\nline</pre><listing>\n\nx</listing>",
    "deep": "<title>d</title>" + "<div>" * 300 + "<a href=deep>deep</a>" + "</div>" * 300,
    "object": "<title>o</title><object type='image/svg+xml' data=a.svg></object><embed src=b.svg type='image/svg+xml'><a href=x>x</a>",
    "404": (404, {}, "<title>gone</title><h1>Not here</h1><a href=/home>home</a>"),
    "xhtml": (200, {"content-type": "application/xhtml+xml"}, "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title>X</title></head><body><p>x</p><a href='y'>y</a></body></html>"),
}  # fmt: skip
"""Pages that scripts do not change."""


async def test_a_page_that_scripts_do_not_change_has_the_record_of_the_plain_rung(
    stage: Stage, shared: Shared
) -> None:
    made = {f"/{name}/page": body for name, body in SAME.items()}
    stage.pages |= made | {"/empty": ""}
    for path, said in made.items():
        status, headers, body = said if isinstance(said, tuple) else (200, {}, said)
        body = body.encode() if isinstance(body, str) else body
        kind = ({"content-type": "text/html"} | headers)["content-type"]
        if path == "/utf-8/page":
            kind = "text/html; charset=utf-8"
            stage.pages[path] = (200, {"content-type": kind}, body)
        plain = Page(stage.url(path), status, [("content-type", kind)], body, 0.0, 0.0, len(body))
        got = await page(shared.collector, plain.url)
        assert record(got) == record(plain), path
        assert got.status == status


def record(got: Page) -> dict[str, Any]:
    """Return what a page record and the crawler's link extraction read."""
    read = document(got)
    tree = read.tree
    return {
        "links": [(one.url, one.text, one.nofollow, one.kind) for one in links_of(read)],
        "title": [one.text for one in tree.select("title")][:1],
        "text": " ".join(" ".join(one.text.split()) for one in tree.select("body")),
        "robots": sorted(read.robots),
        "canonical": [str(one.attrs["href"]) for one in tree.select("link[rel=canonical]")],
        "language": [str(one.attrs.get("lang")) for one in tree.select("html")],
    }
