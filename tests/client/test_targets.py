"""`crawl` accepts URLs, lists, generators, requests, and sites that are defined in a script or a notebook."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

import gossamer
from gossamer.errors import ConfigError, CrawlFailed, NothingFound, UsageError
from support import fork_server

QUICK: gossamer.CrawlOptions = {"delay": 0, "per_host": 8}


@dataclass
class Cup:
    name: str
    price: float


class Pot(msgspec.Struct):
    name: str
    price: float


class Can(pydantic.BaseModel):
    name: str
    price: float


def tea_site(shop: str, cls: Any) -> gossamer.Site:
    """Create a site whose page function yields items of the given class."""
    site = gossamer.Site("teas", seeds=[f"{shop}/"])

    @site.page("/$")
    def listing(page: Any) -> Any:
        yield from page.follow("a.tea")

    @site.page("/tea/")
    def tea(page: Any) -> Any:
        yield cls(name=page.css("h1::text").get(), price=float(page.price(".price")))

    return site


@pytest.mark.parametrize("cls", [Cup, Pot, Can, dict])
def test_items_come_back_as_objects_of_their_class(shop: str, cls: type) -> None:
    found = list(gossamer.crawl(tea_site(shop, cls), **QUICK))
    assert sorted(one.name for one in found) == ["Tea 1", "Tea 2", "Tea 3"]
    first = min(found, key=lambda one: one.price)
    assert first.item == cls(name="Tea 1", price=1.5)
    assert type(first.item) is cls
    assert (first["_url"], first._site) == (f"{shop}/tea/1", "teas")


def test_a_site_can_change_between_two_crawls(shop: str) -> None:
    site = gossamer.Site("teas", seeds=[f"{shop}/tea/1"])
    with pytest.raises(TypeError, match="did you mean pace"):
        gossamer.Site("teas", pase="/")  # type: ignore[call-arg] # the misuse under test

    @site.page("/tea/1")
    def first(page: Any) -> Any:
        yield {"name": page.title}

    assert [one.name for one in gossamer.crawl(site, **QUICK)] == ["Tea 1"]

    @site.page("/tea/2")
    def second(page: Any) -> Any:
        yield {"other": page.title}

    assert [one.name for one in gossamer.crawl(site, **QUICK)] == ["Tea 1"]


def test_lists_generators_and_requests(shop: str) -> None:
    urls = [f"{shop}/tea/{n}" for n in (1, 2)]
    given: list[Any] = [urls, tuple(urls), (url for url in urls), [gossamer.Request(url) for url in urls]]
    given.append([{"url": url, "id": "7"} for url in urls])
    for target in given:
        assert sorted(page.title for page in gossamer.crawl(target, depth=0, **QUICK)) == ["Tea 1", "Tea 2"]


def test_seeds_with_a_body(shop: str) -> None:
    """A POST is a seed of a crawl and of a site, as an object and as a mapping."""
    seeds: list[Any] = [
        gossamer.Request(f"{shop}/find", json={"q": "é"}),
        {"url": f"{shop}/find", "json": [1], "headers": {"Content-Type": "text/json"}},
        {"url": f"{shop}/find", "method": "POST", "body": "q=1"},
    ]
    titles = {page.title for page in gossamer.crawl(seeds, depth=0, **QUICK)}
    assert titles == {'{"q": "é"} application/json', "[1] text/json", "q=1 application/x-www-form-urlencoded"}
    site = gossamer.Site("found", seeds=[gossamer.Request(f"{shop}/find", json={"q": 2})])
    site.page()(lambda page: {"title": page.title})
    assert [one.title for one in gossamer.crawl(site, **QUICK)] == ['{"q": 2} application/json']
    with pytest.raises(ValueError, match="body= or json=, not both"):
        gossamer.Request(f"{shop}/find", json={}, body="")


@pytest.mark.parametrize(
    ("seeds", "says"),
    [
        (
            ["https://user:hunter2@a.example/", "a.example"],
            "site s: seeds: 'a.example' is not an http(s) URL",
        ),
        ([3], "site s: seeds: 3 is not a URL or a Request"),
        ([gossamer.Request("nope")], "site s: seeds: 'nope' is not an http(s) URL"),
    ],
)
def test_a_wrong_seed_of_a_site_is_named_alone(seeds: Any, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        gossamer.Site("s", seeds=seeds)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ([], "empty"),
        ([3], "3 is not a URL"),
        (3, "3 is not a target"),
        (["nope"], r"^list\[0\]: 'nope' is not an http\(s\) URL$"),
        (["nope", "no"], r"^none of the 2 elements is a request; list\[0\]: 'nope' is not an http\(s\) URL$"),
    ],
)
def test_what_is_no_target(target: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        list(gossamer.crawl(target))


def test_run_with_a_site_is_resumed_and_its_rows_are_tables(shop: str, tmp_path: Path) -> None:
    site, data = tea_site(shop, dict), tmp_path / "data"
    first = gossamer.run(site, data=data, limit=2, **QUICK)
    assert first.state == "limited"
    result = gossamer.run(site, data=data, output=tmp_path / "teas.jsonl", **QUICK)
    assert (result.state, result.items) == ("finished", 3)
    assert len((tmp_path / "teas.jsonl").read_text().splitlines()) == 3
    assert sorted(result.to_pandas()["name"]) == ["Tea 1", "Tea 2", "Tea 3"]
    assert sorted(result.to_polars()["price"]) == [1.5, 2.5, 3.5]


def test_processes_need_site_files(shop: str) -> None:
    with pytest.raises(UsageError, match="processes= needs site files"):
        list(gossamer.crawl(tea_site(shop, dict), processes=2))


def test_a_crawl_that_comes_to_nothing_raises(shop: str) -> None:
    with pytest.raises(NothingFound, match=r"robots\.txt does not allow the URL") as failed:
        list(gossamer.crawl(f"{shop}/private", **QUICK))
    assert failed.value.exit_code == 5
    assert failed.value.summary is not None


SCRIPT = """
import gossamer
site = gossamer.Site("script", seeds=["{shop}/tea/3"])

@site.page("/tea/")
def tea(page):
    yield {{"name": page.title}}

if __name__ == "__main__":
    print([row["name"] for row in gossamer.crawl(site, delay=0)])
"""


def test_a_site_of_a_script(shop: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT.format(shop=shop))
    done = fork_server.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("['Tea 3']\n", "")


def test_an_address_without_a_scheme_falls_back_to_http(shop: str) -> None:
    address = shop.removeprefix("http://")
    assert [page.url for page in gossamer.crawl(f"{address}/tea/1", depth=0, **QUICK)] == [f"{shop}/tea/1"]
    assert gossamer.fetch(f"{address}/tea/2").title == "Tea 2"
    with pytest.raises(CrawlFailed, match="no page was received"):
        list(gossamer.crawl("127.0.0.1:9/", retries="", **QUICK))
