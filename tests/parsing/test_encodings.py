"""Encodings: the tests of html5lib, the order of the sniffing steps, and arbitrary bytes."""

from __future__ import annotations

import base64
import codecs
import gzip
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parsing import encodings
from gossamer.parsing.encodings import decode, encoding

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
TEXT = "Größe 日本"


def test_html5lib() -> None:
    path = SHARED / "encoding-html5lib.jsonl.gz"
    if not path.exists():
        pytest.skip("needs encoding-html5lib of the shared data")
    with gzip.open(path) as lines:
        rows = [json.loads(line) for line in lines]
    wrong = [
        row["id"]
        for row in rows
        if encoding(base64.b64decode(row["body"]["b64"]), row["content_type"]) != row["encoding"]
    ]
    assert len(rows) >= 82
    assert wrong == []


def test_chardet() -> None:
    path = SHARED / "encoding-chardet.jsonl.gz"
    if not path.exists():
        pytest.skip("needs encoding-chardet of the shared data")
    with gzip.open(path) as lines:
        rows = [json.loads(line) for line in lines]
    right = 0
    for row in rows:
        body, wanted = base64.b64decode(row["body"]["b64"]), row["encoding"]
        if wanted != "euc-tw":  # Python has no codec
            right += decode(body) == body.decode(wanted, "replace").lstrip("\ufeff")
    assert right >= 0.92 * len(rows)


@pytest.mark.parametrize(
    ("text", "codec", "wanted"),
    [
        ("<title>日本語のページです</title>", "cp932", "shift_jis"),
        ("<meta charset=gbk2>中文网页的标题", "gbk", "gb18030"),
        ("<p>Привет, мир", "cp1251", "windows-1251"),
        ("<p>한국어 페이지", "cp949", "euc-kr"),
        ("<p>caf\xe9", "cp1252", "windows-1252"),
        ("<p>M\xfcller &amp; S\xf6hne \xa9 2020", "cp1252", "windows-1252"),
        ("<p>na\xefve — “quoted”", "cp1252", "windows-1252"),
        (
            "<?xml version='1.0' encoding='windows1251'?><a>Привет, мир, и спасибо за внимание",
            "cp1251",
            "windows-1251",
        ),
    ],
)
def test_a_page_that_declares_nothing_is_detected(text: str, codec: str, wanted: str) -> None:
    body = text.encode(codec)
    assert encoding(body) == wanted
    assert decode(body) == text


@pytest.mark.parametrize(
    ("body", "content_type", "wanted"),
    [
        (b"\xef\xbb\xbf<meta charset=latin1>", "text/html; charset=koi8-r", "utf-8"),
        (b"\xff\xfeh\0", "text/html; charset=utf-8", "utf-16le"),
        (b"\xfe\xff\0h", None, "utf-16be"),
        (b"<meta charset=koi8-r>", "text/html; charset=iso-8859-1", "windows-1252"),
        (b"<meta charset=koi8-r>", "text/html;charset='UTF8'", "utf-8"),
        (b"<meta charset=koi8-r>", 'Text/HTML; a=b ; CharSet = "utf-8"; c', "utf-8"),
        (b"<meta charset=koi8-r>", "text/html; charset=x-nonsense", "koi8-r"),
        (b"<meta charset=koi8-r>", "text/html; xcharset=utf-8", "koi8-r"),
        (b"<meta charset=koi8-r>", "text/html", "koi8-r"),
        (b"<meta charset=koi8-r>", "", "koi8-r"),
        (b"<META CHARSET = 'KOI8-R'/>", None, "koi8-r"),
        (b"<meta/charset=koi8-r>", None, "koi8-r"),
        (b"<meta name=x charset=koi8-r charset=utf-8>", None, "koi8-r"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        (b"<meta charset=x-user-defined>", None, "windows-1252"),
        (b"<meta charset=iso-2022-kr>", None, "replacement"),
        (b"<meta content='charset charset = koi8-r;x' http-equiv=CONTENT-TYPE>", None, "koi8-r"),
        (b"<meta content='charset=utf-8' http-equiv=content-type charset=bogus><p>", None, "windows-1252"),
        (b"<!--><meta charset=koi8-r>", None, "koi8-r"),
        (b"<!-- <meta charset=koi8-r>", None, "windows-1252"),
        (b"</p title='<meta charset=utf-8>'><meta charset=koi8-r>", None, "koi8-r"),
        (b"<?x <meta charset=utf-8><meta charset=koi8-r>", None, "koi8-r"),
        (b"<1><meta charset=koi8-r>", None, "koi8-r"),
        (b"<p" + b" " * 1100 + b"><meta charset=koi8-r>", None, "koi8-r"),
        (b"x" * 1100 + b"<script>'<meta charset=utf-8>'</script><meta charset=koi8-r>", None, "koi8-r"),
        (b"x" * 1100 + b"<title><meta charset=koi8-r></title>", None, "windows-1252"),
        (b"x" * 70_000 + b"<meta charset=koi8-r>", None, "windows-1252"),
        (b'<?xml version="1.0" encoding="koi8-r"?><p>', "text/html", "koi8-r"),
        (b'<?xml version="1.0" encoding="koi8-r"?><meta charset=utf-8>', "text/html", "utf-8"),
        (b'<?xml version="1.0" encoding="koi8-r"?><meta charset=utf-8>', "application/xhtml+xml", "koi8-r"),
        (b"<?xml version='1.0' encoding='Latin1'?>", "text/xml", "windows-1252"),
        (b"<?xml version='1.0' encoding='utf-16'?>", "application/rss+xml", "utf-8"),
        (b"<\0?\0x\0m\0l\0", "application/xml", "utf-16le"),
        (b"\0<\0?\0x\0m\0l", "application/xml", "utf-16be"),
        (b"<urlset>\xe9", "application/xml", "utf-8"),
        (b"<urlset>\xe9", "application/xml; charset=latin1", "windows-1252"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", None, "koi8-r"),
        (b"<?xmlencoding='koi8-r'>", "text/html", "koi8-r"),
        (b"<?xml encoding\n =\t'koi8-r'?>", "text/html", "koi8-r"),
        (b"<?xml encoding='koi8-r'", "text/html", "windows-1252"),
        (b"<?xml encoding=' koi8-r'?>", "text/html", "windows-1252"),
        (b"<?xml encoding x encoding='koi8-r'?>", "text/html", "windows-1252"),
        (b"<?XML encoding='koi8-r'?>", "text/html", "windows-1252"),
        (b"{}", "application/json", "utf-8"),
        (b"<meta charset=koi8-r>", "text/plain", "windows-1252"),
        (TEXT.encode(), "text/plain", "utf-8"),
        (TEXT.encode(), None, "utf-8"),
        (TEXT.encode()[:-1], None, "utf-8"),
        ("Größe".encode("latin-1"), None, "windows-1252"),
        (b"", None, "windows-1252"),
    ],
)
def test_the_first_that_says_something_decides(body: bytes, content_type: str | None, wanted: str) -> None:
    assert encoding(body, content_type) == wanted


@pytest.mark.parametrize(
    ("body", "content_type", "wanted"),
    [
        (b"\xef\xbb\xbfa\xc3\xa4", None, "aä"),
        (b"\xff\xfea\0", None, "a"),
        (b"\xfe\xff\0a", "text/html; charset=utf-8", "a"),
        (b"a\xff\xc3", "text/html; charset=utf-8", "a\ufffd\ufffd"),
        (b"\x80\x81\x8d", "text/html; charset=iso-8859-1", "€\x81\x8d"),
        (b"\xaa\x81\xe1", "text/html; charset=windows-1253", "\ufffd\x81α"),
        (b"12 \x80", "text/html; charset=gb2312", "12 €"),
        (b"caf\xe9", "text/html", "café"),  # not truncated UTF-8, because no UTF-8 precedes the byte
        ("é".encode() + b"\xc3", "text/html", "é\ufffd"),
        (b"\x80a", "text/html; charset=x-user-defined", "\uf780a"),
        (b"anything", "text/html; charset=hz-gb-2312", "\ufffd"),
        (b"\xff", "text/html; charset=utf-16le", "\ufffd"),
        ("Größe".encode(), "text/html; charset=iso-8859-1", "GrÃ¶ÃŸe"),
    ],
)
def test_text(body: bytes, content_type: str | None, wanted: str) -> None:
    assert decode(body, content_type) == wanted


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("shift_jis", "cp932", "日本語①"),
        ("sjis", "cp932", "日本語"),
        ("euc-jp", "euc_jp", "日本語"),
        ("gb2312", "gbk", "中文網頁"),
        ("big5", "big5", "中文"),
        ("ks_c_5601-1987", "cp949", "한국어 똠"),
        ("koi8-u", "koi8_u", "Привіт"),
        ("greek", "iso8859_7", "αβγ"),
        ("iso-8859-11", "cp874", "ไทย"),
        ("latin5", "cp1254", "Türkçe ğ"),
        ("x-mac-cyrillic", "mac_cyrillic", "Привет"),
        ("iso-2022-jp", "iso2022_jp", "日本語"),
        ("cp866", "cp866", "Привет"),
    ],
)
def test_labels_of_the_web_are_read_with_the_right_codec(label: str, codec: str, text: str) -> None:
    body = text.encode(codec)
    assert decode(body, f"text/html; charset={label}") == text
    assert decode(f"<meta charset={label}>".encode() + body).endswith(text)


def test_every_encoding_of_the_standard_is_there() -> None:
    known = encodings._labels()
    assert len(known) == 228
    assert len(set(known.values())) == 40
    for label, name in known.items():
        assert label == label.lower().strip()
        assert encodings.named(f" {label.upper()}\n") == name
        if name not in ("replacement", "x-user-defined"):
            codecs.lookup(encodings.codec(name))
    assert encodings.named("utf-7") is None
    assert encodings.named("x" * 1_000_000) is None


MARKUP = st.lists(
    st.sampled_from(
        [
            b"<",
            b">",
            b"<meta ",
            b"charset",
            b"=",
            b'"',
            b"'",
            b"utf-8",
            b"koi8-r",
            b"/",
            b"<!--",
            b"-->",
            b"<?xml ",
            b"encoding=",
            b" ",
            b"http-equiv=content-type ",
            b"content=",
            b"<script>",
            b"</script",
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b"\0",
            b"\xe9",
            b"x" * 600,
        ]
    ),
    max_size=30,
).map(b"".join)


@given(st.one_of(st.binary(), MARKUP), st.none() | st.text(max_size=80))
def test_any_bytes_have_an_encoding_and_a_text(body: bytes, content_type: str | None) -> None:
    assert encoding(body, content_type) in (*encodings._rows(), *encodings.BEYOND)
    assert isinstance(decode(body, content_type), str)


@given(st.sampled_from(sorted(encodings._rows())), st.binary(max_size=60))
def test_any_bytes_in_any_encoding(name: str, body: bytes) -> None:
    assert isinstance(decode(body, f"text/html; charset={name}"), str)


@pytest.mark.parametrize(
    ("end", "found"),
    [
        (b"<meta charset=latin2>", "iso-8859-2"),
        (b"<META CHARSET=latin2><script>charset = 1</script><meta name=a>", "iso-8859-2"),
        (b"<meta name=a><meta content='text/html; charset=koi8-r' http-equiv=content-type>", "koi8-r"),
        (b"<meta name=a><script charset=latin2></script>", "windows-1252"),
        (b"<a charset=latin2><meta name=a>", "windows-1252"),
    ],
)
def test_a_late_declaration_is_found_up_to_the_last_meta(end: bytes, found: str) -> None:
    assert encoding(b"<p class=a>b</p>" * 100 + end + b"<p>c</p>" * 100) == found


@pytest.mark.parametrize(
    "piece",
    [
        b"<",
        b"<!--",
        b"<a ",
        b"<a b=",
        b"<meta ",
        b"<meta charset",
        b"<meta content='charset ",
        b"<script>",
        b"<?xml encoding= ",
    ],
)
def test_hostile_heads_take_bounded_time(piece: bytes) -> None:
    began = time.process_time()
    encoding(piece * 200_000)
    assert time.process_time() - began < 2
