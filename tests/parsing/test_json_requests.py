"""Requests with a JSON body: `page.request(json=...)`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView

VIEW = PageView(Page("https://shop.example/a/", 200, [("content-type", "text/html")], b"<p>", 0.0, 0.1, 3))


@pytest.mark.parametrize("value", [{"q": "Tee ä", "page": 2}, [1, 2], "text", 0, False, {}])
def test_a_value_is_sent_as_json(value: Any) -> None:
    request = VIEW.request("search", json=value, use="results", headers={"X-Token": "t"})
    assert (request.url, request.method, request.use) == ("https://shop.example/a/search", "POST", "results")
    assert request.headers == {"Content-Type": "application/json", "X-Token": "t"}
    assert request.body is not None
    assert json.loads(request.body) == value


def test_method_and_content_type_may_be_others() -> None:
    headers = {"Content-Type": "application/vnd.api+json"}
    request = VIEW.request("/x", json={"a": 1}, method="PUT", headers=headers)
    assert (request.method, request.headers) == ("PUT", headers)
    assert VIEW.request("/x").method == "GET"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"json": {1, 2}}, "json="),
        ({"json": float("nan")}, "JSON"),
        ({"json": {}, "body": "a=1"}, "not both"),
    ],
)
def test_what_cannot_be_sent_is_an_error(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        VIEW.request("/x", **given)
