# ruff: noqa: F811 - pytest takes fixtures by their names
"""A collector of a site: functions and objects, their errors and limits, and whole crawls with them."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer
from cli.conftest import room, web  # noqa: F401 - fixtures
from gossamer import Request, Response, Site
from gossamer.collectors.site_collector import SiteCollector
from gossamer.errors import ConfigError
from gossamer.model.page import Failure, Page

URL = "https://shop.example/1"


def collect(call: Any, total: float = 5.0, most: int = 1000) -> Page | Failure:
    site = Site("shop", hosts=["shop.example"], collector=call)
    assert site.collector is not None

    async def once() -> Page | Failure:
        own = SiteCollector("shop", site.collector, total=total, most=most)  # type: ignore[arg-type]
        try:
            return await own.collect(Request(URL), {"cookie": "a=1"})
        finally:
            await own.close()

    return asyncio.run(once())


class Canned:
    closed = False

    async def collect(self, request: Request) -> Response:
        return Response(f"<p>{request.url} {request.headers}", headers={"X-From": "memory"})

    async def close(self) -> None:
        Canned.closed = True


async def shout(request: Request) -> str:
    return "<h1>Tea"


@pytest.mark.parametrize(
    ("call", "status", "kind", "body"),
    [
        (shout, 200, "text/html; charset=utf-8", b"<h1>Tea"),
        (lambda _: "<h1>Täa", 200, "text/html; charset=utf-8", "<h1>Täa".encode()),
        (lambda _: "just words", 200, "text/html; charset=utf-8", b"just words"),
        (lambda _: '{"a": 1}', 200, "application/json; charset=utf-8", b'{"a": 1}'),
        (lambda _: b"%PDF-1.7", 200, "application/pdf", b"%PDF-1.7"),
        (lambda _: Response(b"", 404, [("Content-Type", "text/plain")]), 404, "text/plain", b""),
    ],
)
def test_what_it_returns_is_a_page(call: Any, status: int, kind: str, body: bytes) -> None:
    page = collect(call)
    assert isinstance(page, Page), page
    assert (page.status, page.content_type, page.body) == (status, kind, body)
    assert (page.url, page.collector, page.rung) == (URL, "site", "plain")


def test_an_object_has_the_headers_and_is_closed() -> None:
    page = collect(Canned())
    assert isinstance(page, Page)
    assert page.body == b"<p>https://shop.example/1 {'cookie': 'a=1'}"
    assert page.header("x-from") == "memory"
    assert Canned.closed


def raises(error: Exception) -> Any:
    def call(request: Request) -> str:
        raise error

    return call


@pytest.mark.parametrize(
    ("call", "reason", "detail", "final"),
    [
        (raises(ValueError("no such note")), "collector", "site shop: ValueError: no such note", False),
        (raises(StopIteration()), "collector", "StopIteration", False),
        (raises(TimeoutError()), "timeout", "longer than 0.2 s", False),
        (lambda _: time.sleep(20), "timeout", "longer than 0.2 s", False),
        (lambda _: None, "collector", "it returned NoneType: return gossamer.Response, bytes or str", False),
        (lambda _: "x" * 1001, "too-large", "1001 bytes of at most 1000", True),
        (lambda _: Response(5), "collector", "TypeError", False),  # type: ignore[arg-type]
    ],
)
def test_what_fails_is_a_failure(call: Any, reason: str, detail: str, final: bool) -> None:
    failure = collect(call, total=0.2)
    assert isinstance(failure, Failure), failure
    assert (failure.reason, failure.final) == (reason, final)
    assert detail in failure.detail


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"collector": 5}, "a function of the request"),
        ({"collector": Canned}, "a function of the request"),
        ({"collector": lambda: ""}, "called with only the request"),
        ({"collector": shout, "ladder": "browser"}, "leave out ladder="),
    ],
)
def test_a_wrong_collector_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Site("shop", hosts=["shop.example"], **given)


SITE = """
from gossamer import Response, Site

tries = []


class Shop:
    def collect(self, request):
        number = int(request.url.rpartition("/")[2])
        tries.append(number)
        if number == 3 and tries.count(3) == 1:
            raise OSError("the first try of 3")
        return Response(f"<h1>{number}</h1>", status=200 if number < 6 else 404)


site = Site("shop", seeds=["http://shop.invalid/1"], robots=False, collector=Shop(), retries=["10ms"], pace="10ms")


@site.page()
def page(page):
    number = int(page.css("h1::text").get())
    yield {"number": number}
    yield page.request(f"/{number + 1}")
"""


@pytest.mark.parametrize("more", [[], ["--processes", "2"]], ids=["one process", "two processes"])
def test_a_crawl_of_a_site_without_a_server(room: Path, web: str, more: list[str]) -> None:
    (room / "shop.py").write_text(SITE)
    code, out, err = gossamer(room, "crawl", "shop.py", "-o", "-", *more)
    assert code == 0, err
    assert sorted(json.loads(line)["number"] for line in out.splitlines()) == [1, 2, 3, 4, 5]
    code, out, err = gossamer(room, "attempts", "--json")
    entries = [json.loads(line) for line in out.splitlines()]
    assert {entry["collector"] for entry in entries if "robots" not in entry["url"]} == {"site"}, out
    assert [entry["error"] for entry in entries if entry["url"].endswith("/3")].count("collector") == 1, out


def test_try_and_the_cache_use_it(room: Path, web: str) -> None:
    (room / "shop.py").write_text(SITE)
    code, out, err = gossamer(room, "try", "--site", "shop.py", "http://shop.invalid/4")
    assert code == 0, err
    assert "4" in out
    for _ in range(2):
        code, out, err = gossamer(
            room, "crawl", "shop.py", "--limit", "2", "-o", "-", "--cache", "kept", "--fresh"
        )
        assert code in (0, 12), err
    assert list((room / "kept").rglob("*"))
