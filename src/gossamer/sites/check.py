"""Runs sites over saved pages and compares the items with the expected items, for `gossamer check`.

The saved pages of `shop.py` are `shop/pages/NAME.html`. Beside each page, `NAME.json` contains its metadata
(url, status, content_type). The expected items of a page are a list in `shop/expected/NAME.json`.
"""

from __future__ import annotations

import difflib
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from gossamer.errors import ConfigError
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing.page_view import PageView
from gossamer.sites.item_builder import ItemBuilder
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import load, match
from gossamer.sites.page_functions import run
from gossamer.sites.site_logs import LoggedPage


class CheckResult(msgspec.Struct):
    """The result of checking one saved page. `detail` is the difference from the expected items, or the
    error. For a page without expected items, `detail` contains the items found."""

    page: str
    ok: bool
    detail: str = ""
    updated: bool = False
    """Whether the check saved the found items as the new expected items."""
    can_update: bool = False
    """Whether the expected items can be updated. The value is true if the page function succeeded and found
    other items than expected."""


class Meta(msgspec.Struct):
    """The metadata of a saved page, in NAME.json beside the page."""

    url: str
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    use: str | None = None
    carry: Any = None
    depth: int = 0
    why: str = ""
    """If a crawl kept the page because of an error, the error message, otherwise ''."""


def check(path: Path | str, pages: Path | str | None = None, update: bool = False) -> list[CheckResult]:
    """Checks a site file, or a folder of site files, against the saved pages. Raises ConfigError if a site
    cannot be loaded or there are no saved pages.

    `pages`: a folder or a page to check instead of the saved pages. For example, `pages` can be a folder of
    pages that a crawl could not read. These pages have no expected items, so their results contain the items
    found. `update`: whether to save the found items as the new expected items, except for pages that cannot
    be read.
    """
    loaded = load(path)
    if pages is not None:
        return _others(Path(path), loaded, Path(pages))
    files: dict[Path, list[LoadedSite]] = {}
    for site in loaded:
        files.setdefault(site.path, []).append(site)
    results = [result for file, sites in files.items() for result in _file(file, sites, update)]
    if not results:
        beside = (
            "pages/ in the folder of each site"
            if Path(path).is_dir()
            else f"{saved_folder(Path(path))}/pages"
        )
        raise ConfigError(
            f'{path}: no saved pages: put NAME.html, with NAME.json ({{"url": ...}}) beside it, into {beside}; '
            "gossamer new makes the first for a new site"
        )
    return results


def saved_folder(site: Path) -> Path:
    """Returns the folder of a site's saved pages and expected items."""
    return site.with_suffix("")


def items_of(site: LoadedSite, page: Page, meta: Meta | None = None) -> tuple[list[dict[str, Any]], str]:
    """Returns the items of a page, as plain values with their kind, and the error message, which is '' on
    success."""
    meta = meta or Meta(page.url)
    view = PageView(page, request=Request(page.url, meta.depth, use=meta.use, carry=meta.carry))
    with LoggedPage(site.name, view.url):
        parsed = run(site, view)
    if parsed.error:
        return [], parsed.detail
    builder = ItemBuilder(site)
    try:
        builder.open("check", saved_folder(site.path))
        made = builder.make(parsed, view)
    except ConfigError as error:  # a step cannot be opened
        return [], str(error)
    finally:
        builder.close()
    for one in made:
        if one.faults:
            field, value, reason = one.faults[0]
            return [], f"{one.kind}: {field or 'item'}: {reason}" + (f": {value!r}"[:200] if field else "")
    try:
        return _read(_write([{"_kind": one.kind, **one.fields} for one in made if not one.dropped])), ""
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        return [], f"an item cannot be written: {error}"


def read_saved_page(file: Path) -> tuple[Page, Meta]:
    """Reads a saved page and its metadata. Raises ConfigError if one of the files is missing or invalid."""
    try:
        meta = msgspec.json.decode(file.with_suffix(".json").read_bytes(), type=Meta)
        body = file.read_bytes()
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(
            f'{file.with_suffix(".json")}: {error}; write {{"url": ...}} beside the page'
        ) from error
    page = Page(
        meta.url, meta.status, [("content-type", meta.content_type)], body, 0.0, 0.0, len(body), "archive"
    )
    return page, meta


def _file(path: Path, sites: list[LoadedSite], update: bool) -> list[CheckResult]:
    """Checks the saved pages of one site file. Expected items whose page is missing count as failures."""
    own = saved_folder(path)
    pages = sorted((own / "pages").glob("*.html"))
    results = [_page(path, sites, page, own / "expected" / f"{page.stem}.json", update) for page in pages]
    known = {page.stem for page in pages}
    orphans = [file for file in sorted((own / "expected").glob("*.json")) if file.stem not in known]
    return results + [
        CheckResult(str(file), False, f"{own / 'pages' / file.stem}.html is missing") for file in orphans
    ]


def _others(path: Path, sites: list[LoadedSite], where: Path) -> list[CheckResult]:
    """Checks pages that are not among the site's saved pages. `where` is one page or a folder of pages. The
    result of each page contains its items, or the error message."""
    files = [where] if where.is_file() else sorted(where.glob("*.html"))
    if not files:
        raise ConfigError(
            f"--pages {where}: no saved pages there: name a folder of NAME.html with NAME.json beside each"
        )
    results = []
    for file in files:
        found, problem = _read_page(path, sites, file)
        results.append(CheckResult(str(file), not problem, problem or items_text(found)))
    return results


def _page(path: Path, sites: list[LoadedSite], file: Path, expected: Path, update: bool) -> CheckResult:
    found, problem = _read_page(path, sites, file)
    if problem:
        return CheckResult(str(file), False, problem)
    problem = _compare(expected, found)
    if problem and update:
        _save(expected, found)
        return CheckResult(str(file), True, f"{_items(len(found))} written to {expected}", updated=True)
    return CheckResult(str(file), not problem, problem, can_update=bool(problem))


def _save(expected: Path, found: list[dict[str, Any]]) -> None:
    """Saves items as the expected items. Raises ConfigError."""
    try:
        expected.parent.mkdir(parents=True, exist_ok=True)
        expected.write_text(items_text(found) + "\n")
    except OSError as error:
        raise ConfigError(f"{expected} cannot be written: {error.strerror}") from error


def _items(number: int) -> str:
    return f"{number} item{'' if number == 1 else 's'}"


def _read_page(path: Path, sites: list[LoadedSite], file: Path) -> tuple[list[dict[str, Any]], str]:
    """Returns the items of a saved page, and the error message, which is '' on success."""
    try:
        page, meta = read_saved_page(file)
    except ConfigError as error:
        return [], str(error)
    site = match(sites, page.url)
    if site is None:
        return [], f"no site of {path} takes {page.url}: look at its hosts and paths"
    return items_of(site, page, meta)


def _compare(expected: Path, found: list[dict[str, Any]]) -> str:
    """Returns the difference between the expected and the found items as a diff, or an empty text if they are
    equal."""
    try:
        wanted = _read(expected.read_bytes())
    except FileNotFoundError:
        return f"{expected} is missing: the items are {items_text(found)}"
    except (OSError, msgspec.MsgspecError) as error:
        return f"{expected}: {error}; the items are {items_text(found)}"
    if wanted == found:
        return ""
    return "\n".join(["--- expected", "+++ found", *_difference(wanted, found)])


def _difference(wanted: Any, found: list[dict[str, Any]]) -> list[str]:
    """Returns the lines of a diff. If there are as many items as expected, each item is compared with the
    expected item at the same position. A heading above each difference lists the fields that differ."""
    if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
        return ["@@ the expected items are not a list of objects @@", *_lines(wanted, found)]
    if len(wanted) != len(found):
        return [f"@@ {_items(len(wanted))} expected, {len(found)} found @@", *_lines(wanted, found)]
    lines = []
    for number, (one, other) in enumerate(zip(wanted, found, strict=True), 1):
        if one != other:
            fields = [name for name in {**one, **other} if one.get(name, one) != other.get(name, one)]
            lines += [f"@@ item {number} of {len(found)}: {', '.join(fields)} @@", *_lines([one], [other])]
    return lines


def _lines(wanted: Any, found: Any) -> list[str]:
    """Formats two values as JSON, and returns the lines that differ, each with the line before and after
    it."""
    lines = difflib.unified_diff(
        items_text(wanted).splitlines(), items_text(found).splitlines(), lineterm="", n=1
    )
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def items_text(value: Any) -> str:
    """Formats items as human-readable JSON, as in expected/NAME.json."""
    return msgspec.json.format(_write(value), indent=2).decode()


def _write(value: Any) -> bytes:
    return msgspec.json.Encoder(decimal_format="number").encode(value)


def _read(data: bytes) -> Any:
    return msgspec.json.Decoder(float_hook=Decimal).decode(data)
