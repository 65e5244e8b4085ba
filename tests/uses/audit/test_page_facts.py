"""The facts that an audit reads from the bytes of a page."""

from __future__ import annotations

from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.uses.audit.model import PageFacts, PageLink
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
        "https://site.example/base/b", "a", "picture"
    )
    assert ("a", URL, "own") in found
    assert {link.kind for link in links} == {"a", "img", "next", "iframe"}
    assert all(link.nofollow for link in read('<meta name=robots content=nofollow><a href="/x">x</a>')[1])


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
