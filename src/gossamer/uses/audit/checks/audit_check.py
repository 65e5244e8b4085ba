"""What a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from gossamer.uses.audit.model import PageFacts, Severity

ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING
NOTICE: Final = Severity.NOTICE
INFO: Final = Severity.INFO
Test = Callable[[PageFacts], str | Iterable[str]]
"""Returns what is wrong with a page: one detail ('' if nothing is), or several, which differ."""
MAX_DETAIL_CHARS: Final = 300


class AuditCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check has `test` or `sql`.

    `test` is called for pages with status 200: for HTML pages, or only for indexable ones (`over`). `sql` returns
    rows (url, target, detail) from the tables of `database` and `link_graph`.
    """

    id: str
    """A stable name, such as `title-missing`."""
    group: str
    severity: Severity
    title: str
    fix: str
    """How to fix it, in a sentence or two."""
    test: Test | None = None
    over: str = "indexable"
    """`indexable` or `html`."""
    sql: str = ""
    needs: str = ""
    """`whole`: the check decides only if the crawl saw the whole site. `sitemap`: only if there is one.
    `links`: only if links to other sites, or embedded files, were checked. `hosts`: only if the hosts themselves
    were asked. `requests`: only if the site was requested, instead of reading stored pages."""
    thing: str = "pages"
    """What findings are: pages, links, files, hosts, sitemaps."""
