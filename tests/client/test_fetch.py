"""`fetch` returns one page, fetched in the same way as by a crawl, or raises an error."""

from __future__ import annotations

from decimal import Decimal

import pytest

import gossamer
from gossamer.errors import CrawlFailed, FetchFailed, UsageError


def test_a_page_offers_what_site_functions_get(shop: str) -> None:
    page = gossamer.fetch(f"{shop}/tea/2")
    assert isinstance(page, gossamer.Page)
    assert (page.url, page.status, page.title) == (f"{shop}/tea/2", 200, "Tea 2")
    assert page.css("h1::text").get() == page.xpath("//h1/text()").get() == "Tea 2"
    assert page.price(".price") == Decimal("2.50")
    assert page.product["name"] == "Tea 2"
    assert "<h1>Tea 2</h1>" in page.text
    assert [link.url for link in page.links] == [f"{shop}/"]
    assert repr(page) == f"<Page 200 {shop}/tea/2 'Tea 2'>"
    assert "Tea 2" in page._repr_html_()


async def test_json_in_a_coroutine(shop: str) -> None:
    page = await gossamer.fetch_async(f"{shop}/api")
    assert page.json() == {"teas": [1, 2, 3]}
    assert page["content_type"] == "application/json"


def test_a_page_with_an_error_status_is_returned(shop: str) -> None:
    page = gossamer.fetch(f"{shop}/gone")
    assert (page.status, page.title) == (404, "No such page")


def test_a_server_error_shows_status_and_body(shop: str) -> None:
    with pytest.raises(FetchFailed, match=r"http-5xx.* \(status 503\): wait for the server") as failed:
        gossamer.fetch(f"{shop}/busy")
    error = failed.value
    assert (error.reason, error.status) == ("http-5xx", 503)
    assert error.page is not None
    assert (error.page.status, error.page.title) == (503, "No such page")


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(UsageError, match="3 is not a URL"):
        gossamer.fetch(3)  # type: ignore[arg-type] # the misuse under test


def test_robots_txt_is_obeyed_unless_the_caller_ignores_it(shop: str) -> None:
    with pytest.raises(FetchFailed, match=r"robots\.txt disallows it: .*Disallow: /private") as failed:
        gossamer.fetch(f"{shop}/private")
    assert failed.value.reason == "robots"
    assert gossamer.fetch(f"{shop}/private", ignore_robots=True).status == 404


def test_an_unresolvable_host_raises() -> None:
    with pytest.raises(FetchFailed, match="check the host's name") as failed:
        gossamer.fetch("http://nothing.invalid/")
    assert (failed.value.reason, failed.value.status, failed.value.page) == ("dns", None, None)
    with pytest.raises(CrawlFailed, match="no page was received"):
        list(gossamer.crawl("http://nothing.invalid/", retries="", delay=0))


def test_a_wrong_option_raises_with_the_name_that_was_meant(shop: str) -> None:
    with pytest.raises(TypeError, match="did you mean timeout"):
        gossamer.fetch(shop, timeuot=3)  # type: ignore[call-arg] # the misuse under test
    with pytest.raises(TypeError, match="there is no option limit"):
        gossamer.fetch(shop, limit=3)  # type: ignore[call-arg] # an option of crawls
