"""Creates sites from a table that maps hosts to selectors. The table is the variable `selectors` in a file
without page functions.

seeds = ["https://shop.example/new"]
selectors = {
    "shop.example": {"name": "h1", "price": ".price", "photos": ["img.photo::attr(src)"], "follow": "a.product"},
    "*.books.example": {"name": "//h1", "price": "#price"},
}
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from gossamer.errors import ConfigError
from gossamer.model.item import Item
from gossamer.model.site import Site
from gossamer.parsing import html
from gossamer.parsing.selectors import Selector

FOLLOW, PAGES = "follow", "pages"
"""The two entries of a host's selector table that define no field. The entry `follow` contains the selector
for the links that the crawl follows. The entry `pages` contains a URL pattern. Fields are read only from
pages whose URLs match this pattern. All entries except `follow` and `pages` define fields."""
URL_ATTRIBUTES = ("::attr(href)", "::attr(src)")


def table_sites(path: Path, table: Any, seeds: Any) -> list[Site]:
    """Returns one site for each host in the table. All sites share one item class, which has the fields of
    all hosts. A seed belongs to the site of its host. Raises ConfigError for an invalid table."""
    if not isinstance(table, Mapping) or not table:
        raise ConfigError(
            f"{path}: selectors is not a table: write selectors = {{'shop.example': {{'name': 'h1'}}}}"
        )
    for host, fields in table.items():
        _check_host(f"{path}: selectors", host, fields)
    cls = _item_class(table)
    sites = [_site(host, fields, cls) for host, fields in table.items()]
    for seed in [seeds] if isinstance(seeds, str) else seeds or ():
        _add_seed(path, sites, seed)
    return sites


def _item_class(table: Mapping[str, Mapping[str, Any]]) -> type[Item]:
    """Returns the item class. The key of an item is the URL of its page. A field that a page lacks is None or
    empty."""
    hints: dict[str, Any] = {"url": str}
    values: dict[str, Any] = {}
    for fields in table.values():
        for name, query in fields.items():
            if name in (FOLLOW, PAGES):
                continue
            many = isinstance(query, list | tuple)
            hints[name] = list[str] if many else Decimal | None if _is_price(name, query) else str | None
            values[name] = [] if many else None
    return types.new_class(
        "Item", (Item,), {"key": "url"}, lambda body: body.update(values, __annotations__=hints)
    )


def _site(host: str, fields: Mapping[str, Any], cls: type[Item]) -> Site:
    site = Site(host.removeprefix("*.").replace(":", "-"), hosts=[host])
    follow = fields.get(FOLLOW)
    readers = {name: _reader(name, query) for name, query in fields.items() if name not in (FOLLOW, PAGES)}

    def item(page: Any) -> Iterator[Any]:
        yield from page.follow(follow) if follow else ()
        values = {name: read(page) for name, read in readers.items()}
        if any(value not in (None, []) for value in values.values()):
            yield cls(url=page.url, **values)

    def links(page: Any) -> Iterator[Any]:
        yield from page.follow(follow) if follow else ()

    site.page(fields.get(PAGES))(item)
    if PAGES in fields:
        site.page()(links)
    return site


def _check_host(where: str, host: Any, fields: Any) -> None:
    if not isinstance(host, str):
        raise ConfigError(f"{where}: {host!r} is not a host")
    if not isinstance(fields, Mapping) or not fields.keys() - {FOLLOW, PAGES}:
        raise ConfigError(f"{where}: {host} needs a table of fields, such as {{'name': 'h1'}}")
    for name, query in fields.items():
        _check(f"{where}: {host}: {name}", name, query)


def _check(where: str, name: Any, query: Any) -> None:
    """Raises ConfigError for an entry that is not a selector."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise ConfigError(f"{where}: the name of a field has letters, digits and '_'")
    one = query[0] if isinstance(query, list | tuple) and len(query) == 1 else query
    if not isinstance(one, str) or (name in (FOLLOW, PAGES) and one is not query):
        raise ConfigError(
            f"{where}: {query!r} is not a selector: write 'h1' for the first text, ['li'] for all"
        )
    if name == PAGES:
        return
    try:
        _select(Selector(html.parse(b"", None, "http://localhost/").tree), one)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def _reader(name: str, query: Any) -> Callable[[Any], Any]:
    """Returns a function that reads a field from a page. If the selector is in a list, the returned function
    reads all texts. If the field is called `price` or `..._price`, the returned function reads a price. For
    all other fields, the returned function reads the first text."""
    if isinstance(query, list | tuple):
        return lambda page: _texts(page, query[0])
    if _is_price(name, query):
        return lambda page: page.price(query)
    return lambda page: next(iter(_texts(page, query)), None)


def _is_price(name: str, query: str) -> bool:
    return (name == "price" or name.endswith("_price")) and not _is_xpath(query) and "::" not in query


def _texts(page: Any, query: str) -> list[str]:
    found = []
    for one in _select(page, query):
        text = " ".join(one.text.split())
        if query.endswith(URL_ATTRIBUTES):
            try:
                text = page.urljoin(text)
            except ValueError:
                continue
        if text:
            found.append(text)
    return found


def _select(at: Any, query: str) -> Any:
    return at.xpath(query) if _is_xpath(query) else at.css(query)


def _is_xpath(query: str) -> bool:
    return query.startswith(("/", "(", "./"))


def _add_seed(path: Path, sites: list[Site], seed: Any) -> None:
    from gossamer import url as urls

    host = urls.host(seed) if isinstance(seed, str) else ""
    best = max(sites, key=lambda site: site.claims(host))
    if not host or not best.claims(host):
        raise ConfigError(f"{path}: seeds: {seed!r} belongs to no host of selectors")
    best.seeds = (*best.seeds, seed)
