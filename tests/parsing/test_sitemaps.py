"""Sitemaps and feeds: walks over whole small sites, tables of formats, and broken or hostile files."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parsing.sitemaps import MAX_ENTRIES, SitemapEntry, entries, why_unreadable
from gossamer.politeness.robots import Robots

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "sitemaps.jsonl.gz"
HOME = "https://e.com/folder/sitemap.xml"


def rows() -> list[dict[str, Any]]:
    return (
        [json.loads(line) for line in gzip.decompress(SHARED.read_bytes()).splitlines()]
        if SHARED.exists()
        else []
    )


def walk(site: dict[str, Any], home: str, depth: int = 3) -> list[SitemapEntry]:
    """Returns the pages of all sitemaps that robots.txt lists. Each sitemap is read once, and indexes are
    followed to at most `depth` levels."""
    pages: list[SitemapEntry] = []
    seen: set[str] = set()

    def visit(url: str, left: int) -> None:
        answer = site.get(url)
        if url in seen or answer is None or answer["status"] != 200:
            return
        seen.add(url)
        found, below = entries(base64.b64decode(answer["body"]["b64"]), url)
        pages.extend(found)
        for sitemap in below if left else ():
            visit(sitemap, left - 1)

    for url in Robots(base64.b64decode(site[f"{home}/robots.txt"]["body"]["b64"])).sitemaps:
        visit(url, depth)
    return pages


@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not here")
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_site(row: dict[str, Any]) -> None:
    pages = walk(row["site"], row["homepage"])
    assert sorted(pages) == sorted(row["pages"])
    assert {page: page.lastmod.isoformat() for page in pages if page.lastmod} == row["lastmod"]


URLSET = '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</urlset>'


def pages(text: str | bytes, url: str = HOME) -> list[str]:
    return [str(page) for page in entries(text.encode() if isinstance(text, str) else text, url)[0]]


def test_all_that_an_entry_says() -> None:
    body = URLSET % (
        "<url><loc> https://e.com/a?x=1&amp;y=2#z </loc><lastmod>2024-05-01T10:00:00+02:00</lastmod>"
        "<changefreq>Weekly</changefreq><priority>0.8</priority></url>"
        "<url><loc>b</loc><lastmod>then</lastmod><changefreq>at times</changefreq><priority>1.1</priority></url>"
    )
    (first, second), sitemaps = entries(body.encode(), HOME)
    assert (first, first.url, first.changefreq, first.priority) == (
        "https://e.com/a?x=1&y=2",
        first,
        "weekly",
        0.8,
    )
    assert first.lastmod == datetime(2024, 5, 1, 10, tzinfo=timezone(timedelta(hours=2)))
    assert (second, second.lastmod, second.changefreq, second.priority) == (
        "https://e.com/folder/b",
        None,
        None,
        None,
    )
    assert sitemaps == []


def test_an_index_gives_sitemaps() -> None:
    body = b"<sitemapindex><sitemap><loc>/1.xml.gz</loc><lastmod>2024</lastmod></sitemap></sitemapindex>"
    found, sitemaps = entries(body, HOME)
    assert (found, sitemaps) == ([], ["https://e.com/1.xml.gz"])
    assert sitemaps[0].lastmod == datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-07", datetime(2024, 5, 7, tzinfo=UTC)),
        ("2024-5-7", datetime(2024, 5, 7, tzinfo=UTC)),
        ("2024/05/07 9:11", datetime(2024, 5, 7, 9, 11, tzinfo=UTC)),
        ("2024-05-07T10:11:12 UTC", datetime(2024, 5, 7, 10, 11, 12, tzinfo=UTC)),
        ("2024-05-07T10:11Z", datetime(2024, 5, 7, 10, 11, tzinfo=UTC)),
        ("2024-05-07T10:11:12.345Z", datetime(2024, 5, 7, 10, 11, 12, 345000, tzinfo=UTC)),
        ("2024-05-07 10:11:12", datetime(2024, 5, 7, 10, 11, 12, tzinfo=UTC)),
        ("Thu, 17 Dec 2009 12:04:56 +0200", datetime(2009, 12, 17, 10, 4, 56, tzinfo=UTC)),
        ("Thu, 17 Dec 2009 12:04:56 GMT", datetime(2009, 12, 17, 12, 4, 56, tzinfo=UTC)),
        ("2024-13-01", None),
        ("0000-00-00", None),
        ("yesterday", None),
        ("9" * 500, None),
        ("", None),
    ],
)
def test_moments(text: str, moment: datetime | None) -> None:
    ((entry,), _) = entries((URLSET % f"<url><loc>/a</loc><lastmod>{text}</lastmod></url>").encode(), HOME)
    assert entry.lastmod == moment


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # any namespace or none
        ("<urlset><url><loc>https://e.com/a</loc></url></urlset>", ["https://e.com/a"]),
        ('<s:urlset xmlns:s="x"><s:url><s:loc>/a</s:loc></s:url></s:urlset>', ["https://e.com/a"]),
        # upper-case names, and an RSS 1.0 item without a link
        ("<URLSET><URL><LOC>/a</LOC></URL></URLSET>", ["https://e.com/a"]),
        ("<urlset><Url><Loc>/a</Loc></Url></urlset>", ["https://e.com/a"]),
        (
            '<rdf:RDF xmlns:rdf="x"><item rdf:about="https://e.com/a"><title>A</title></item></rdf:RDF>',
            ["https://e.com/a"],
        ),
        (
            URLSET % "<url><image:image><image:loc>/no.png</image:loc></image:image><loc>/a</loc></url>",
            ["https://e.com/a"],
        ),
        (
            URLSET % '<url><loc>/a</loc><xhtml:link rel="alternate" hreflang="fr" href="/fr"/></url>',
            ["https://e.com/a"],
        ),
        (URLSET % "<url><loc><![CDATA[/a?x=1&y=2]]></loc></url>", ["https://e.com/a?x=1&y=2"]),
        (URLSET % "<url><loc>/a<!-- b -->c</loc></url>", ["https://e.com/ac"]),
        (URLSET % "<!-- <url><loc>/hidden</loc></url> --><url><loc>/a</loc></url>", ["https://e.com/a"]),
        (URLSET % "<url><loc>/&#x61;&#98;&lt;</loc></url>", ["https://e.com/ab%3C"]),
        # only URLs that can be fetched
        (
            URLSET
            % "<url><loc>ftp://e.com/a</loc></url><url><loc>mailto:a@e.com</loc></url><url><loc/></url>",
            [],
        ),
        (
            URLSET % "<url><loc></loc></url><url><lastmod>2024</lastmod></url><url><loc>http://[</loc></url>",
            [],
        ),
        # broken files, up to the point where they break
        ("<urlset><url><loc>/a?x=1&y=2&copy=3</loc></url>", ["https://e.com/a?x=1&y=2&copy=3"]),
        ("<urlset><url><loc>/a</loc><url><loc>/b</loc></urlset>", ["https://e.com/a", "https://e.com/b"]),
        ("<urlset><url><loc>/a</loc></url><url><loc>/b</loc><lastm", ["https://e.com/a", "https://e.com/b"]),
        ("<urlset><url><loc>/a</loc></url><url><loc>/b/cut-o", ["https://e.com/a"]),
        (
            "<urlset><url><loc>/a</loc></url><<>><url ><loc\n>/b</loc ></url></nonsense>",
            ["https://e.com/a", "https://e.com/b"],
        ),
        ("\n\n<br/>Notice: undefined index<urlset><url><loc>/a</loc></url></urlset>", ["https://e.com/a"]),
        # RSS
        (
            "<rss><channel><link>/no</link><item><title>x</title><link>/a</link></item></channel></rss>",
            ["https://e.com/a"],
        ),
        (
            "<rss><channel><image><url>/i</url><link>/no</link></image><item><link>/a</link></item></channel></rss>",
            ["https://e.com/a"],
        ),
        ("<rss><item><image><url>/i.png</url></image><link>/a</link></item></rss>", ["https://e.com/a"]),
        (
            "<rss><item><description><![CDATA[<link>/no</link>]]></description><link>/a</link></item></rss>",
            ["https://e.com/a"],
        ),
        (
            "<rss><item><guid>https://e.com/g</guid></item><item><guid>7</guid></item></rss>",
            ["https://e.com/g"],
        ),
        (
            "<rss><item><link>mailto:a@e.com</link><guid>https://e.com/g</guid></item></rss>",
            ["https://e.com/g"],
        ),
        ('<rss><item><guid isPermaLink="false">https://e.com/g</guid></item></rss>', []),
        (
            '<!DOCTYPE rss PUBLIC "-//N//DTD RSS 0.91//EN" "http://n/rss.dtd"><rss><item><link>/a</link></item></rss>',
            ["https://e.com/a"],
        ),
        (
            '<rdf:RDF><item rdf:about="/x"><link>/a</link><dc:date>2024-01-01</dc:date></item></rdf:RDF>',
            ["https://e.com/a"],
        ),
        # Atom
        (
            '<feed><link href="/no"/><entry><link rel="self" href="/self"/><link href="/a"/></entry></feed>',
            ["https://e.com/a"],
        ),
        (
            "<feed><entry><link rel='alternate' href='/a?b&amp;c'/><id>urn:x</id></entry></feed>",
            ["https://e.com/a?b&c"],
        ),
        (
            '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:link href="/a"/></a:entry></a:feed>',
            ["https://e.com/a"],
        ),
        (
            '<feed><entry><source><link href="/no"/></source><link href="/a"/></entry></feed>',
            ["https://e.com/a"],
        ),
        (
            '<feed><entry><content><link href="/no"/></content><link href="/a"/></entry></feed>',
            ["https://e.com/a"],
        ),
        (
            '<feed><entry><media:content url="/no"/><link rel=" Alternate" href="/a"/></entry></feed>',
            ["https://e.com/a"],
        ),
        (
            '<feed><entry><content src="/no"/><content>open<link href="/no"/></entry><entry><link href="/a"/></entry></feed>',
            ["https://e.com/a"],
        ),
        (
            '<feed xml:base="/x/"><entry xml:base="y/"><link href="a"/></entry><entry><link href="b"/></entry></feed>',
            ["https://e.com/x/y/a", "https://e.com/x/b"],
        ),
        (
            '<feed><entry><link rel="http://www.iana.org/assignments/relation/alternate" href="/a"/></entry></feed>',
            ["https://e.com/a"],
        ),
        (
            '<feed xml:base="https://f.com/blog/"><entry><link href="a"/></entry></feed>',
            ["https://f.com/blog/a"],
        ),
        # text
        (
            "https://e.com/a\r\n\r\n  http://e.com/b  \nhttps://e.com/c d\nsee https://e.com/d\n/e\nftp://e.com/f",
            ["https://e.com/a", "http://e.com/b"],
        ),
        # neither
        ("<!DOCTYPE html><html><body><a href=/a>x</a></body></html>", []),
        ("<html><body>https://e.com/a</body></html>", []),
        ('{"a": "https://e.com/a"}', []),
        ("", []),
    ],
)
def test_forms(body: str, expected: list[str]) -> None:
    assert pages(body) == expected
    assert pages(gzip.compress(body.encode())) == expected


@pytest.mark.parametrize("name", ["lastmod", "pubDate", "updated", "dc:date"])
def test_dates_of_feeds(name: str) -> None:
    ((entry,), _) = entries(
        f"<rss><item><link>/a</link><{name}>2024-05-07</{name}></item></rss>".encode(), HOME
    )
    assert entry.lastmod == datetime(2024, 5, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "body",
    [
        (URLSET % "<url><loc>/ä</loc></url>").encode("utf-8-sig"),
        (URLSET % "<url><loc>/ä</loc></url>").encode("utf-16"),
        (URLSET % "<url><loc>/ä</loc></url>").replace("UTF-8", "UTF-16").encode("utf-16-le"),
        (URLSET % "<url><loc>/ä</loc></url>").replace("UTF-8", "ISO-8859-1").encode("latin-1"),
        (URLSET % "<url><loc>/ä</loc></url>").replace("UTF-8", "windows-9999").encode(),
        (URLSET % "<url><loc>/ä</loc></url>").replace("UTF-8", "punycode").encode(),
    ],
)
def test_encodings(body: bytes) -> None:
    assert pages(body) == ["https://e.com/%C3%A4"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_list_in_utf16_has_no_need_of_a_mark(encoding: str) -> None:
    assert pages("https://e.com/ä\nhttps://e.com/b\n".encode(encoding)) == [
        "https://e.com/%C3%A4",
        "https://e.com/b",
    ]


def test_gzip_in_members_cut_and_broken() -> None:
    text = (URLSET % "".join(f"<url><loc>/{n}</loc></url>" for n in range(5000))).encode()
    whole = gzip.compress(text)
    assert len(pages(gzip.compress(text[:9000]) + gzip.compress(text[9000:]) + b"\0" * 100)) == 5000
    assert 0 < len(pages(whole[: len(whole) // 2])) < 5000
    assert pages(b"\x1f\x8b" + b"garbage") == []
    # only one coding is decoded, so a file that is compressed twice gives nothing
    assert pages(gzip.compress(whole)) == []


def test_no_more_than_the_protocol_allows() -> None:
    assert len(pages(b"<urlset>" + b"<url><loc>/a</loc></url>" * (MAX_ENTRIES + 10))) == MAX_ENTRIES
    assert len(pages(b"https://e.com/a\n" * (MAX_ENTRIES + 10))) == MAX_ENTRIES


LAUGHS = (
    "<!DOCTYPE lolz [<!ENTITY lol0 'lol'>"
    + "".join(f"<!ENTITY lol{n} '" + f"&lol{n - 1};" * 10 + "'>" for n in range(1, 10))
    + "]><urlset><url><loc>/&lol9;</loc></url></urlset>"
)
QUADRATIC = (
    f"<!DOCTYPE a [<!ENTITY b '{'b' * 100_000}'>]><urlset><url><loc>/{'&b;' * 100_000}</loc></url></urlset>"
)
PASSWD = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>/&x;</loc></url></urlset>'
REMOTE = '<!DOCTYPE urlset SYSTEM "http://127.0.0.1:9/evil.dtd" [<!ENTITY % x SYSTEM "/x">%x;]><urlset><url><loc>/a</loc></url></urlset>'


@pytest.mark.parametrize(
    "body", [LAUGHS, QUADRATIC, PASSWD, REMOTE], ids=["laughs", "quadratic", "passwd", "remote"]
)
def test_a_dtd_with_entities_is_refused(body: str) -> None:
    assert entries(body.encode(), HOME) == ([], [])
    assert entries(gzip.compress(body.encode()), HOME) == ([], [])


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE urlset SYSTEM "http://127.0.0.1:9/evil.dtd">',
        '<?xml version="1.0"?>\n<!doctype urlset [<!ELEMENT url (loc)> <!ATTLIST url a CDATA "b">]>',
    ],
)
def test_a_doctype_without_entities_is_harmless(doctype: str) -> None:
    body = f"{doctype}<urlset><url><loc>/a</loc></url></urlset>"
    assert pages(body) == ["https://e.com/a"]
    assert why_unreadable(body) == ""


def test_an_entity_without_dtd_stays_text() -> None:
    assert pages("<urlset><url><loc>/&lol9;</loc></url></urlset>") == ["https://e.com/&lol9;"]


MILLION = 1_000_000
# functions, because the bodies are large
HOSTILE = {
    "bomb": lambda: gzip.compress(bytes(64 * MILLION)),
    "bomb of text": lambda: gzip.compress(b"<url><loc>http://e.com/</loc>" * 3 * MILLION),
    "nested bomb": lambda: gzip.compress(gzip.compress(bytes(64 * MILLION))),
    "members": lambda: gzip.compress(b"") * 100_000,
    "open brackets": lambda: b"<" * 10 * MILLION,
    "open values": lambda: b"<urlset><url>" + b"<loc>" * 2 * MILLION,
    "open comments": lambda: b"<url><loc>" + b"<!--" * 2 * MILLION,
    "CDATA": lambda: b"<url><loc>" + b"<![CDATA[]]>" * MILLION,
    "one line of URLs": lambda: b"http://e.com/ " * MILLION,
    "prefixes": lambda: b"<" + b"a:" * 5 * MILLION,
    "feeds": lambda: b"<feed " * MILLION,
    "attributes": lambda: b"<entry><link " + b"href='" * MILLION + b">",
    "references": lambda: b"<url><loc>" + b"&amp;" * 2 * MILLION + b"</loc></url>",
    "empty lines": lambda: b"\r\n" * 5 * MILLION,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    """Quadratic or unbounded work would not finish here."""
    found, sitemaps = entries(HOSTILE[name](), HOME)
    assert len(found) + len(sitemaps) <= MAX_ENTRIES


PIECES = st.lists(
    st.sampled_from(
        [
            "<urlset>",
            "<url>",
            "</url>",
            "<loc>",
            "</loc>",
            "/a",
            "<![CDATA[",
            "]]>",
            "<!--",
            "-->",
            "&amp;",
            "&#0;",
            "&#xD800;",
            "<sitemap>",
            "<item>",
            "<link>",
            "<entry>",
            "<link/>\n",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
            "<lastmod>",
            "2024",
            "<",
            ">",
            "\x00",
            "ä",
            "http://e.com/",
            "<guid>",
            "<priority>",
            "nan",
            "1e5",
            "\ud7ff",
            "<loc/>",
            "<dc:date>",
            'href="b"',
            "rel='",
        ]
    ).map(str.encode)
    | st.binary(max_size=5),
    max_size=40,
)


@given(PIECES, st.sampled_from([HOME, "", "no url", "http://["]))
def test_never_raises(pieces: list[bytes], url: str) -> None:
    body = b"".join(pieces)
    for text in (body, gzip.compress(body), b"\x1f\x8b\x08" + body, b"\xff\xfe" + body):
        for found in entries(text, url):
            for entry in found:
                assert entry.startswith(("http://", "https://"))
                assert "#" not in entry
