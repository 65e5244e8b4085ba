"""Tests of each provider against a server that behaves as documented: pages equal directly fetched pages,
and the credits are never exceeded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from collectors.unlocker.provider_servers import BODY, KEY, Stub, Target, problem
from collectors.unlocker.unlocker_desk import ALL, URL, desk
from gossamer.collectors.unlocker.providers import chosen_unlocker
from gossamer.errors import ConfigError, CrawlFailed
from gossamer.model.page import Page
from support.byte_servers import bad, good


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize("status", [200, 404])
async def test_a_page_comes_out_as_if_it_had_been_fetched(
    valkey_url: str, provider: str, status: int
) -> None:
    async with desk(Stub(provider, Target(status)), valkey_url) as one:
        page = good(await one.get())
        assert (page.status, page.url, page.body, page.collector) == (status, URL, BODY, provider)
        assert page.content_type == "text/html; charset=utf-8"
        if provider != "generic":
            assert page.header("x-own") == "1"
        assert not [
            name
            for name, _ in page.headers
            if name.startswith(("sa-", "zr-", "x-brd", "x-scrapfly", "concurrency"))
        ]
        assert page.credits == await one.spent() == (3 if provider == "generic" else 1)
        (call,) = one.stub.calls
        assert "user-agent" not in call.headers
        if provider != "generic":
            assert (call.url, call.key) == (URL, KEY)
        else:
            assert (call.given["u"], call.headers["x-api-key"]) == (URL, KEY)


async def test_a_target_s_404_is_a_page_also_where_zenrows_tells_of_it(valkey_url: str) -> None:
    stub = Stub("zenrows", None, problem(404, {"code": "RESP002", "title": "not found"}, "X-Request-Cost: 1"))
    async with desk(stub, valkey_url) as one:
        page = good(await one.get())
        assert (page.status, page.body, page.credits, await one.spent()) == (404, b"", 1, 1)


@pytest.mark.parametrize("provider", [name for name in ALL if name != "brightdata"])
async def test_another_host_at_the_end_is_a_redirect_for_us_to_follow(valkey_url: str, provider: str) -> None:
    async with desk(Stub(provider, Target(final="http://192.0.2.1/shop/")), valkey_url) as one:
        page = good(await one.get())
        assert (page.status, page.url) == (200, "http://192.0.2.1/shop/")
        one.stub.target.final = "https://www.example.com/"
        page = good(await one.get())
        assert (page.status, page.url, page.header("location"), page.body) == (
            302,
            URL,
            "https://www.example.com/",
            b"",
        )


ASKED = {
    "scraperapi": (
        "render=true&wait_for=.price&country=de&session=s",
        {
            "render": "true",
            "wait_for_selector": ".price",
            "country_code": "de",
            "session_number": "3955384",
            "max_cost": "10",
        },
        10,
    ),
    "zenrows": (
        "render=true&wait_for=.price&country=de&session=s&premium_proxy=true",
        {
            "js_render": "true",
            "wait_for": ".price",
            "proxy_country": "de",
            "premium_proxy": "true",
            "session_id": "3955384",
            "original_status": "true",
        },
        25,
    ),
    "brightdata": (
        "country=de&data_format=markdown",
        {"zone": "z1", "format": "raw", "method": "GET", "country": "de", "data_format": "markdown"},
        1,
    ),
    "zyte": (
        "render=true&wait_for=.price&country=de&session=s",
        {
            "browserHtml": True,
            "geolocation": "DE",
            "actions": [{"action": "waitForSelector", "selector": {"type": "css", "value": ".price"}}],
        },
        1,
    ),
    "scrapfly": (
        "render=true&wait_for=.price&country=de&session=s&proxy_pool=public_residential_pool",
        {
            "render_js": "true",
            "wait_for_selector": ".price",
            "country": "de",
            "session": "s",
            "cost_budget": "30",
        },
        30,
    ),
    "generic": ("render=true&country=de", {"js": "true", "geo": "de"}, 4),
}


@pytest.mark.parametrize("provider", ALL)
async def test_needs_are_said_in_the_provider_s_words(valkey_url: str, provider: str) -> None:
    options, wanted, cost = ASKED[provider]
    async with desk(Stub(provider), valkey_url, options) as one:
        good(await one.get())
        given = one.stub.calls[0].given
        assert {name: given.get(name) for name in wanted} == wanted
        chosen_one = one.collector.chosen
        assert chosen_one.wanted(chosen_one.needs).cost == cost
        good(await one.get(country="fr"))
        named = [str(value).lower() for value in one.stub.calls[1].given.values()]
        assert "fr" in named
        assert "de" not in named, "a request's own country goes first"


async def test_methods_bodies_and_headers_are_passed_on(valkey_url: str) -> None:
    post: dict[str, Any] = {"method": "POST", "body": "q=1", "headers": {"X-Shop": "7"}}
    for provider in ("scraperapi", "zenrows", "scrapfly", "zyte", "generic"):
        async with desk(Stub(provider), valkey_url) as one:
            good(await one.get(**post))
            call = one.stub.calls[0]
            if provider == "zyte":
                assert call.given["httpRequestMethod"] == "POST"
                assert call.given["httpRequestText"] == "q=1"
                assert call.given["customHttpRequestHeaders"] == [{"name": "X-Shop", "value": "7"}]
                continue
            assert (call.method, call.body) == ("POST", b"q=1")
            if provider == "scrapfly":
                assert call.given["headers[x-shop]"] == "7"
            else:
                assert call.headers["x-shop"] == "7"
            assert call.given.get(
                {"scraperapi": "keep_headers", "zenrows": "custom_headers"}.get(provider, "")
            ) in (
                "true",
                None,
            )
    async with desk(Stub("brightdata"), valkey_url) as one:
        refused = bad(await one.get(**post))
        assert (refused.reason, refused.sent, one.stub.calls) == ("filter", False, [])


async def test_binary_pages_are_bytes(valkey_url: str) -> None:
    target = Target(headers={"Content-Type": "application/gzip"}, body=bytes(range(256)))
    for provider in ("scraperapi", "zenrows", "brightdata", "zyte", "scrapfly"):
        async with desk(Stub(provider, target), valkey_url) as one:
            assert good(await one.get()).body == target.body
            one.stub.target = Target(headers={"Content-Type": "image/png"}, body=b"x")
            assert bad(await one.get()).reason == "content-type", "as on any rung"


async def test_a_body_that_zyte_cut_is_no_page(valkey_url: str) -> None:
    async with desk(Stub("zyte", Target(body=b"x" * 10_000_000)), valkey_url) as one:
        assert (bad(await one.get()).reason, await one.spent()) == ("too-large", 1)


async def test_a_slow_answer_that_never_comes_stays_spent_and_keeps_its_place(valkey_url: str) -> None:
    async with desk(Stub("zenrows", slow=5), valkey_url, "timeout=200ms&at_once=1&cost=10", hold=0.6) as one:
        found = bad(await one.get())
        assert (found.reason, found.credits, found.final, await one.spent()) == ("timeout", 10, False, 10)
        assert (await one.purse.reserve(1)).why == "busy"
        assert len(one.stub.calls) == 1


async def test_calls_that_hang_do_not_hold_back_the_others(valkey_url: str) -> None:
    stub = Stub("zenrows", slow=300)
    async with desk(stub, valkey_url, "at_once=2", hold=6) as one:
        hanging = [asyncio.create_task(one.get()) for _ in range(2)]
        while len(stub.calls) < 2:  # noqa: ASYNC110 - nothing tells us
            await asyncio.sleep(0.01)
        stub.slow = 0
        await asyncio.wait_for(one.get(), 60)
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


async def test_a_provider_that_is_away_costs_nothing_and_is_left_alone(valkey_url: str) -> None:
    async with desk(Stub("zyte"), valkey_url) as one:
        one.collector.chosen = one.collector.chosen._replace(endpoint="http://127.0.0.1:9/")
        for n in range(10):
            found = bad(await one.get())
            assert (found.reason, found.later is not None) == (
                ("blocked", False) if n < 9 else ("rate-limited", True)
            )
        assert bad(await one.get()).later
        assert len(one.said) == 1
        for n in range(3):
            await one.probe()
            if n < 2:
                assert bad(await one.get()).later
            else:
                with pytest.raises(CrawlFailed, match="repeatedly"):
                    await one.get()
        assert await one.spent() == 0


async def test_calls_at_once_are_bounded_for_all(valkey_url: str) -> None:
    stub = Stub("scrapfly", slow=0.02)
    async with desk(stub, valkey_url, "at_once=3") as first, desk(stub, valkey_url, "at_once=3") as second:
        pages = await asyncio.gather(*(one.get() for one in (first, second) for _ in range(6)))
        assert all(isinstance(page, Page) for page in pages)
        assert stub.most <= 3


async def test_a_crawl_s_credits_are_never_passed(valkey_url: str) -> None:
    async with desk(Stub("scrapfly", slow=0.01), valkey_url, "render=true", most=20) as one:
        got = await asyncio.gather(*(one.get() for _ in range(8)))
        assert sum(isinstance(page, Page) for page in got) == 3
        assert (one.collector.spent, await one.spent()) == (True, 18)


async def test_inner_hosts_are_nobody_s_business(valkey_url: str) -> None:
    async with desk(Stub("zyte"), valkey_url) as one:
        for url in ("http://10.0.0.1/", "http://169.254.169.254/latest", "http://[fd00::1]/"):
            assert bad(await one.get(url)).reason == "private"
        assert bad(await one.get(proxy="http://p.example:1")).reason == "filter"
        assert one.stub.calls == []


async def test_a_page_that_repeats_the_key_loses_it(valkey_url: str) -> None:
    target = Target(headers={"Content-Type": "text/html", "X-Echo": KEY}, body=f"<p>{KEY}".encode())
    async with desk(Stub("brightdata", target), valkey_url) as one:
        page = good(await one.get())
        assert (page.body, page.header("x-echo")) == (b"<p>***", "***")


@pytest.mark.parametrize(
    ("text", "shape", "words"),
    [
        ("zenrow", (), "did you mean zenrows?"),
        ("brightdata", (), "needs zone="),
        ("zenrows?rendr=true", (), "did you mean render?"),
        ("zenrows?wait_for=.x", (), "needs render=true"),
        ("brightdata?zone=z&render=true", (), "has no option render="),
        ("scraperapi?premium=true&ultra_premium=true", (), "exclude"),
        ("zyte?at_once=0", (), "whole number"),
        ("zyte?endpoint=ftp://x", (), "endpoint="),
        ("http://x.example/", (), "no {url}"),
        ("http://x.example/?u={url}", ("stats=json a",), "did you mean status?"),
        ("http://x.example/?u={url}", ("body=xml a",), "body="),
        ("http://x.example/?u={url}", ("errors=9:x",), "errors="),
        ("zenrows", ("body=raw",), "unlocker_shape"),
    ],
)
def test_bad_settings_are_one_clear_line(text: str, shape: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("?", r"\?").replace("{", r"\{")) as raised:
        chosen_unlocker(text, shape)
    assert "\n" not in str(raised.value)
