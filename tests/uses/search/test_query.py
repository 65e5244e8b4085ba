"""Queries in the form that users type after `gossamer find`."""

from __future__ import annotations

import pytest

from gossamer.errors import UsageError
from gossamer.uses.search.query import PageFilter, Query, Term, from_arguments, parse


def test_words_phrases_exclusions_and_alternatives() -> None:
    query = parse('slow "maps of" -bees title:a OR heading:"b c" map*')
    assert query == Query(
        (
            (Term(("slow",)),),
            (Term(("maps", "of")),),
            (Term(("bees",), is_negative=True),),
            (Term(("a",), "title"), Term(("b", "c"), "headings")),
            (Term(("map",), is_prefix=True),),
        )
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("site:https://Shop.Example/books/", PageFilter("site", "shop.example/books")),
        ("site:münchen.example", PageFilter("site", "xn--mnchen-3ya.example")),
        ("-site:a.example", PageFilter("site", "a.example", is_negative=True)),
        ("lang:de_AT", PageFilter("lang", "de-at")),
        ("before:2026", PageFilter("before", "2026")),
        ("AFTER:2026-11-25", PageFilter("after", "2026-11-25")),
        ("url:/books/12", Term(("books", "12"), "url")),
        ("12:30", Term(("12", "30"))),
        ("https://e.com/a", Term(("https", "e", "com", "a"))),
        ("東京都", Term(("東京", "京都"))),
        ("猫", Term(("猫",), is_prefix=True)),
        ("foo-bar", Term(("foo", "bar"))),
    ],
)
def test_one_part(text: str, expected: Term | PageFilter) -> None:
    assert parse(text).groups == ((expected,),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "what are you looking for"),
        ("   ", "what are you looking for"),
        ('"slow maps', "a quote is not closed"),
        ("!!!", "no letter or digit"),
        ('""', "no letter or digit"),
        ("*", "no letter or digit"),
        ("titel:maps", "did you mean title:"),
        ("title: maps", "without a space"),
        ('site:""', "has no value"),
        ("OR maps", "OR stands between"),
        ("maps OR", "OR stands between"),
        ("a OR OR b", "OR stands between"),
        ("before:tomorrow", "write a day, a month or a year"),
        ("after:2026-13", "write a day, a month or a year"),
        ("x " * 101, "more than 100 terms"),
        ("x" * 4001, "longer than 4000"),
    ],
)
def test_bad_queries_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["slow", "maps"], "slow maps"),
        (["slow maps"], '"slow maps"'),
        (["slow maps", "site:a.example"], '"slow maps" site:a.example'),
        (["slow OR maps"], "slow OR maps"),
        (["slow -maps"], "slow -maps"),
        (["slow title:maps"], "slow title:maps"),
        (['"slow maps" bees'], '"slow maps" bees'),
        ([" -maps"], " -maps"),
    ],
)
def test_an_argument_with_spaces_is_a_phrase(arguments: list[str], expected: str) -> None:
    assert from_arguments(arguments) == expected
