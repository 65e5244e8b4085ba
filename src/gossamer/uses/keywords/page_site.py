"""The site file with which `gossamer keywords` crawls. The site matches every URL. The page function reads
the text of each page by zone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gossamer import PageView, Site

default = Site("keywords", follow=True)


@default.page()
def page_text(page: PageView) -> Iterator[dict[str, Any]]:
    """Yields a row with the texts of the page, unless the page has no text."""
    from gossamer.uses.keywords.page_zones import read_zones

    if (row := read_zones(page)) is not None:
        yield row
