"""The class of a check: its severity, its texts, and the function or query that finds problems."""

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
"""A function that finds problems of a page. If the function finds at most one problem, it returns one text,
which is '' if there is no problem. If the function finds several problems, it returns a different text for
each problem."""
MAX_DETAIL_CHARS: Final = 300


class AuditCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check. A check has either a function `test` or a query `sql`.

    `test` is called for HTML pages with status 200. `over` selects all of these pages or only the indexable
    pages. `sql` returns rows (url, target, detail) from the tables of `database` and `link_graph`.
    """

    id: str
    """A stable name, such as `title-missing`."""
    group: str
    severity: Severity
    title: str
    fix: str
    """How to fix the problem, in one or two sentences."""
    test: Test | None = None
    over: str = "indexable"
    """The pages for which `test` is called: `indexable` or `html`."""
    sql: str = ""
    needs: str = ""
    """A requirement of the check, or ''. `whole`: the crawl saw the whole site. `sitemap`: the site has a
    sitemap. `links`: links to other sites and embedded files were checked. `hosts`: the hosts themselves were
    requested. `requests`: the audit requested the site and did not read stored pages."""
    thing: str = "pages"
    """The kind of object that has the problem: pages, links, files, hosts or sitemaps."""
