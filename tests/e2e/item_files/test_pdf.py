"""Tests of the text of PDFs: the text of a valid PDF is correct, the cost of a hostile PDF is limited, and
a site can request PDFs as pages."""

from __future__ import annotations

import random
import re
import time
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from e2e.item_files.file_server import Web, pdf, serving
from e2e.item_files.file_site import balanced, job, lines
from gossamer.app.runner import crawl
from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.parsing.pdf import text

BOOK = pdf("The first page", "The second page")
READER = """
from gossamer import Item, Site

site = Site("shop", seeds=["{url}/"], types="application/pdf")


class Paper(Item, key="url"):
    url: str
    words: str
    first: str | None


@site.page(r"[.]pdf$")
def paper(page):
    yield Paper(url=page.url, words=page.text, first=page.re_first("The ([a-z]+) page"))


@site.page()
def front(page):
    yield from page.follow("a")
"""


def test_the_text_of_a_pdf() -> None:
    assert text(BOOK) == "The first page\n\nThe second page"
    assert text(b"\n\n" + BOOK) == "The first page\n\nThe second page"
    assert text(BOOK, pages=1) == "The first page"
    assert (
        PageView(Page("https://a.example/x.pdf", 200, [], BOOK, 0.0, 0.0, 1)).text
        == "The first page\n\nThe second page"
    )
    assert [text(body) for body in (b"", b"%PDF-", b"<p>%PDF", b"%PDF-1.7\n" + bytes(5000))] == [""] * 4


@cache
def bombs() -> dict[str, bytes]:
    """Return small PDFs that expand to large data, never end, or refer to themselves."""
    deep = pdf("x").replace(b"/Contents 4 0 R", b"/Contents " + b"[" * 100_000)
    around = BOOK.replace(b"/Kids [3 0 R 5 0 R]", b"/Kids [2 0 R 2 0 R]")
    stream = zlib.compress(b"BT /F1 9 Tf (" + b"A" * 60_000_000 + b") Tj ET", 9)
    packed = b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(stream) + stream + b"\nendstream"
    large = re.sub(
        rb"<< /Length \d+ >>\nstream\n.*?\nendstream", lambda _: packed, pdf("x"), count=1, flags=re.DOTALL
    )
    twice = zlib.compress(zlib.compress(bytes(100_000_000), 9), 9)
    nested = (
        b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n" % len(twice)
        + twice
        + b"\nendstream"
    )
    return {
        "deep": deep,
        "around": around,
        "large": large,
        "count": BOOK.replace(b"/Count 2", b"/Count 2000000000"),
        "nested": re.sub(
            rb"<< /Length \d+ >>\nstream\n.*?\nendstream",
            lambda _: nested,
            pdf("x"),
            count=1,
            flags=re.DOTALL,
        ),
        "encrypted": BOOK.replace(
            b"/Root 1 0 R", b"/Root 1 0 R /Encrypt << /Filter /Standard /V 4 /R 4 /O (x) /U (y) /P -1 >>"
        ),
        "form": pdf("x").replace(b"(x) Tj", b"/F1 Do " * 100_000),
    }


@pytest.mark.parametrize("name", ["deep", "around", "large", "count", "nested", "encrypted", "form"])
def test_a_bomb_ends_and_the_next_is_read(name: str) -> None:
    body = bombs()[name]
    began = time.monotonic()
    assert len(text(body, seconds=5)) <= 5_000_000
    # the limit is generous, because other processes may slow the machine down
    assert time.monotonic() - began < 60
    assert text(BOOK) == "The first page\n\nThe second page"


def test_mutants_of_a_true_one_are_read_or_not() -> None:
    rng = random.Random(7)
    for _ in range(200):
        body = bytearray(BOOK)
        for _ in range(rng.randint(1, 20)):
            at = rng.randrange(8, len(body))
            body[at : at + rng.randint(0, 4)] = rng.randbytes(rng.randint(0, 4))
        assert len(text(bytes(body))) < 5000
    assert text(BOOK) == "The first page\n\nThe second page"


def test_one_that_takes_too_long_gives_the_pages_before(monkeypatch: pytest.MonkeyPatch) -> None:
    many = pdf(*(f"Page {n}" for n in range(3000)))
    found = text(many, seconds=0.05)
    assert not found or found.startswith("Page 0")
    assert text(many, pages=2) == "Page 0\n\nPage 1"


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as found:
        yield found


async def test_a_pdf_is_a_page_for_a_site_that_wants_it(web: Web, tmp_path: Path) -> None:
    web.put("/", "<a href=/a.pdf>a</a> <a href=/b.pdf>b</a>")
    web.put("/a.pdf", BOOK, "application/pdf")
    web.put("/b.pdf", b"%PDF-1.4 broken", "application/pdf")
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", site=READER)))
    found = {
        row["url"].removeprefix(web.url): (row["words"], row["first"])
        for row in lines(tmp_path / "out.jsonl")
    }
    assert found == {"/a.pdf": ("The first page\n\nThe second page", "first"), "/b.pdf": ("", None)}
    assert (summary.pages, summary.errors, summary.skipped) == (3, {}, {})
    (tmp_path / "again").mkdir()
    plain = READER.replace(', types="application/pdf"', "")
    summary = balanced(await crawl(job(web, tmp_path / "again", "out.jsonl", site=plain)))
    assert (summary.pages, summary.skipped) == (1, {"content-type": 2})
