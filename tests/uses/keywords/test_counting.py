"""Keyword counts of stored texts. They equal a brute-force count for any number of parts and processes, also
after kills, and copies count once."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import UsageError
from gossamer.uses.keywords import texts
from gossamer.uses.keywords.counting import CountOptions, count_texts
from gossamer.uses.keywords.views import RunTables
from uses.keywords.stored import count, counts_of, page, write

WORDS = [f"word{n}" for n in range(400)]
KEYWORDS = ["word1", "word7", "word30 word2", "word1 word1", "word399", "absent", "word3 word2 word1"]


def made_pages(number: int, seed: int = 1) -> list[dict[str, Any]]:
    """Returns pages whose word frequencies follow Zipf's law."""
    chance = random.Random(seed)
    weights = [1 / (n + 1) for n in range(len(WORDS))]
    return [
        page(
            f"https://{'b' if n % 3 else 'a'}.example/{n}",
            " ".join(
                f"{word}." if chance.random() < 0.1 else word
                for word in chance.choices(WORDS, weights, k=120)
            ),
            title=f"Page {n}",
        )
        for n in range(number)
    ]


def brute(pages: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Returns the keyword counts, from a regular expression on each page."""
    found = {}
    for keyword in KEYWORDS:
        pattern = re.compile(rf"(?=(?<!\w){keyword}(?!\w))")
        each = [len(pattern.findall(one["text"])) for one in pages]
        found[keyword] = (sum(each), sum(n > 0 for n in each))
    return found


@pytest.mark.parametrize("processes", [1, 2])
def test_counts_equal_a_brute_count_in_many_parts(
    tmp_path: Path, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "CHUNK_BYTES", 30_000)
    pages = made_pages(300)
    result, tables = count(tmp_path, pages, KEYWORDS, processes=processes)
    assert (result.pages, result.counted, result.copies, result.unread) == (300, 300, 0, 0)
    assert counts_of(tables) == brute(pages)
    with RunTables(tmp_path / "run") as again:
        for site in ("a.example", "b.example"):
            own = {one.keyword: (one.count, one.pages) for one in again.keywords(site)}
            assert own == brute([one for one in pages if f"//{site}" in one["url"]])
    assert not (tmp_path / "run" / "parts").exists()


def test_discovered_terms_of_one_part_are_exact(tmp_path: Path) -> None:
    pages = made_pages(40)
    _, tables = count(tmp_path, pages, ["word1"])
    words = Counter(word.strip(".") for one in pages for word in one["text"].split())
    with tables:
        terms = {(one.term, one.site): one.count for one in tables.terms(words=1)}
        pairs = {(one.term, one.site): one.count for one in tables.terms(words=2)}
    for word in ("word1", "word50", "word200"):
        assert sum(n for (term, _), n in terms.items() if term == word) == words[word] or words[word] < 4
    for (term, site), n in list(pairs.items())[:20]:
        found = [
            re.findall(rf"(?=\b{term}\b)", f"{one['title']}\n\n{one['text']}", re.I)
            for one in pages
            if f"//{site}" in one["url"]
        ]
        assert n == sum(map(len, found))


def test_a_list_and_discovery_count_the_same_phrase_alike(tmp_path: Path) -> None:
    pages = [
        page(f"https://a.example/{n}", f"green tea{n}, {'green tea. ' * n}", title="Green tea")
        for n in range(3)
    ]
    _, tables = count(tmp_path, pages, ["green tea", "green"])
    with tables:
        listed = {one.keyword: (one.count, one.pages, one.density) for one in tables.keywords()}
        terms = {one.term: (one.count, one.pages, one.density) for one in tables.terms()}
    assert listed["green tea"][:2] == (3, 2)
    assert {name: terms[name] for name in listed} == listed


STOPPED = {
    "en": ("The kettle is on the stove and the tea is in the pot, {}.", {"the", "is", "on", "and", "in"}),
    "de": (
        "Der Kessel ist auf dem Herd und der Tee ist in der Kanne, {}.",
        {"der", "ist", "auf", "dem", "und"},
    ),
}


@pytest.mark.parametrize("declared", ["", "en", "ja"])
@pytest.mark.parametrize("language", STOPPED)
def test_stop_words_are_not_discovered(tmp_path: Path, language: str, declared: str) -> None:
    """Not even on a single page, and whatever language the page declares."""
    text, stopped = STOPPED[language]
    _, tables = count(tmp_path, [page("https://a.example/", text.format("x1"), language=declared)], [])
    with tables:
        terms = {one.term for one in tables.terms()}
        keywords = {one.keyword for one in tables.keywords()}
    assert keywords <= terms
    assert ("kettle" in terms) == (language == "en")
    assert {term for term in terms if {term.split()[0], term.split()[-1]} & stopped} == set()


def test_terms_that_matter_are_counted_without_a_list(tmp_path: Path) -> None:
    pages = [
        page(
            f"https://a.example/{n}",
            f"the tea of house{n} and the pot{n}, {'oolong kettle, ' * (n % 4)}",
            title=f"t{n}",
        )
        for n in range(40)
    ]
    result, tables = count(tmp_path, pages, [])
    with tables:
        keywords = [one.keyword for one in tables.keywords()]
        terms = [one.term for one in tables.terms()]
    assert not result.listed
    assert {"oolong", "kettle", "oolong kettle"} <= set(keywords)
    assert set(terms[:3]) == {"oolong", "kettle", "oolong kettle"}


def test_copies_count_once_and_the_last_line_of_a_url_counts(tmp_path: Path) -> None:
    story = " ".join(f"tea{n} pot" for n in range(60))
    pages = [
        page("https://a.example/1", story, title="Story"),
        page("https://a.example/print/1", f"{story} printed", title="Story"),
        page("https://b.example/same", story, title="Story"),
        page("https://a.example/2", "an old text about milk"),
        page("https://a.example/2", "a new text about honey"),
        page("https://a.example/3", ""),
        page("https://a.example/4", "", title="milk"),
    ]
    result, tables = count(tmp_path, pages, ["pot", "milk", "honey"])
    assert (result.pages, result.counted, result.copies, result.empty) == (7, 4, 3, 2)
    assert counts_of(tables) == {"pot": (60, 1), "milk": (0, 0), "honey": (1, 1)}


def test_copies_of_several_days_count_once(tmp_path: Path) -> None:
    story = " ".join(f"tea{n} pot" for n in range(60))
    first = write(tmp_path / "day1.jsonl", [page("https://a.example/1", story, title="Story")])
    second = write(tmp_path / "day2.jsonl", [page("https://a.example/new", f"{story} again", title="Story")])
    options = CountOptions(keywords=["pot"])
    result = count_texts([first, second], tmp_path / "run", options, lambda _: None)
    assert (result.counted, result.copies) == (1, 1)
    assert counts_of(RunTables(tmp_path / "run")) == {"pot": (60, 1)}


def test_links_of_other_pages(tmp_path: Path) -> None:
    pages = [
        page(
            "https://a.example/1",
            "one",
            anchors=[["https://a.example/2", "our Green Tea"], ["https://x.example/", "tea"]],
        ),
        page("https://a.example/2", "two", anchors=[["https://a.example/1", "back"]]),
    ]
    _, tables = count(tmp_path, pages, ["green tea", "tea"])
    with tables:
        assert {one.keyword: (one.count, one.pages, one.anchors) for one in tables.keywords()} == {
            "green tea": (0, 0, 1),
            "tea": (0, 0, 1),
        }


def test_lines_that_are_no_pages_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    good = json.dumps(page("https://a.example/1", "tea"))
    path.write_bytes(f'{good}\nnonsense\n{{"url": 3}}\n\n'.encode() + b'\xff\xfe\n{"url": "torn')
    result = count_texts([str(path)], tmp_path / "run", CountOptions(keywords=["tea"]), lambda _: None)
    assert (result.pages, result.unread) == (1, 4)
    assert counts_of(RunTables(tmp_path / "run")) == {"tea": (1, 1)}


def test_nothing_to_count_is_told(tmp_path: Path) -> None:
    for name, text in (
        ("empty.jsonl", ""),
        ("blank.jsonl", json.dumps(page("https://a.example/", "")) + "\n"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(UsageError, match="no page"):
            count_texts(
                [str(tmp_path / name)], tmp_path / "run", CountOptions(keywords=["tea"]), lambda _: None
            )


def test_page_of_ten_megabytes_and_of_mixed_languages(tmp_path: Path) -> None:
    large = "\n\n".join("green tea and a pot of milk " * 30 for _ in range(12_500))
    mixed = "Green tea ist grüner Tee. 緑茶はお茶です。 Зелёный чай. ชาเขียว"
    pages = [page("https://a.example/large", large), page("https://a.example/mixed", mixed)]
    assert len(large) > 10_000_000
    _, tables = count(tmp_path, pages, ["green tea", "ЗЕЛЁНЫЙ чай", "grüner tee", "milk green", "緑茶"])
    expected = {"green tea": (375_001, 2), "ЗЕЛЁНЫЙ чай": (1, 1), "grüner tee": (1, 1), "緑茶": (1, 1)}
    assert counts_of(tables) == {**expected, "milk green": (12_500 * 29, 1)}


def test_a_hundred_thousand_keywords(tmp_path: Path) -> None:
    keywords = [f"word{n} word{n % 5}" for n in range(100_000)]
    pages = made_pages(50)
    _, tables = count(tmp_path, pages, keywords)
    counts = counts_of(tables)
    text = " ".join(one["text"] for one in pages)
    assert len(counts) == 100_000
    for keyword in ("word1 word1", "word10 word0", "word99999 word4"):
        assert counts[keyword][0] == sum(
            len(re.findall(rf"(?=(?<!\w){keyword}(?!\w))", one["text"])) for one in pages
        ), text[:100]


def test_contexts_of_a_hundred_thousand_keywords(tmp_path: Path) -> None:
    """The merge stays within its memory limit if each keyword has contexts."""
    keywords = [f"word{n}" for n in range(100_000)]
    pages = [page(f"https://a.example/{n}", " ".join(keywords[n::4] * 5)) for n in range(4)]
    _, tables = count(tmp_path, pages, keywords)
    assert set(counts_of(tables).values()) == {(5, 1)}


def test_killed_count_continues_and_is_exact(tmp_path: Path) -> None:
    pages = made_pages(1000)
    path = write(tmp_path / "pages.jsonl", pages)
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from gossamer.uses.keywords import texts, counting\n"
        "texts.CHUNK_BYTES = 33_000\n"
        "print(counting.count_texts([sys.argv[1]], Path(sys.argv[2]), "
        f"counting.CountOptions(keywords={KEYWORDS!r}), lambda line: print(line, flush=True)))\n"
    )
    words = [sys.executable, "-c", code, path, str(tmp_path / "run")]
    parts = tmp_path / "run" / "parts"
    for step in ("index", "terms"):
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        until = time.monotonic() + 120
        while (
            len(list(parts.glob(f"{step}-*.json"))) < 3
            and time.monotonic() < until
            and process.poll() is None
        ):
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert "are done already" in done.stdout
    assert counts_of(RunTables(tmp_path / "run")) == brute(pages)


def test_other_keywords_begin_anew(tmp_path: Path) -> None:
    pages = made_pages(5)
    path = write(tmp_path / "pages.jsonl", pages)
    parts = tmp_path / "run" / "parts"
    parts.mkdir(parents=True)
    (parts / "plan.json").write_text("[]")
    (parts / "index-000000.json").write_text('{"pages": 99}')
    result = count_texts([path], tmp_path / "run", CountOptions(keywords=KEYWORDS), lambda _: None)
    assert result.pages == 5
