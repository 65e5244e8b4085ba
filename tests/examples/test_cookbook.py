"""Twelve Scrapy spiders of the cookbook and twelve site files find the same items on the same sites."""

from __future__ import annotations

import pytest

from support.scripts import script

PAGES = 3
benchmark = script("benchmarks/cookbook.py")


@pytest.mark.parametrize("name", benchmark.NAMES)
def test_both_find_the_same_items(name: str) -> None:
    with benchmark.served(PAGES) as port:
        ours = benchmark.run(name, "sites", port, PAGES)
        theirs = benchmark.run(name, "spiders", port, PAGES)
    assert sum(ours.items.values()) >= 20, "the site has items"
    assert ours.items == theirs.items
    if name == "images":
        assert ours.items["files"] == PAGES * 10
    if name == "shared":
        assert max(ours.items.values()) == 1
        assert sum(ours.items.values()) > PAGES * 10 / 2 + 5, "books of two shelves count for each"


def test_the_page_shows_the_programs_as_they_are() -> None:
    writer = script("docs/write_cookbook.py")
    assert set(writer.TITLES) == set(benchmark.NAMES)
    assert writer.PAGE.read_text() == writer.page(), "run: python docs/write_cookbook.py"
