"""The list of skipped URLs: each URL once, with its reason and its rule, also after a kill."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import PAGES, Pages, begin, gossamer, wait_for
from support.answers import answering

SITE = """
import gossamer

site = gossamer.Site("shop", seeds=["WEB/"])


@site.page()
def read(page):
    yield from page.follow("a")
"""


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with answering(Pages) as port:
        yield f"http://127.0.0.1:{port}"


def crawl(room: Path, target: str, *words: str) -> dict[str, Any]:
    code, out, err = gossamer(
        room, "crawl", target, "--name", "c", "--delay", "0.001", "-O", "out.jsonl", "--json", *words
    )
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def listed(room: Path, *words: str) -> list[dict[str, Any]]:
    code, out, err = gossamer(room, "skipped", "c", "--json", *words)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def rules(rows: list[dict[str, Any]], web: str) -> dict[str, tuple[str, str]]:
    assert len({row["url"] for row in rows}) == len(rows), "each URL has one row"
    return {row["url"].removeprefix(web): (row["reason"], row["rule"]) for row in rows}


NOFOLLOW = ("nofollow", "the link or its page has nofollow")
ALWAYS = {
    "/secret/": ("robots", "line 2: Disallow: /secret/"),
    "/nf": NOFOLLOW,
    "https://other.example/": ("scope", "outside of --scope host"),
}


@pytest.mark.parametrize("processes", [1, 2])
def test_each_skipped_url_has_one_row_with_its_reason_and_rule(
    tmp_path: Path, web: str, processes: int
) -> None:
    summary = crawl(tmp_path, f"{web}/", "--exclude", "/1$", "--processes", str(processes))
    found = rules(rows := listed(tmp_path), web)
    assert found == {**ALWAYS, "/1": ("filter", "matches --exclude /1$")}
    assert set(summary["skipped"]) - {"duplicate"} == {reason for reason, _ in found.values()}
    one = next(row for row in rows if row["reason"] == "scope")
    assert (one["depth"], one["found_on"].startswith(f"{web}/")) == (one["depth"], True)
    assert one["depth"] >= 1
    assert one["ts"].endswith("Z")


def test_links_that_a_site_file_follows_are_listed_too(tmp_path: Path, web: str) -> None:
    (tmp_path / "shop.py").write_text(SITE.replace("WEB", web))
    crawl(tmp_path, "shop.py")
    assert rules(listed(tmp_path), web) == ALWAYS


def test_a_killed_and_resumed_crawl_lists_each_url_once(tmp_path: Path, web: str) -> None:
    words = ("crawl", f"{web}/", "--name", "c", "--delay", "0.05", "-o", "out.jsonl", "--exclude", "/1$")
    process = begin(tmp_path, *words)
    wait_for(process, tmp_path / "out.jsonl", 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    code, _, err = gossamer(tmp_path, *words)
    assert code == 0, err
    assert rules(listed(tmp_path), web) == {**ALWAYS, "/1": ("filter", "matches --exclude /1$")}


def test_a_crawl_that_starts_over_begins_a_new_list(tmp_path: Path, web: str) -> None:
    crawl(tmp_path, f"{web}/", "--exclude", "/1$")
    crawl(tmp_path, f"{web}/", "--fresh")
    assert rules(listed(tmp_path), web) == ALWAYS


def test_filters_select_and_a_wrong_reason_names_the_nearest(tmp_path: Path, web: str) -> None:
    crawl(tmp_path, f"{web}/")
    assert [row["reason"] for row in listed(tmp_path, "--reason", "robots")] == ["robots"]
    assert [row["reason"] for row in listed(tmp_path, "--host", "other.example")] == ["scope"]
    assert [row["reason"] for row in listed(tmp_path, "--where", "url~/nf")] == ["nofollow"]
    code, _, err = gossamer(tmp_path, "skipped", "c", "--reason", "robot")
    assert (code, "robots" in err) == (2, True), err
    code, _, err = gossamer(tmp_path, "skipped", "c", "--reason", "duplicate")
    assert (code, "only counted" in err) == (2, True), err
    code, out, err = gossamer(tmp_path, "skipped", "c", "--reason", "trap")
    assert (code, out, "none of 3 skipped matches" in err) == (0, "", True), err


def test_a_full_list_says_so_and_a_larger_one_goes_on(tmp_path: Path, web: str) -> None:
    summary = crawl(tmp_path, f"{web}/", "-s", "keep_skipped=400")
    code, out, err = gossamer(tmp_path, "skipped", "c", "--json")
    rows = out.splitlines()
    assert code == 0
    assert 0 < len(rows) < 3
    assert f"is full: it contains the first {len(rows)} " in err, err
    assert (tmp_path / ".gossamer/c/skipped.jsonl").stat().st_size <= 400
    assert {"robots", "nofollow", "scope"} <= set(summary["skipped"])
    code, _, err = gossamer(tmp_path, "skipped", "requeue", "c")
    assert (code, "is full" in err) == (0, True), err


def test_no_list_is_written_and_the_command_says_why(tmp_path: Path, web: str) -> None:
    crawl(tmp_path, f"{web}/", "-s", "keep_skipped=off")
    code, out, err = gossamer(tmp_path, "skipped", "c")
    assert (code, out, "keep_skipped is off" in err) == (0, "", True), err
    assert not (tmp_path / ".gossamer/c/skipped.jsonl").exists()


def test_some_of_them_are_requeued_and_fetched(tmp_path: Path, web: str) -> None:
    words = ("--depth", "0")
    assert crawl(tmp_path, f"{web}/", *words)["pages"] == 1
    assert (
        len(listed(tmp_path, "--reason", "depth")) == PAGES + 1
    )  # the robots.txt of the host is not read for them
    code, out, _ = gossamer(tmp_path, "skipped", "requeue", "c", "--where", "url~/1", "--dry-run")
    assert (code, out) == (
        0,
        f"{len(listed(tmp_path, '--where', 'url~/1'))} skipped URLs would be queued again\n",
    )
    select = ("--reason", "depth", "--where", f"url={web}/3")
    code, out, err = gossamer(tmp_path, "skipped", "requeue", "c", *select)
    assert (code, out) == (0, "1 of 1 skipped URLs queued again\n"), err
    code, out, _ = gossamer(tmp_path, "crawl", f"{web}/", "--name", "c", "-o", "out.jsonl", "--json", *words)
    assert code == 0
    assert json.loads(out)["pages"] == 2
    assert f'"{web}/3"' in (tmp_path / "out.jsonl").read_text()


def test_urls_outside_of_the_scope_are_refused_again_unless_they_are_seeds(tmp_path: Path, web: str) -> None:
    crawl(tmp_path, f"{web}/", "--exclude", "/1$")
    select = ("--reason", "filter")
    code, out, err = gossamer(tmp_path, "skipped", "requeue", "c", *select)
    assert (code, out) == (0, "0 of 1 skipped URLs queued again, 1 refused again (filter 1)\n")
    assert "--as-seeds" in err
    code, out, _ = gossamer(tmp_path, "skipped", "requeue", "c", *select, "--as-seeds")
    assert (code, out) == (0, "1 of 1 skipped URLs queued again\n")


def test_the_list_is_exported(tmp_path: Path, web: str) -> None:
    crawl(tmp_path, f"{web}/")
    for name in ("s.csv", "s.jsonl", "s.sqlite", "s.parquet"):
        code, out, err = gossamer(tmp_path, "export", "c", name, "--what", "skipped")
        assert (code, out.startswith("3 skipped to ")) == (0, True), err
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert lines[0] == "url,reason,rule,depth,found_on,ts"
    assert any("/secret/,robots,line 2: Disallow: /secret/," in line for line in lines)
