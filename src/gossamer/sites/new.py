"""Writes a first site file for a page, for `gossamer new`. The file contains the hosts, the seeds, a typed
item with the fields found on the page and, for a listing, the links to detail pages. Also saves the pages and
their expected items."""

from __future__ import annotations

import json
import keyword
import re
from pathlib import Path
from typing import Final

import msgspec

from gossamer import url as urls
from gossamer.errors import ConfigError, UsageError
from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.sites.check import Meta, items_of, items_text, saved_folder
from gossamer.sites.loading import load
from gossamer.sites.page_survey import TITLE, Field, PageSurvey, column_names, survey

HEAD: Final = '''"""Site {name}, as `gossamer new` proposes it: test it with `gossamer check {name}.py`, run it with
`gossamer crawl {name}.py -o {name}.jsonl`."""

{imports}from gossamer import Item, Site

site = Site("{name}", hosts=[{host}], seeds=[{seed}])


class {item}(Item{key}):
{fields}

'''
NAMES: Final = {"product": "Product", "article": "Article", "table": "Record", "page": "Found"}
"""The name of the item class for each kind of page."""


def new(
    name: str,
    url: str,
    page: Page,
    where: Path | str = ".",
    detail: Page | None = None,
    found: PageSurvey | None = None,
) -> list[Path]:
    """Writes `name.py`, the saved pages and their expected items, and returns their paths. Raises UsageError
    for an invalid name, and ConfigError if one of the files exists already.

    `detail`: one of the detail pages to which a listing links. `found`: the survey of `page`, or None if the
    page has not been surveyed yet.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name):
        raise UsageError(f"{name!r}: a site's name has letters, digits and '_', a letter first")
    found = found or survey(PageView(page))
    detail = detail if found.details else None
    saved = {"first": page} | ({"detail": detail} if detail is not None else {})
    site = Path(where) / f"{name}.py"
    pages, expected = saved_folder(site) / "pages", saved_folder(site) / "expected"
    files = {one: (pages / f"{one}.html", pages / f"{one}.json", expected / f"{one}.json") for one in saved}
    for file in (site, *(file for several in files.values() for file in several)):
        if file.exists():
            raise ConfigError(f"{file} is there already: remove it, or choose another name")
    for parent in (pages, expected):
        parent.mkdir(parents=True, exist_ok=True)
    own = survey(PageView(detail)) if detail is not None else None
    site.write_text(skeleton(name, url, page, found, own))
    (loaded,) = load(site)
    for one, each in saved.items():
        use = function_of(own) if one == "detail" and found.details and not found.details.pattern else None
        meta = Meta(each.url, each.status, each.content_type or "text/html", use=use)
        items, problem = items_of(loaded, each, meta)
        if problem:
            raise ConfigError(f"{site}: {problem}")
        html, about, wanted = files[one]
        html.write_bytes(each.body)
        plain = {"url": meta.url, "status": meta.status, "content_type": meta.content_type}
        plain |= {"use": use} if use is not None else {}
        about.write_bytes(msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n")
        wanted.write_text(items_text(items) + "\n")
    return [site, *(file for several in files.values() for file in several)]


def skeleton(
    name: str, url: str, page: Page, found: PageSurvey | None = None, detail: PageSurvey | None = None
) -> str:
    """Returns the text of a site file. `found`: the survey of the page. `detail`: the survey of a detail page
    to which a listing links."""
    found = found or survey(PageView(page))
    item = item_survey(found, detail)
    table = found.kind == "table" and PageView(page).tables[found.table]
    fields = [Field(one, "str | None", "") for one in column_names(table.head)] if table else item.fields
    types = "".join(f"    {one.name}: {one.type}\n" for one in fields)
    # The page's text and URL appear in the file only as quoted strings, because the page's author may have
    # written code in them.
    head = HEAD.format(
        name=name,
        host=json.dumps(urls.host(page.url)),
        seed=json.dumps(urls.parse(url) or url),
        item=NAMES[item.kind],
        key="" if table else ', key="url"',
        fields=types if table else f"    url: str\n{types}",
        imports="from decimal import Decimal\n\n" if any("Decimal" in one.type for one in fields) else "",
    )
    if table:
        return head + _table_function(found.table, table.head)
    if found.details is None:
        return head + _item_function(item, "", '    yield from page.follow("a")\n')
    use = "" if found.details.pattern else f', use="{function_of(item)}"'
    listing = "@site.page()\ndef listing(page):\n"
    listing += f"    yield from page.follow({_quoted(found.details.selector)}{use})\n"
    if found.next_page:
        listing += f"    yield from page.follow({_quoted(found.next_page)})\n"
    return f"{head}{listing}\n\n{_item_function(item, found.details.pattern)}"


def item_survey(found: PageSurvey, detail: PageSurvey | None) -> PageSurvey:
    """Returns the survey of a page that contains an item. The result is the survey of the page itself or, for
    a listing, the survey of a detail page."""
    if found.details is None:
        return found
    if detail is None or detail.kind in ("listing", "table"):
        fields = detail.fields if detail is not None else [TITLE]
        return PageSurvey("page", fields)
    return detail


def function_of(found: PageSurvey | None) -> str:
    """Returns the name of the page function for the kind of page that the survey found."""
    kind = found.kind if found is not None else "page"
    return {"product": "product", "article": "article"}.get(kind, "detail")


def _item_function(item: PageSurvey, pattern: str, rest: str = "") -> str:
    """Returns the source of a function that yields one item per page. If the function reads all pages, it
    yields an item only from pages that contain a product or an article."""
    names = {one.name for one in item.fields}
    guard = ""
    if not pattern and rest:
        guard = (
            'page.product["price"] is not None'
            if item.kind == "product" and "price" in names
            else "page.dates.published"
            if item.kind == "article" and "published" in names
            else ""
        )
    indent = "        " if guard else "    "
    values = "".join(f"{indent}    {one.name}={one.expression},\n" for one in item.fields)
    name = "page" if rest and item.kind == "page" else function_of(item)
    return (
        f"@site.page({_quoted(pattern) if pattern else ''})\ndef {name}(page):\n"
        + (f"    if {guard}:\n" if guard else "")
        + f"{indent}yield {NAMES[item.kind]}(\n{indent}    url=page.url,\n{values}{indent})\n{rest}"
    )


def _table_function(number: int, head: list[str]) -> str:
    """Returns the source of a function that yields one item per row of a table."""
    names = column_names(head)
    values = "".join(f"            {name}=row[{at}],\n" for at, name in enumerate(names))
    return (
        f"@site.page()\ndef table(page):\n    for row in page.tables[{number}].rows:\n"
        f"        if len(row) == {len(names)}:\n"
        f"            yield Record(\n{values.replace('            ', '                ')}            )\n"
    )


def _quoted(text: str) -> str:
    """Returns a text as a Python string literal. If the text has backslashes, the literal is a raw string."""
    if "\\" in text and '"' not in text and text.isascii() and text.isprintable() and not text.endswith("\\"):
        return f'r"{text}"'
    return repr(text) if '"' in text else json.dumps(text)


def summary_line(found: PageSurvey, detail: PageSurvey | None) -> str:
    """Returns one sentence that describes what was found on the page."""
    item = item_survey(found, detail)
    fields = ", ".join(one.name for one in item.fields)
    if found.details is None:
        if found.kind == "table":
            return f"found a table of {found.rows} rows: each row becomes an item"
        article = "an" if found.kind == "article" else "a"
        return f"found {article} {found.kind} with {fields}"
    further = f", a next page ({found.next_page})" if found.next_page else ""
    kind = f"the first is {'an' if item.kind == 'article' else 'a'} {item.kind} with {fields}"
    links = f"{len(found.details.urls)} links to detail pages ({found.details.selector})"
    return f"found a listing with {links}{further}; {kind}"


def name_of(url: str) -> str:
    """Returns a name for the site of a URL: the first part of its host other than `www`.

    >>> name_of("https://www.my-shop.example/a"), name_of("http://127.0.0.1:8000/")
    ('my_shop', 'site')
    """
    labels = [one for one in urls.host(url).partition(":")[0].split(".") if one not in ("www", "m")]
    word = re.sub(r"[^A-Za-z0-9_]", "_", labels[0] if labels else "")[:60]
    return word if re.match(r"[A-Za-z]", word) and not keyword.iskeyword(word) else "site"
