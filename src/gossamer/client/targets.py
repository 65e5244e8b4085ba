"""Reads the targets of the Python API: URLs, paths, `Site` objects, and lists or generators of URLs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gossamer.errors import UsageError
from gossamer.model.request import Request
from gossamer.model.site import Site
from gossamer.sites.loading import of_script
from gossamer.sites.script_targets import SITE, ScriptTargets, list_name

Url = str | Request | Mapping[str, Any]
"""An element of a list: a URL, a request, or a mapping with the fields of a seed (docs/records.md)."""
Target = str | os.PathLike[str] | Site | Request | Iterable[Url]
"""A target: a text as on the command line, a path, a `Site`, a request, or URLs. A generator is read
completely before the crawl begins."""


def read_targets(targets: Iterable[Target]) -> tuple[list[str], ScriptTargets]:
    """Converts the targets to strings. Returns the strings, and the `Site` objects and URL lists to which
    some of the strings refer. Raises UsageError and ConfigError."""
    names: list[str] = []
    sites, lists = {}, {}
    for target in targets:
        if isinstance(target, str | os.PathLike):
            names.append(os.fspath(target))
        elif isinstance(target, Site):
            name = SITE + target.name
            if name in sites:
                raise UsageError(f"two sites are named {target.name}: give one of them another name")
            sites[name] = of_script(target)
            names.append(name)
        else:
            lines = _lines([target] if isinstance(target, Request) else target)
            if not lines:
                raise UsageError("a list of URLs is empty: give at least one URL")
            lists[list_name(lines)] = lines
            names.append(list_name(lines))
    return names, ScriptTargets(sites, lists)


def _lines(urls: object) -> list[bytes]:
    if isinstance(urls, bytes | Mapping) or not isinstance(urls, Iterable):
        raise UsageError(f"{urls!r} is not a target: give a URL, a path, a Site, or a list of URLs")
    return [_line(one) for one in urls]


def _line(url: object) -> bytes:
    if isinstance(url, str) and "\n" not in url:
        return url.encode("utf-8", "replace")
    if isinstance(url, Request):
        fields = {name: getattr(url, name) for name in _SEED_FIELDS}
        return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})
    if isinstance(url, Mapping):
        return msgspec.json.encode(dict(url))
    raise UsageError(f"{url!r} is not a URL: a list contains URLs, requests, and mappings with a url")


_SEED_FIELDS = (
    *("url", "priority", "method", "headers", "body", "id"),
    *("country", "region", "proxy", "rung", "use", "carry", "depth", "added_at", "key"),
)
