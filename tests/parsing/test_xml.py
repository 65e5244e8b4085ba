"""XML pages are parsed as XML: feeds, XHTML, broken XML, entities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.page import Page
from gossamer.parsing.html import parse
from gossamer.parsing.links import links
from gossamer.parsing.page_view import PageView

RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title><![CDATA[A & <B>]]></title>
<item><title>One&nbsp;&amp; &co</title><link>https://example.com/1</link><pubDate>now</pubDate>
<media:content url="/p.jpg"/></item></channel></rss>"""
XHTML = b"""<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://127.0.0.1:9/x.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de"><head><title>T&auml;</title><script src="a.js"/>
<script type="application/ld+json">{"name": "a &amp; b"}</script></head>
<body><div class="empty"/><p>one</p><p>two<br/>three</p><a href="/next">n</a></body></html>"""


@pytest.mark.parametrize("kind", ["application/rss+xml", "text/xml; charset=utf-8", "text/html", None])
def test_page_functions_select_in_a_feed(kind: str | None) -> None:
    headers = [("content-type", kind)] if kind else []
    view = PageView(Page("https://example.com/feed", 200, headers, RSS, 0.0, 0.0, 0))
    assert view.title == "A & <B>"
    assert view.css("item > link::text").get() == "https://example.com/1"
    assert view.xpath("//item/pubDate/text()").get() == "now"
    assert view.css("item > title::text").get() == "One\xa0& &co"
    assert view.document.text.startswith("A & <B> One & &co https://example.com/1 now")


def test_xhtml_has_its_empty_elements() -> None:
    page = parse(XHTML, "application/xhtml+xml", "https://example.com/")
    assert (page.title, page.language, page.text) == ("Tä", "de", "one two three n")
    assert page.tree.select_one("div.empty").text == ""
    assert page.tree.select("script")[1].text == '{"name": "a & b"}'
    assert [link.url for link in links(XHTML, "https://example.com/", "application/xhtml+xml")] == [
        "https://example.com/next"
    ]


@pytest.mark.parametrize("body", [b"<p>a<b>c", b"<a></b>", b"<x>" * 500 + b"</x>" * 500, b"<rss><title>x"])
def test_what_is_not_well_formed_is_read_as_html(body: bytes) -> None:
    assert parse(body, "text/xml", "").tree.root.tag == "html"


def test_entities_of_the_page_stay_text() -> None:
    body = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "z">]><a>&x;&y;&#65;&#0;</a>'
    assert parse(body, "text/xml", "").text == "&x;&y;A\ufffd"


@given(
    st.lists(
        st.sampled_from(
            [
                "<a>",
                "</a>",
                "<!--",
                "-->",
                "<![CDATA[",
                "]]>",
                "<?",
                "?>",
                "&",
                "&#x",
                "lt;",
                "<!DOCTYPE",
                "[",
                "]>",
                "<b:c/>",
                "<html>",
                "</html>",
                "\0",
                "'",
                "<script>",
            ]
        ),
        max_size=20,
    ).map("".join)
)
def test_any_text_is_a_page(text: str) -> None:
    assert isinstance(parse(text.encode(), "text/xml", "https://example.com/").text, str)
