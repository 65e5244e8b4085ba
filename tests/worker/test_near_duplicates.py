"""Pages and items with equal or nearly equal content are marked with their group before they are written."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from gossamer.model.minhash import Sketch
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim, PageRecord, Row, Settle, Visit
from gossamer.parsing import html
from gossamer.state.near_duplicate_index import NearDuplicateIndex
from gossamer.store.store import Store
from gossamer.worker.near_duplicates import DuplicateMarker, mark_row
from gossamer.worker.records import page_record, page_row
from worker.page_variants import KINDS, WORDS, sibling, text_of, translated

STORY = "The kettle was put on the stove before dawn, and nobody in the house heard it sing until the sun came up. "


def row(
    url: str,
    body: str | bytes,
    nearly: bool = True,
    status: int = 200,
    kind: str = "text/html; charset=utf-8",
) -> Row:
    """Returns a page's row as the reader produces it."""
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    page = Page(url, status, [("content-type", kind)], data, 0.0, 0.1, len(data))
    record = page_record(Request(url), page, error="http-4xx" if status >= 400 else None)
    document = html.parse(data, kind, url)
    record.text_hash = document.text_hash
    made = page_row(record, url)
    mark_row(made, page, document, nearly)
    return made


def visit(*rows: Row) -> Visit:
    request = Request("http://a.example/")
    return Visit(
        Claim(1, 0, "a.example", request),
        Settle(1, "d"),
        rows=list(rows),
        counts={"pages": 1, "items": len(rows)},
    )


async def marked(store: Store, *rows: Row) -> list[PageRecord]:
    visits = [visit(one) for one in rows]
    await DuplicateMarker(NearDuplicateIndex(store, "c")).mark(visits)
    return [one.data for one in rows if isinstance(one.data, PageRecord)]


@pytest.fixture
def pages(documentation: Path) -> list[str]:
    """Twenty pages of one template with enough text, because pages with few words are compared exactly."""
    small = sorted(page for page in documentation.rglob("*.html") if 10_000 < page.stat().st_size < 60_000)
    return [text_of(page.read_bytes()) for page in random.Random(7).sample(small, 20)]


async def test_variants_of_a_page_are_one_group_and_other_pages_of_its_template_are_not(
    store: Store, pages: list[str]
) -> None:
    chance, rows, bases = random.Random(7), list[Row](), list[int]()
    for base, page in enumerate(pages):
        others = [page, translated(page, chance), *(make(page, chance) for make in KINDS.values())]
        rows += [row(f"http://a.example/{base}/{n}", text) for n, text in enumerate(others)]
        bases += [base] * len(others)
    groups = [record.group_id for record in await marked(store, *rows)]
    both = combinations(zip(groups, bases, strict=True), 2)
    pairs = Counter((one == other, base == beside) for (one, base), (other, beside) in both)
    assert pairs[True, True] / (pairs[True, True] + pairs[True, False]) >= 0.98
    assert pairs[True, True] / (pairs[True, True] + pairs[False, True]) >= 0.95


async def test_another_name_and_price_in_the_same_words_is_another_thing(store: Store) -> None:
    told = f"<p>{' '.join(random.Random(1).choices(WORDS.split(), k=150))}</p>"
    page = f"<title>Copper kettle | Shop</title><h1>Copper kettle</h1><b>49.50</b>{told}"
    other = sibling(page, random.Random(1))
    assert other is not None
    one, another, dearer = await marked(
        store,
        row("http://a.example/1", page),
        row("http://a.example/2", other),
        row("http://a.example/3", page.replace("49.50", "51.00")),
    )
    assert one.group_id != another.group_id
    assert (dearer.group_id, dearer.copy) == (one.group_id, "near")


async def test_what_is_the_same_is_said_to_be(store: Store) -> None:
    story = f"<title>Tea</title><p>{STORY * 3}</p>"
    first, copy, almost, few, few_too = await marked(
        store,
        row("http://a.example/1", story),
        row("http://b.example/2", story),
        row("http://a.example/3", story.replace("</p>", " The end.</p>")),
        row("http://a.example/4", "<p>A short notice"),
        row("http://a.example/5", "<p>A short notice indeed"),
    )
    assert (first.copy, first.likeness) == (None, None)
    assert (copy.group_id, copy.copy, copy.likeness) == (first.group_id, "exact", 1.0)
    assert (almost.group_id, almost.copy) == (first.group_id, "near")
    assert few.group_id != few_too.group_id, "few words are compared whole"


async def test_only_pages_that_came_and_say_something_are_in_groups(store: Store) -> None:
    missing, empty, data, same_data, other = await marked(
        store,
        row("http://a.example/1", "<p>not here", status=404),
        row("http://a.example/2", ""),
        row("http://a.example/3", b'{"a": 1}', kind="application/json"),
        row("http://a.example/4", b'{"a": 1}', kind="application/json"),
        row("http://a.example/5", b'{"a": 2}', kind="application/json"),
    )
    assert (missing.group_id, empty.group_id) == (None, None)
    assert (same_data.group_id, same_data.copy) == (data.group_id, "exact")
    assert other.group_id not in (None, data.group_id)


async def test_copies_are_counted_and_items_wanted_once_are_dropped(store: Store) -> None:
    def item(key: str, url: str, once: bool) -> Row:
        return Row("book", key, {"title": "Tea", "_url": url}, sketch=Sketch(b"12345678"), once=once)

    visits = [
        visit(item("1", "http://a.example/1", True)),
        visit(item("2", "http://a.example/2", True)),
        visit(item("3", "http://a.example/3", False)),
        visit(row("http://a.example/4", STORY)),
        visit(row("http://a.example/5", STORY)),
    ]
    await DuplicateMarker(NearDuplicateIndex(store, "c", most=2)).mark(visits)
    assert [len(one.rows) for one in visits] == [1, 0, 1, 1, 1]
    assert (visits[1].counts["items"], visits[1].counts["dropped"]) == (0, 1)
    first, third = visits[0].rows[0].data, visits[2].rows[0].data
    assert isinstance(first, dict)
    assert isinstance(third, dict)
    assert (first["_group_id"], first["_copy"]) == (third["_group_id"], None)
    assert (third["_copy"], third["_likeness"]) == ("exact", 1.0)
    assert visits[4].counts["dup:exact"] == 1
    full = visit(row("http://a.example/6", "<p>Something else altogether"))
    await DuplicateMarker(NearDuplicateIndex(store, "c", most=2)).mark([full])
    assert full.counts["dup:unkept"] == 1
