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
BROKEN: Final = (
    "(t.status >= 400 OR (t.status IS NULL AND t.error IS NOT NULL AND t.error != 'robots')) "
    "AND (t.internal OR t.status IN (404, 410) OR t.status BETWEEN 500 AND 998)"
)
"""A condition for targets that do not work. Other sites often refuse crawlers, so only clear answers of other
sites count."""


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
    is_of_content: bool = False
    """Whether the query `sql` judges what a page shows. Such a check makes no finding on a page that is empty
    without JavaScript. A function `test` over `indexable` pages is not called for such a page either."""
    needs: str = ""
    """The name of the condition that the check requires, or ''. If the condition is not met, the check is
    skipped or inconclusive. The condition `whole` requires that the crawl saw the whole site, except pages
    that it requested and could not read (`holds`). The condition
    `sitemap` requires that the site has a sitemap. The condition `links` requires that the audit checked
    links to other sites and embedded files. The condition `hosts` requires that the audit sent requests to
    the site's hosts. The condition `requests` requires that the audit sent requests to the site instead of
    reading stored pages."""
    holds: str = ""
    """For a check with `needs="whole"`: an SQL condition on the finding's row of the table `urls` (`u`). It is
    true if the finding holds whatever the pages of the table `unread` link to."""
    thing: str = "pages"
    """The kind of object that has the problem: pages, links, files, hosts or sitemaps."""
