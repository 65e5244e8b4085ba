"""Content-Type as browsers parse it, and the sniffing of the WHATWG MIME Sniffing Standard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.content_type import charset, essence, identify, page_type
from gossamer.model.page import Page


@pytest.mark.parametrize(
    ("value", "kind", "label"),
    [
        ("text/html,text/html", "text/html", ""),
        ("Text/HTML ;x=y; Charset=UTF-8", "text/html", "UTF-8"),
        ('text/html;charset="a,\\"b"', "text/html", 'a,"b'),
        ("text/html;charset=gbk, text/html", "text/html", "gbk"),
        ("text/html;charset=gbk, text/plain", "text/plain", ""),
        ("text/html;charset=gbk, text/html;charset=koi8-r", "text/html", "koi8-r"),
        ("text/html, */*", "text/html", ""),
        ("text/html;charset=a;charset=b", "text/html", "a"),
        ("text/html;charset", "text/html", ""),
        ('text/html;charset="utf-8', "text/html", "utf-8"),
        ("text/html; charset = utf-8", "text/html", "utf-8"),
        ("html", "", ""),
        ("*/*", "", ""),
        ("charset=utf-8", "", ""),
        ("text/html (comment)", "", ""),
        ("text/ht ml", "", ""),
        ("", "", ""),
        (None, "", ""),
    ],
)
def test_the_header_has_one_meaning(value: str | None, kind: str, label: str) -> None:
    assert (essence(value), charset(value)) == (kind, label)


def test_several_headers_are_one() -> None:
    headers = [("content-type", "text/html"), ("x", "y"), ("content-type", "text/html; charset=koi8-r")]
    page = Page("http://a.example/", 200, headers, b"", 0.0, 0.0, 0)
    assert essence(page.content_type) == "text/html"
    assert charset(page.content_type) == "koi8-r"


TAGS = [
    "!DOCTYPE HTML",
    "HTML",
    "HEAD",
    "SCRIPT",
    "IFRAME",
    "H1",
    "DIV",
    "FONT",
    "TABLE",
    "A",
    "STYLE",
    "TITLE",
    "B",
    "BODY",
    "BR",
    "P",
    "!--",
]
MP4 = b"\0\0\0\x18ftypisom\0\0\0\0mp41mp42"
MP3 = b"\xff\xfb\x90\0" + bytes(413) + b"\xff\xfb\x90\0"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        *((f" \n<{tag}>".encode(), "text/html") for tag in TAGS),
        *((f"<{tag.lower()} x".encode(), "text/html") for tag in TAGS),
        (b"<html", "text/plain"),
        (b"<html\n>", "text/plain"),
        (b"<ahref>", "text/plain"),
        (b"\t<?xml", "text/xml"),
        (b"%PDF-1", "application/pdf"),
        (b" %PDF-1", "text/plain"),
        (b"%!PS-Adobe-3", "application/postscript"),
        (b"\xfe\xff\0<", "text/plain"),
        (b"\xff\xfe<\0", "text/plain"),
        (b"\xef\xbb\xbf<html>", "text/plain"),
        (b"\0\0\1\0", "image/x-icon"),
        (b"\0\0\2\0", "image/x-icon"),
        (b"BM", "image/bmp"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF1234WEBPVP", "image/webp"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"FORM1234AIFF", "audio/aiff"),
        (b"ID3", "audio/mpeg"),
        (MP3, "audio/mpeg"),
        (b"OggS\0", "application/ogg"),
        (b"MThd\0\0\0\6", "audio/midi"),
        (b"RIFF1234AVI ", "video/avi"),
        (b"RIFF1234WAVE", "audio/wave"),
        (MP4, "video/mp4"),
        (b"\x1aE\xdf\xa3\x01\x42\x82\x84webm", "video/webm"),
        (b"\x1f\x8b\x08", "application/x-gzip"),
        (b"PK\3\4", "application/zip"),
        (b"Rar \x1a\7\0", "application/x-rar-compressed"),
        (b"a\x0bb", "application/octet-stream"),
        (b"a\x1bb", "text/plain"),
        (b"\x08", "application/octet-stream"),
        (b"", "text/plain"),
    ],
)
def test_the_bytes_tell_an_unknown_type(head: bytes, kind: str) -> None:
    assert identify(head) == page_type("unknown/unknown", head) == page_type("html", head) == kind


RDF = b'<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'


@pytest.mark.parametrize(
    ("value", "body", "kind"),
    [
        ("text/html", b"\xef\xbb\xbf <!-- c --><?xml?><!DOCTYPE x>\n<rss>", "application/rss+xml"),
        ("text/html", b"<feed", "application/atom+xml"),
        ("text/html", RDF, "application/rss+xml"),
        ("text/html", b"<rdf:RDF>", "text/html"),
        ("text/html", b"text <rss>", "text/html"),
        ("text/html", b"<!DOCTYPE html><html><rss>", "text/html"),
        ("text/html", b"\x89PNG\r\n\x1a\n", "text/html"),
        ("text/plain", b"a\0", "application/octet-stream"),
        ("text/plain; charset=ISO-8859-1", b"a\0", "application/octet-stream"),
        ("text/plain;charset=ISO-8859-1", b"a\0", "text/plain"),
        ("text/plain", b"<html>", "text/plain"),
        ("application/xhtml+xml", b"<html>", "application/xhtml+xml"),
        ("image/png", b"GIF89a", "image/gif"),
        ("image/svg+xml", b"GIF89a", "image/svg+xml"),
        ("application/json", b"<html>", "application/json"),
        (None, b"a fragment with <b>", "text/html"),
        (None, b"<?xml?><rss>", "text/xml"),
        (None, b"GIF89a", "image/gif"),
    ],
)
def test_the_type_of_a_page(value: str | None, body: bytes, kind: str) -> None:
    assert page_type(value, body) == kind


@given(st.text(max_size=80), st.binary(max_size=80))
def test_any_header_and_bytes_have_a_type(value: str, body: bytes) -> None:
    assert "/" in page_type(value, body)
    assert isinstance(charset(value), str)


@pytest.mark.parametrize(
    ("headers", "body", "kind"),
    [
        ([], b"hello", "text/plain"),
        ([], b"a fragment with <b>", "text/plain"),
        ([], b"<!-- c --><p>", "text/html"),
        ([], b"<?xml?><rss>", "text/xml"),
        ([], b"GIF89a", "image/gif"),
        ([("x-content-type-options", "nosniff")], b"<!doctype html><p>", "text/plain"),
        ([("x-content-type-options", "NoSniff"), ("content-type", "*/*")], b"<p>", "text/plain"),
        ([("x-content-type-options", "nosniff"), ("content-type", "text/html")], b"a", "text/html"),
    ],
)
def test_a_response_without_a_type_is_read_as_in_browsers(
    headers: list[tuple[str, str]], body: bytes, kind: str
) -> None:
    page = Page("http://a.example/", 200, headers, body, 0.0, 0.0, 0)
    assert page_type(page.read_as, body) == kind
