"""A table of the media types of response bodies. Any bytes have a type."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.item_files.file_server import pdf, png
from gossamer.model.media_types import media_type, picture_size

JPEG = (
    b"\xff\xd8\xff\xe0\0\x10JFIF\0"
    + bytes(9)
    + b"\xff\xe1"
    + struct.pack(">H", 5000)
    + bytes(4998)
    + b"\xff\xc0\0\x11\x08"
    + struct.pack(">HH", 480, 640)
)
WEBP = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (639 | 479 << 14).to_bytes(4, "little") + bytes(8)
AVIF = b"\0\0\0\x20ftypavif" + bytes(40) + b"\0\0\0\x14ispe\0\0\0\0" + struct.pack(">II", 640, 480)


@pytest.mark.parametrize(
    ("head", "declared", "kind"),
    [
        (JPEG, "text/html", "image/jpeg"),
        (png(1, 1), None, "image/png"),
        (WEBP, "image/jpeg", "image/webp"),
        (AVIF, None, "image/avif"),
        (b"GIF89a\x01\0\x01\0", "", "image/gif"),
        (pdf("x"), "application/octet-stream", "application/pdf"),
        (b"<!doctype html><p>x", "image/png", "text/html"),
        (b"\n <html>", "application/json", "text/html"),
        (b"<svg xmlns=x>", "text/plain", "image/svg+xml"),
        (b"<?xml version='1.0'?><svg>", None, "image/svg+xml"),
        (b"<?xml version='1.0'?><rss>", "application/rss+xml", "application/rss+xml"),
        (b'{"a": 1}', "text/html", "application/json"),
        (b'[{"a": 1}]', "application/ld+json", "application/ld+json"),
        (b"name,price\na,1", "text/csv; charset=utf-8", "text/csv"),
        (b"name,price", "image/png", "text/plain"),
        (b"[section]\na=1", None, "text/plain"),
        (
            b"PK\3\4",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (b"PK\3\4", "image/png", "application/zip"),
        (b"MZ\x90", "application/pdf", "application/x-msdownload"),
        (b"\0\1\2\3", "application/x-own", "application/x-own"),
        (b"\0\1\2\3", "image/png", "application/octet-stream"),
        (b"", "image/png", "application/octet-stream"),
        (b"\0\0\0\x18ftypmp42", None, "video/mp4"),
        (b"ID3\3", None, "audio/mpeg"),
        (b"\0\1", "no type", "application/octet-stream"),
    ],
)
def test_bytes_say_what_they_are_and_a_header_only_what_they_cannot(
    head: bytes, declared: str | None, kind: str
) -> None:
    assert media_type(head, declared) == kind


@pytest.mark.parametrize(
    "body", [JPEG, WEBP, LOSSLESS, AVIF, png(640, 480), b"GIF89a" + struct.pack("<HH", 640, 480)]
)
def test_a_pictures_head_says_how_large_it_is(body: bytes) -> None:
    assert picture_size(lambda at, most: body[at : at + most], media_type(body)) == (640, 480)


KINDS = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "image/bmp",
    "image/avif",
    "image/heic",
    "text/html",
]


@given(body=st.binary(max_size=200), kind=st.sampled_from(KINDS))
def test_any_bytes_are_something(body: bytes, kind: str) -> None:
    assert "/" in media_type(body, kind)
    found = picture_size(lambda at, most: body[at : at + most], kind)
    assert found is None or min(found) > 0
    endless = picture_size(lambda at, most: (b"\xff\xe0\0\2" * most)[:most], "image/jpeg")
    assert endless is None
