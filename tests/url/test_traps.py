"""A table of crawler traps. Endless spaces are refused by the named rule, and real pages never are."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.url.traps import RULES, growing, trap
from support.repetitions import repetitions

TODAY = date(2026, 3, 15)
GOOD = [
    "https://docs.python.org/3/library/asyncio-task.html",
    "https://www.postgresql.org/docs/16/sql-createtable.html",
    "https://example.com/",
    "https://example.com/a/a/",
    "https://example.com/blog/2024/05/12/",
    "https://example.com/blog/2024/05/12/a-post-about-nothing/",
    "https://example.com/2024/05/",
    "https://example.com/2024/",
    "https://example.com/archive/1898-02-16/ed-1/",
    "https://example.com/news?date=2024-05-12",
    "https://example.com/archive?year=1999&month=12",
    "https://example.com/events/",
    "https://example.com/events/2019/",
    "https://example.com/events/2019/05/12/jazz-night/",
    "https://example.com/events/jazz-night-2031/",
    "https://example.com/calendar/",
    "https://example.com/calendar/2026/03/",
    "https://example.com/calendar/2026/02/",
    "https://example.com/calendar/2026/06/",
    "https://example.com/calendar/2026-03-20/",
    "https://example.com/blog/google-calendar-tips/2024/05/12/",
    "https://shop.example.com/catalog/4012/10/",
    "https://shop.example.com/men/shoes/sneakers/nike-air-max-2045.html?color=red&size=44&page=2",
    "https://shop.example.com/list?filter=a&filter=b&filter=c&filter=d&page=3",
    "https://shop.example.com/search?q=&brand[]=&price[]=&price[]=&price[]=",
    "https://shop.example.com/search?" + "&".join(f"a{i}={i}" for i in range(40)),
    "https://shop.example.com/search?" + "&".join(["f[]="] * 8),
    "https://example.com/login?next=https%3A%2F%2Fexample.com%2Fa%2F",
    "https://example.com/wiki/AC%2FDC",
    "https://shop.example.com/item?sid=9f86d081884c7d659a2feaa0c55ad015",
    "https://shop.example.com/item;jsessionid=1A2B3C4D",
    "https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/consumer/internals/Fetcher.java",
    "https://git.example.com/gossamer/gossamer/tree/main/src/gossamer/main/test",
    "https://repo.maven.apache.org/maven2/org/apache/maven/maven/3.8.1/maven-3.8.1.pom",
    "https://cdn.example.com/00/00/00/01.jpg",
    "https://tiles.example.com/1/1/1/1.png",
    "https://example.com/2020/02/02/02/",
    "https://en.wikipedia.org/wiki/AC/DC",
    "https://web.archive.org/web/20200101000000/http://example.com/a/b/",
    "https://api.example.com/v1/orders/20310512/items",
    "https://example.com/schedule/spring/",
    "http://127.0.0.1:2031/a",
    "http://[2031:05::1]/a",
]
BAD = [
    ("https://example.com/a/a/a/", "repeated-path"),
    ("https://example.com/docs/help/help/help/index.html", "repeated-path"),
    ("https://example.com/a/b/a/b/a/b", "repeated-path"),
    ("https://example.com/x/en/shop/en/shop/en/shop/cart", "repeated-path"),
    ("https://example.com/a/b/c/a/b/c/", "repeated-path"),
    ("https://example.com/1/1/1/1/1/1/1/", "repeated-path"),
    ("https://example.com/a////b", "repeated-path"),
    ("https://example.com/a/b/a/c/b/d/a/c/d/b/", "growing-path"),
    ("https://example.com/" + "/".join(map(str, range(30))), "deep-path"),
    ("https://example.com/?" + "&".join(["q="] * 6), "many-parameters"),
    ("https://example.com/?a=1&q&q&q&q&q&q", "many-parameters"),
    ("https://example.com/?" + "&".join(["f[]="] * 40), "many-parameters"),
    ("https://example.com/a%2F%2F%2f%2Fb", "repeated-path"),
    ("https://example.com/a/%2F%2F%2F/b", "repeated-path"),
    ("https://example.com/x%2Fy%2Fx%2Fy%2Fx%2Fy", "repeated-path"),
    ("https://example.com/?u=%2F%2F%2F%2F", "repeated-path"),
    ("https://example.com/?u=%252525252F", "repeated-path"),
    ("https://example.com/?page=2&page=2&page=2", "many-parameters"),
    ("https://example.com/a;jsessionid=1?sid=2", "session-ids"),
    ("https://example.com/a?PHPSESSID=1&b=2&phpsessid=3", "session-ids"),
    ("https://example.com/calendar/2031/05/", "calendar"),
    ("https://example.com/calendar/2024/05/", "calendar"),
    ("https://example.com/calendar/2024/", "calendar"),
    ("https://example.com/cal/2024/05/12", "calendar"),
    ("https://example.com/school-calendar/2024/nov/", "calendar"),
    ("https://example.com/calendar.php?month=5&year=2024", "calendar"),
    ("https://example.com/index.php?cal_year=1&calendar=1&date=2024-05", "calendar"),
    ("https://example.com/events/2024-05-12/", "calendar"),
    ("https://example.com/events/2024-05/", "calendar"),
    ("https://example.com/events/list/?tribe-bar-date=2024-05-12", "calendar"),
    ("https://example.com/events?date=2024-05-01", "calendar"),
    ("https://example.com/events/2077/", "calendar"),
    ("https://example.com/2031/05/12/", "calendar"),
    ("https://example.com/archive?year=2031&month=5", "calendar"),
    ("https://example.com/?date=2031-05-12", "calendar"),
    ("https://example.com/availability?start=20240512", "calendar"),
]


@pytest.mark.parametrize("url", GOOD)
def test_real_pages_are_no_traps(url: str) -> None:
    assert trap(url, TODAY) is None


@pytest.mark.parametrize(("url", "rule"), BAD)
def test_traps_are_named(url: str, rule: str) -> None:
    assert trap(url, TODAY) == rule
    assert rule in RULES


@pytest.mark.parametrize(
    "form", ["/calendar/{0:%Y}/{0:%m}/", "/calendar/{0:%Y-%m-%d}/", "/cal?date={0:%Y-%m-%d}", "/cal/{0:%Y}/"]
)
def test_an_endless_calendar_costs_few_requests(form: str) -> None:
    today = TODAY.toordinal()
    days = {*range(600_000, 800_000, 200_000 // repetitions(200_000, 20)), *range(today - 800, today + 800)}
    urls = {"https://example.com" + form.format(date.fromordinal(day)) for day in days}
    assert 1 <= sum(trap(url, TODAY) is None for url in urls) <= 20


def test_today_is_the_clocks_when_it_is_not_given() -> None:
    assert trap(f"https://example.com/calendar/{date.today():%Y/%m}/") is None
    assert trap("https://example.com/calendar/1999/01/") == "calendar"


@given(st.text(alphabet="/?&=;.-(:abc0129S#%", max_size=200))
def test_any_url_is_judged(rest: str) -> None:
    assert trap(f"https://example.com/{rest}", TODAY) in {None, *RULES}


def test_growing_paths_show_in_the_links_of_a_page() -> None:
    hrefs = [
        "a/",
        "b/index.html",
        "c/d/",
        "/a/",
        "http://example.com/a/",
        "e.html",
        "?x=/",
        "#/",
        "../a/",
        "./a/",
        "a/",
        "m:/",
    ]
    assert growing("http://example.com/a/b/", hrefs) == {"a/", "b/index.html", "c/d/"}
    assert growing("http://example.com/x/b/", hrefs) == set()
    assert growing("http://example.com/", hrefs) == set()
    assert growing("http://example.com/1/2/", ["1/", "2/"]) == set()


def test_growing_leaves_little_of_a_site_that_answers_anywhere() -> None:
    written = ("a/", "b/", "x/y/", "index/help.html")
    seen = {"http://example.com/"}
    todo = ["http://example.com/"]
    while todo and len(seen) < 500:
        page = todo.pop()
        refused = growing(page, written)
        for href in written:
            url = page[: page.rindex("/") + 1] + href
            if href not in refused and url not in seen and not trap(url, TODAY):
                seen.add(url)
                todo.append(url)
    assert len(seen) < 60


@given(st.text(), st.lists(st.text()))
def test_growing_takes_any_text(base: str, hrefs: list[str]) -> None:
    assert growing(base, hrefs) <= set(hrefs)
