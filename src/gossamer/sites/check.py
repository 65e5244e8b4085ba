"""Site functions over saved pages: `shop.py` beside `shop/pages/NAME.html` (+ `NAME.json`: url, status,
content_type) and `shop/expected/NAME.json` (the items as a list)."""

from __future__ import annotations

import difflib
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from gossamer.errors import ConfigError
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing.view import View
from gossamer.sites.item_builder import Making
from gossamer.sites.loading import LoadedSite, load, match
from gossamer.sites.page_functions import run


class CheckResult(msgspec.Struct):
    """One saved page: whether its items are the expected ones, and if not, how they differ."""

    page: str
    ok: bool
    detail: str = ""


class Meta(msgspec.Struct):
    """What a saved page was: beside its bytes, as NAME.json."""

    url: str
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    use: str | None = None
    carry: Any = None
    depth: int = 0
    why: str = ""
    """Of a page that a crawl kept: what went wrong."""


def check(path: Path | str, pages: Path | str | None = None) -> list[CheckResult]:
    """Check one site file or a folder of them against their saved pages. Raises ConfigError for what cannot
    be loaded.

    pages: a folder of other pages, as a crawl keeps those that it could not read (or one such page): no items
    are expected of them, they are told.
    """
    loaded = load(path)
    if pages is not None:
        return _others(Path(path), loaded, Path(pages))
    files: dict[Path, list[LoadedSite]] = {}
    for site in loaded:
        files.setdefault(site.path, []).append(site)
    results = [result for file, sites in files.items() for result in _file(file, sites)]
    if not results:
        raise ConfigError(
            f"{path}: no saved pages: put them into {Path(path).with_suffix('')}/pages (gossamer new makes the first)"
        )
    return results


def folder(site: Path) -> Path:
    """Where a site's saved pages lie."""
    return site.with_suffix("")


def items_of(site: LoadedSite, page: Page, meta: Meta | None = None) -> tuple[list[dict[str, Any]], str]:
    """The items of a page as plain values with their kind, and what went wrong."""
    meta = meta or Meta(page.url)
    view = View(page, request=Request(page.url, meta.depth, use=meta.use, carry=meta.carry))
    parsed = run(site, view)
    if parsed.error:
        return [], parsed.detail
    made = Making(site).make(parsed, view)
    for one in made:
        if one.faults:
            field, value, reason = one.faults[0]
            return [], f"{one.kind}: {field or 'item'}: {reason}" + (f": {value!r}"[:200] if field else "")
    try:
        return _read(_write([{"_kind": one.kind, **one.fields} for one in made if not one.dropped])), ""
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        return [], f"an item cannot be written: {error}"


def saved(file: Path) -> tuple[Page, Meta]:
    """A saved page. Raises ConfigError when what is beside it does not say what it was."""
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


def _file(path: Path, sites: list[LoadedSite]) -> list[CheckResult]:
    """The saved pages of one file, and the expected items that have no page."""
    own = folder(path)
    pages = sorted((own / "pages").glob("*.html"))
    results = [_page(path, sites, page, own / "expected" / f"{page.stem}.json") for page in pages]
    known = {page.stem for page in pages}
    orphans = [file for file in sorted((own / "expected").glob("*.json")) if file.stem not in known]
    return results + [
        CheckResult(str(file), False, f"{own / 'pages' / file.stem}.html is missing") for file in orphans
    ]


def _others(path: Path, sites: list[LoadedSite], where: Path) -> list[CheckResult]:
    """Pages that lie elsewhere: whether they can be read, and what they give."""
    files = [where] if where.is_file() else sorted(where.glob("*.html"))
    if not files:
        raise ConfigError(
            f"--pages {where}: no saved pages there: name a folder of NAME.html with NAME.json beside each"
        )
    results = []
    for file in files:
        found, problem = _read_page(path, sites, file)
        results.append(CheckResult(str(file), not problem, problem or text(found)))
    return results


def _page(path: Path, sites: list[LoadedSite], file: Path, expected: Path) -> CheckResult:
    found, problem = _read_page(path, sites, file)
    if not problem:
        problem = _compare(expected, found)
    return CheckResult(str(file), not problem, problem)


def _read_page(path: Path, sites: list[LoadedSite], file: Path) -> tuple[list[dict[str, Any]], str]:
    """The items of a saved page, and what went wrong."""
    try:
        page, meta = saved(file)
    except ConfigError as error:
        return [], str(error)
    site = match(sites, page.url)
    if site is None:
        return [], f"no site of {path} takes {page.url}: look at its hosts and paths"
    return items_of(site, page, meta)


def _compare(expected: Path, found: list[dict[str, Any]]) -> str:
    """How the items differ from the expected ones; empty when they are equal."""
    try:
        wanted = _read(expected.read_bytes())
    except FileNotFoundError:
        return f"{expected} is missing: the items are {text(found)}"
    except (OSError, msgspec.MsgspecError) as error:
        return f"{expected}: {error}; the items are {text(found)}"
    if wanted == found:
        return ""
    lines = difflib.unified_diff(
        text(wanted).splitlines(), text(found).splitlines(), "expected", "found", lineterm="", n=1
    )
    return "\n".join(lines)


def text(value: Any) -> str:
    """Items as JSON for people: as expected/NAME.json has them."""
    return msgspec.json.format(_write(value), indent=2).decode()


def _write(value: Any) -> bytes:
    return msgspec.json.Encoder(decimal_format="number").encode(value)


def _read(data: bytes) -> Any:
    return msgspec.json.Decoder(float_hook=Decimal).decode(data)
