"""Serves a folder of real documentation as one host, and independently determines which of its pages are
reachable."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

Headers = tuple[tuple[str, str], ...]


def answer(folder: str, path: str) -> tuple[int, bytes, Headers, str] | None:
    """Returns the file at a URL path as (status, body, headers, kind). A folder without a slash redirects.
    Returns None if nothing exists there."""
    where = urlsplit(path).path
    root = Path(folder).resolve()
    file = (root / unquote(where).lstrip("/")).resolve()
    if not file.is_relative_to(root):
        return None
    if file.is_dir():
        if not where.endswith("/"):
            return 301, b"", (("Location", where + "/"),), "folder"
        file /= "index.html"
    if not file.is_file() or (where.endswith("/") and file.name != "index.html"):
        return None
    kind, coding = mimetypes.guess_type(file.name)
    if coding:
        kind = "application/octet-stream"
    return 200, file.read_bytes(), (("Content-Type", kind or "application/octet-stream"),), "file"


class Reach(NamedTuple):
    """URL paths (with query) by type: HTML pages, other files, folders without a slash, and missing files."""

    pages: set[str]
    files: set[str]
    redirects: set[str]
    missing: set[str]


def reachable(folder: str, start: str = "/") -> Reach:
    """Walk the folder from `start` along the links of its pages (`a` and `area`, with `base`, without
    nofollow).

    This function shares no code with the crawler: lxml reads the pages, urllib joins the links, and the file
    system answers.
    """
    from lxml import etree, html

    reach = Reach(set(), set(), set(), set())
    todo, seen = [start], {start}
    while todo:
        path = todo.pop()
        found = answer(folder, path)
        links: list[str] = []
        if found is None:
            reach.missing.add(path)
        elif found[0] == 301:
            reach.redirects.add(path)
            links = [found[2][0][1]]
        elif found[2][0][1] not in ("text/html", "application/xhtml+xml"):
            reach.files.add(path)
        else:
            reach.pages.add(path)
            tree = html.fromstring(found[1] or b"<p>", parser=etree.HTMLParser(huge_tree=True))
            links = _links(tree)
            base = next(iter(tree.xpath("//base/@href")), "")
            path = urljoin("http://docs.test" + path, base)
        for link in links:
            to = _local(path, link)
            if to is not None and to not in seen:
                seen.add(to)
                todo.append(to)
    return reach


def _links(tree: object) -> list[str]:
    robots = tree.xpath("//meta[translate(@name,'ROBTS','robts')='robots']/@content")  # type: ignore[attr-defined]  # lxml
    if any(word in text.lower() for text in robots for word in ("nofollow", "none")):
        return []
    anchors = tree.xpath("//a[@href]|//area[@href]")  # type: ignore[attr-defined]  # lxml
    return [a.get("href") for a in anchors if "nofollow" not in (a.get("rel") or "").lower().split()]


def _local(path: str, link: str) -> str | None:
    """Returns the path and query of a link within the host, or None."""
    try:
        parts = urlsplit(urljoin(urljoin("http://docs.test/", path), link.strip()))
    except ValueError:
        return None
    if parts.scheme != "http" or parts.netloc != "docs.test":
        return None
    where = quote(parts.path or "/", safe="%/:=&~+!$,;'@()*[]|^")
    return where + (f"?{quote(parts.query, safe='%/:=&~+!$,;@()*[]|^?')}" if parts.query else "")
