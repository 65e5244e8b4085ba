"""Tests of `gossamer find` on stored crawls: crawls with page records, with whole pages, and without
either."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import begin, gossamer
from support.postgres import running_postgres

PAGES = {
    "index.html": '<html lang=en><title>Start</title><h1>Welcome</h1><p>All about ferries.<a href="/a.html">a</a>'
    '<a href="/b.html">b</a><a href="/gone.html">c</a>',
    "a.html": "<html lang=en><title>Slow maps</title><h1>Maps of the north</h1>"
    "<p>Published: May 12, 2024</p><p>Slow maps are drawn by hand, with crème paper.</p>",
    "b.html": "<html lang=ja><title>東京</title><h1>旅</h1><p>東京都と黒猫の話です。</p>",
}


@pytest.fixture
def room(tmp_path: Path) -> Path:
    site = tmp_path / "mirror" / "e.example"
    site.mkdir(parents=True)
    for name, text in PAGES.items():
        (site / name).write_text(f"<!doctype html><meta charset=utf-8>{text}")
    return tmp_path


def crawl(room: Path, *words: str) -> None:
    code, _, err = gossamer(room, "crawl", "http://e.example/", "--archive", "mirror", "-q", *words)
    assert code == 0, err


def found(room: Path, *words: str) -> dict[str, Any]:
    code, out, err = gossamer(room, "find", *words, "--json")
    assert code == 0, err
    answer: dict[str, Any] = json.loads(out)
    return answer


def urls(room: Path, *words: str) -> list[str]:
    return [result["url"] for result in found(room, *words)["results"]]


def test_page_records_with_text_are_searched(room: Path) -> None:
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    assert urls(room, "slow maps", "title:maps", "site:e.example") == ["http://e.example/a.html"]
    assert urls(room, "creme") == ["http://e.example/a.html"]
    assert urls(room, "黒猫") == ["http://e.example/b.html"]
    assert urls(room, "lang:en", "-maps") == ["http://e.example/"]
    answer = found(room, "slow", "--limit", "1")
    assert (answer["crawl"], answer["total"], answer["pages"]) == ("c", 1, 3)
    snippet, (start, end) = answer["results"][0]["snippet"], answer["results"][0]["marks"][0]
    assert snippet[start:end] == "Slow"


def test_the_only_crawl_that_kept_pages_is_searched(room: Path) -> None:
    assert "no crawl in .gossamer kept pages" in gossamer(room, "find", "slow")[2]
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    of_audit = room / ".gossamer" / "audit-e.example"
    of_audit.mkdir()
    (of_audit / "attempts.jsonl").touch()
    (of_audit / "crawl.json").write_text(
        '{"name": "a", "spec": {"targets": []}, "outputs": ["site://default/A", "python://x:Y"]}'
    )
    assert found(room, "slow")["crawl"] == "c"
    crawl(room, "--text", "--name", "d", "-o", "others.jsonl")
    code, _, err = gossamer(room, "find", "slow")
    assert code == 2
    assert "several crawls exist: c, d; give --crawl NAME" in err


def test_whole_pages_have_headings_and_dates(room: Path) -> None:
    crawl(room, "--name", "c", "-o", "pages.warc.gz")
    assert urls(room, "heading:north") == ["http://e.example/a.html"]
    assert urls(room, "maps", "before:2025") == ["http://e.example/a.html"]
    assert urls(room, "maps", "after:2025") == []
    assert found(room, "maps")["results"][0]["published"] == "2024-05-12"
    code, out, _ = gossamer(room, "find", "maps", "--archive", "pages.warc.gz", "--data", "other", "--count")
    assert (code, out) == (0, "1\n")


def test_pages_that_are_stored_later_take_the_place_of_records(room: Path) -> None:
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    assert urls(room, "heading:north") == []
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl", "-o", "pages.warc.gz", "--fresh")
    assert urls(room, "heading:north") == ["http://e.example/a.html"]


def test_the_index_follows_the_crawl(room: Path) -> None:
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    code, _, err = gossamer(room, "find", "ferries")
    assert (code, "3 pages: 3 new or changed" in err) == (0, True)
    assert gossamer(room, "find", "ferries")[2] == ""
    (room / "mirror" / "e.example" / "a.html").write_text(
        "<!doctype html><title>New</title><p>Trains only.</p>"
    )
    (room / "mirror" / "e.example" / "b.html").unlink()
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl", "--refresh")
    assert urls(room, "maps", "--no-update") == ["http://e.example/a.html"]
    assert urls(room, "maps") == []
    assert urls(room, "trains") == ["http://e.example/a.html"]
    assert urls(room, "東京") == []


def test_page_records_in_postgresql_are_searched(room: Path) -> None:
    with running_postgres() as server:
        crawl(room, "--text", "--name", "c", "-o", server.url)
        assert urls(room, "slow maps", "site:e.example") == ["http://e.example/a.html"]
        assert urls(room, "黒猫", "lang:ja") == ["http://e.example/b.html"]
        (room / "mirror" / "e.example" / "b.html").unlink()
        (room / "mirror" / "e.example" / "a.html").write_text(
            "<!doctype html><title>New</title><p>Trains.</p>"
        )
        crawl(room, "--text", "--name", "c", "-o", server.url, "--refresh")
        assert urls(room, "trains") == ["http://e.example/a.html"]
        assert urls(room, "黒猫") == []
    # while the server is down, `find` reads the rows in the crawl's own folder
    assert urls(room, "trains") == ["http://e.example/a.html"]


def test_results_for_people(room: Path) -> None:
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    code, out, err = gossamer(room, "find", "slow")
    assert code == 0, err
    assert "1. **Slow** maps" in out
    assert "1 to 1 of 1 results" in out
    code, out, err = gossamer(room, "find", "xyzzy")
    assert (code, out) == (0, "")
    assert "none of 3 pages matches" in err
    code, out, err = gossamer(room, "find", "e", "OR", "html", "--limit", "1", "--page", "9")
    assert (code, out) == (0, "")
    assert "beyond the last" in err
    assert "--page 2 shows more" in gossamer(room, "find", "url:example", "--limit", "1")[1]


MISTAKES = [
    (["x", "--no-update"], "there is no index yet"),
    (['"slow'], "a quote is not closed"),
    (["!!!"], "no letter or digit"),
    ([""], "what are you looking for"),
    (["titel:x"], "did you mean title:"),
    (["x", "--crawl", "nope"], "there is no crawl nope"),
    (["x", "--index", "no/such/folder.db"], "there is no folder"),
    (["x", "--index", "notes.txt"], "not a search index"),
    (["x", "--archive", "nope.warc.gz"], "there is nothing"),
    (["x", "--limit", "-1"], "limit"),
]


def test_mistakes_are_told_in_one_line(room: Path) -> None:
    (room / "notes.txt").write_text("my notes " * 300)
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    for words, message in MISTAKES:
        code, out, err = gossamer(room, "find", *words)
        assert (code, out) == (2, ""), words
        assert message in err
        assert len(err.splitlines()) == 1


def test_a_crawl_without_text_says_how_to_keep_it(room: Path) -> None:
    crawl(room, "--name", "c", "-o", "pages.jsonl")
    code, _, err = gossamer(room, "find", "maps")
    assert code == 2
    assert "kept the records of 3 pages, but no text: crawl again with --fresh and --text" in err


def test_a_full_disk_is_told(room: Path) -> None:
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)); "
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from gossamer.cli import main; main()"
    )
    process = begin(room, "find", "maps", "--index", "small.db", code=limited)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 16, err
    assert "free some space" in err
    assert len(err.splitlines()) == 1


def test_excluded_words_are_no_options(room: Path) -> None:
    crawl(room, "--text", "--name", "c", "-o", "pages.jsonl")
    assert urls(room, "url:example", "-slow", "-lang:ja") == ["http://e.example/"]


def test_several_crawls_are_searched_at_once(room: Path) -> None:
    crawl(room, "--text", "--name", "one", "-o", "pages.jsonl")
    (room / "mirror" / "e.example" / "b.html").write_text("<title>Old maps</title><p>Maps, maps, maps.</p>")
    crawl(room, "--text", "--name", "two", "-o", "others.jsonl")
    crawl(room, "--name", "bare", "-o", "bare.jsonl")
    crawl(room, "--text", "--name", "far", "-o", "far.jsonl", "--data", "away")
    answer = found(room, "title:maps", "--crawl", "one", "--crawl", "two")
    both = {(one["crawl"], one["url"].rpartition("/")[2]) for one in answer["results"]}
    assert both == {("one", "a.html"), ("two", "a.html"), ("two", "b.html")}
    assert (answer["crawl"], answer["crawls"], answer["total"], answer["pages"]) == (
        None,
        ["one", "two"],
        3,
        6,
    )
    parts = [found(room, "title:maps", "--crawl", "*o*", "--limit", "2", "--page", page) for page in "12"]
    assert [len(part["results"]) for part in parts] == [2, 1]
    assert {
        (one["crawl"], one["url"].rpartition("/")[2]) for part in parts for one in part["results"]
    } == both
    code, out, err = gossamer(room, "find", "title:maps", "--crawl", "*", "--crawl", "away/far")
    assert code == 0
    assert "left out: bare kept the records" in err
    assert "· far\n" in out
    assert "1 to 5 of 5 results" in out
    assert gossamer(room, "find", "maps", "--crawl", "t*", "--count")[1] == "2\n"
    for words in (
        ["--crawl", "x*"],
        ["--crawl", "away/none"],
        ["--crawl", "one", "--crawl", "two", "--index", "i"],
    ):
        code, _, err = gossamer(room, "find", "maps", *words)
        assert (code, len(err.splitlines())) == (2, 1), err
