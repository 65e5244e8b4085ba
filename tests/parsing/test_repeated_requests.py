"""The request keys with `page.request(again=True)` and with `key=`."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.model.page import Page
from gossamer.model.request import Request, pack, unpack
from gossamer.parsing.page_view import PageView

PAGE = Page("https://shop.example/a/", 200, [("content-type", "text/html")], b"<a href=/b>b</a>", 0.0, 0.1, 3)


def keys(request: Request | None = None) -> list[str | None]:
    view = PageView(PAGE, request=request)
    made = [
        view.request("/b", again=True),
        view.request("/b", again=True),
        view.request("/b", again=True, carry={"x": 1, "y": 2}),
        view.request("/b", again=True, use="other"),
        view.request("/c", again=True),
        *view.follow("a", again=True, carry=[1]),
    ]
    return [one.key for one in made]


def test_the_requests_of_a_page_that_is_read_twice_have_the_same_keys() -> None:
    assert keys() == keys()
    assert len(set(keys())) == 6


def test_another_page_gives_other_keys() -> None:
    found = {key for n in range(3) for key in keys(Request(f"https://shop.example/{n}"))}
    assert len(found) == 18
    assert not found & set(keys(Request("https://shop.example/0", key="k")))


def test_the_order_of_other_requests_does_not_matter() -> None:
    view = PageView(PAGE)
    found = [view.request(url, again=True).key for url in ("/x", "/y", "/b")]
    assert found[2] == PageView(PAGE).request("/b", again=True).key


def test_a_stored_request_keeps_its_key_and_an_old_one_has_none() -> None:
    request = Request("https://shop.example/b", key="product 7")
    host, stored = pack(request)
    assert unpack(host, stored) == request
    assert unpack(*pack(Request("https://shop.example/b"))).key is None


@pytest.mark.parametrize(
    "needs", [{"key": ""}, {"key": "@x"}, {"key": 7}, {"key": "x" * 501}, {"key": "k", "again": True}]
)
def test_wrong_keys_are_errors(needs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="key"):
        PageView(PAGE).request("/b", **needs)
