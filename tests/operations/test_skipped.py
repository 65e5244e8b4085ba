"""The list of skipped URLs over HTTP: as JSON, as streams, as a page, and requeued in part."""

from __future__ import annotations

import json
import shutil

import pytest

import gossamer
from operations.conftest import server, web
from operations.service_process import Serving
from operations.test_dashboard import send, words

__all__ = ["server", "web"]


@pytest.fixture(scope="module")
def skipped(server: Serving, web: str) -> Serving:
    server.crawl(f"{web}/", "seen", exclude=["/1$", "/2$"], delay=0.001)
    return server


def test_the_api_lists_and_streams_them(skipped: Serving, web: str) -> None:
    found = skipped.ask("GET", "/v1/crawls/seen/skipped").json
    reasons = {row["url"].removeprefix(web): row["reason"] for row in found["items"]}
    assert reasons == {
        "/secret/": "robots",
        "/nf": "nofollow",
        "https://other.example/": "scope",
        "/1": "filter",
        "/2": "filter",
    }
    page = skipped.ask("GET", "/v1/crawls/seen/skipped?reason=filter&limit=1").json
    assert [row["rule"] for row in page["items"]] == ["matches --exclude /1$"]
    rest = skipped.ask("GET", f"/v1/crawls/seen/skipped?reason=filter&limit=1&cursor={page['next']}").json
    assert [row["rule"] for row in rest["items"]] == ["matches --exclude /2$"]
    lines = skipped.ask("GET", "/v1/crawls/seen/skipped", Accept="application/x-ndjson").body.splitlines()
    assert [json.loads(line)["url"] for line in lines] == [row["url"] for row in found["items"]]
    assert skipped.ask("GET", "/v1/crawls/seen/skipped?reason=robot").status == 400


def test_the_client_lists_and_requeues_them(skipped: Serving, web: str) -> None:
    client = gossamer.Client(skipped.url)
    assert [row["url"] for row in client.skipped("seen", reason="robots")] == [f"{web}/secret/"]
    plan = client.requeue_skipped("seen", where=[f"url={web}/1"], reason="filter", dry_run=True)
    assert (plan.urls, plan.added, plan.sample) == (1, 0, [f"{web}/1"])
    assert plan.confirm
    done = client.requeue_skipped("seen", where=[f"url={web}/1"], reason="filter")
    assert (done.urls, done.added, done.refused) == (1, 0, {"filter": 1})
    done = client.requeue_skipped("seen", where=[f"url={web}/1"], reason="filter", as_seeds=True)
    assert (done.urls, done.added, done.refused) == (1, 1, {})


def test_the_page_lists_them_and_requeues_what_its_filter_selects(skipped: Serving, web: str) -> None:
    page = skipped.ask("GET", "/crawls/seen/skipped?reason=filter")
    shown = words(page)
    assert "matches --exclude /2$" in shown
    assert "line 2: Disallow" not in shown
    assert "gossamer skipped list seen --reason filter" in shown
    asked = send(
        skipped, "/crawls/seen/skipped/requeue", where=f"url={web}/2", reason="filter", as_seeds="true"
    )
    assert (asked.status, "This concerns 1 URLs" in words(asked)) == (200, True), words(asked)
    fields = {"where": f"url={web}/2", "reason": "filter", "as_seeds": "true"}
    done = send(skipped, "/crawls/seen/skipped/requeue", confirmed="yes", **fields)
    assert (done.status, done.headers["location"]) == (303, "/crawls/seen/skipped"), words(done)
    assert skipped.ask("GET", "/v1/crawls/seen").json["pending"] >= 1


def test_an_empty_page_says_which_kind_of_empty_it_is(skipped: Serving, web: str) -> None:
    nothing = "Nothing matches this filter"
    assert nothing in words(skipped.ask("GET", "/crawls/seen/skipped?reason=trap"))
    skipped.crawl(f"{web}/5", "alone", scope="page")
    assert "the crawl counts" not in words(skipped.ask("GET", "/crawls/alone/skipped"))
    shutil.move(skipped.folder / ".gossamer/alone/skipped.jsonl", skipped.folder / "elsewhere.jsonl")
    unknown = words(skipped.ask("GET", "/crawls/alone/skipped"))
    assert "this machine has no list of skipped URLs" in unknown
    assert "the crawl counts" in unknown
    skipped.crawl(f"{web}/none", "empty", scope="page")
    assert "Nothing was skipped yet" in words(skipped.ask("GET", "/crawls/empty/skipped"))
