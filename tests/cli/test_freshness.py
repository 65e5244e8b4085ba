"""Tests of `status --freshness` and `changed` on a crawl that revisits its pages."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from gossamer.app.open_store import open_url
from gossamer.cli.commands import run
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.observability.metrics import text_of
from gossamer.observability.snapshot import Observer, Snapshot
from gossamer.recrawl.freshness import Freshness, publish, read_reported

FOUND = Freshness(
    at=1.8e9,
    pages=1234,
    queued=5,
    expected_stale=0.1,
    stale_now=0.05,
    measured_stale=0.11,
    changes=70.0,
    budget=500.0,
    needed=480.0,
    budget_used=0.99,
    saved=120.0,
    never_changed=7,
    always_changed=3,
    max_age=86_400.0,
    mean_interval=3600.0,
    revisits=90,
    changed=30,
)


@pytest.fixture
def crawl(valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    asyncio.run(prepared(valkey_url))
    return valkey_url


async def prepared(url: str) -> None:
    store = await open_url(url, embedded=False)
    await Crawls(store).begin("c", Spec(["https://a.example/"]), [])
    await Crawls(store).begin("plain", Spec(["https://a.example/"]), [])
    await publish(store, "c", FOUND)
    await store.close()


def test_the_report_for_people_and_for_programs(crawl: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "c", "--freshness", "--store", crawl]) == 0
    text = capsys.readouterr().out
    for said in (
        "1,234, 5 of them",
        "10.00% of the time expected, 11.00% measured",
        "99.00% used",
        "120 a day",
    ):
        assert said in text
    assert run(["status", "c", "--freshness", "--json", "--store", crawl]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"crawl": "c", **msgspec.to_builtins(FOUND)}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["status", "plain", "--freshness"], "does not visit its pages again"),
        (["status", "--freshness"], "name it"),
        (["changed", "plain", "https://a.example/"], "does not visit its pages again"),
        (["changed", "c", "nothing"], "not an http(s) URL"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    crawl: str, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--store", crawl]) == 2
    assert told in capsys.readouterr().err


def test_reported_pages_reach_the_crawl(crawl: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["changed", "c", "https://A.example/x#y", "https://a.example/z", "--store", crawl]) == 0
    assert "2 pages of c will be visited next" in capsys.readouterr().err

    async def taken() -> list[str]:
        store = await open_url(crawl, embedded=False)
        found = [one.url for one in await read_reported(store, "c", 10) if one.certain]
        await store.close()
        return found

    assert asyncio.run(taken()) == ["https://a.example/x", "https://a.example/z"]


def test_metrics_of_freshness(crawl: str) -> None:
    async def looked() -> Snapshot:
        store = await open_url(crawl, embedded=False)
        found = await Observer(store).look()
        await store.close()
        return found

    text = text_of(asyncio.run(looked()))
    assert 'gossamer_freshness_pages{crawl="c",pages="known"} 1234' in text
    assert 'gossamer_freshness_expected_stale_ratio{crawl="c"} 0.1' in text
    assert 'crawl="plain",pages' not in text
