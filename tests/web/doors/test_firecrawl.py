"""Firecrawl's v2 API, by firecrawl-py and firecrawl-mcp as they are published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from firecrawl import Firecrawl
from firecrawl.v2.types import PaginationConfig
from firecrawl.v2.utils.error_handler import BadRequestError, FirecrawlError, WebsiteNotSupportedError

from gossamer.client.service_client import Client
from gossamer.operations.context import SCOPES
from gossamer.url.patterns import compile_
from gossamer.web.doors import firecrawl_options as known
from operations.service_process import Serving, served_folder
from operations.test_access import token
from support.fleet_workers import until
from web.doors.mcp import SCRIPT, Mcp


@pytest.fixture
def firecrawl(server: Serving) -> Firecrawl:
    return Firecrawl(api_url=server.url)


def test_one_page_comes_in_each_form(firecrawl: Firecrawl, web: str) -> None:
    found = firecrawl.scrape(f"{web}/1", formats=["markdown", "links", "rawHtml"])
    assert found.metadata is not None
    assert (found.metadata.status_code, found.metadata.title) == (200, "t/1")
    assert found.metadata.source_url == f"{web}/1"
    assert f"{web}/2" in (found.links or [])
    assert "<title>t/1</title>" in (found.raw_html or "")
    assert f"[x]({web}/0)" in (found.markdown or "")
    usual = firecrawl.scrape(f"{web}/1")
    assert usual.markdown == found.markdown
    assert usual.links is None


def test_a_site_is_mapped(firecrawl: Firecrawl, web: str) -> None:
    found = {one.url for one in firecrawl.map(web).links}
    assert found == {f"{web}/", *(f"{web}/{n}" for n in range(12)), f"{web}/secret/", f"{web}/nf"}
    assert [one.url for one in firecrawl.map(web, search="/11").links] == [f"{web}/11"]
    assert len(firecrawl.map(web, limit=3).links) == 3


def test_a_crawl_returns_all_pages(firecrawl: Firecrawl, web: str) -> None:
    found = firecrawl.crawl(web, poll_interval=1)
    assert (found.status, found.completed, found.total) == ("completed", 13, 13)
    urls = sorted(one.metadata.source_url for one in found.data)
    assert urls == sorted([f"{web}/", *(f"{web}/{n}" for n in range(12))])
    assert all(f"[x]({web}/0)" in one.markdown and one.links is None for one in found.data)


def test_options_of_a_crawl_have_the_meaning_of_the_service(firecrawl: Firecrawl, web: str) -> None:
    found = firecrawl.crawl(web, include_paths=["^/[0-4]$"], exclude_paths=["3"], poll_interval=1)
    assert sorted(one.metadata.source_url for one in found.data) == [
        f"{web}/",
        *(f"{web}/{n}" for n in (0, 1, 2, 4)),
    ]
    assert firecrawl.crawl(web, limit=4, poll_interval=1).completed == 4
    assert firecrawl.crawl(web, max_discovery_depth=0, poll_interval=1).completed == 1
    below = firecrawl.crawl(f"{web}/1", poll_interval=1)
    urls = sorted(one.metadata.source_url for one in below.data)
    assert urls == [f"{web}/1", f"{web}/10", f"{web}/11"], "only paths that begin with the path of the URL"
    some = firecrawl.crawl(f"{web}/1", include_paths=["1$"], poll_interval=1)
    assert sorted(one.metadata.source_url for one in some.data) == [f"{web}/1", f"{web}/11"]
    whole = firecrawl.crawl(
        f"{web}/1", crawl_entire_domain=True, scrape_options={"formats": ["links"]}, poll_interval=1
    )
    assert whole.completed == 12
    assert all(one.links and one.markdown is None for one in whole.data)


def test_a_batch_fetches_the_given_pages(firecrawl: Firecrawl, web: str) -> None:
    urls = [f"{web}/{n}" for n in range(5)]
    found = firecrawl.batch_scrape([*urls, "http://[/"], formats=["markdown"], poll_interval=1)
    assert (found.status, found.completed, found.total) == ("completed", 5, 5)
    assert sorted(one.metadata.source_url for one in found.data) == urls
    started = firecrawl.start_batch_scrape([*urls, "http://[/"], ignore_invalid_urls=True)
    assert started.invalid_urls == ["http://[/"]
    with pytest.raises(BadRequestError, match="is not an http"):
        firecrawl.start_batch_scrape([*urls, "http://[/"], ignore_invalid_urls=False)


def test_a_status_has_no_documents_while_the_crawl_runs(
    firecrawl: Firecrawl, server: Serving, web: str
) -> None:
    started = firecrawl.start_crawl(web, delay=1)
    until("two pages are stored", lambda: len(list(Client(server.url).pages(started.id))) >= 2)
    running = server.ask("GET", f"/v2/crawl/{started.id}")
    assert running.json["status"] == "scraping"
    assert (running.json["data"], running.json["next"]) == ([], None)
    assert len(running.body) < 4096
    active = firecrawl.get_active_crawls().crawls
    assert (started.id, web.rstrip("/") + "/") in [(one.id, one.url.rstrip("/") + "/") for one in active]
    Client(server.url).pause(started.id)
    assert firecrawl.get_crawl_status(started.id).status == "scraping"
    assert firecrawl.cancel_crawl(started.id) is True
    ended = Client(server.url).wait(started.id, timeout=60)
    assert ended.state == "cancelled"
    assert firecrawl.get_crawl_status(started.id).status == "cancelled"
    assert firecrawl.cancel_crawl(started.id) is False


def test_documents_come_in_pages(firecrawl: Firecrawl, server: Serving, web: str) -> None:
    crawl = firecrawl.crawl(web, max_concurrency=2, poll_interval=1)
    first = server.ask("GET", f"/v2/crawl/{crawl.id}?limit=5").json
    seen = [one["metadata"]["sourceURL"] for one in first["data"]]
    following = first["next"]
    while following is not None:
        assert following.startswith(server.url)
        page = server.ask("GET", following.removeprefix(server.url)).json
        seen += [one["metadata"]["sourceURL"] for one in page["data"]]
        following = page["next"]
    assert sorted(seen) == sorted(one.metadata.source_url for one in crawl.data)
    one = firecrawl.get_crawl_status(crawl.id, pagination_config=PaginationConfig(auto_paginate=False))
    assert len(one.data) == 13


def test_a_stopped_and_a_failed_page_are_reported(firecrawl: Firecrawl, server: Serving, web: str) -> None:
    started = firecrawl.start_crawl(web, delay=1, max_concurrency=1)
    Client(server.url).stop(started.id)
    Client(server.url).wait(started.id, timeout=60)
    found = firecrawl.get_crawl_status(started.id)
    assert found.status == "cancelled"
    assert "can resume it" in (found.warning or "")

    lost = firecrawl.batch_scrape(["http://127.0.0.1:1/gone", f"{web}/1"], poll_interval=1)
    errors = firecrawl.get_batch_scrape_errors(batch_of(server))
    assert [one.url for one in errors.errors] == ["http://127.0.0.1:1/gone"]
    assert errors.errors[0].error
    assert [one.metadata.source_url for one in lost.data] == [f"{web}/1"]
    whole = firecrawl.crawl(web, poll_interval=1)
    assert firecrawl.get_crawl_errors(whole.id).robots_blocked == [f"{web}/secret/"]


def batch_of(server: Serving) -> str:
    """Returns the latest crawl of the server. The client does not return the id of a batch."""
    return max(Client(server.url).crawls(), key=lambda one: one.started_at).crawl


def test_a_failed_crawl_is_failed(tmp_path: Path, web: str) -> None:
    (tmp_path / "proxies.txt").write_text("http://127.0.0.1:1\n")
    with served_folder(tmp_path, "-s", "proxies=proxies.txt", "-s", "retries=none") as server:
        found = Firecrawl(api_url=server.url).crawl(web, poll_interval=1)
        assert (found.status, found.completed) == ("failed", 0)
        answer = server.ask("GET", f"/v2/crawl/{found.id}").json
        assert "no proxy left" in answer["error"]


def test_the_same_request_starts_one_crawl_while_it_runs(
    firecrawl: Firecrawl, server: Serving, web: str
) -> None:
    first, second = (firecrawl.start_crawl(web, delay=1, limit=7) for _ in range(2))
    assert first.id == second.id
    firecrawl.cancel_crawl(first.id)
    Client(server.url).wait(first.id, timeout=60)
    third = firecrawl.start_crawl(web, delay=1, limit=7)
    assert third.id != first.id
    firecrawl.cancel_crawl(third.id)
    once = [firecrawl.start_batch_scrape([f"{web}/1"], idempotency_key="k").id for _ in range(2)]
    Client(server.url).wait(once[0], timeout=60)
    again = firecrawl.start_batch_scrape([f"{web}/1"], idempotency_key="k").id
    assert once == [again, again]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prompt": "only blogs"}, "no language model"),
        ({"webhook": "http://a.example/"}, "gossamer webhooks add"),
        ({"ignore_robots_txt": True}, "cannot ignore robots.txt"),
        ({"scrape_options": {"formats": ["html"]}}, "does not clean HTML"),
        ({"scrape_options": {"formats": ["rawHtml"]}}, "only for single pages"),
        ({"scrape_options": {"mobile": True}}, "scrapeOptions.mobile"),
        ({"scrape_options": {"only_main_content": False}}, "always the main content"),
        ({"scrape_options": {"actions": [{"type": "wait", "milliseconds": 5}]}}, "site file"),
        ({"include_paths": ["^/a|^/b"]}, "only at the ends"),
        ({"include_paths": ["("]}, "include"),
    ],
)
def test_options_that_are_not_here_are_refused_by_name(
    firecrawl: Firecrawl, web: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadRequestError, match=said):
        firecrawl.start_crawl(web, **options)


def test_an_unknown_option_names_the_nearest(server: Serving, web: str) -> None:
    answer = server.ask("POST", "/v2/crawl", {"url": web, "limt": 3})
    assert (answer.status, answer.json["success"]) == (400, False)
    assert "limt: Firecrawl has no such option (did you mean limit?)" in answer.json["error"]
    answer = server.ask("POST", "/v2/crawl", {"url": web, "limit": "many"})
    assert (answer.status, "limit" in answer.json["error"]) == (400, True)
    answer = server.ask("POST", "/v2/crawl", raw=b"{", Content_Type="application/json")
    assert answer.status == 400


@pytest.mark.parametrize("path", known.REFUSED_PATHS)
def test_addresses_of_the_hosted_service_are_refused_by_name(server: Serving, path: str) -> None:
    answer = server.ask("POST", f"/v2/{path}", {"url": "https://example.com/"})
    assert (answer.status, answer.json["success"]) == (404, False)
    assert f"/v2/{path} is not offered: {known.REFUSED_PATHS[path]}" == answer.json["error"]


def test_refusals_reach_the_user_of_the_client(firecrawl: Firecrawl, web: str) -> None:
    with pytest.raises(FirecrawlError, match="web search is a hosted service"):
        firecrawl.search("kettles")
    with pytest.raises(WebsiteNotSupportedError, match=r"robots\.txt disallows"):
        firecrawl.scrape(f"{web}/secret/")
    with pytest.raises(FirecrawlError, match="was not fetched"):
        firecrawl.scrape("http://127.0.0.1:1/")
    with pytest.raises(FirecrawlError, match=r"10\.0\.0\.1"):
        firecrawl.scrape("http://10.0.0.1/")
    with pytest.raises(FirecrawlError, match="no crawl is named"):
        firecrawl.get_crawl_status("550e8400-e29b-41d4-a716-446655440000")
    with pytest.raises(FirecrawlError, match="no crawl is named"):
        firecrawl.cancel_crawl("550e8400-e29b-41d4-a716-446655440000")


def test_tokens_permit_what_they_permit_in_the_api(tmp_path: Path, web: str) -> None:
    made = {scope: token(tmp_path, "--scope", scope) for scope in SCOPES}
    red = token(tmp_path, "--scope", "run", "--prefix", "red-")
    with served_folder(tmp_path, "--token-file", "tokens.jsonl") as server:
        reader, runner, other = (
            Firecrawl(api_key=one, api_url=server.url) for one in (made["read"], made["run"], red)
        )
        with pytest.raises(FirecrawlError, match="Unauthorized"):
            Firecrawl(api_key="fc-wrong", api_url=server.url).start_crawl(web)
        with pytest.raises(FirecrawlError, match="needs the scope run"):
            reader.start_crawl(web)
        ours = runner.crawl(web, limit=2, poll_interval=1)
        assert reader.get_crawl_status(ours.id).completed == 2
        theirs = other.crawl(web, limit=2, poll_interval=1)
        assert theirs.id.startswith("red-")
        with pytest.raises(FirecrawlError, match="no crawl is named"):
            other.get_crawl_status(ours.id)


@pytest.fixture(scope="module")
def mcp(server: Serving) -> Iterator[Mcp]:
    if not SCRIPT.exists():
        pytest.skip("firecrawl-mcp is not here: ./test gets it with npm")
    with Mcp(server.url) as found:
        yield found


def test_the_tools_of_an_agent_work(mcp: Mcp, web: str) -> None:
    good, text = mcp.tool("scrape", url=f"{web}/1", formats=["markdown", "links"])
    assert good, text
    assert json.loads(text)["metadata"]["title"] == "t/1"
    good, text = mcp.tool("map", url=web)
    assert good, text
    assert len(json.loads(text)["links"]) == 15
    good, text = mcp.tool("crawl", url=web, limit=5, sitemap="include", deduplicateSimilarURLs=True)
    assert good, text
    found = json.loads(text)
    assert (found["status"], len(found["data"])) == ("completed", 5)
    good, text = mcp.tool("check_crawl_status", id=found["id"])
    assert good, text
    assert len(json.loads(text)["data"]) == 5
    assert not mcp.tool("search", query="kettles")[0]
    assert not mcp.tool("check_crawl_status", id="550e8400-e29b-41d4-a716-446655440000")[0]


@pytest.mark.parametrize(
    ("pattern", "url", "is_matched"),
    [
        ("3", "http://a.example:3000/", False),
        ("3", "http://a.example:3000/3", True),
        ("3", "http://a.example/x?page=3", False),
        ("^/blog", "http://a.example/blog/1", True),
        ("^/blog", "http://a.example/old/blog/1", False),
        ("/blog/.*$", "http://a.example/old/blog/1?x=1", True),
        ("end$", "http://a.example/the/end?x", True),
        ("end$", "http://a.example/the/end/", False),
    ],
)
def test_a_pattern_of_a_path_concerns_the_path_alone(pattern: str, url: str, is_matched: bool) -> None:
    made = known.crawl_fields({"url": "http://a.example/", "excludePaths": [pattern]})["exclude"]
    assert bool(compile_(made[0]).search(url)) is is_matched
