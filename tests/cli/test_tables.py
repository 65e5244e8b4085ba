"""Tables fit the width of a terminal. Without a terminal, tables are not shortened."""

from __future__ import annotations

import pytest

from gossamer.cli.tables import FittedTable
from gossamer.cli.terminal import painter, text_width

HEADS = ("ts", "url", "attempt", "status", "outcome", "seconds", "proxy", "error")
LONG = "https://books.example/catalogue/a-very-long-name-of-a-book-with-many-words_123/index.html"
ROWS = [
    ("2026-11-23T20:00:53.123Z", LONG, "1", "200", "done", "0.1234", "proxy.example:8080", "-"),
    ("2026-11-23T20:00:54.123Z", "https://b.example/", "2", "500", "retry", "0.1", "-", "http-5xx"),
]


def table(**more: tuple[str, ...]) -> FittedTable:
    return FittedTable(HEADS, ROWS, right=("attempt", "seconds"), **more)


def plain(one: FittedTable) -> list[str]:
    return one.lines(painter(False))


@pytest.mark.parametrize("width", [60, 80, 100, 160, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    one = table(least=("proxy", "attempt", "ts"))
    left_out = one.fit(width)
    lines = plain(one)
    assert max(map(text_width, lines)) <= width
    assert lines[0].split() == [head for head in HEADS if head not in left_out]
    assert ("error" in left_out) is False


def test_a_wide_terminal_shows_all_and_a_narrow_one_drops_the_least_important_column() -> None:
    wide, narrow = table(least=("proxy", "attempt")), table(least=("proxy", "attempt"))
    assert wide.fit(200) == []
    assert LONG in plain(wide)[1]
    assert narrow.fit(100) == ["proxy"]
    first = plain(narrow)[1]
    assert "https://books" in first
    assert "index.html" in first
    assert "…" in first


def test_without_a_width_nothing_is_shortened() -> None:
    assert plain(table())[1].split() == list(ROWS[0])


def test_a_long_value_continues_below_itself() -> None:
    one = FittedTable((), [("found", "word " * 30), ("url", LONG)])
    one.fit(60)
    lines = plain(one)
    assert max(map(len, lines)) <= 60
    assert [line[:7].strip() for line in lines if line[:7].strip()] == ["found", "url"]
    assert "".join(line[7:] for line in lines[-2:]).endswith("index.html")


def test_wide_characters_are_counted_as_two_columns() -> None:
    one = FittedTable(("title", "n"), [("日本語" * 20, "1"), ("abc", "2")])
    one.fit(40)
    lines = plain(one)
    assert max(map(text_width, lines)) <= 40
    assert lines[2].startswith("abc")


def test_words_of_a_state_have_colours() -> None:
    coloured = table().lines(painter(True))
    assert "\x1b[32mdone\x1b[0m" in coloured[1]
    assert "\x1b[35mretry\x1b[0m" in coloured[2]
