"""The marks of a measured page are converted to pixels. An invalid mark gives None."""

from __future__ import annotations

import pytest

from gossamer.parsing.ranks import results
from gossamer.parsing.ranks.page_geometry import without_marks
from parsing.ranks.ranks_pages import google, organics

PAGE = google(organics())
RESULT = b'<div class="MjjYud"><div'


def pixels(page: bytes) -> list[float | None]:
    return [one.pixel for one in results(page, "google") if one.rank]


def marked(*tops: str) -> bytes:
    """Returns a page whose first results have these marks."""
    page = PAGE
    for top in tops:
        page = page.replace(RESULT, f'<div class="MjjYud" data-gossamer-top="{top}"><div '.encode(), 1)
    return page


def test_results_have_the_marks_of_their_blocks() -> None:
    assert pixels(marked("120", "260")) == [120.0, 260.0, *[None] * 8]
    assert pixels(PAGE) == [None] * 10


@pytest.mark.parametrize(
    "top", ["", "-5", "12.5", "1e3", "Infinity", "NaN", "1000000", "9" * 5000, "\u0663", "x"]
)
def test_what_is_not_a_distance_is_none(top: str) -> None:
    assert pixels(marked(top)) == [None] * 10


def test_a_block_without_a_box_begins_where_its_first_visible_part_begins() -> None:
    inner = PAGE.replace(b'class="yuRUbf"', b'class="yuRUbf" data-gossamer-top="90"', 1)
    inner = inner.replace(b'class="VwiC3b"', b'class="VwiC3b" data-gossamer-top="70"', 1)
    assert pixels(inner)[:2] == [70.0, None]


def test_marks_can_be_removed() -> None:
    page = marked("1", "22", "333")
    assert b"data-gossamer-top" not in without_marks(page)
    assert pixels(without_marks(page)) == [None] * 10
