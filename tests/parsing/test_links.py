"""Links of a page: which elements count, their targets and their attributes. The fast function returns the
same as the full one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parsing.html import parse
from gossamer.parsing.links import Link, hrefs, links, links_of

URL = "https://e.com/dir/page.html"


def found(body: str, **more: object) -> list[str]:
    return [link.url for link in links(body.encode(), URL, **more)]  # type: ignore[arg-type]  # cap or content_type


@pytest.mark.parametrize(
    ("body", "urls"),
    [
        ("<a href=x>", ["https://e.com/dir/x"]),
        ("<a href=' /x y\n'>", ["https://e.com/x%20y"]),
        ("<a href='//f.com'>", ["https://f.com/"]),
        ("<a href='?q=1&amp;r=2'>", ["https://e.com/dir/page.html?q=1&r=2"]),
        ("<A HREF=HTTP://F.com/../a/./b>", ["http://f.com/a/b"]),
        ("<a href='https:\\\\f.com\\x'>", ["https://f.com/x"]),
        # base elements, fragments, duplicates
        ("<base href=/b/><a href=x><a href=/y>", ["https://e.com/b/x", "https://e.com/y"]),
        ("<a href=x#1>1</a><a href=x#2>2</a><a href=./x>3</a>", ["https://e.com/dir/x"]),
        ("<a href=#top>", [URL]),
        (
            "<a href='x #1'><a href=' #2'><a href='x '>",
            ["https://e.com/dir/x%20", URL, "https://e.com/dir/x"],
        ),
        # no addresses
        (
            "<a href='javascript:void(0)'><a href=mailto:a@e.com><a href=data:,x><a href=tel:1><a href=ftp://e.com/>",
            [],
        ),
        ("<a href=' JavaScript:x'><a href='http://['><a name=x>", []),
        (
            "<!-- <a href=x> --><script>'<a href=x>'</script><style><a href=x></style><textarea><a href=x></textarea>",
            [],
        ),
        ("<template><a href=x></template>", []),
        # other elements
        ("<map><area href=x></map>", ["https://e.com/dir/x"]),
        (
            "<iframe src=x></iframe><embed src=y><object data=z></object><img src=i><form action=f></form>",
            ["https://e.com/dir/x"],
        ),
        ("<frameset><frame src=x><frame src=y></frameset>", ["https://e.com/dir/x", "https://e.com/dir/y"]),
        ("<link rel=next href=n><link rel=PREV href=p>", ["https://e.com/dir/n", "https://e.com/dir/p"]),
        (
            "<link rel=alternate hreflang=de href=de><link rel=alternate type=application/rss+xml href=feed>",
            ["https://e.com/dir/de"],
        ),
        ("<link rel=stylesheet href=s><link rel=icon href=i><link rel=canonical href=c>", []),
        ("<meta http-equiv=Refresh content='3; URL=r'>", ["https://e.com/dir/r"]),
        ("<noscript><a href=x></noscript>", ["https://e.com/dir/x"]),
        ("<svg><a href=x></a></svg>", ["https://e.com/dir/x"]),
        ("<div><template shadowrootmode=open><a href=x></template></div>", ["https://e.com/dir/x"]),
    ],
)
def test_which_count(body: str, urls: list[str]) -> None:
    assert found(body) == urls
    document = parse(body.encode(), None, URL)
    fast, _ = hrefs(document)
    assert list(dict.fromkeys(filter(None, map(document.base.resolve, fast)))) == urls


@pytest.mark.parametrize(
    ("body", "link"),
    [
        ("<a href=x> a <b>b</b>\nc</a>", Link("https://e.com/dir/x", "a b c", False, "a")),
        ("<a href=x><img alt=' pic '></a>", Link("https://e.com/dir/x", "pic", False, "a")),
        ("<a href=x></a><a href=x>later</a>", Link("https://e.com/dir/x", "later", False, "a")),
        ("<map><area href=x alt=A></map>", Link("https://e.com/dir/x", "A", False, "area")),
        ("<iframe src=x>no</iframe>", Link("https://e.com/dir/x", "", False, "iframe")),
        ("<link rel=next href=x>", Link("https://e.com/dir/x", "", False, "link")),
        ("<meta http-equiv=refresh content='0;x'>", Link("https://e.com/dir/x", "", False, "refresh")),
        # nofollow of every link to a URL, or of the whole page
        ("<a rel='ugc NoFollow' href=x>t</a>", Link("https://e.com/dir/x", "t", True, "a")),
        ("<a rel=nofollow href=x>t</a><a href=x></a>", Link("https://e.com/dir/x", "t", False, "a")),
        ("<a href=x>t</a><a rel=nofollow href=x></a>", Link("https://e.com/dir/x", "t", False, "a")),
        ("<a rel='nofollower' href=x>t</a>", Link("https://e.com/dir/x", "t", False, "a")),
        ("<meta name=robots content=nofollow><a href=x>t</a>", Link("https://e.com/dir/x", "t", True, "a")),
    ],
)
def test_what_is_said_of_them(body: str, link: Link) -> None:
    assert links(body.encode(), URL) == [link]
    document = parse(body.encode(), None, URL)
    assert hrefs(document) == (([], 1) if link.nofollow else (["x"], 0))


@pytest.mark.parametrize(
    ("content", "url"),
    [
        ("5; url='/x y'", "https://e.com/x%20y"),
        ("0, /x", "https://e.com/x"),
        ("0;/x", "https://e.com/x"),
        ("0 /x", "https://e.com/x"),
        (".5;url=/x", "https://e.com/x"),
        ("1.5.;url=/x", "https://e.com/x"),
        ("0;url=/a'b", "https://e.com/a'b"),
        ("0;url='/a'b", "https://e.com/a"),
        ("0;urlx", "https://e.com/dir/urlx"),
        ("0 ; url = /x", "https://e.com/x"),
        ("0\n,\turl\n=\n/x", "https://e.com/x"),
        ("0;;url=/x", "https://e.com/dir/;url=/x"),
        ("0;u=/x", "https://e.com/dir/u=/x"),
        ("0", None),
        ("", None),
        ("0;", None),
        ("0;url=  ", None),
        ("0;url=''", None),
        ("0url=/x", None),
        ("x;url=/x", None),
        (";url=/x", None),
        ("-1;url=/x", None),
        ("0;url=//%", None),
        ("0;url=http://[::1", None),
        ("0;url=http://a b/", None),
        ("0;url=//\ufffe", None),
    ],
)
def test_a_refresh_as_browsers_read_it(content: str, url: str | None) -> None:
    """HTML Standard, "shared declarative refresh steps". An invalid URL gives no link and raises no
    exception."""
    body = f'<noscript><meta http-equiv=refresh content="0;no"></noscript><meta http-equiv=refresh content="{content}">'
    assert found(body) == ([] if url is None else [url])


def test_nofollow_is_counted_once_an_address() -> None:
    body = b"<a rel=nofollow href=x#1><a rel=nofollow href=x#2><a rel=nofollow href=y><a href=z><a rel=nofollow href=z#3>"
    assert hrefs(parse(body, None, URL)) == (["z"], 2)


def test_the_header_speaks_for_the_page() -> None:
    assert hrefs(parse(b"<a href=x><iframe src=y>", None, URL, "nofollow")) == ([], 2)


def test_cap_and_type() -> None:
    body = "".join(f"<a href=/{n % 7}>" for n in range(50))
    assert found(body, cap=3) == ["https://e.com/0", "https://e.com/1", "https://e.com/2"]
    assert found(body, cap=0) == []
    assert len(found(body)) == 7
    assert found(body, content_type="text/plain") == []
    assert len(found(body, content_type="application/xhtml+xml; charset=utf-8")) == 7


def test_a_text_is_bounded() -> None:
    (link,) = links(f"<a href=x>{'y' * 5000}</a>".encode(), URL)
    assert link.text == "y" * 1000


PART = st.sampled_from(
    [
        "<a href=x>t</a>",
        "<a href=y#1>",
        "<a rel=nofollow href=x>",
        "<a rel=nofollow href=z>",
        "<template>",
        "</template>",
        "<base href=/b/>",
        "<area href=x>",
        "<iframe src=y></iframe>",
        "<link rel=next href=n>",
        "<a href=mailto:x>",
        "<p>",
        "</a>",
        "<a href=' w '>",
        "<a href='v #'>",
        "<meta name=robots content=nofollow>",
        "<link rel='alternate nofollow' href=q>",
        "<svg><a href=s>",
        "</svg>",
    ]
)


@given(st.lists(PART, max_size=12))
def test_fast_and_full_form_agree(parts: list[str]) -> None:
    body = "".join(parts).encode()
    document = parse(body, None, URL)
    followed, shut = hrefs(document)
    full = links(body, URL)
    assert {document.base.resolve(href) for href in followed} == {
        link.url for link in full if not link.nofollow
    }
    assert shut == sum(link.nofollow for link in full)


@pytest.mark.parametrize(
    ("charset", "href", "found"),
    [
        # URL Standard: paths in UTF-8, queries in the page's encoding, and characters outside that encoding
        # as character references
        ("windows-1251", "/чай?q=чай&x=1", "/%D1%87%D0%B0%D0%B9?q=%F7%E0%E9&x=1"),
        ("gbk", "?q=中文", "/p?q=%D6%D0%CE%C4"),
        ("shift_jis", "?q=表", "/p?q=%95\\"),
        ("iso-8859-1", "?q=&#20013;", "/p?q=%26%2320013%3B"),
        ("utf-8", "?q=ä", "/p?q=%C3%A4"),
        ("utf-16le", "?q=ä", "/p?q=%C3%A4"),
    ],
)
def test_queries_go_out_in_the_encoding_of_their_page(charset: str, href: str, found: str) -> None:
    body = f"<a href='{href}#x'>".encode(charset)
    typed = f"text/html; charset={charset}"
    (link,) = links(body, "https://example.com/p", typed)
    document = parse(body, typed, "https://example.com/p")
    assert [link.url] == document.base.links(hrefs(document)[0]) == ["https://example.com" + found]


def test_a_refresh_header_is_a_link() -> None:
    page = parse(
        b"<meta http-equiv=refresh content='0;url=/b'>", None, "https://e.com/", refresh_header="0; URL='/a'"
    )
    assert [(link.url, link.kind) for link in links_of(page)] == [("https://e.com/a", "refresh")]
