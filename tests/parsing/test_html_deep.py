"""Pages whose elements are nested so deeply that the parser may fail."""

from __future__ import annotations

import pytest

from gossamer.parsing.nesting import MAX_DEPTH, is_deep


@pytest.mark.parametrize(
    "page",
    [
        b"<a>" + b"<div>" * 506 + b"<table><td></tr>x<div><a>",
        b"</div>" * 600 + b"<b>" * (MAX_DEPTH + 1),
        b"<i><b></i></u></b>" * 9 + b"<x>" * 500,
    ],
)
def test_deep(page: bytes) -> None:
    assert is_deep(page, "text/html")


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<br><img src=/a>" * 3000,
        b"<p>one<p>two" * 500,
        b"<ul>" + b"<li>one <b>two</b>" * 900,
        b"<table>" + b"<tr><td>1<td>2" * 900,
        b"<dl>" + b"<dt>a<dd>b" * 900,
        b"<select>" + b"<option>a" * 900,
        b"<div><ul><li>a</li></ul></div>" * 2000,
        b"<div>" * MAX_DEPTH,
        b"<script>" + b"<b>" * 900,
        "<p>\N{PILE OF POO}</p>".encode("utf-16") * 600,
    ],
)
def test_not_deep(page: bytes) -> None:
    assert not is_deep(page, "text/html")
