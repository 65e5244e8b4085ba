"""Tests of search result providers: the requests that they receive, the meaning of their responses, and
requests that are refused before a call."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from gossamer.collectors.unlocker.interface import ApiAnswer, Call, FetchedPage, Refusal
from gossamer.collectors.unlocker.providers import SEARCH_PROVIDERS, chosen_unlocker
from gossamer.collectors.unlocker.search.dataforseo import location_code
from gossamer.data import sections
from gossamer.errors import ConfigError

GOOGLE = "https://www.google.de/search?q=caf%C3%A9+%22a+%2B+b%22+100%25&gl=de&hl=de&start=20"
BING = "https://www.bing.com/search?q=tea&cc=gb&setlang=en&first=11"
WORDS = 'café "a + b" 100%'
MOBILE = {"Sec-CH-UA-Mobile": "?1"}


def asked(name: str, url: str, **needs: Any) -> tuple[Call, dict[str, Any]]:
    """Return the call for a URL, and the call's parameters from its query or its JSON."""
    one = chosen_unlocker(name)
    call = one.provider.request(one.wanted(one.needs._replace(url=url, **needs)), one.endpoint, "KEY")
    found = json.loads(call.body) if call.body else dict(parse_qsl(urlsplit(call.url).query))
    return call, found[0] if isinstance(found, list) else found


def test_google_is_asked_as_each_documentation_says() -> None:
    assert asked("serpapi", GOOGLE)[1] == {
        "engine": "google",
        "q": WORDS,
        "google_domain": "google.de",
        "gl": "de",
        "hl": "de",
        "start": "20",
        "device": "desktop",
        "api_key": "KEY",
    }
    call, given = asked("searchapi", GOOGLE)
    assert call.headers["Authorization"] == "Bearer KEY"
    assert given == {
        "engine": "google",
        "q": WORDS,
        "google_domain": "google.de",
        "gl": "de",
        "hl": "de",
        "page": "3",
        "device": "desktop",
    }
    call, given = asked("serper", GOOGLE)
    assert (call.method, call.headers["X-API-KEY"]) == ("POST", "KEY")
    assert given == {"q": WORDS, "page": 3, "gl": "de", "hl": "de"}
    call, given = asked("dataforseo", GOOGLE)
    assert call.url == "https://api.dataforseo.com/v3/serp/google/organic/live/advanced"
    assert base64.b64decode(call.headers["Authorization"].removeprefix("Basic ")) == b"KEY"
    assert given == {
        "keyword": 'café "a %2B b" 100%25',  # the provider decodes %2B and %25
        "device": "desktop",
        "depth": 30,
        "language_code": "de",
        "location_code": 2276,
        "se_domain": "google.de",
    }
    assert asked("zyte?serp=true", GOOGLE)[1] == {"url": GOOGLE, "serp": True}


def test_options_of_dataforseo_have_the_types_of_its_documentation() -> None:
    found = asked("dataforseo?calculate_rectangles=true&max_crawl_pages=2&os=macos", GOOGLE)[1]
    assert (found["calculate_rectangles"], found["max_crawl_pages"], found["os"]) == (True, 2, "macos")


def test_bing_and_phones() -> None:
    assert asked("serpapi", BING, headers=MOBILE)[1] == {
        "engine": "bing",
        "q": "tea",
        "cc": "gb",
        "first": "11",
        "device": "mobile",
        "api_key": "KEY",
    }
    assert asked("dataforseo", BING, headers=MOBILE)[0].url.endswith("/v3/serp/bing/organic/live/advanced")
    assert asked("dataforseo", BING, headers=MOBILE)[1]["device"] == "mobile"
    for url, headers in ((BING, {}), (GOOGLE, MOBILE)):
        with pytest.raises(ValueError):
            asked("serper", url, headers=headers)


def test_a_place_is_its_name_or_googles_code() -> None:
    url = f"{GOOGLE}&uule=w%2BCAIQICIGQmVybGlu"
    assert asked("serper", url)[1]["location"] == "Berlin"
    assert asked("dataforseo", url)[1]["location_name"] == "Berlin"
    assert "uule" not in asked("serpapi", url)[1]
    assert asked("serpapi", f"{GOOGLE}&uule=a+cm9sZToxCnByb2R1Y2VyOjEy")[1]["uule"].startswith("a ")


@pytest.mark.parametrize("name", SEARCH_PROVIDERS)
@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/search?q=a",
        "https://www.google.com/search",
        "https://www.google.com/maps?q=a",
        "https://google.com.evil.example/search?q=a",
        "https://notgoogle.com/search?q=a",
    ],
)
def test_other_pages_are_refused_before_a_call(name: str, url: str) -> None:
    with pytest.raises(ValueError, match="result pages alone"):
        asked(name, url)


def test_options_are_checked() -> None:
    for text in ("serper?render=true", "serpapi?country=us", "dataforseo?zone=x", "serpr"):
        with pytest.raises(ConfigError):
            chosen_unlocker(text)
    with pytest.raises(ValueError, match="200 results"):
        asked("dataforseo", GOOGLE.replace("start=20", "start=200"))


def test_credits_are_pages() -> None:
    for name, due in (
        ("serper", 1),
        ("serpapi", 1),
        ("searchapi", 1),
        ("dataforseo", 3),
        ("serper?cost=2", 2),
    ):
        one = chosen_unlocker(name)
        assert one.wanted(one.needs._replace(url=GOOGLE)).cost == due


def test_countries_have_googles_numbers() -> None:
    assert (location_code("de"), location_code("gb"), location_code("uk"), location_code("us")) == (
        2276,
        2826,
        2826,
        2840,
    )
    assert len(sections("countries")["countries"]) > 240
    with pytest.raises(ValueError, match="ISO 3166"):
        location_code("zz")


@pytest.mark.parametrize(
    ("name", "status", "reply", "kind"),
    [
        (
            "serpapi",
            401,
            {"error": "Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key"},
            "key",
        ),
        ("serpapi", 429, {"error": "Your account has run out of searches."}, "credit"),
        ("serpapi", 429, {"error": "You are exceeding the hourly throughput limit"}, "busy"),
        ("serpapi", 400, {"error": "Missing query `q` parameter."}, "target"),
        (
            "serpapi",
            503,
            {"search_metadata": {"status": "Error"}, "error": "We couldn't get valid results"},
            "retry",
        ),
        ("serpapi", 200, {"search_metadata": {"status": "Processing"}}, "retry"),
        ("searchapi", 401, {"error": "Invalid api_key"}, "key"),
        ("searchapi", 429, {"error": "You have used all of the searches for the month."}, "credit"),
        ("searchapi", 429, {"error": "Too many requests"}, "busy"),
        ("searchapi", 500, {"error": "Internal error"}, "retry"),
        ("serper", 403, {"message": "Unauthorized.", "statusCode": 403}, "key"),
        ("serper", 400, {"message": "Not enough credits", "statusCode": 400}, "credit"),
        ("serper", 400, {"message": "Missing query parameter"}, "target"),
        ("serper", 429, {"message": "Too many requests"}, "busy"),
        ("serper", 200, [], "retry"),
        (
            "dataforseo",
            401,
            {"status_code": 40100, "status_message": "You are not Authorized to Access this Resource."},
            "key",
        ),
        (
            "dataforseo",
            200,
            {
                "status_code": 20000,
                "tasks": [{"status_code": 40210, "status_message": "Insufficient Funds."}],
            },
            "credit",
        ),
        (
            "dataforseo",
            200,
            {"status_code": 20000, "tasks": [{"status_code": 40202, "status_message": "Rate limit"}]},
            "busy",
        ),
        (
            "dataforseo",
            200,
            {
                "status_code": 20000,
                "tasks": [{"status_code": 40501, "status_message": "Invalid Field: 'depth'."}],
            },
            "target",
        ),
        (
            "dataforseo",
            200,
            {"status_code": 20000, "tasks": [{"status_code": 50401, "status_message": "Timeout"}]},
            "retry",
        ),
        ("dataforseo", 200, {"tasks": "none"}, "retry"),
        *(
            ("dataforseo", 200, {"tasks": [{"status_code": code, "status_message": text}]}, kind)
            for code, text, kind in (
                (40201, "Your account was temporarily paused.", "key"),
                (40203, "The cost limit has been exceeded.", "credit"),
                (40204, "Access denied. Subscription is not active.", "key"),
                (40207, "Access denied. Your IP is not whitelisted.", "key"),
                (40209, "Too many simultaneous requests.", "busy"),
                (40101, "Internal error of the search engine.", "retry"),
                (40103, "Task execution failed, please try later.", "retry"),
                (40602, "Task In Queue.", "retry"),
                (40205, "The duplicate task limit per hour has been exceeded.", "target"),
            )
        ),
        *(
            (name, 402, {"error": "Payment Required"}, "credit")
            for name in ("serpapi", "searchapi", "serper", "dataforseo")
        ),
        *(
            (name, 403, {"error": "The account was deleted."}, "key")
            for name in ("serpapi", "searchapi", "serper", "dataforseo")
        ),
        ("serpapi", 429, {"error": "Your searches for the month have run out."}, "credit"),
        ("serpapi", 200, {"search_metadata": "none"}, "retry"),
        ("zyte?serp=true", 200, {"url": "u", "statusCode": 200}, "retry"),
        ("zyte?serp=true", 429, {"title": "Limits exceeded"}, "busy"),
    ],
)
def test_documented_errors(name: str, status: int, reply: Any, kind: str) -> None:
    one = chosen_unlocker(name)
    needs = one.wanted(one.needs._replace(url=GOOGLE))
    found = one.provider.answer(ApiAnswer(status, [], json.dumps(reply).encode()), needs)
    assert isinstance(found, Refusal)
    assert found.kind == kind


@pytest.mark.parametrize(
    ("name", "reply", "paid"),
    [
        ("serpapi", {"search_metadata": {"status": "Success"}}, 1),
        ("searchapi", {"search_metadata": {"status": "Success"}}, 1),
        ("serper", {"organic": [], "credits": 2}, 2),
        ("dataforseo", {"tasks": [{"status_code": 40102, "status_message": "No Search Results."}]}, 3),
        ("zyte?serp=true", {"serp": {"organicResults": []}}, 1),
    ],
)
def test_an_answer_is_the_page(name: str, reply: Any, paid: int) -> None:
    one = chosen_unlocker(name)
    needs = one.wanted(one.needs._replace(url=GOOGLE))
    body = json.dumps(reply).encode()
    found = one.provider.answer(ApiAnswer(200, [], body), needs)
    assert isinstance(found, FetchedPage)
    assert (found.status, found.body, found.credits) == (200, body, paid)
