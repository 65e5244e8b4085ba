"""The text of a page. Tables whose layout would fill the memory are read without layout."""

from __future__ import annotations

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parsing.visible_text import MAX_LAID_OUT_CHARS, may_grow, visible_text

# laid out, each of these would take megabytes or gigabytes, or would not finish
HOSTILE = {
    "24 tables with a head, one in the other": "<table><tr><th>h<tr><td>" * 24 + "<td>x</table>" * 24,
    "8 of them with more rows": "<table><td><tr><td><tr><td><tr><th>h<caption>c<th><tr><td>" * 8
    + "<tr><th>h<td>y</table>" * 8,
    "100,000 deep": "<table><tr><td>" * 100_000 + "x",
    "50,000 rows, then a row of 50,000 cells": "<table>" + "<tr><td>x" * 50_000 + "<tr>" + "<td>x" * 50_000,
    "the same without a word": "<table>" + "<tr>" * 50_000 + "<td>" * 50_000,
    "many of middle size": ("<table>" + "<tr><td>x" * 300 + "<tr>" + "<td>x" * 300 + "</table>") * 2000,
    "captions": "<table><caption><table>" * 20 + "x",
    "one long cell": "<table>" + "<tr><td>a<td>b" * 2_000 + "<tr><td>" + "x" * 200_000,
    "cells of a picture": "<div>" * 200_000 + "<svg>" + "<td></td>" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_tables_do_not_grow(name: str) -> None:
    document = turbohtml.parse(HOSTILE[name])
    assert len(visible_text(document)) <= 2 * len(HOSTILE[name])


def test_tables_in_tables_as_old_sites_have_them_are_laid_out() -> None:
    rows = "".join(f"<tr><td>{n}.<td><table><tr><td>t<b>w</b>o<td>points {n}</table>" for n in range(60))
    page = turbohtml.parse(f"<table><tr><td>head<tr><td><table>{rows}</table><tr><td>foot</table>")
    assert visible_text(page) == "head " + " ".join(f"{n}. two points {n}" for n in range(60)) + " foot"


PIECES = [
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "<th>",
    "x",
    "yy ",
    "<thead>",
    "<caption>",
    "<div>",
    "</td>",
    "</tr>",
    "<p>",
    "<tfoot>",
    "<svg>",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=12),
    st.lists(st.sampled_from(PIECES), max_size=5),
    st.integers(1, 60),
)
def test_no_pattern_of_tables_grows(before: list[str], after: list[str], times: int) -> None:
    """The size estimate was correct for every table that is laid out."""
    page = "".join(before) * times + "".join(after) * times
    document = turbohtml.parse(page)
    if not may_grow(document):
        assert len(document.to_text()) <= MAX_LAID_OUT_CHARS + 2 * len(page)
    assert len(visible_text(document)) <= 2 * len(page)
