"""Packed chunks of pages are small, and their pages are unpacked unchanged."""

from __future__ import annotations

import random

import pytest

from gossamer.model.request import KnownPage
from gossamer.model.visit import KnownLine
from gossamer.recrawl.page_table import PageState, encode_line, line_of, page_id
from gossamer.recrawl.page_table_chunks import CHUNK_PAGES, STATE, pack, unpack

NOW = 1_800_000_000


def page(line: KnownLine, **state: int | float) -> PageState:
    first = PageState(page_id(line), 0.0, 0.0, NOW, NOW + 60, 0, line=encode_line(line))
    return first._replace(**state)


def test_each_page_comes_out_as_it_was() -> None:
    odd = KnownPage(200, 'W/"a"', "Wed, 21 Oct 2015 07:28:00 GMT", "0123456789abcdef", "0" * 16, by="f00")
    pages = [
        page(KnownLine("https://a.example/2", NOW, odd, 3, "https://a.example/"), changes=1.5, days=2.25),
        page(KnownLine("https://a.example/1", NOW - 5, KnownPage(404, body="short"), 1), failed=2, signals=3),
        page(
            KnownLine("https://b.example/ä", NOW, KnownPage(error="dns"), 1, None, {"priority": 4}), visits=7
        ),
        page(KnownLine("https://b.example/x", NOW, KnownPage(200, "\n", said="f" * 16), needs={"key": "k"})),
        page(KnownLine("https://b.example/", NOW, KnownPage(), needs={"method": "POST", "body": "a\nb"})),
    ]
    found = {one.id: (one, url) for one, url in unpack(pack(pages))}
    assert found == {one.id: (one, line_of(one).url) for one in pages}


def test_a_page_takes_24_bytes_of_state_and_counts_are_bounded() -> None:
    assert STATE.size == 24
    line = KnownLine("https://a.example/", NOW, KnownPage(200))
    ((found, _),) = unpack(pack([page(line, visits=200_000, changed=100_000, failed=20, signals=9999)]))
    assert (found.visits, found.changed, found.signals) == (50_000, 25_000, 255)


def test_a_chunk_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ValueError, match="newer gossamer"):
        unpack(b"\x02" + pack([])[1:])


def test_hashes_and_urls_take_little_room() -> None:
    rng = random.Random(3)
    digits = [f"{rng.getrandbits(64):016x}" for _ in range(3 * CHUNK_PAGES)]
    pages = [
        page(
            KnownLine(
                f"https://shop.example/product/{rng.randrange(10**6)}/a-name-of-{n}",
                NOW,
                KnownPage(200, f'"{digits[3 * n]}"', "", digits[3 * n + 1], digits[3 * n + 2]),
                2,
                f"https://shop.example/list/{n // 20}",
            )
        )
        for n in range(CHUNK_PAGES)
    ]
    assert len(pack(pages)) / CHUNK_PAGES < 80
