"""A parsed page: tables of its metadata, and hostile markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parsing.html import MAX_TITLE_CHARS, Document, directives, parse
from gossamer.parsing.links import hrefs, links

URL = "https://e.com/dir/page.html"


def page(
    body: str | bytes, content_type: str | None = "text/html; charset=utf-8", robots: str | None = None
) -> Document:
    return parse(body.encode() if isinstance(body, str) else body, content_type, URL, robots)


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("<title> A\n  b&amp;c </title>", "A b&c"),
        ("<body><svg><title>no</title></svg><title>late</title>", "late"),
        ("<svg><title>no</title></svg>", None),
        ("<title></title><title>second</title>", None),
        ("<h1>x</h1>", None),
        ("", None),
    ],
)
def test_title(body: str, title: str | None) -> None:
    assert page(body).title == title


def test_a_title_is_bounded() -> None:
    assert page(f"<title>{'x' * 10_000}</title>").title == "x" * MAX_TITLE_CHARS


@pytest.mark.parametrize(
    ("body", "language"),
    [
        ("<html lang=en>", "en"),
        ("<html lang=' pt_BR '>", "pt-BR"),
        ("<html xml:lang=de>", "de"),
        ("<html lang=en><meta http-equiv=Content-Language content=de>", "en"),
        ("<meta http-equiv=content-language content='de, en'>", "de"),
        ("<html lang='<script>'>", None),
        ("<p lang=fr>x", None),
    ],
)
def test_language(body: str, language: str | None) -> None:
    assert page(body).language == language


@pytest.mark.parametrize(
    ("body", "canonical"),
    [
        ("<link rel=canonical href=/c#x>", "https://e.com/c"),
        ("<link rel='Foo CANONICAL' href='//f.com/'>", "https://f.com/"),
        ("<base href=/b/><link rel=canonical href=c>", "https://e.com/b/c"),
        ("<link rel=canonical><link rel=canonical href=/c>", "https://e.com/c"),
        ("<link rel=canonical href='javascript:x'>", None),
        ("<link rel=canonical href='http://['>", None),
        # a comment by a visitor in the body must not set the canonical URL
        ("<body><p><link rel=canonical href=/evil>", None),
        ("<link rel=alternate href=/x>", None),
    ],
)
def test_canonical(body: str, canonical: str | None) -> None:
    assert page(body).canonical == canonical


@pytest.mark.parametrize(
    ("body", "base"),
    [
        ("", URL),
        ("<base href=/x/>", "https://e.com/x/"),
        ("<base target=_top><base href='../y'><base href=/no/>", "https://e.com/y"),
        ("<base href='//f.com'>", "https://f.com/"),
        ("<base href='data:x'>", URL),
        ("<base href='javascript:x'>", URL),
        ("<base href>", URL),
    ],
)
def test_base(body: str, base: str) -> None:
    assert page(body).base.url == base


@pytest.mark.parametrize(
    ("body", "header", "expected"),
    [
        ("", None, set()),
        ("<meta name=ROBOTS content='NoIndex,NOFOLLOW'>", None, {"noindex", "nofollow"}),
        ("<meta name=robots content=none>", None, {"noindex", "nofollow"}),
        ("<meta name=robots content='index, follow, noarchive'>", None, set()),
        (
            "<meta name=robots content=noindex><meta name=gossamer content=nofollow>",
            None,
            {"noindex", "nofollow"},
        ),
        ("<meta name=googlebot content=noindex>", None, set()),
        ("<p><meta name=robots content=noindex>", None, {"noindex"}),
        ("", "noindex", {"noindex"}),
        ("<meta name=robots content=noindex>", "nofollow", {"noindex", "nofollow"}),
        ("", "otherbot: noindex, nofollow", set()),
        ("", "otherbot: noindex, gossamer: nofollow", {"nofollow"}),
        ("", "unavailable_after: 25 Jun 2030 15:00:00 PST, max-snippet:-1, nofollow", {"nofollow"}),
    ],
)
def test_robots(body: str, header: str | None, expected: set[str]) -> None:
    assert page(body, robots=header).robots == expected


def test_directives_for_another_agent() -> None:
    assert directives("otherbot: noindex", agent="otherbot") == {"noindex"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<title>t</title><p>one</p><p>t<b>w</b>o&nbsp;&lt;</p><ul><li>three</ul>", "one two < * three"),
        (
            "<script>no</script><style>no</style><template>no</template><!-- no -->yes<noscript>too</noscript>",
            "yestoo",
        ),
        ("<table><tr><td>a<td>b</table>", "a b"),
        ("", ""),
    ],
)
def test_text(body: str, text: str) -> None:
    assert page(body).text == text


def test_text_hash_is_of_what_the_page_says() -> None:
    first = page(
        "<title>t</title><script>var token = 1</script><p class=a>one <b>two</b><style>a{}</style>three"
    )
    second = page(
        "<title>t</title><script>var token = 2</script><p id=z>one <i>two</i><style>b{}</style>three<script>x</script>"
    )
    other = page("<title>t</title><p>one <b>two</b>four")
    assert first.text_hash == second.text_hash != other.text_hash
    assert len(first.text_hash) == 32


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("<p>café".encode("latin-1"), "text/html; charset=iso-8859-1", "café"),
        ("<p>café au lait".encode("latin-1"), None, "café au lait"),
        ("<p>café".encode(), None, "café"),
        ("<p>café".encode(), "text/html; charset=no-such-thing", "café"),
        ("<meta charset=shift_jis><p>日本".encode("shift_jis"), "text/html", "日本"),
        ("<p>日本".encode("utf-16"), "text/html; charset=latin-1", "日本"),
        ("<p>日本".encode("euc-jp"), 'text/html; Charset="EUC-JP"', "日本"),
        (b"<p>x", "image/png", ""),
        (b"<p>x", "application/xhtml+xml", "x"),
        (b"<p>x", "", "x"),
    ],
)
def test_encodings_and_types(body: bytes, content_type: str | None, text: str) -> None:
    assert page(body, content_type).text == text


HOSTILE = {
    "400,000 open divs": "<div>" * 400_000 + "<a href=/deep>x",
    "20,000 attributes": "<a " + " ".join(f"a{n}=1" for n in range(20_000)) + " href=/wide>x</a>",
    "nested tables": "<table><tr><td>" * 20_000 + "<a href=/in>x",
    "2 MB in one attribute": f"<a href='/{'x' * 2_000_000}'>x</a>",
    "2 MB of one title": f"<title>{'x' * 2_000_000}",
    "links in links": "<object><a href=/in>x" * 20_000,
    "open formatting": "<p><font size=1><b><i>" * 10_000 + "x",
    "100,000 links": "".join(f"<a href=/{n} rel=nofollow>x</a>" for n in range(100_000)),
    "templates": "<div><template>" * 10_000 + "<a href=x>" * 10_000,
    "selects": "<select><option>" * 50_000,
    "20,000 scripts": "<script>x</script>" * 20_000,
    "scripts that hide": "x<script>y</script><template><script>z</script></template>" * 5_000,
    "100,000 metas": "<meta name=robots content=noindex>" * 100_000,
    "a cell that pads all others": "<table><tr><td>"
    + "x" * 200_000
    + "</tr>"
    + "<tr><td>a<td>b</tr>" * 2_000
    + "</table>",
    "cells in cells": "<table><tr><td>x" * 3_000,
    "comments": "<!--" * 500_000,
    "entities": "&#x41;&nbsp;&notit;" * 100_000,
    "brackets": "<" * 1_000_000,
    "zeros": "\0" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    """With quadratic time or text, these pages would not finish, or would exhaust the memory."""
    body = HOSTILE[name].encode()
    document = parse(body, "text/html", URL)
    assert len(document.text) <= 4_000_000 + 2 * len(body)
    assert document.title is None or len(document.title) <= MAX_TITLE_CHARS
    assert len(document.text_hash) == 32
    assert document.language is None
    assert hrefs(document) == hrefs(document)
    assert len(links(body, URL, "text/html", cap=5_000)) <= 5_000


PIECES = st.lists(
    st.sampled_from(
        [
            "<html",
            "lang=en>",
            "<head>",
            "</head>",
            "<body>",
            "<title>",
            "</title>",
            "<base",
            "href=/x/>",
            "<base",
            "href=data:x>",
            "<a",
            "href=x>",
            "<a",
            "href>",
            "<a",
            "rel=nofollow",
            "href=y>",
            "</a>",
            "<link",
            "rel=canonical",
            "href=c>",
            "<link",
            'rel="next',
            'alternate"',
            "href=n>",
            "<meta",
            "name=robots",
            "content=none>",
            "<meta",
            "http-equiv=refresh",
            'content="0;url=r">',
            "<template>",
            "</template>",
            "<svg>",
            "<script>",
            "</script>",
            "<style>",
            "</style>",
            "<table>",
            "<td>",
            "<frameset>",
            "<frame",
            "src=f>",
            "<iframe",
            "src=i>",
            "<area",
            "href=a",
            "alt=b>",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "\x00",
            "ä",
            "&#",
            "'",
            '"',
            "=",
            ">",
            "<",
            "\ud7ff",
        ]
    ).map(str.encode)
    | st.binary(max_size=6),
    max_size=30,
)


@given(
    PIECES,
    st.sampled_from([None, "text/html", "text/html; charset=utf-16le", "text/html;charset=", "x", ";;;"]),
    st.sampled_from([URL, "", "no url"]),
)
def test_never_raises(pieces: list[bytes], content_type: str | None, url: str) -> None:
    body = b" ".join(pieces)
    document = parse(body, content_type, url, "none, x: y")
    _ = (
        document.title,
        document.language,
        document.canonical,
        document.robots,
        document.text,
        document.text_hash,
        document.refresh,
    )
    followed, shut = hrefs(document)
    assert followed == []
    assert shut >= 0
    for link in links(body, url, content_type):
        assert link.url.startswith(("http://", "https://"))
        assert "#" not in link.url
