"""Saved pages with known results, if the shared data is available."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gossamer.parsing.ranks import result_page

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"


@cache
def rows(name: str) -> list[dict[str, Any]]:
    file = SHARED / f"serp-{name}.jsonl.gz"
    if not file.exists():
        pytest.skip("../shared/data is not here")
    with gzip.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def body(row: dict[str, Any]) -> bytes:
    html = row["html"]
    return base64.b64decode(html["b64"]) if isinstance(html, dict) else html.encode()


def values(row: dict[str, Any], field: str) -> list[dict[str, Any]]:
    value = row.get(field)
    return (json.loads(value) if isinstance(value, str) else value) or []


def test_organic_results_of_dated_pages() -> None:
    right = others = 0
    for row in rows("websearcher"):
        if not (truth := values(row, "results")):
            continue
        page = result_page(body(row), "google", row["url"])
        expected = {one["url"] for one in truth if one["type"] == "general" and one["url"]}
        found = {one.url for one in page.results if one.type == "organic"}
        right += len(expected & found)
        others += len(expected ^ found)
        assert page.verdict == "ok"
        assert page.query == row["query"]
        asked = any(one["type"] == "people_also_ask" for one in truth)
        assert asked is any(one.type == "people_also_ask" for one in page.results)
    assert 2 * right / (2 * right + others) >= 0.99


def test_samples_whose_links_were_replaced_by_one_keep_all_results() -> None:
    for row in rows("openserp"):
        if row["engine"] in ("google", "bing"):
            page = result_page(body(row), row["engine"])
            assert [one.rank for one in page.results if one.rank] == list(range(1, 11))


def test_a_hundred_results_and_pages_without_any() -> None:
    for row in rows("parser"):
        page = result_page(body(row), row["engine"])
        facts = {tuple(fact["path"]): fact["value"] for fact in values(row, "facts")}
        if ("organic",) in facts:
            assert sum(one.rank is not None for one in page.results) == facts["organic",]
        if ("error",) in facts:
            assert page.verdict == "no_results"
