"""Detects and counts unrendered pages, which are empty until their scripts have run. Also counts the links to
routes, if routes are not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model.content_type import HTML, UNKNOWN, XHTML, essence
from gossamer.model.page import Page
from gossamer.model.summary import OTHER_HOSTS
from gossamer.model.visit import Claim
from gossamer.parsing.html import Document
from gossamer.worker.link_intake import ReadResult

if TYPE_CHECKING:
    from gossamer.parsing.rendering_need import RenderingNeed

MAX_NAMED_HOSTS = 100
"""Maximum number of hosts for which a process has separate counts. All hosts beyond this number share the
count OTHER_HOSTS."""
RENDERS = ("browser", "unlocker")
"""The names of the rungs that return a page after a browser has run the scripts of the page."""


class UnrenderedPages:
    """Detects and counts the unrendered pages that one process reads."""

    def __init__(self) -> None:
        self._need: RenderingNeed | None = None
        self._named: set[str] = set()

    def judge(self, claim: Claim, page: Page, document: Document) -> str:
        """Returns the reason why a page needs a browser, or '' if the page does not need a browser."""
        if self._need is None:
            from gossamer.parsing.rendering_need import RenderingNeed  # imports the parser

            self._need = RenderingNeed()
        return self._need.judge(claim.host, document, page.body, page.read_as)

    def count(
        self, read: ReadResult, claim: Claim, page: Page, document: Document, routes: list[str]
    ) -> ReadResult:
        """Adds the counts `unrendered` and `routes` to the result of reading a page if they are not 0, and
        returns the result. The count `unrendered` is 1 if the page needs a browser. The count `routes` is the
        number of routes on the page that are not followed. If `page.unrendered` is already set, the page is
        not counted as `unrendered`. `routes`: the distinct routes to which the page links."""
        counts: dict[str, int] = {}
        if page.unrendered is None and may_be_empty(claim, page):
            page.unrendered = self.judge(claim, page, document)
            if page.unrendered:
                counts[f"unrendered|{self._name(claim.host)}"] = 1
        if routes and not document.base.routes:
            counts[f"routes|{self._name(claim.host)}"] = len(routes)
        if counts:
            read.counts = read.counts | counts
        return read

    def unread_sitemap(self, claim: Claim) -> dict[str, int]:
        """Returns the count of a sitemap or feed that could not be read."""
        return {f"unread-map|{self._name(claim.host)}": 1}

    def _name(self, host: str) -> str:
        """Returns the name under which a host is counted. This name is the host itself, or OTHER_HOSTS if
        MAX_NAMED_HOSTS other hosts are already counted."""
        if len(self._named) < MAX_NAMED_HOSTS:
            self._named.add(host)
        return host if host in self._named else OTHER_HOSTS


_HTML_TYPES = UNKNOWN | {HTML, XHTML}


def may_be_empty(claim: Claim, page: Page) -> bool:
    """Returns whether a page may need a browser. A page may need a browser only if the page is HTML, has a
    2xx status, and was fetched without a browser."""
    return (
        200 <= page.status < 300
        and page.rung not in RENDERS
        and not (claim.request.use or "").startswith("@")
        and essence(page.read_as) in _HTML_TYPES
    )
