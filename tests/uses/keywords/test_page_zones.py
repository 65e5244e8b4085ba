"""The texts of a page by zone, without the navigation and footer around its content."""

from __future__ import annotations

from typing import Any

import gossamer
from gossamer.uses.keywords.page_zones import primary_language, read_zones

PAGE = """<!DOCTYPE html><html lang="en-GB"><head><title> Green  tea </title>
<meta name="Description" content="All about tea"></head><body>
<header><h1>Green tea</h1><a href="/home">Home of tea</a></header>
<nav><h2>Menu</h2><a href="/shop">tea shop</a></nav>
<main><h2>How to brew</h2><p>Green tea is best with water of 70 degrees, and boiling water makes it bitter.</p>
<p>Read about <a href="/pots#top">tea pots</a>, <a href="#below">below</a> or <a href="/pots">tea pots</a>.</p>
<img src="pot.jpg" alt="a pot of tea"></main>
<aside><h3>Also</h3><a href="/x">tea towels</a></aside>
<footer><h2>Contact</h2><img src="l.png" alt="our tea logo">Tea Ltd</footer></body></html>"""


def zones(body: str) -> dict[str, Any] | None:
    site = gossamer.Site("t", seeds=["https://a.example/tea"], robots=False, collector=lambda request: body)
    found: list[dict[str, Any] | None] = []

    @site.page()
    def read(page: gossamer.PageView) -> None:
        found.append(read_zones(page))

    try:
        list(gossamer.crawl(site, limit=1))
    except gossamer.GossamerError:
        pass  # the page function yields no item
    return found[0]


def test_zones_without_navigation_and_footer() -> None:
    found = zones(PAGE)
    assert found is not None
    assert found["title"] == "Green tea"
    assert found["language"] == "en"
    assert found["headings"] == ["Green tea", "How to brew"]
    assert found["alt"] == ["a pot of tea"]
    assert found["meta"] == ["All about tea"]
    assert found["anchors"] == [("https://a.example/pots", "tea pots")] or found["anchors"] == [
        ["https://a.example/pots", "tea pots"]
    ]
    assert "70 degrees" in found["text"]
    for word in ("Menu", "towels", "Contact", "Ltd", "Home of tea"):
        assert word not in found["text"]


def test_page_without_any_text() -> None:
    assert zones("<html><body><script>1</script></body></html>") is None


def test_languages() -> None:
    assert [primary_language(tag) for tag in ("de_AT", "EN", "x", "", None, "english!")] == [
        "de",
        "en",
        "",
        "",
        "",
        "",
    ]
