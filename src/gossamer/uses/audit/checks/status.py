"""The checks of HTTP statuses and redirects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gossamer.uses.audit.checks.audit_check import ERROR, NOTICE, WARNING, AuditCheck
from gossamer.uses.audit.link_graph import CLICKS, MAX_HOPS
from gossamer.uses.audit.model import PageFacts

SLOW_S: Final = 2.0
LARGE_BYTES: Final = 2_000_000
MAX_ERROR_PAGE_WORDS: Final = 300
_LINK: Final = """
SELECT s.url, d.url, {detail} FROM targets t {joins} CROSS JOIN links l ON l.target = t.id
JOIN urls s ON s.id = l.source JOIN urls d ON d.id = l.target WHERE {where} GROUP BY l.source, l.target
"""
_FAILED: Final = "(t.status >= 400 OR (t.status IS NULL AND t.error IS NOT NULL AND t.error NOT IN ('robots', 'redirect-loop')))"
_LOOP: Final = f"(f.hops >= {MAX_HOPS} OR coalesce(t.error, '') = 'redirect-loop')"
_REFUSED: Final = "'rate-limited', 'blocked', 'robots-unreachable'"
_IN_CHAIN: Final = "JOIN finals f ON f.id = t.id"
_WITH_TEXT: Final = (
    "said(t.status, t.error) || CASE WHEN l.text != '' THEN ', link \"' || l.text || '\"' ELSE '' END"
)
_LINKED: Final = "' (linked from ' || counted(coalesce(i.pages, 0), 'page') || ')'"
_ERROR_TITLE: Final = re.compile(
    r"\b(?:(?:error\s*)?404|page not found|not found|seite nicht gefunden|nicht gefunden|page introuvable|"
    r"p[áa]gina no encontrada|pagina non trovata|p[áa]gina n[ãa]o encontrada|pagina niet gevonden|"
    r"nie znaleziono strony|страница не найдена|ページが見つかりません|找不到页面|找不到頁面)(?:\b|$)",
    re.IGNORECASE,
)


def soft_404(facts: PageFacts) -> Iterator[str]:
    """Finds a page with status 200 whose title and heading say that it is an error page."""
    if facts.words > MAX_ERROR_PAGE_WORDS:
        return
    title, h1 = _ERROR_TITLE.search(facts.title), _ERROR_TITLE.search(facts.h1)
    if (title and (h1 or not facts.h1)) or (h1 and not facts.title):
        yield f"status 200, but the page contains: {(facts.h1 or facts.title)[:100]}"


CHECKS: Final = (
    AuditCheck(
        id="broken-link",
        group="status",
        severity=ERROR,
        title="Links to pages of the site that do not work",
        fix="Correct the link, remove it, or redirect the target to the page that replaces it.",
        sql=_LINK.format(
            detail=_WITH_TEXT, joins="", where=f"t.internal AND l.kind IN {CLICKS} AND {_FAILED}"
        ),
        thing="links",
    ),
    AuditCheck(
        id="page-4xx",
        group="status",
        severity=ERROR,
        title="Pages that answer 4xx",
        fix="Bring the page back, redirect it, or remove the links and sitemap entries that lead to it.",
        sql=f"SELECT u.url, '', said(t.status, NULL) || {_LINKED} FROM targets t JOIN urls u ON u.id = t.id "
        "LEFT JOIN inlinks i ON i.id = t.id WHERE t.internal AND t.status BETWEEN 400 AND 499 "
        "AND t.id IN (SELECT id FROM pages)",
    ),
    AuditCheck(
        id="page-5xx",
        group="status",
        severity=ERROR,
        title="Pages that answer 5xx",
        fix="Look into the server's error log: the page failed on every try.",
        sql=f"SELECT u.url, '', said(t.status, NULL) || {_LINKED} FROM targets t JOIN urls u ON u.id = t.id "
        "LEFT JOIN inlinks i ON i.id = t.id WHERE t.internal AND t.status >= 500",
    ),
    AuditCheck(
        id="page-no-response",
        group="status",
        severity=ERROR,
        title="Pages without a response",
        fix="See why the server does not answer for this page: a timeout, a reset connection or a wrong certificate.",
        sql=f"SELECT u.url, '', said(NULL, t.error) || {_LINKED} FROM targets t JOIN urls u ON u.id = t.id "
        "LEFT JOIN inlinks i ON i.id = t.id WHERE t.internal AND t.status IS NULL AND t.error NOT IN ('robots', 'redirect-loop')",
    ),
    AuditCheck(
        id="soft-404",
        group="status",
        severity=WARNING,
        title="Error pages with status 200",
        fix="Answer with status 404 or 410, or search engines index the error page.",
        test=soft_404,
        over="html",
    ),
    AuditCheck(
        id="javascript-needed",
        group="status",
        severity=NOTICE,
        title="Pages that are empty without JavaScript",
        fix="Send the text in the page itself, or audit the site with --ladder browser.",
        test=lambda facts: facts.unrendered[:200],
        over="html",
    ),
    AuditCheck(
        id="robots-blocked-linked",
        group="status",
        severity=NOTICE,
        title="Linked pages that robots.txt forbids",
        fix="If the page should be found, allow it in robots.txt. If not, this is as intended.",
        sql=f"SELECT u.url, '', 'linked from ' || counted(count(DISTINCT l.source), 'page') FROM blocked b JOIN urls u ON u.id = b.id "
        f"JOIN links l ON l.target = b.id WHERE l.kind IN {CLICKS} GROUP BY b.id",
    ),
    AuditCheck(
        id="external-broken",
        group="status",
        severity=WARNING,
        title="Links to other sites that do not work",
        fix="Correct the link or remove it.",
        sql=_LINK.format(
            detail=_WITH_TEXT,
            joins="LEFT JOIN finals f ON f.id = t.id LEFT JOIN targets e ON e.id = f.final",
            where=f"NOT t.internal AND l.kind IN {CLICKS} AND (t.status IN (404, 410) OR e.status IN (404, 410) "
            "OR (t.status >= 500 AND t.status != 999) "
            f"OR (t.status IS NULL AND t.error IS NOT NULL AND t.error NOT IN ('robots', 'redirect-loop', {_REFUSED})))",
        ),
        needs="links",
        thing="links",
    ),
    AuditCheck(
        id="external-refused",
        group="status",
        severity=NOTICE,
        title="Links to other sites that refuse crawlers",
        fix="Open the link in a browser: the site may work for people.",
        sql=_LINK.format(
            detail=_WITH_TEXT,
            joins="",
            where=f"NOT t.internal AND l.kind IN {CLICKS} AND (t.status IN (401, 403, 405, 406, 407, 429, 451, 999) "
            f"OR t.error IN ({_REFUSED}))",
        ),
        needs="links",
        thing="links",
    ),
    AuditCheck(
        id="external-moved",
        group="status",
        severity=NOTICE,
        title="Links to other sites that moved permanently",
        fix="Link to the new address.",
        sql=_LINK.format(
            detail="said(t.status, NULL) || ', to ' || g.url",
            joins="JOIN finals f ON f.id = t.id JOIN urls g ON g.id = f.final JOIN targets e ON e.id = f.final",
            where=f"NOT t.internal AND l.kind IN {CLICKS} AND t.status IN (301, 308) AND e.status = 200",
        ),
        needs="links",
        thing="links",
    ),
    AuditCheck(
        id="slow-page",
        group="status",
        severity=WARNING,
        title=f"Pages that take longer than {SLOW_S:g} s",
        fix="Cache the page, or find out what the server waits for. The time is that of the whole response without its images.",
        sql=f"SELECT u.url, '', round(t.seconds, 1) || ' s' FROM targets t JOIN urls u ON u.id = t.id "
        f"WHERE t.internal AND t.status = 200 AND t.is_page AND t.seconds > {SLOW_S}",
    ),
    AuditCheck(
        id="large-page",
        group="status",
        severity=WARNING,
        title="HTML pages larger than 2 MB",
        fix="Split the page, or move inline images, scripts and data into files of their own.",
        sql=f"SELECT u.url, '', round(t.size / 1e6, 1) || ' MB' FROM targets t JOIN urls u ON u.id = t.id "
        f"WHERE t.internal AND ((t.is_page AND t.size > {LARGE_BYTES}) OR t.error = 'too-large')",
    ),
    AuditCheck(
        id="redirect-chain",
        group="redirects",
        severity=WARNING,
        title="Chains of redirects",
        fix="Redirect to the last URL at once, and link to that one.",
        sql="SELECT u.url, e.url, f.hops || ' redirects' FROM finals f JOIN urls u ON u.id = f.id JOIN urls e ON e.id = f.final "
        f"JOIN targets t ON t.id = f.id WHERE t.internal AND f.hops BETWEEN 2 AND {MAX_HOPS - 1} "
        "AND coalesce(t.error, '') != 'redirect-loop'",
    ),
    AuditCheck(
        id="redirect-loop",
        group="redirects",
        severity=ERROR,
        title="Redirects that lead in a circle",
        fix="Break the circle: no browser shows the page.",
        sql="SELECT u.url, '', 'to ' || n.url FROM targets t JOIN urls u ON u.id = t.id JOIN finals f ON f.id = t.id "
        f"JOIN urls n ON n.id = t.location WHERE t.internal AND {_LOOP}",
    ),
    AuditCheck(
        id="link-to-redirect",
        group="redirects",
        severity=NOTICE,
        title="Links to pages that redirect",
        fix="Link to the target of the redirect.",
        sql=_LINK.format(
            detail="said(t.status, NULL) || ', to ' || g.url",
            joins=f"{_IN_CHAIN} JOIN urls g ON g.id = f.final",
            where=f"t.internal AND l.kind IN {CLICKS} AND NOT {_LOOP}",
        ),
        thing="links",
    ),
    AuditCheck(
        id="redirect-to-error",
        group="redirects",
        severity=ERROR,
        title="Redirects to pages that do not work",
        fix="Redirect to a page that exists.",
        sql="SELECT u.url, e.url, said(x.status, x.error) FROM finals f JOIN urls u ON u.id = f.id JOIN urls e ON e.id = f.final "
        "JOIN targets t ON t.id = f.id JOIN targets x ON x.id = f.final WHERE t.internal AND "
        + _FAILED.replace("t.", "x."),
    ),
    AuditCheck(
        id="redirect-temporary",
        group="redirects",
        severity=NOTICE,
        title="Temporary redirects",
        fix="If the page moved for good, answer with 301 or 308.",
        sql="SELECT u.url, e.url, said(t.status, NULL) FROM targets t JOIN urls u ON u.id = t.id JOIN urls e ON e.id = t.location "
        "WHERE t.internal AND t.status IN (302, 303, 307) AND coalesce(t.error, '') != 'redirect-loop'",
    ),
    AuditCheck(
        id="redirect-to-home",
        group="redirects",
        severity=WARNING,
        title="Redirects of other pages to the home page",
        fix="Redirect to the page that replaces the old one, or answer with 404: search engines treat this as an error.",
        sql="SELECT u.url, e.url, said(t.status, NULL) FROM finals f JOIN urls u ON u.id = f.id JOIN urls e ON e.id = f.final "
        "JOIN targets t ON t.id = f.id WHERE t.internal AND e.host IN (SELECT host FROM hosts) AND is_home(e.url) "
        "AND NOT is_home(u.url)",
    ),
    AuditCheck(
        id="script-redirect",
        group="redirects",
        severity=WARNING,
        title="Redirects by script",
        fix="Answer with a redirect (301 or 308) instead.",
        test=lambda facts: f"to {facts.script_redirect}" if facts.script_redirect else "",
        over="html",
    ),
    AuditCheck(
        id="meta-refresh",
        group="redirects",
        severity=WARNING,
        title="Redirects by meta refresh",
        fix="Answer with a redirect (301 or 308) instead.",
        test=lambda facts: f"to {facts.refresh}" if facts.refresh else "",
        over="html",
    ),
)
