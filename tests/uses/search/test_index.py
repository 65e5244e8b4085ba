"""The search index: updates and queries. A query finds the same pages as a scan of all texts."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.uses.search.document import IndexedPage, PageSource
from gossamer.uses.search.index import SearchIndex
from gossamer.uses.search.query import PageFilter, Query, Term, parse
from gossamer.uses.search.words import indexed

DAY = "2026-11-20T10:00:00.000Z"


def page(
    url: str,
    title: str = "",
    text: str = "",
    *,
    fetched: str = DAY,
    language: str = "en",
    published: str = "",
) -> PageSource:
    document = IndexedPage(url, fetched, title, "", text, language, published or None)
    return PageSource(url, fetched, lambda: document)


PAGES = [
    page("https://a.example/maps", "Slow maps", "Slow maps of the wörld, drawn by hand."),
    page("https://b.a.example/bees", "Bees", "Maps are slow, bees are not.", published="2024-05-12"),
    page("https://c.example/tokyo?x=1", "旅", "東京都と黒猫の話", language="ja"),
    page("http://127.0.0.1:8000/thai", "ไทย", "ภาษาไทยง่ายมาก", language="th-TH"),
]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SearchIndex]:
    with SearchIndex(tmp_path / "search.db") as opened:
        opened.update(PAGES)
        yield opened


def urls(index: SearchIndex, query: str, **more: bool) -> list[str]:
    return [result.url.partition("://")[2] for result in index.find(parse(query), **more).results]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("slow maps", ["a.example/maps", "b.a.example/bees"]),
        ('"slow maps"', ["a.example/maps"]),
        ("WORLD", ["a.example/maps"]),
        ("wörld", ["a.example/maps"]),
        ("title:maps", ["a.example/maps"]),
        ("text:maps -hand", ["b.a.example/bees"]),
        ("map*", ["a.example/maps", "b.a.example/bees"]),
        ("site:a.example", ["a.example/maps", "b.a.example/bees"]),
        ("site:a.example/maps", ["a.example/maps"]),
        ("-site:a.example lang:ja", ["c.example/tokyo?x=1"]),
        ("site:127.0.0.1", ["127.0.0.1:8000/thai"]),
        ("site:127.0.0.1:8000", ["127.0.0.1:8000/thai"]),
        ("lang:th", ["127.0.0.1:8000/thai"]),
        ("maps before:2025", ["b.a.example/bees"]),
        ("maps after:2025", ["a.example/maps"]),
        ("url:tokyo", ["c.example/tokyo?x=1"]),
        ("東京", ["c.example/tokyo?x=1"]),
        ("黒猫", ["c.example/tokyo?x=1"]),
        ("猫", ["c.example/tokyo?x=1"]),
        ("京東", []),
        ("ไทย", ["127.0.0.1:8000/thai"]),
        ("hand OR 東京", ["a.example/maps", "c.example/tokyo?x=1"]),
        ("hand OR lang:ja", ["a.example/maps", "c.example/tokyo?x=1"]),
        ("the of", ["a.example/maps"]),
        ("nothing", []),
    ],
)
def test_queries(index: SearchIndex, query: str, expected: list[str]) -> None:
    assert sorted(urls(index, query)) == sorted(expected)
    assert index.count(parse(query)) == len(expected)


def test_words_with_signs(index: SearchIndex) -> None:
    """`C++` is not `C`, `A+` is not `A`, and marks are where the words are."""
    texts = ["C and A don", "C++ and A+ don’t", "l’eau des ＣＡ\u00adＦＥs"]
    index.update([page(f"https://w.example/{number}", "", text) for number, text in enumerate(texts)])
    found = {
        query: [url[-1] for url in sorted(urls(index, query))]
        for query in ("c", "C++", "c++*", "a+", "a", "don't", "don", "eau", "l'eau", "cafes", '"c++ and"')
    }
    assert found == {
        "c": ["0"],
        "C++": ["1"],
        "c++*": ["1"],
        "a+": ["1"],
        "a": ["0", "1"],
        "don't": ["1"],
        "don": ["0"],
        "eau": ["2"],
        "l'eau": ["2"],
        "cafes": ["2"],
        '"c++ and"': ["1"],
    }
    shown = [
        index.find(parse(query)).results[0].snippet.marked("[", "]")
        for query in ("and don't", "eau", "cafes")
    ]
    assert shown == ["C++ [and] A+ [don’t]", "l’[eau] des ＣＡ\u00adＦＥs", "l’eau des [ＣＡ\u00adＦＥs]"]


def test_a_word_in_the_title_counts_more(index: SearchIndex) -> None:
    assert urls(index, "bees maps OR bees")[0] == "b.a.example/bees"
    index.update([page("https://d.example/", "Other", "bees " * 9), *PAGES])
    assert urls(index, "bees")[0] == "b.a.example/bees"


def test_order_by_date(index: SearchIndex) -> None:
    assert urls(index, "maps", by_date=True) == ["a.example/maps", "b.a.example/bees"]


def test_parts_of_the_results(index: SearchIndex) -> None:
    whole = index.find(parse("-xyzzy"), limit=0)
    assert whole.total == 4
    parts = [index.find(parse("-xyzzy"), 3, offset) for offset in (0, 3, 6)]
    assert [len(part.results) for part in parts] == [3, 1, 0]
    assert [result.url for part in parts for result in part.results] == [one.url for one in whole.results]


def test_words_are_marked(index: SearchIndex) -> None:
    (result,) = index.find(parse('"slow maps"')).results
    assert result.title.marked("[", "]") == "[Slow maps]"
    assert result.snippet.marked("[", "]") == "[Slow maps] of the wörld, drawn by hand."
    (result,) = index.find(parse("猫")).results
    assert result.snippet.marked("[", "]") == "東京都と黒[猫]の話"


def test_a_snippet_shows_the_place_of_the_words(index: SearchIndex) -> None:
    text = "filler " * 500 + "the very slow engine" + " filler" * 500
    index.update([page("https://e.example/", "E", text)])
    (result,) = index.find(parse("slow engine")).results
    assert "very [slow] [engine] filler" in result.snippet.marked("[", "]")
    assert len(result.snippet.text) < 300


def test_updates_read_only_what_is_new(index: SearchIndex) -> None:
    assert index.update(PAGES) == (0, 0, 4)
    newer = page("https://a.example/maps", "Fast maps", "Nothing else.", fetched="2026-11-21T10:00:00.000Z")
    assert index.update([*PAGES[1:], newer]) == (1, 0, 4)
    assert urls(index, "slow title:maps") == []
    assert urls(index, "fast") == ["a.example/maps"]
    assert index.update([newer, *PAGES]) == (0, 0, 4)  # the old record does not replace the newer one


def test_pages_that_are_gone_or_no_longer_kept_are_removed(index: SearchIndex) -> None:
    gone = PageSource("https://a.example/maps", "2026-11-22T10:00:00.000Z", lambda: None, is_gone=True)
    assert index.update([*PAGES, gone]) == (0, 1, 3)
    assert urls(index, "hand") == []
    assert index.update(PAGES[1:3]) == (0, 1, 2)


def test_an_interrupted_update_keeps_its_batches(tmp_path: Path) -> None:
    def broken() -> IndexedPage:
        raise KeyboardInterrupt

    many = [page(f"https://a.example/{n}", "", f"word{n}") for n in range(1200)]
    with SearchIndex(tmp_path / "search.db") as index:
        with pytest.raises(KeyboardInterrupt):
            index.update([*many[:1100], PageSource("https://a.example/x", DAY, broken)])
        assert len(index) == 1000
    with SearchIndex(tmp_path / "search.db") as index:
        assert index.update(many) == (200, 0, 1200)


def test_an_index_of_another_version_is_built_again(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with SearchIndex(path) as index:
        index.update(PAGES)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE facts SET value = '0' WHERE name = 'version'")
    with SearchIndex(path) as index:
        assert len(index) == 0
        assert urls(index, "hand") == []
        assert index.update(PAGES) == (4, 0, 4)
        assert urls(index, "hand") == ["a.example/maps"]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE words (mine TEXT)")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="something else"):
        SearchIndex(path)
    assert path.read_bytes() == before
    path.write_bytes(b"no database, but a text that is long enough to look at" * 100)
    with pytest.raises(UsageError, match="not a search index"):
        SearchIndex(path)


VOCABULARY = ["slow", "maps", "Bees", "wörld", "ferry", "東京都", "猫", "the", "of", "foo-bar"]


def scan(pages: list[PageSource], query: Query) -> set[str]:
    """Returns the matching pages, found by reading every text."""

    def has(words: list[str], term: Term) -> bool:
        size, last = len(term.words), term.words[-1]
        for at in range(len(words) - size + 1):
            end = words[at + size - 1]
            if tuple(words[at : at + size - 1]) == term.words[:-1] and (
                end.startswith(last) if term.is_prefix else end == last
            ):
                return True
        return False

    def fulfils(document: IndexedPage, part: Term | PageFilter) -> bool:
        if isinstance(part, PageFilter):
            if part.name == "site":
                host = document.url.split("/")[2]
                return (host == part.value or host.endswith("." + part.value)) != part.is_negative
            return ((document.day < part.value) == (part.name == "before")) != part.is_negative
        columns = {"title": document.title, "text": document.text, "url": document.url}
        chosen = [columns[part.column]] if part.column else list(columns.values())
        return any(has(indexed(text).split(), part) for text in chosen) != part.is_negative

    documents = [document for one in pages if (document := one.read()) is not None]
    return {
        document.url
        for document in documents
        if all(any(fulfils(document, part) for part in group) for group in query.groups)
    }


def test_the_index_finds_the_same_pages_as_a_scan(tmp_path: Path) -> None:
    draw = random.Random(7)
    pages = [
        page(
            f"https://{draw.choice('ab')}.{draw.choice(('x', 'y'))}.example/{n}",
            " ".join(draw.choices(VOCABULARY, k=3)),
            " ".join(draw.choices(VOCABULARY, k=draw.randint(0, 12))),
            published=f"202{draw.randint(0, 5)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}",
        )
        for n in range(300)
    ]
    parts = [
        *VOCABULARY,
        *(
            '"slow maps"',
            '"of the"',
            "-bees",
            "-猫",
            "title:slow",
            "text:ferry",
            "ma*",
            "東京",
            "京都",
            "fo*",
        ),
        *(
            "site:x.example",
            "-site:a.y.example",
            "before:2023",
            "after:2022-05",
            '"maps bees"',
            'title:"the of"',
        ),
    ]
    with SearchIndex(tmp_path / "search.db") as index:
        index.update(pages)
        for _ in range(120):
            text = " ".join(draw.choices(parts, k=draw.randint(1, 3)))
            if draw.random() < 0.3:
                text += f" OR {draw.choice(parts)}"
            query = parse(text)
            found = index.find(query, limit=0)
            assert {result.url for result in found.results} == scan(pages, query), text
