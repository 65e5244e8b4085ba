"""Tests of the decision whether a page needs a browser, which is based on its main part and on other pages of
the host."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gossamer.parsing.html import Document, parse
from gossamer.parsing.rendering_need import MAX_DEPTH, RenderingNeed, looks_empty

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
MENU = (
    "<header><a href=/>Home</a></header><nav>"
    + "".join(f"<a href=/{n}>Section {n}</a>" for n in range(20))
    + "</nav>"
)
FOOTER = "<footer><p>" + "We sell kettles and tell you how cookies are used here. " * 12 + "</p></footer>"
APP = "<script src=/app.js></script>"
TEXT = "<p>" + "A kettle boils water in some minutes. " * 30 + "</p>"
LINKS = "".join(f"<div><a href=/{n}>Department number {n}</a></div>" for n in range(30))
"""A menu whose elements have no name that distinguishes it from a main part."""


def document(body: str, url: str = "https://example.com/") -> Document:
    return parse(
        f"<!doctype html><html><head><title>Kettles</title></head><body>{body}</body></html>",
        "text/html",
        url,
    )


def judge(need: RenderingNeed, page: Document) -> str:
    return need.judge(urlsplit(page.url).netloc, page, page.tree.html.encode())


EMPTY = {
    "a root": f"<div id=root></div>{APP}",
    "a menu and a footer": f"{MENU}<main></main>{FOOTER}{APP}",
    "a role": f"{MENU}<div role=main> <ul></ul> </div>{FOOTER}{APP}",
    "a named container": f"{MENU}<div class='products-grid'></div>{FOOTER}{APP}",
    "no container is named": f"{MENU}<div id=x7><ul></ul></div>{FOOTER}{APP}",
    "an element of a framework": f"{MENU}<app-root></app-root>{FOOTER}{APP}",
    "a view": f"{MENU}<div ng-view></div>{FOOTER}{APP}",
    "a skeleton": f"{MENU}<main><div class='card skeleton'></div><div class='card skeleton'></div></main>{FOOTER}{APP}",
    "a spinner": f"{MENU}<main><h1>Kettles</h1><div class='spinner-border' role=status></div></main>{FOOTER}{APP}",
    "it says that it is loading": f"{MENU}<div id=x>Loading products...</div>{FOOTER}{APP}",
    "in another language": f"{MENU}<div id=x>Lädt …</div>{FOOTER}{APP}",
    "a template": f"{MENU}<main><h1>{{{{ product.name }}}}</h1><p>{{{{ product.price }}}}</p></main>{FOOTER}{APP}",
    "it asks for scripts": f"<h2>Our kettles</h2><noscript>Please enable JavaScript.</noscript><section></section>{APP}",
    "nothing": APP,
    "a consent in paragraphs": f"{MENU}<main></main><div class='cookie-banner'>{TEXT}</div>{APP}",
    "long text beside an empty main part": f"{MENU}<div class=x>{TEXT}</div><main> </main>{FOOTER}{APP}",
    "a logo": f"<div><img src=logo.png></div><main id=app></main>{APP}",
}
COMPLETE = {
    "an article": f"{MENU}<main>{TEXT}</main>{FOOTER}{APP}",
    "rendered by the server, then hydrated": f"<div id=__next>{MENU}<main>{TEXT}</main></div>{APP}",
    "a list": f"{MENU}<main>"
    + "".join(f"<h3>Kettle {n}</h3><b>{n}.00</b>" for n in range(30))
    + f"</main>{FOOTER}{APP}",
    "a missing page": f"{MENU}<main><h1>Page not found</h1><p>Try the search.</p></main>{FOOTER}{APP}",
    "a stub": f"{MENU}<main><h1>Kettle</h1><p>This article is a stub.</p></main>{FOOTER}{APP}",
    "thanks": f"<h1>Thank you!</h1>{APP}",
    "a log-in": f"{MENU}<main><form><input name=user><input type=password name=p><button>Go</button></form></main>{APP}",
    "a gallery": f"{MENU}<main><img src=1.jpg><img src=2.jpg><img src=3.jpg></main>{FOOTER}{APP}",
    "a player": f"{MENU}<div class=x><iframe src=https://video.example.com/1></iframe></div>{FOOTER}{APP}",
    "a redirect": f"<meta http-equiv=refresh content='0; url=/new'><div id=root></div>{APP}",
    "no script": f"{MENU}<main></main>{FOOTER}",
    "a place for an advert": f"{MENU}<div id=ad7></div><main><h1>Opening hours</h1><p>We open at nine.</p></main>{FOOTER}{APP}",
    "a form": f"{MENU}<div><input name=q><div class=x></div></div>{FOOTER}{APP}",
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_pages_need_a_browser(name: str) -> None:
    assert looks_empty(document(EMPTY[name]))


@pytest.mark.parametrize("name", COMPLETE)
def test_complete_pages_do_not(name: str) -> None:
    assert looks_empty(document(COMPLETE[name])) == ""
    need = RenderingNeed()
    for path in ("/", "/a", "/b"):
        assert judge(need, document(COMPLETE[name], f"https://example.com{path}")) == ""


def test_a_page_is_judged_beside_its_sisters() -> None:
    """The other pages of the host identify a menu without a meaningful element name."""
    need = RenderingNeed()
    shell = f"{LINKS}<div class=x></div>{APP}"
    assert judge(need, document(f"{LINKS}{TEXT}{APP}", "https://example.com/1")) == ""
    assert judge(need, document(shell, "https://example.com/2")) == "", "one page shows no frame"
    assert judge(need, document(f"{LINKS}{TEXT}<p>More</p>{APP}", "https://example.com/1")) == ""
    assert judge(need, document(shell, "https://example.com/2")) == "", "the same page again"
    assert judge(need, document(f"{LINKS}<p>More.</p>{TEXT[:-9]}{APP}", "https://example.com/4")) == ""
    assert "other pages" in judge(need, document(shell, "https://example.com/2"))
    assert judge(need, document(shell, "https://example.org/2")) == "", "a host of its own"
    other = f"{LINKS}<div class=x></div><div>This one says something of its own.</div>{APP}"
    assert judge(need, document(other, "https://example.com/3")) == ""


def test_equal_short_pages_are_complete() -> None:
    """A notice that many URLs of a host show does not count as part of their common frame, because complete
    pages do not show it."""
    need = RenderingNeed()
    for n in range(3):
        text = TEXT.replace("water", f"tea number {n}")
        assert judge(need, document(f"{LINKS}{text}{APP}", f"https://example.com/{n}")) == ""
    notice = f"{LINKS}<div class=x></div><div>This kettle is sold out.</div>{APP}"
    for n in range(3):
        assert judge(need, document(notice, f"https://example.com/gone/{n}")) == ""


def test_paragraphs_of_all_pages_are_no_main_part() -> None:
    """A long notice at the bottom of each page is not the main part."""
    need = RenderingNeed()
    notice = f"<div class=x></div><section class=y>{TEXT}</section>{APP}"
    found = [judge(need, document(notice, f"https://example.com/{n}")) for n in range(4)]
    assert [bool(why) for why in found] == [False, False, True, True]


def test_frames_are_read_as_they_are() -> None:
    page = b"<frameset><frame src=/a></frameset><script></script>"
    assert looks_empty(parse(page, "text/html", "https://example.com/")) == ""


def test_a_chapter_of_a_heading_alone_is_complete() -> None:
    """The heading of the chapter is also in the menu of every page. A heading that complete pages share is no
    evidence that a page is complete."""
    need = RenderingNeed()
    menu = "<ol><li><a href=a>The first steps</a><li><a href=b>The tools</a></ol><h1>The book</h1><div></div>"
    for n in range(2):
        assert judge(need, document(f"{menu}{TEXT}{n}{APP}", f"https://example.com/{n}")) == ""
    chapter = "<main><h2>The first steps</h2></main>"
    assert judge(need, document(f"{menu}{chapter}{APP}", "https://example.com/a")) == ""
    assert "other pages" in judge(need, document(f"{menu}{APP}", "https://example.com/b"))


def test_deep_and_huge_pages_are_judged() -> None:
    depth = 3 * MAX_DEPTH
    assert looks_empty(document("<div>" * depth + "A short text." + "</div>" * depth + APP)) == ""
    assert looks_empty(document("<i></i>" * 20_000 + f"<div id=root></div>{APP}")) == "", "too many nodes"


@pytest.mark.parametrize("name", ["articles-zyte", "products", "page-dates"])
def test_real_pages(name: str) -> None:
    """Of the real pages, only those that are empty without scripts in their saved form escalate to the
    browser."""
    file = SHARED / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip("../shared/data is not here")
    need, found = RenderingNeed(), set[str]()
    for line in gzip.decompress(file.read_bytes()).splitlines():
        row = json.loads(line)
        body = base64.b64decode(row["html"]["b64"])
        if need.judge(urlsplit(row["url"]).netloc, parse(body, "text/html", row["url"]), body):
            found.add(urlsplit(row["url"]).netloc)
    shells = {"www.camping.info", "juliasleseblog.blogspot.com", "www.wevolver.com", "feeds.bizjournals.com"}
    assert found == (shells if name == "page-dates" else set())
