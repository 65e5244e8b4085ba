"""Records are mappings, and can be converted to tables, JSON and HTML."""

from __future__ import annotations

import builtins
import copy
from pathlib import Path
from typing import Any

import pydantic
import pytest

import gossamer
from gossamer.errors import ConfigError

QUICK: gossamer.CrawlOptions = {"delay": 0, "per_host": 8}


@pytest.fixture(scope="module")
def pages(shop: str) -> list[gossamer.Page]:
    return sorted(gossamer.crawl(f"{shop}/", **QUICK), key=lambda page: page.url)


def test_pages_of_a_crawl_carry_the_page_view(pages: list[gossamer.Page]) -> None:
    assert [page.css("h1::text").get() for page in pages] == [None, "Tea 1", "Tea 2", "Tea 3"]
    assert [str(page.price(".price")) for page in pages[1:]] == ["1.50", "2.50", "3.50"]
    assert [page.depth for page in pages] == [0, 1, 1, 1]


def test_a_page_is_a_mapping(pages: list[gossamer.Page]) -> None:
    page = pages[1]
    assert page["title"] == page.get("title") == "Tea 1"
    assert dict(page) == page.dict() == {**page}
    assert next(iter(page)) == "url"
    with pytest.raises(KeyError):
        page["missing"]
    with pytest.raises(AttributeError, match="a page has no attribute 'missing'"):
        _ = page.missing  # type: ignore[attr-defined,unused-ignore] # the misuse under test


def test_an_item_is_a_mapping_and_can_be_copied() -> None:
    found = gossamer.Found({"name": "Tea", "_url": "https://a.example/"})
    assert (found.name, found["_url"], found.item) == ("Tea", "https://a.example/", {"name": "Tea"})
    assert dict(copy.copy(found)) == dict(copy.deepcopy(found)) == dict(found)
    assert repr(found) == "Found(name='Tea', _url='https://a.example/')"
    with pytest.raises(AttributeError, match="no field 'nmae': it has name, _url"):
        _ = found.nmae


def test_data_frames(shop: str, pages: list[gossamer.Page]) -> None:
    import pandas
    import polars

    assert list(pandas.DataFrame(pages)["title"]) == ["Teas", "Tea 1", "Tea 2", "Tea 3"]
    crawl = gossamer.crawl(f"{shop}/", **QUICK)
    assert set(pandas.DataFrame(crawl)["title"]) == {"Teas", "Tea 1", "Tea 2", "Tea 3"}
    frame = crawl.to_pandas()
    assert set(frame["title"]) == {"Teas", "Tea 1", "Tea 2", "Tea 3"}
    assert "status" in frame.columns
    assert isinstance(crawl.to_polars(), polars.DataFrame)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name in ("pandas", "polars"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="needs pandas"):
        gossamer.crawl(["https://a.example/"]).to_pandas()
    with pytest.raises(ConfigError, match="needs polars"):
        gossamer.crawl(["https://a.example/"]).to_polars()


def test_pydantic_writes_records_as_objects(pages: list[gossamer.Page]) -> None:
    adapter = pydantic.TypeAdapter(list[gossamer.Page])
    assert adapter.dump_python(pages[:1], mode="json")[0]["title"] == "Teas"
    assert adapter.json_schema(mode="serialization")["items"]["type"] == "object"


def test_fastapi_returns_records(pages: list[gossamer.Page]) -> None:
    fastapi = pytest.importorskip("fastapi")
    client = pytest.importorskip("fastapi.testclient")
    app = fastapi.FastAPI()
    app.get("/plain", response_model=None)(lambda: pages)

    async def typed() -> Any:
        return pages[0]

    app.get("/typed", response_model=gossamer.Page)(typed)
    web = client.TestClient(app)
    assert [page["title"] for page in web.get("/plain").json()] == ["Teas", "Tea 1", "Tea 2", "Tea 3"]
    assert web.get("/typed").json()["title"] == "Teas"
    assert web.get("/openapi.json").status_code == 200


def test_html_for_notebooks_is_escaped(shop: str, tmp_path: Path) -> None:
    assert "&lt;b&gt;" in gossamer.Found({"name": "<b>"})._repr_html_()
    crawl = gossamer.crawl(f"{shop}/", limit=1, **QUICK)
    assert "not run to its end" in crawl._repr_html_()
    list(crawl)
    assert "limited" in crawl._repr_html_()
    result = gossamer.run(f"{shop}/", data=tmp_path, **QUICK)
    assert "finished" in result._repr_html_()
    assert dict(result)["pages"] == result["pages"] == 4
    assert sorted(row["title"] for row in result.rows()) == ["Tea 1", "Tea 2", "Tea 3", "Teas"]
