"""The views on the tables of runs: gaps, overlap, competing pages, and the pages of a keyword."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.uses.keywords.report import render_report
from gossamer.uses.keywords.run import KeywordRun
from gossamer.uses.keywords.views import RunTables
from uses.keywords.stored import count, page

MINE = [
    page(
        "https://mine.example/1",
        "green tea is good, green tea is cheap",
        title="Green tea",
        headings=["Green tea"],
    ),
    page(
        "https://mine.example/2",
        "more green tea and a pot",
        title="Buy green tea",
        headings=["green tea now"],
    ),
    page("https://mine.example/3", "milk <b>", title="<script>", headings=["milk"]),
]
THEIRS = [
    page("https://www.theirs.example/1", "oat milk for matcha, and tapioca pearls", title="Oat milk"),
    page("https://www.theirs.example/2", "oat milk again, with tapioca pearls and green tea", title="x"),
]
KEYWORDS = ["green tea", "milk", "oat milk", "pot"]


@pytest.fixture
def tables(tmp_path: Path) -> RunTables:
    return count(tmp_path, [*MINE, *THEIRS], KEYWORDS)[1]


def test_gaps_of_the_list_and_of_discovered_terms(tables: RunTables) -> None:
    with tables:
        mine, theirs = tables.check_site("https://www.mine.example/x"), tables.check_site("theirs.example")
        found = tables.gaps(mine, theirs)
        assert [(one.term, one.theirs, one.their_pages) for one in found if one.listed] == [
            ("oat milk", 2, 2)
        ]
        assert {"tapioca", "pearls", "tapioca pearls"} <= {one.term for one in found if not one.listed}
        assert "green tea" not in {one.term for one in found}
        with pytest.raises(UsageError, match="no such site"):
            tables.check_site("other.example")


def test_overlap(tables: RunTables) -> None:
    with tables:
        (found,) = tables.overlap()
    assert (found.site, found.other) == ("mine.example", "theirs.example")
    assert (found.both, found.only_site, found.only_other) == (2, 1, 1)
    assert found.share == 0.5


def test_pages_that_compete(tables: RunTables) -> None:
    with tables:
        (found,) = tables.cannibals()
    assert (found.keyword, found.site, found.pages) == ("green tea", "mine.example", 2)
    assert found.urls == ["https://mine.example/1", "https://mine.example/2"]


def test_pages_of_a_keyword_with_contexts(tables: RunTables) -> None:
    with tables:
        found = tables.pages_of("GREEN tea")
        assert [(one.url[-6:], one.count, one.in_title, one.in_headings) for one in found] == [
            ("mple/1", 2, 1, 1),
            ("mple/2", 1, 1, 1),
            ("mple/2", 1, 0, 0),
        ]
        assert found[0].contexts == ["green tea is good, green tea is cheap"] * 2
        assert found[0].prominence == 1.0
        with pytest.raises(UsageError, match="was not counted"):
            tables.pages_of("coffee")


def test_report_escapes_what_pages_say(tmp_path: Path, tables: RunTables) -> None:
    run = KeywordRun(id="20261125-101010", began=0.0, sources=[], state="done")
    with tables:
        text = render_report(tables, run, str(tmp_path))
    assert "<script>" not in text
    assert "tapioca" in text
    assert "Overlap" in text
    assert "http" not in text.replace("<wbr>", "").replace("https://mine.example", "").replace(
        "http://www.w3.org/2000/svg", ""
    )
