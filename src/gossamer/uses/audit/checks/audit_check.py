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
"""A function that finds problems of a page. A function that finds at most one problem per page returns a
text: the problem, or '' if there is no problem. A function that may find several problems per page returns an
iterable with a different text for each problem."""
MAX_DETAIL_CHARS: Final = 300


class AuditCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check. A check has either a function `test` or a query `sql`.

    `test` is called for HTML pages with status 200. If `over` is `indexable`, pages that are not indexable
    are left out. The query `sql` selects the columns url, target and detail from the tables of the modules
    `database` and `link_graph`.
    """

    id: str
    """The permanent id of the check, such as `title-missing`."""
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
    """The name of the condition that the check requires, or ''. If the condition is not met, the check is
    skipped or inconclusive. The condition `whole` requires that the crawl saw the whole site. The condition
    `sitemap` requires that the site has a sitemap. The condition `links` requires that the audit checked
    links to other sites and embedded files. The condition `hosts` requires that the audit sent requests to
    the site's hosts. The condition `requests` requires that the audit sent requests to the site instead of
    reading stored pages."""
    thing: str = "pages"
    """The kind of object that has the problem: pages, links, files, hosts or sitemaps."""
