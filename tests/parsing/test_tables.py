"""Tables as rows of texts."""

from __future__ import annotations

import pytest

from gossamer.parsing.tables import tables


def T(inner: str) -> str:
    return f"<table>{inner}</table>"


Found = list[tuple[str | None, list[str], list[list[str]]]]
KINDS: list[tuple[str, str, Found]] = [
    ("plain", T("<tr><th>A<th>B<tr><td>1<td>2"), [(None, ["A", "B"], [["1", "2"]])]),
    ("no head", T("<tr><td>1<td>2<tr><td>3<td>4"), [(None, [], [["1", "2"], ["3", "4"]])]),
    ("thead td", T("<thead><tr><td>A<td>B</thead><tbody><tr><td>1<td>2"), [(None, ["A", "B"], [["1", "2"]])]),
    ("caption", T("<caption>Cap</caption><tr><th>A<tr><td>1"), [("Cap", ["A"], [["1"]])]),
    (
        "colspan",
        T("<tr><th colspan=2>A<th>B<tr><td>1<td>2<td>3"),
        [(None, ["A", "A", "B"], [["1", "2", "3"]])],
    ),
    (
        "rowspan",
        T("<tr><th>A<th>B<tr><td rowspan=2>x<td>1<tr><td>2"),
        [(None, ["A", "B"], [["x", "1"], ["x", "2"]])],
    ),
    (
        "both",
        T("<tr><td rowspan=2 colspan=2>x<td>1<tr><td>2"),
        [(None, [], [["x", "x", "1"], ["x", "x", "2"]])],
    ),
    (
        "two heads",
        T("<tr><th rowspan=2>N<th colspan=2>G<tr><th>a<th>b<tr><td>1<td>2<td>3"),
        [(None, ["N", "G a", "G b"], [["1", "2", "3"]])],
    ),
    (
        "row heads",
        T("<tr><th>Name<td>Tea<tr><th>Price<td>5"),
        [(None, [], [["Name", "Tea"], ["Price", "5"]])],
    ),
    (
        "nested",
        T("<tr><th>A<th>B<tr><td>1<td>" + T("<tr><td>x<td>y")),
        [(None, ["A", "B"], [["1", "x y"]]), (None, [], [["x", "y"]])],
    ),
    ("layout", T("<tr><td>" + T("<tr><th>A<tr><td>1")), [(None, ["A"], [["1"]])]),
    ("presentation", "<table role=presentation><tr><td>1<td>2</table>", []),
    (
        "tfoot first",
        T("<tfoot><tr><td>sum</tfoot><tbody><tr><td>1<tr><td>2</tbody>"),
        [(None, [], [["1"], ["2"], ["sum"]])],
    ),
    (
        "rowspan 0",
        T("<tr><td rowspan=0>x<td>1<tr><td>2<tr><td>3"),
        [(None, [], [["x", "1"], ["x", "2"], ["x", "3"]])],
    ),
    (
        "bad span",
        T('<tr><td colspan=abc>x<td colspan=-2>y<td colspan="2px">z'),
        [(None, [], [["x", "y", "z", "z"]])],
    ),
    ("ragged", T("<tr><td>1<td>2<td>3<tr><td>4"), [(None, [], [["1", "2", "3"], ["4", "", ""]])]),
    ("script in cell", T("<tr><td>1<script>x</script><td>2"), [(None, [], [["1", "2"]])]),
    ("br", T("<tr><td>a<br>b<td>2"), [(None, [], [["a b", "2"]])]),
    ("hidden huge", T("<tr><td colspan=99999999>x<td>1"), [(None, [], [["x"] * 1000])]),
    ("empty rows", T("<tr></tr><tr><td>1<td>2"), [(None, [], [["1", "2"]])]),
    ("all th", T("<tr><th>1<th>2<tr><th>3<th>4"), [(None, [], [["1", "2"], ["3", "4"]])]),
    (
        "mid heads",
        T("<tr><th>A<th>B<tr><td>1<td>2<tr><th colspan=2>Part<tr><td>3<td>4"),
        [(None, ["A", "B"], [["1", "2"], ["Part", "Part"], ["3", "4"]])],
    ),
    ("img alt", T("<tr><td><img alt=Yes src=x><td>2"), [(None, [], [["Yes", "2"]])]),
    (
        "overlap",
        T("<tr><td rowspan=2>a<td>b<tr><td colspan=2>c"),
        [(None, [], [["a", "b", ""], ["a", "c", "c"]])],
    ),
    ("one cell", T("<tr><td>x"), []),
    ("rowspan past end", T("<tr><td rowspan=9>a<td>b"), [(None, [], [["a", "b"]])]),
]


@pytest.mark.parametrize(("html", "found"), [row[1:] for row in KINDS], ids=[row[0] for row in KINDS])
def test_kinds_of_tables(html: str, found: Found) -> None:
    assert [(table.caption, table.head, table.rows) for table in tables(html.encode())] == found


def test_records_have_every_column_under_a_name_of_its_own() -> None:
    assert tables(T("<tr><th>A<th>A<th><tr><td>1<td>2<td>3").encode())[0].records() == [
        {"A": "1", "A 2": "2", "3": "3"}
    ]
    assert tables(T("<tr><td>1<td>2").encode())[0].records() == [{"1": "1", "2": "2"}]


@pytest.mark.parametrize(
    "page",
    [
        "<table>" * 5000,
        "<table><tr>" + "<td rowspan=9999 colspan=9999>" * 3000,
        "<table>" + "<tr><td colspan=1000 rowspan=0>x" * 3000,
    ],
)
def test_hostile_tables_take_a_bounded_time(page: str) -> None:
    assert sum(len(table.rows) for table in tables(page.encode())) < 10_000
