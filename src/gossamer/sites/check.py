"""Site functions over saved pages: `shop.py` beside `shop/pages/NAME.html` (+ `NAME.json`: url, status, content_type) and
`shop/expected/NAME.json` (the items as a list)."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import msgspec

from gossamer.errors import ConfigError
from gossamer.item import Item, kind, plain
from gossamer.page import Page
from gossamer.parsing.view import View
from gossamer.sites.loading import LoadedSite, load
from gossamer.sites.running import run


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


def check(path: Path | str) -> list[CheckResult]:
    """Check one site file or a folder of them against their saved pages. Raises ConfigError for what cannot be loaded."""
    results = [result for site in load(path) for result in _site(site)]
    if not results:
        raise ConfigError(
            f"{path}: no saved pages: put them into {Path(path).with_suffix('')}/pages (gossamer new makes the first)"
        )
    return results


def folder(site: Path) -> Path:
    """Where a site's saved pages lie."""
    return site.with_suffix("")


def items_of(site: LoadedSite, page: Page, use: str | None = None) -> tuple[list[dict[str, Any]], str]:
    """The items of a page as plain values with their kind, and what went wrong."""
    from gossamer.request import Request

    parsed = run(site, View(page, request=Request(page.url, use=use)))
    found = [{"_kind": kind(i), **plain(i)} if isinstance(i, Item) else {"_kind": "item", **i} for i in parsed.items]
    return msgspec.json.decode(msgspec.json.encode(found)), parsed.detail if parsed.error else ""


def saved(file: Path) -> tuple[Page, Meta]:
    """A saved page."""
    try:
        meta = msgspec.json.decode(file.with_suffix(".json").read_bytes(), type=Meta)
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f'{file.with_suffix(".json")}: {error}; write {{"url": ...}} beside the page') from error
    return Page(
        meta.url, meta.status, [("content-type", meta.content_type)], file.read_bytes(), 0.0, 0.0, 0, "archive"
    ), meta


def _site(site: LoadedSite) -> list[CheckResult]:
    results = []
    for file in sorted((folder(site.path) / "pages").glob("*.html")):
        page, meta = saved(file)
        if not site.site.takes(page.url) and not site.default:
            continue
        found, problem = items_of(site, page, meta.use)
        expected = folder(site.path) / "expected" / f"{file.stem}.json"
        name = str(file)
        if problem:
            results.append(CheckResult(name, False, problem))
        elif not expected.exists():
            results.append(CheckResult(name, False, f"{expected} is missing: the items are {_text(found)}"))
        else:
            wanted = msgspec.json.decode(expected.read_bytes())
            results.append(CheckResult(name, wanted == found, "" if wanted == found else _difference(wanted, found)))
    return results


def _text(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _difference(wanted: Any, found: Any) -> str:
    lines = difflib.unified_diff(
        _text(wanted).splitlines(), _text(found).splitlines(), "expected", "found", lineterm="", n=1
    )
    return "\n".join(lines)
