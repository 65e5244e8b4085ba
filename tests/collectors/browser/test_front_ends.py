"""Small shops that were built with React Router, Vue Router, Angular and SvelteKit, each with routes in the path and
with routes in the fragment. Each page, item and link that a crawl finds is compared with the data of the shop."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gossamer.cli.commands import run

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-servers"
BUILT = next(iter(sorted(CACHE.glob("front-ends-*"), reverse=True)), CACHE)
FRAMEWORKS, ROUTINGS = ("react", "vue", "angular", "svelte"), ("history", "hash")
PRODUCTS, PER_PAGE = (3, 1), 2
"""The number of products of each category: the first one has two pages."""


def shop_data() -> dict[str, dict[str, Any]]:
    """Returns the data of a shop, keyed by the name that a page asks for."""
    skus = {
        f"kind-{kind}": [f"kind-{kind}-{n}" for n in range(number)] for kind, number in enumerate(PRODUCTS)
    }
    slugs = list(skus)
    every = [sku for slug in slugs for sku in skus[slug]]
    found: dict[str, dict[str, Any]] = {
        "home": {
            "name": "The shop",
            "categories": [{"slug": slug, "name": f"Category {slug}"} for slug in slugs],
        }
    }
    for slug in slugs:
        for page, first in enumerate(range(0, len(skus[slug]), PER_PAGE), 1):
            some = skus[slug][first : first + PER_PAGE]
            found[f"c-{slug}-{page}"] = {
                "name": f"Category {slug}, page {page}",
                "products": [{"sku": sku, "name": f"Product {sku}"} for sku in some],
                "next": page + 1 if first + PER_PAGE < len(skus[slug]) else None,
            }
        for n, sku in enumerate(skus[slug]):
            found[f"p-{sku}"] = {
                "name": f"Product {sku}",
                "price": f"{10 + n}.{len(sku) % 10}9 €",
                "sku": sku,
                "description": f"All that is to say of {sku}. " * 12,
                "related": every[(every.index(sku) + 7) % len(every)],
                "category": slug,
            }
    return found


DATA = shop_data()


class Shop(http.server.SimpleHTTPRequestHandler):
    """Serves the built shops. A path without a file is a route, so the answer is the page of its shop."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *words: Any) -> None:
        super().__init__(*words, directory=str(BUILT))

    def do_GET(self) -> None:
        shop, _, rest = self.path.partition("?")[0].strip("/").partition("/")
        if rest.startswith("data/"):
            body = json.dumps(DATA[rest.removeprefix("data/").removesuffix(".json")]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        if shop.endswith("-history") and not (BUILT / shop / rest).is_file():
            self.path = f"/{shop}/index.html"
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


SITES = """
from gossamer import Site

for name, seed, fragments in {seeds!r}:
    site = globals()[name] = Site(
        name, seeds=[seed], ladder=["plain", "browser"], fragments=fragments, browser={browser!r}
    )

    @site.page()
    def any_page(page):
        yield {{
            "url": page.url,
            "title": page.css("title::text").get(),
            "name": page.css("h1::text").get(),
            "links": sorted(set(page.urljoin(href) for href in page.css("a::attr(href)").getall())),
            **{{kind: page.css("p." + kind + "::text").get() for kind in ("price", "sku", "description")}},
        }}
        yield from page.follow("a")
"""
WORDS = [
    *("--name", "shops", "--delay", "0.01", "--per-host", "2", "--retries", "none"),
    *("--allow-private", "127.0.0.0/8", "-s", "browser_pages=2", "-s", "timeout=90", "-O", "items.jsonl"),
]


class Crawled:
    """The items of a crawl of all shops, each on a host of its own. `tops`: the URL of each shop."""

    def __init__(self, tops: dict[str, str]) -> None:
        self.tops = tops
        self._items: dict[str, list[dict[str, Any]]] = {}

    def items(self, browser: str, folder: Path) -> list[dict[str, Any]]:
        """Return the items of all shops. The first call with a browser crawls the shops in `folder`."""
        if browser not in self._items:
            seeds = [
                (shop, top, "routes" if shop.endswith("-hash") else "auto") for shop, top in self.tops.items()
            ]
            (folder / "shops.py").write_text(SITES.format(seeds=seeds, browser=browser))
            assert run(["crawl", "shops.py", *WORDS]) == 0
            lines = (folder / "items.jsonl").read_text().splitlines()
            self._items[browser] = [json.loads(line) for line in lines]
        return self._items[browser]


@pytest.fixture(scope="module")
def crawled() -> Iterator[Crawled]:
    """Serve each shop at an address of its own."""
    if not (BUILT / "ready").exists():
        if os.environ.get("CI") == "true":
            pytest.fail("the shops are missing: ./test builds them")
        pytest.skip("the shops are missing: ./test builds them")
    with contextlib.ExitStack() as servers:
        tops = {}
        for n, (framework, routing) in enumerate(product(FRAMEWORKS, ROUTINGS), 1):
            server = http.server.ThreadingHTTPServer((f"127.0.21.{n}", 0), Shop)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers.callback(server.server_close)
            servers.callback(server.shutdown)
            shop = f"{framework}-{routing}"
            tops[shop] = f"http://127.0.21.{n}:{server.server_port}/{shop}/"
        yield Crawled(tops)


def expected(top: str, before: str) -> dict[str, dict[str, Any]]:
    """Returns the items of the shop at `top` by URL, computed from its data. `before` precedes each route, except
    the empty one, which is the document itself."""

    def url(route: str) -> str:
        return top + before + route if route else top

    def item(name: str, links: list[str], **more: str) -> dict[str, Any]:
        fields = {kind: more.get(kind) for kind in ("price", "sku", "description")}
        return {"title": name, "name": name, "links": sorted({url(link) for link in links}), **fields}

    found = {"about": item("About us", [""])}
    for name, data in DATA.items():
        kind, _, rest = name.partition("-")
        if kind == "home":
            found[""] = item(data["name"], ["about", *(f"c/{one['slug']}" for one in data["categories"])])
        elif kind == "c":
            slug, _, page = rest.rpartition("-")
            links = ["", *(f"p/{one['sku']}" for one in data["products"])]
            links += [f"c/{slug}?page={data['next']}"] if data["next"] else []
            found[f"c/{slug}" + (f"?page={page}" if page != "1" else "")] = item(data["name"], links)
        else:
            links = [f"p/{data['related']}", f"c/{data['category']}"]
            found[f"p/{rest}"] = item(
                data["name"], links, **{k: data[k].strip() for k in ("price", "sku", "description")}
            )
    return {url(route): one for route, one in found.items()}


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_page_item_and_link_is_found(
    framework: str,
    routing: str,
    browser: str,
    crawled: Crawled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    top = crawled.tops[f"{framework}-{routing}"]
    found = {}
    for one in crawled.items(browser, tmp_path):
        if one["url"].startswith(top):
            item = {key: one[key] for key in ("title", "name", "links", "price", "sku")}
            found[one["url"]] = item | {"description": one["description"] and one["description"].strip()}
    assert found == expected(top, "#/" if routing == "hash" else "")
