"""Tests of `gossamer.add`, which adds URLs to a crawl of a data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import gossamer
from gossamer.errors import UnknownOption, UsageError


@pytest.fixture
def data(shop: str, tmp_path: Path) -> Path:
    """Return a data folder with the finished crawl `teas`, which visited two pages of the shop."""
    folder = tmp_path / "data"
    front = {"data": folder, "name": "teas", "delay": 0, "scope": "host", "include": "tea/1"}
    assert gossamer.run(shop, output=str(tmp_path / "out.jsonl"), **front).pages == 2  # type: ignore[arg-type]
    return folder


def test_urls_requests_and_mappings_are_added_once(shop: str, data: Path) -> None:
    urls = [
        f"{shop}/tea/1?a=1",
        gossamer.Request(f"{shop}/tea/1?a=2", id="own", key="k"),
        {"url": f"{shop}/tea/1?a=3", "added_at": 5},
    ]
    result = gossamer.add("teas", urls, priority=9, id="42", data=data)
    assert (result.added, result.state, result.running) == (3, "stopped", False)
    again = gossamer.add("teas", iter(urls), f"{shop}/tea/1", data=data)
    assert (again.added, again.duplicates, again.read) == (0, 4, 4)


def test_the_crawl_goes_on_with_them(shop: str, data: Path, tmp_path: Path) -> None:
    gossamer.add("teas", f"{shop}/tea/1?a=1", id="42", data=data)
    result = gossamer.run(
        shop,
        output=str(tmp_path / "out.jsonl"),
        data=data,
        name="teas",
        delay=0,
        scope="host",
        include="tea/1",
    )
    assert result.pages == 3
    assert [row["id"] for row in result.rows() if "id" in row] == ["42"]


async def test_it_works_in_a_coroutine(shop: str, data: Path) -> None:
    assert (await gossamer.add_async("teas", [f"{shop}/tea/1?b"], data=data)).added == 1


def test_elements_that_are_no_requests_and_refused_ones_are_reported(shop: str, data: Path) -> None:
    result = gossamer.add(
        "teas",
        ["not a url", f"{shop}/tea/1?a=1", {"url": 3}, f"{shop}/tea/2", "https://x.example/"],
        data=data,
    )
    assert (result.added, result.rejected) == (1, 2)
    assert [line.line for line in result.rejected_lines] == [1, 3]
    assert result.refused == {"filter": 1, "scope": 1}


def test_what_is_wrong_is_an_exception(shop: str, data: Path) -> None:
    with pytest.raises(UsageError, match="no crawl is named 'nope'; there are: teas"):
        gossamer.add("nope", shop, data=data)
    with pytest.raises(UnknownOption, match="did you mean priority"):
        gossamer.add("teas", shop, priorty=3, data=data)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="needs its own crawl"):
        gossamer.add("teas", gossamer.Site("s", seeds=[shop]), data=data)
    with pytest.raises(UsageError, match="there is no crawl in"):
        gossamer.add("teas", shop, data=data / "elsewhere")
