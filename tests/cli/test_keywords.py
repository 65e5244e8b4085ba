"""Tests of `gossamer keywords` as a process: one command from a URL to the counts, interruptions, kills,
and error messages."""

from __future__ import annotations

import http.server
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cli.command_line import begin, gossamer
from support.answers import answering

PAGES = 30


class Shop(http.server.BaseHTTPRequestHandler):
    """Pages in a ring, each with its own text. Page N contains `tea` N times, if N is below `known`."""

    known: ClassVar[int] = PAGES
    delay: ClassVar[float] = 0.0
    gone: ClassVar[set[str]] = set()
    asked: ClassVar[list[str]] = []
    """The requested pages, without robots.txt."""

    def do_GET(self) -> None:
        name = self.path.strip("/") or "0"
        time.sleep(self.delay)
        found = name.isdecimal() and int(name) < self.known and name not in self.gone
        if name != "robots.txt":
            self.asked.append(name)
        body = self.page(int(name)) if found else "none"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def page(self, number: int) -> str:
        text = " ".join([f"word{number}x{n}" for n in range(30)] + ["tea"] * number)
        links = f'<a href="/{number + 1}">tea {number + 1}</a> <a href="/{(number * 2) % PAGES}">next</a>'
        return (
            f"<html lang=en><title>Tea {number}</title><nav>tea tea</nav><main><h1>Page {number}</h1><p>{text}</p>{links}</main>"
            "<footer>tea</footer></html>"
        )

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


@pytest.fixture
def shop() -> Iterator[str]:
    Shop.known, Shop.delay, Shop.gone = PAGES, 0.0, set()
    with answering(Shop) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for found in tmp_path.glob("*/.gossamer/store/run.json"):  # the stores that killed commands left running
        try:
            os.kill(json.loads(found.read_text())["pid"], signal.SIGTERM)
        except (ProcessLookupError, ValueError):
            pass


def due(pages: int) -> tuple[int, int]:
    """Return the expected count of `tea` in the main texts of the first `pages` pages, and the number of
    these pages. The text of a page includes the link to the next page."""
    return sum(range(pages)), pages


def test_one_command_from_a_url_to_the_counts(folder: Path, shop: str) -> None:
    (folder / "words.txt").write_text("tea\nword3x1 word3x2\nTEA\n!!!\n")
    words = (
        "keywords",
        shop,
        "--list",
        "words.txt",
        "--delay",
        "0",
        "--json",
        "-o",
        "k.html",
        "-o",
        "k.sqlite",
    )
    code, out, err = gossamer(folder, *words)
    assert code == 0, err
    found = json.loads(out)
    counts = {one["keyword"]: one for one in found["keywords"]}
    assert found["result"]["counted"] == PAGES
    assert counts["word3x1 word3x2"]["count"] == 1
    assert counts["tea"]["in_title"] == PAGES
    assert counts["tea"]["in_headings"] == 0
    assert counts["tea"]["anchors"] == PAGES - 1
    assert counts["tea"]["count"] >= due(PAGES)[0]
    assert len(counts["tea"]["contexts"]) == 5
    assert "'!!!': it has no letter or digit" in err
    assert "1 repeated keyword, counted once" in err
    assert json.loads((folder / "words.txt.rejected.jsonl").read_text())["text"] == "!!!"
    assert (folder / "k.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder / "k.sqlite").stat().st_size > 0
    again, out, _ = gossamer(folder, "keywords", "--list", "word3x1", "--json", "-q")
    assert again == 0
    assert [(one["keyword"], one["count"]) for one in json.loads(out)["keywords"]] == [("word3x1", 1)]


def test_pages_that_are_recent_are_not_fetched_again_and_still_count(folder: Path, shop: str) -> None:
    words = ("keywords", shop, "--list", "tea", "--delay", "0", "--if-older", "24h", "--json")

    def counted() -> tuple[int, int, set[str], str]:
        Shop.asked.clear()
        code, out, err = gossamer(folder, *words)
        assert code == 0, err
        found = json.loads(out)
        return found["result"]["counted"], found["keywords"][0]["count"], set(Shop.asked), err

    pages, tea, asked, _ = counted()
    assert (pages, len(asked)) == (PAGES, PAGES + 1)  # the last page links to a page that is not there
    again = counted()
    assert again[:3] == (pages, tea, {str(PAGES)})
    assert "goes there" not in again[3]  # a run does not need the rows of earlier runs in its own file
    assert "written there" not in again[3]
    assert f"{PAGES + 1} texts of run" in again[3]  # the texts of / and /0 are equal

    (log,) = folder.glob("keywords/.gossamer/*/known.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line["at"] -= 2 * 86_400 * (line["url"].rpartition("/")[2] in ("5", "6", "7"))
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    Shop.gone, Shop.known = {"5"}, PAGES + 1
    assert counted()[:3] == (PAGES, tea - 5 + PAGES, {"5", "6", "7", str(PAGES), str(PAGES + 1)})
    assert len(list(folder.glob("keywords/runs/*"))) == 3
    words = (*words, "--scope", "page")  # other pages, so that no text is used again
    assert counted()[:3] == (1, 0, {"0"})


def test_views_print_numbers_as_json(folder: Path) -> None:
    rows = [
        {
            "url": f"https://{site}.example/{n}",
            "title": f"Green tea {n}",
            "language": "en",
            "headings": ["Green tea"],
            "text": f"Green tea from {place} is number {n}." + " Oolong cups are theirs." * (site == "b"),
        }
        for site in "ab"
        for n, place in enumerate(("Uji and the hills", "a long river valley", "some island far away"))
    ]
    (folder / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ("--list", "green tea", "--list", "oolong", "-q")
    assert gossamer(folder, "keywords", "texts.jsonl", *words)[0] == 0

    def rows_of(*view: str) -> list[dict[str, Any]]:
        code, out, err = gossamer(folder, "keywords", *view, "--json")
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    gap = rows_of("gaps", "a.example", "b.example")[0]
    assert (gap["term"], gap["listed"], gap["theirs"], gap["mine"]) == ("oolong", True, 3, 0)
    assert rows_of("overlap") == [
        {"site": "a.example", "other": "b.example", "both": 1, "only_site": 0, "only_other": 1, "share": 0.5}
    ]
    assert [(one["keyword"], one["site"], one["pages"]) for one in rows_of("cannibals")] == [
        ("green tea", "a.example", 3),
        ("green tea", "b.example", 3),
    ]
    assert {type(one["count"]) for one in rows_of("discover")} == {int}


def test_trend_over_two_crawls(folder: Path, shop: str) -> None:
    counts = []
    for known in (10, PAGES):
        Shop.known = known
        code, out, err = gossamer(folder, "keywords", shop, "--list", "tea", "--delay", "0", "--json", "-q")
        assert code == 0, err
        counts.append(json.loads(out)["keywords"][0]["count"])
    code, out, err = gossamer(folder, "keywords", "trend", "TEA", "--json")
    assert code == 0, err
    points = [json.loads(line) for line in out.splitlines()]
    assert [one["count"] for one in points] == counts
    assert [one["all_pages"] for one in points] == [10, PAGES]
    assert [one["change"] for one in points] == [None, counts[1] - counts[0]]
    code, out, _ = gossamer(folder, "keywords", "runs")
    assert (code, out.count("done")) == (0, 2)


def test_killed_crawl_continues_and_counts_are_exact(folder: Path, shop: str) -> None:
    reference = json.loads(
        gossamer(
            folder, "keywords", shop, "--list", "tea", "--delay", "0", "--json", "-q", "--folder", "ref"
        )[1]
    )
    Shop.delay = 0.05
    words = ("keywords", shop, "--list", "tea", "--delay", "0", "--json", "-q", "--processes", "2")
    process = begin(folder, *words, start_new_session=True)
    until = time.monotonic() + 60
    lines = 0
    while lines < 5 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
        lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("keywords/runs/*/pages*.jsonl"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    Shop.delay = 0.0
    code, out, err = gossamer(folder, *words)
    assert code == 0, err
    found = json.loads(out)
    assert found["result"]["counted"] == PAGES
    for one in [*found["keywords"], *reference["keywords"]]:
        one.pop("contexts")  # contexts depend on the order in which the pages were crawled
    assert found["keywords"] == reference["keywords"]
    assert len(list(folder.glob("keywords/runs/*"))) == 1


def test_stored_pages_of_a_crawl_and_of_a_file(folder: Path, shop: str) -> None:
    words = ("crawl", shop, "-o", "pages.warc.gz", "--delay", "0", "--name", "tea", "-q")
    crawled, _, err = gossamer(folder, *words)
    assert crawled == 0, err
    counts = []
    for source in ("tea", "pages.warc.gz"):
        code, out, err = gossamer(
            folder, "keywords", source, "--list", "tea", "--json", "-q", "--folder", f"of-{source}"
        )
        assert code == 0, err
        counts.append([(one["count"], one["pages"]) for one in json.loads(out)["keywords"]])
    replayed = (
        "keywords",
        shop,
        "--archive",
        "pages.warc.gz",
        "--list",
        "tea",
        "--json",
        "-q",
        "--delay",
        "0",
    )
    code, out, err = gossamer(folder, *replayed)
    assert code == 0, err
    counts.append([(one["count"], one["pages"]) for one in json.loads(out)["keywords"]])
    assert counts[0] == counts[1] == counts[2]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "Usage"),
        (("--list", "tea"), 2, "which pages?"),
        (("nowhere.jsonl",), 2, "there is no such file, and no crawl"),
        (("https://a.example/", "--list", "none.txt"), 2, "there is no such file"),
        (("https://a.example/", "--list", "!!!"), 2, "it contains no keywords"),
        (("https://a.example/", "--stem", "klingon"), 2, "choose auto"),
        (("https://a.example/", "--delay", "fast"), 2, "write seconds"),
        (("https://a.example/", "--processes", "none"), 2, "a number"),
        (("https://a.example/", "-o", "k.txt"), 2, "give FILE.csv"),
        (("gaps", "a", "b"), 2, "there is no run that is done"),
        (("trend", "tea"), 2, "counted in no run"),
        (("export",), 2, "no output given"),
    ],
)
def test_wrong_words_are_told(folder: Path, words: tuple[str, ...], code: int, told: str) -> None:
    got, out, err = gossamer(folder, "keywords", *words)
    assert got == code
    assert told in out + err
    assert not (folder / "keywords").exists()


def test_two_commands_at_once(folder: Path) -> None:
    """Each command either gets a run of its own, or reports that another process works on the run."""
    text = "".join(
        f'{{"url": "https://a.example/{n}", "text": "green tea {n} {n * 7} {n * 11}"}}\n' for n in range(500)
    )
    (folder / "texts.jsonl").write_text(text)
    words = ("keywords", "texts.jsonl", "--list", "tea", "--json", "-q")
    ended = [
        (one.communicate(timeout=60), one.returncode) for one in [begin(folder, *words) for _ in range(3)]
    ]
    for (out, err), code in ended:
        if code:
            assert (code, "another process works on run" in err) == (4, True), err
        else:
            assert json.loads(out)["keywords"][0]["count"] == 500
    assert any(not code for _, code in ended)


def test_a_folder_that_cannot_be_made_is_told(folder: Path) -> None:
    (folder / "texts.jsonl").write_text('{"url": "https://a.example/", "text": "green tea"}\n')
    code, _, err = gossamer(
        folder, "keywords", "texts.jsonl", "--list", "tea", "--folder", "texts.jsonl/runs"
    )
    assert (code, err.count("\n")) == (2, 1)
    assert "cannot be written: Not a directory" in err


def test_a_site_without_a_page_leaves_no_run(folder: Path, shop: str) -> None:
    code, _, err = gossamer(folder, "keywords", f"{shop}missing", "--delay", "0", "-q")
    assert code != 0
    assert err
    assert list(folder.glob("keywords/runs/*/run.json")) == []
