"""The JSON of each provider is converted to one schema. Any other response gives a verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.uses.ranks.provider_answers import READERS, read_answer
from gossamer.uses.ranks.rank_crawl import refuse_other_query


@pytest.mark.parametrize("said", ["green  Tea", "“green tea”", "green+tea", "ｇｒｅｅｎ tea"])
def test_an_answer_to_the_query_is_taken(said: str) -> None:
    body = json.dumps(SERPAPI | {"search_parameters": {"q": said}}).encode()
    asked = '"green tea"' if "“" in said else "green tea"
    parsed = read_answer("serpapi", body, "google")
    assert refuse_other_query(parsed, asked, "serpapi") is parsed


def test_an_answer_to_another_query_is_refused_with_a_reason() -> None:
    parsed = read_answer("serpapi", json.dumps(SERPAPI).encode(), "google")
    refused = refuse_other_query(parsed, "green tea", "serpapi")
    assert (refused.verdict, refused.results) == ("soft_block", ())
    assert refused.reason == "the answer is for 'coffee', not for 'green tea'"
    assert refuse_other_query(parsed, "green tea", "own") is parsed


SERPAPI: dict[str, Any] = {
    "search_metadata": {"status": "Success"},
    "search_parameters": {"q": "coffee"},
    "ads": [{"title": "Buy", "link": "https://ad.example/", "description": "now"}],
    "answer_box": {"title": "What", "link": "https://box.example/", "snippet": "A bean"},
    "ai_overview": {"text_blocks": [], "references": [{"title": "R", "link": "https://ref.example/"}]},
    "related_questions": [{"question": "Why coffee?", "link": "https://q.example/", "snippet": "because"}],
    "local_results": {"places": [{"title": "Café", "links": {"website": "https://cafe.example/"}}]},
    "knowledge_graph": {"title": "Coffee", "website": "https://k.example/", "description": "d"},
    "organic_results": [
        {
            "position": 11,
            "title": "One",
            "link": "https://one.example/",
            "snippet": "s",
            "sitelinks": {"inline": [{"title": "Sub", "link": "https://one.example/sub"}]},
        },
        {"position": 12, "title": "Two", "link": "https://two.example/"},
    ],
    "related_searches": [{"query": "tea", "link": "https://www.google.com/search?q=tea"}],
}
DATAFORSEO: dict[str, Any] = {
    "tasks": [
        {
            "status_code": 20000,
            "result": [
                {
                    "keyword": "coffee",
                    "se_results_count": 9,
                    "items": [
                        {
                            "type": "ai_overview",
                            "rank_group": 1,
                            "rank_absolute": 1,
                            "references": [{"title": "R", "url": "https://ref.example/"}],
                        },
                        {
                            "type": "organic",
                            "rank_group": 1,
                            "rank_absolute": 2,
                            "title": "One",
                            "url": "https://one.example/",
                            "rectangle": {"y": 420.5},
                            "links": [{"title": "Sub", "url": "https://one.example/sub"}],
                        },
                        {
                            "type": "people_also_ask",
                            "rank_absolute": 3,
                            "items": [{"title": "Why?", "expanded_element": [{"url": "https://q.example/"}]}],
                        },
                        {
                            "type": "organic",
                            "rank_group": 2,
                            "rank_absolute": 4,
                            "url": "https://two.example/",
                        },
                        {
                            "type": "something_new",
                            "rank_absolute": 5,
                            "title": "?",
                            "url": "https://new.example/",
                        },
                        {"type": "related_searches", "rank_absolute": 6, "items": ["tea"]},
                    ],
                }
            ],
        }
    ]
}


def test_serpapi() -> None:
    page = read_answer("serpapi", json.dumps(SERPAPI).encode(), "google")
    assert (page.verdict, page.query) == ("ok", "coffee")
    organic = [(one.rank, one.title, one.url) for one in page.results if one.type == "organic"]
    assert organic == [(1, "One", "https://one.example/"), (2, "Two", "https://two.example/")]
    features = {one.type: (one.title, one.url) for one in page.results if one.type != "organic"}
    assert features == {
        "sitelink": ("Sub", "https://one.example/sub"),
        "ad": ("Buy", "https://ad.example/"),
        "featured_snippet": ("What", "https://box.example/"),
        "ai_overview": ("R", "https://ref.example/"),
        "people_also_ask": ("Why coffee?", "https://q.example/"),
        "local_pack": ("Café", "https://cafe.example/"),
        "knowledge": ("Coffee", "https://k.example/"),
        "related": ("tea", "https://www.google.com/search?q=tea"),
    }


@pytest.mark.parametrize(
    ("provider", "overview", "due"),
    [
        (
            "serpapi",
            {"page_token": "KIVu", "serpapi_link": "https://serpapi.com/search.json?x"},
            [("", None)],
        ),
        ("serpapi", {"error": "no overview"}, []),
        ("serpapi", {"references": [{"title": "R", "link": "https://r.example/"}]}, [("", None), ("R", 0)]),
        ("searchapi", {"markdown": "Boil.", "reference_links": []}, [("", None)]),
    ],
)
def test_an_overview_is_shown_also_without_references(
    provider: str, overview: dict[str, Any], due: list[tuple[str, int | None]]
) -> None:
    reply = SERPAPI | {"ai_overview": overview}
    page = read_answer(provider, json.dumps(reply).encode(), "google")
    assert [(one.title, one.sub) for one in page.results if one.type == "ai_overview"] == due


def test_dataforseo_has_places_and_pixels() -> None:
    page = read_answer("dataforseo", json.dumps(DATAFORSEO).encode(), "google")
    assert [(one.type, one.rank, one.position) for one in page.results] == [
        ("ai_overview", None, 1),
        ("organic", 1, 2),
        ("sitelink", None, 2),
        ("people_also_ask", None, 3),
        ("organic", 2, 4),
        ("unknown", None, 5),
        ("related", None, 6),
    ]
    assert page.results[1].pixel == 420.5
    assert page.results[3].url == "https://q.example/"


@pytest.mark.parametrize("provider", READERS)
@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'"text"', b"{}", b'{"error": "x"}', b'{"a":' * 5000, b"\xff\xfe"]
)
def test_what_is_not_an_answer_is_a_verdict(provider: str, body: bytes) -> None:
    page = read_answer(provider, body, "google")
    assert page.verdict == "layout_unknown"
    assert page.results == ()
    assert page.reason


@pytest.mark.parametrize(
    ("provider", "reply", "page", "verdict"),
    [
        (
            "serpapi",
            {"search_metadata": {}, "error": "Google hasn't returned any results for this query."},
            1,
            "no_results",
        ),
        (
            "serpapi",
            {"search_metadata": {}, "search_information": {"organic_results_state": "Fully empty"}},
            1,
            "no_results",
        ),
        ("serpapi", {"search_metadata": {}}, 1, "soft_block"),
        ("serpapi", {"search_metadata": {}}, 3, "no_results"),
        ("serper", {"organic": []}, 1, "soft_block"),
        ("serper", {"organic": []}, 2, "no_results"),
        ("zyte", {"serp": {"organicResults": [], "metadata": {"totalOrganicResults": 0}}}, 1, "no_results"),
        ("zyte", {"serp": {}}, 1, "soft_block"),
        ("dataforseo", {"tasks": [{"status_code": 40102}]}, 1, "no_results"),
        ("dataforseo", {"tasks": [{"status_code": 20000, "result": [{"items": []}]}]}, 2, "soft_block"),
        ("dataforseo", {"tasks": [{"status_code": 20000, "result": None}]}, 1, "layout_unknown"),
    ],
)
def test_empty_answers(provider: str, reply: Any, page: int, verdict: str) -> None:
    assert read_answer(provider, json.dumps(reply).encode(), "google", page).verdict == verdict


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "organic_results",
                        "organic",
                        "serp",
                        "tasks",
                        "result",
                        "items",
                        "type",
                        "title",
                        "link",
                        "url",
                    ),
                    *(
                        "search_metadata",
                        "organicResults",
                        "sitelinks",
                        "local_results",
                        "ads",
                        "status_code",
                        "metadata",
                    ),
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(st.sampled_from(sorted(READERS)), _JSON)
def test_any_json_has_a_verdict(provider: str, reply: Any) -> None:
    page = read_answer(provider, json.dumps(reply).encode(), "google")
    ranks = [one.rank for one in page.results if one.type == "organic" and provider != "dataforseo"]
    assert ranks == list(range(1, len(ranks) + 1))
