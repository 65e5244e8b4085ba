"""Writes a first site file for a page, for `gossamer new`: hosts, seeds and an item class with the fields
found on the page. Also saves the page and its expected items."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec

from gossamer import url as urls
from gossamer.errors import ConfigError, UsageError
from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.sites.check import items_of, items_text, saved_folder
from gossamer.sites.loading import load

TEMPLATE = '''"""Site {name}, as `gossamer new` found it: try it with `gossamer check {name}.py`, run it with `gossamer crawl {name}.py`."""

from gossamer import Item, Site

site = Site("{name}", hosts=[{own}], seeds=[{seed}])


class Found(Item, key="url"):
    url: str
{fields}

@site.page()
def page(page):
    yield Found(url=page.url, {values})
    yield from page.follow("a")
'''
GUESSES = (
    ("title", "str | None", "h1::text"),
    ("title", "str | None", "title::text"),
    ("description", "str | None", "meta[name=description]::attr(content)"),
    ("price", "str | None", "[itemprop=price]::attr(content)"),
    ("price", "str | None", ".price::text"),
    ("image", "str | None", "meta[property='og:image']::attr(content)"),
)


def new(name: str, url: str, page: Page, where: Path | str = ".") -> list[Path]:
    """Writes `name.py`, the saved page and its expected items, and returns their paths. Raises UsageError for
    an invalid name, and ConfigError if one of the files exists already."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name):
        raise UsageError(f"{name!r}: a site's name has letters, digits and '_', a letter first")
    site = Path(where) / f"{name}.py"
    pages, expected = saved_folder(site) / "pages", saved_folder(site) / "expected"
    files = [site, pages / "first.html", pages / "first.json", expected / "first.json"]
    for file in files:
        if file.exists():
            raise ConfigError(f"{file} is there already: remove it, or choose another name")
    for parent in (pages, expected):
        parent.mkdir(parents=True, exist_ok=True)
    site.write_text(skeleton(name, url, page))
    files[1].write_bytes(page.body)
    meta = {"url": page.url, "status": page.status, "content_type": page.content_type or "text/html"}
    files[2].write_bytes(msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n")
    (loaded,) = load(site)
    items, problem = items_of(loaded, page)
    if problem:
        raise ConfigError(f"{site}: {problem}")
    files[3].write_text(items_text(items) + "\n")
    return files


def skeleton(name: str, url: str, page: Page) -> str:
    """Returns the text of a site file with the fields that the page contains."""
    view, found = PageView(page), {}
    for field, kind, query in GUESSES:
        if field not in found and (view.css(query).get("") or "").strip():
            found[field] = (kind, query)
    found = found or {"title": ("str | None", "title::text")}
    fields = "".join(f"    {field}: {kind}\n" for field, (kind, _) in found.items())
    values = ", ".join(f'{field}=page.css("{query}").get()' for field, (_, query) in found.items())
    own, seed = (json.dumps(one) for one in (urls.host(page.url), urls.parse(url) or url))
    # Text of the page and its URL appears in the file only as quoted strings, because its author may have
    # written code there.
    return TEMPLATE.format(name=name, own=own, seed=seed, fields=fields, values=values)
