"""The facts that an audit reads from the bytes of a page."""

from __future__ import annotations

import pytest

from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.uses.audit.model import HostAlias, PageFacts, PageLink, read_date
from gossamer.uses.audit.page_facts import read_page
from gossamer.uses.audit.structured_checks import missing_properties, wrong_values

URL = "https://site.example/folder/page.html"


def read(body: str, *headers: tuple[str, str], url: str = URL) -> tuple[PageFacts, list[PageLink]]:
    given = [("content-type", "text/html"), *headers]
    page = Page(url, 200, given, body.encode(), fetched_at=0.0, elapsed=0.1, wire=len(body))
    facts, links, _ = read_page(PageView(page))
    return facts, links


def test_titles_descriptions_and_headings() -> None:
    facts, _ = read(
        "<title> A \n b </title><svg><title>no</title></svg><meta name=Description content=' one '>"
        "<h1>First¶</h1><h3>x</h3><nav><h6>menu</h6></nav><h1><img alt='a picture'></h1>"
    )
    assert (facts.title, facts.description, facts.h1s, facts.headings) == (
        "A b",
        "one",
        ["First", "a picture"],
        [1, 3, 1],
    )


def test_directives_of_metas_and_headers() -> None:
    facts, _ = read(
        '<meta name=robots content="NOINDEX, follow"><meta name=otherbot content=nofollow>',
        ("x-robots-tag", "googlebot: nosnippet, max-snippet:20"),
        ("x-robots-tag", "otherbot: nofollow"),
    )
    assert (facts.is_noindex, facts.is_nofollow) == (True, False)
    assert "nosnippet" in facts.directives
    assert read("", ("x-robots-tag", "none"))[0].is_noindex


def test_canonicals_of_page_and_header() -> None:
    facts, _ = read(
        '<link rel=canonical href="../x">', ("link", '<https://a.example/>; rel="canonical", </b>; rel=next')
    )
    assert (facts.canonical, facts.header_canonical) == ("https://site.example/x", "https://a.example/")
    facts, _ = read("<body><p>x</p><link rel=canonical href=/x></body>")
    assert (facts.canonicals, facts.body_canonicals) == ([], 1)


def test_links_with_text_fragment_and_nofollow() -> None:
    _, links = read(
        '<base href="/base/"><a href="a#part">to <b>a</b></a><a href="b" rel=nofollow><img alt="picture" src=i.png></a>'
        '<a href="b">again</a><a href="mailto:x@y">m</a><a href="javascript:0">j</a><a href="#own">own</a>'
        '<link rel=next href="2"><iframe src="f"></iframe><template><a href="no">no</a></template>'
    )
    found = {(link.kind, link.url, link.fragment): link for link in links}
    assert found["a", "https://site.example/base/a", "part"].text == "to a"
    assert found["a", "https://site.example/base/b", ""] == PageLink(
        "https://site.example/base/b", "a", "picture", nofollow=2
    )
    assert ("a", URL, "own") in found
    assert {link.kind for link in links} == {"a", "img", "next", "iframe"}
    assert all(link.nofollow for link in read('<meta name=robots content=nofollow><a href="/x">x</a>')[1])


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ("googlebot: unavailable_after: 25 Jun 2099 15:00:00 PST, nosnippet", {"nosnippet"}),
        ("unavailable_after: Saturday, 25-Jul-2099 15:00:00 GMT, noarchive", {"noarchive"}),
        ("noindex, unavailable_after: 2099-06-25T15:00:00Z", {"noindex"}),
        ("otherbot: unavailable_after: 2009-06-25, noindex", set()),
    ],
)
def test_a_date_does_not_break_the_other_directives(body: str, rest: set[str]) -> None:
    facts, _ = read("", ("x-robots-tag", body))
    assert {one for one in facts.directives if not one.startswith("unavailable_after")} == rest
    assert (facts.is_expired, facts.is_noindex) == (False, "noindex" in rest)
    assert all(read_date(one) for one in facts.unavailable_after)


def test_a_date_that_has_passed_forbids_indexing() -> None:
    for text in ("Sat, 25 Jul 2009 15:00:00 GMT", "2009-07-25", "Saturday, 25-Jul-09 15:00:00 PST"):
        facts, _ = read(f'<meta name="robots" content="unavailable_after: {text}">')
        assert (facts.is_expired, facts.is_noindex) == (True, True)
    assert not read('<meta name=robots content="unavailable_after: soon">')[0].is_noindex


def test_links_and_images_that_only_some_visitors_load() -> None:
    _, links = read(
        '<meta property="og:image" content="/o.png"><body><noscript><a href="/n">n</a><img src="/p.gif"></noscript>'
        '<picture><source srcset="/a.webp 1x, /b.webp 2x"><img src="/c.png" srcset="data:,x 9w,/d.png 8w"></picture>'
    )
    assert [(link.kind, link.url.removeprefix("https://site.example")) for link in links] == [
        *(("a", "/n"), ("img", "/c.png"), ("srcset", "/a.webp"), ("srcset", "/b.webp"), ("srcset", "/d.png")),
        ("preview", "/o.png"),
    ]


def test_urls_of_the_live_site_count_as_those_of_the_copy() -> None:
    html = (
        '<link rel=canonical href="https://www.live.example/a"><a href="//www.live.example/b">b</a>'
        '<link rel=alternate hreflang=de href="http://www.live.example/c"><a href="https://x.live.example/">x</a>'
    )
    page = Page(URL, 200, [("content-type", "text/html")], html.encode(), 0.0, 0.1, len(html))
    facts, links, _ = read_page(PageView(page), alias=HostAlias("www.live.example", "https://site.example"))
    assert (facts.canonical, facts.hreflangs[0][2]) == ("https://site.example/a", "https://site.example/c")
    assert [link.url for link in links if link.kind == "a"] == [
        "https://site.example/b",
        "https://x.live.example/",
    ]


@pytest.mark.parametrize(
    ("body", "header", "faults"),
    [
        ("<meta charset=utf-8>caf\u00e9", "utf-8", 0),
        ("<meta charset=utf8>cafe", "UTF-8", 0),
        ("<p>caf\u00e9", "", 0),
        ("<meta charset=latin1>cafe", "utf-8", 1),
        ("<meta charset=utf-8>caf\u00e9", "iso-8859-1", 2),
        ("<p>caf\u00e9", "utf-9", 1),
    ],
)
def test_encodings(body: str, header: str, faults: int) -> None:
    kind = "text/html; charset=" + header if header else "text/html"
    page = Page(URL, 200, [("content-type", kind)], f"<head>{body}".encode(), 0.0, 0.1, 9)
    facts, _, _ = read_page(PageView(page))
    assert len(facts.charset_faults) == faults, facts.charset_faults


REDIRECTS = (
    "location.href = '/new'",
    "var a = 1\nlocation.replace('/new')",
    "(function(){ window.location.assign('/new') })()",
    "setTimeout(\"location.href='/new'\", 0)",
    "$(document).ready(function(){ top.location = '/new' })",
    "window.addEventListener('load', () => { location = '/new' })",
)
OTHERS = (
    "function go(){ location.href = '/new' }",
    "if (old) location = '/new'",
    "if (old)\n{ location = '/new' }",
    "old && (location = '/new')",
    "// location = '/new'\nvar s = 'location = /new'",
    "el.onclick = function(){ location = '/new' }",
    "var here = location.href, quote = /['\"]/, text = \"location='/new'\"",
    "location.hash = '/new'",
    "const go = () => { location = '/new' }",
    "my.location = '/new'; if (location == '/new') {}",
)


@pytest.mark.parametrize("script", [*REDIRECTS, *OTHERS])
def test_scripts_that_send_every_visitor_away(script: str) -> None:
    facts, links = read(f"<body><script>{script}</script>")
    expected = "https://site.example/new" if script in REDIRECTS else ""
    assert facts.script_redirect == expected
    assert [link.url for link in links if link.kind == "refresh"] == ([expected] if expected else [])


def test_placeholder_text_counts_only_outside_code() -> None:
    code = "<pre>a = 'Lorem ipsum dolor sit'\nb = 'Lorem ipsum dolor amet'</pre>"
    assert not read(f"<p>Text</p>{code}")[0].is_lorem
    assert read(f"<p>Lorem ipsum dolor sit amet</p>{code}")[0].is_lorem


def test_what_holds_up_the_first_view() -> None:
    head = "<head><script src=a.js></script><script src=b.js defer></script><script src=c.js type=module></script>"
    facts, _ = read(f"{head}<script async src=d.js></script></head><body><script src=e.js></script>")
    assert facts.blocking_scripts == ["a.js"]
    icon, lazy = "<img src=i.png width=16>", "<img loading=lazy src=a.jpg>"
    assert read(f"<body>{icon}{lazy}")[0].lazy_hero == "a.jpg: loading=lazy"
    assert read(f"<body>{icon}<img src=b.jpg>{lazy}")[0].lazy_hero == ""
    assert read(f"<body><p>{'text ' * 200}</p>{lazy}")[0].lazy_hero == "", "below the first view"
    assert read(f"<body><header>{lazy}</header><p>text")[0].lazy_hero == ""
    assert read("<body><img data-src=q.jpg src='data:,x'>")[0].lazy_hero == "q.jpg: loaded by a script"


def test_images() -> None:
    facts, _ = read(
        '<img src=a><img src=b alt=""><img src=c role=presentation width=1 height=1><img src=d aria-label=d>'
        f'<img src=e alt="{"x" * 200}" style="width: 5px; height: 5px"><picture></picture><noscript><img src=n></noscript>'
    )
    images = facts.images
    assert (images.count, images.without_alt, images.long_alt, images.empty_pictures) == (5, ["a"], ["e"], 1)
    assert images.without_size == ["a", "b", "d"]


def test_insecure_files_only_on_secure_pages() -> None:
    body = '<script src="http://a.example/x.js"></script><a href="http://a.example/">a</a><form action="http://b.example/">'
    facts, _ = read(body)
    assert (facts.mixed, facts.insecure_forms) == (["http://a.example/x.js"], ["http://b.example/"])
    assert read(body, url="http://site.example/")[0].mixed == []


def test_placeholder_text_in_code_is_no_placeholder() -> None:
    assert read("<p>Lorem ipsum dolor sit amet</p>")[0].is_lorem
    assert not read("<pre><code>Lorem ipsum dolor sit amet</code></pre>")[0].is_lorem
    assert read("<pre>Lorem ipsum dolor</pre><p>Lorem ipsum dolor</p>")[0].is_lorem


def test_structured_data() -> None:
    script = '<script type="application/ld+json">{}</script>'
    facts, _ = read(
        script.format('{"@type": "Offer", "price": "5,00",}')
        + script.format(
            '{"@graph": [{"@type": "Event", "name": "x", "startDate": "May"}, {"@id": "#a", "@type": "Product"}]}'
        )
        + script.format("")
    )
    assert len(facts.structured_errors) == 1
    assert facts.structured_gaps == ["Event: location"]
    assert facts.structured_bad == ["Event: startDate 'May' is not a date"]
    assert list(missing_properties({"@type": "https://schema.org/Recipe", "name": "a", "image": "b"})) == []
    assert list(wrong_values({"price": 5, "url": "/a", "startDate": "2026-05-01T10:00+02:00"})) == []


def test_what_is_no_html_has_few_facts() -> None:
    page = Page(URL, 200, [("content-type", "application/pdf")], b"%PDF", fetched_at=0.0, elapsed=0.1, wire=4)
    facts, links, sketch = read_page(PageView(page))
    assert (facts.is_html, facts.size, links, sketch) == (False, 4, [], b"")
    assert read("")[0].titles == []
