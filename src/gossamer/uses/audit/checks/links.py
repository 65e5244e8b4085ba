"""Checks of the link graph and of sitemaps."""

from __future__ import annotations

from typing import Final

from gossamer.uses.audit.checks.audit_check import ERROR, NOTICE, WARNING, AuditCheck
from gossamer.uses.audit.link_graph import CLICKS

MAX_CLICKS: Final = 3
MAX_LINKS: Final = 500
_IN_SITEMAP: Final = "t.id IN (SELECT id FROM sitemap_urls)"
_SITEMAP: Final = """
SELECT u.url, '', {detail} || ' (in ' || (SELECT min(sitemap) FROM sitemap_urls m WHERE m.id = u.id) || ')'
FROM targets t JOIN urls u ON u.id = t.id WHERE t.id IN (SELECT id FROM sitemap_urls) AND {where}
"""
# CROSS JOIN reads the links of one page after the other, not in the order of their targets
_ANCHOR: Final = """
SELECT s.url, d.url, {detail} FROM pages p CROSS JOIN links l ON l.source = p.id JOIN urls s ON s.id = l.source
JOIN urls d ON d.id = l.target WHERE p.status = 200 AND {where} GROUP BY l.source, l.target
"""

CHECKS: Final = (
    AuditCheck(
        id="orphan",
        group="links",
        severity=WARNING,
        title="Pages of the sitemap that no page links to",
        fix="Link to the page, or remove it from the sitemap.",
        sql="SELECT u.url, '', 'only in ' || min(m.sitemap) FROM sitemap_urls m JOIN urls u ON u.id = m.id "
        "JOIN targets t ON t.id = m.id WHERE t.indexable AND m.id NOT IN (SELECT id FROM inlinks) "
        "AND m.id NOT IN (SELECT id FROM depths) GROUP BY m.id",
        needs="whole",
        holds="NOT EXISTS (SELECT 1 FROM unread x WHERE x.id != u.id)",
    ),
    AuditCheck(
        id="dead-end",
        group="links",
        severity=NOTICE,
        title="Pages without a link to another page of the site",
        fix="Link to related pages, so that visitors go on.",
        sql="SELECT u.url, '', '' FROM targets t JOIN urls u ON u.id = t.id WHERE t.indexable AND NOT EXISTS "
        f"(SELECT 1 FROM links l JOIN urls d ON d.id = l.target WHERE l.source = t.id AND l.target != t.id "
        f"AND l.kind IN {CLICKS} AND d.host IN (SELECT host FROM hosts))",
        is_of_content=True,
    ),
    AuditCheck(
        id="deep-page",
        group="links",
        severity=NOTICE,
        title=f"Pages more than {MAX_CLICKS} clicks from the start",
        fix="Link to the page from a page nearer to the start.",
        sql=f"SELECT u.url, '', e.depth || ' clicks' FROM depths e JOIN targets t ON t.id = e.id JOIN urls u ON u.id = e.id "
        f"WHERE t.indexable AND e.depth > {MAX_CLICKS}",
        needs="whole",
        # a link on an unread page makes a page at most one click deeper than the unread page
        holds=f"NOT EXISTS (SELECT 1 FROM unread x JOIN depths e ON e.id = x.id WHERE e.depth < {MAX_CLICKS})",
    ),
    AuditCheck(
        id="single-inlink",
        group="links",
        severity=NOTICE,
        title="Pages that only one page links to",
        fix="Link to the page from related pages, too.",
        sql="SELECT u.url, s.url, 'the only page that links to it' FROM inlinks i JOIN targets t ON t.id = i.id "
        "JOIN urls u ON u.id = i.id JOIN urls s ON s.id = i.source WHERE t.indexable AND i.pages = 1",
        needs="whole",
        holds="NOT EXISTS (SELECT 1 FROM unread x WHERE x.id != u.id "
        "AND x.id != (SELECT i.source FROM inlinks i WHERE i.id = u.id))",
    ),
    AuditCheck(
        id="many-links",
        group="links",
        severity=NOTICE,
        title=f"Pages with more than {MAX_LINKS} links",
        fix="Split the page, or link only to what matters.",
        sql=f"SELECT u.url, '', count(DISTINCT l.target) || ' links' FROM links l JOIN targets t ON t.id = l.source "
        "JOIN urls u ON u.id = l.source WHERE t.indexable AND l.kind = 'a' GROUP BY l.source "
        f"HAVING count(DISTINCT l.target) > {MAX_LINKS}",
    ),
    AuditCheck(
        id="anchor-empty",
        group="links",
        severity=WARNING,
        title="Links without text",
        fix="Give the link a text, or its image an alt.",
        sql=_ANCHOR.format(
            detail="'no text'",
            where="l.kind = 'a' AND l.source != l.target AND l.text = '' AND d.host IN (SELECT host FROM hosts)",
        ),
        thing="links",
        is_of_content=True,
    ),
    AuditCheck(
        id="anchor-generic",
        group="links",
        severity=NOTICE,
        title="Links with a generic text",
        fix="Describe the target in the text of the link.",
        sql=_ANCHOR.format(
            detail="l.text",
            where="l.kind = 'a' AND l.source != l.target AND is_generic(l.text) AND d.host IN (SELECT host FROM hosts)",
        ),
        thing="links",
        is_of_content=True,
    ),
    AuditCheck(
        id="fragment-missing",
        group="links",
        severity=NOTICE,
        title="Links to a fragment that the page does not have",
        fix="Correct the part after the #, or give the target this id.",
        sql="SELECT s.url, d.url || '#' || l.fragment, l.text FROM missing_fragments m CROSS JOIN links l "
        "ON l.target = m.target AND l.fragment = m.fragment JOIN urls s ON s.id = l.source "
        "JOIN urls d ON d.id = l.target WHERE l.kind IN ('a', 'area')",
        thing="links",
    ),
    AuditCheck(
        id="localhost-link",
        group="links",
        severity=ERROR,
        title="Links to this machine or to a private network",
        fix="Replace the address that was used while the page was written.",
        sql="SELECT s.url, d.url, l.kind FROM urls d CROSS JOIN links l ON l.target = d.id "
        "JOIN urls s ON s.id = l.source JOIN pages p ON p.id = l.source WHERE p.status = 200 "
        "AND d.host NOT IN (SELECT host FROM hosts) AND d.host != '' AND NOT is_public(d.host) "
        "GROUP BY l.source, l.target",
        thing="links",
    ),
    AuditCheck(
        id="mixed-follow",
        group="links",
        severity=NOTICE,
        title="Pages that are linked with and without nofollow",
        fix="Decide whether the page may be followed.",
        sql="SELECT d.url, '', sum(l.nofollow > 0) || ' of ' || sum(1 + (l.nofollow = 2)) || ' links have nofollow' "
        "FROM links l JOIN urls d ON d.id = l.target "
        "JOIN pages p ON p.id = l.source "
        "WHERE l.kind IN ('a', 'area') AND d.host IN (SELECT host FROM hosts) AND NOT p.nofollow "
        "AND l.target IN (SELECT target FROM links WHERE nofollow > 0) "
        "GROUP BY l.target HAVING sum(l.nofollow > 0) > 0 AND sum(l.nofollow != 1) > 0",
    ),
    AuditCheck(
        id="pagination-broken",
        group="links",
        severity=WARNING,
        title="rel=next and rel=prev that do not work",
        fix="Correct the address.",
        sql="SELECT s.url, d.url, 'rel=' || l.kind || ': ' || said(t.status, t.error) FROM links l JOIN targets t ON t.id = l.target "
        "JOIN urls s ON s.id = l.source JOIN urls d ON d.id = l.target WHERE l.kind IN ('next', 'prev') AND t.internal "
        "AND (t.status >= 400 OR (t.status IS NULL AND t.error IS NOT NULL AND t.error != 'robots'))",
        thing="links",
    ),
    AuditCheck(
        id="robots-broken",
        group="sitemap",
        severity=ERROR,
        title="robots.txt that cannot be read",
        fix="Serve robots.txt as text with status 200, or 404 if there is none.",
        sql="SELECT origin || '/robots.txt', '', problem FROM robots_files WHERE problem != ''",
        thing="hosts",
    ),
    AuditCheck(
        id="sitemap-missing",
        group="sitemap",
        severity=NOTICE,
        title="Sites without a sitemap",
        fix="Write a sitemap (gossamer audit exports one with -o sitemap.xml), and name it in robots.txt.",
        sql="SELECT origin || '/sitemap.xml', '', 'robots.txt names no sitemap, and /sitemap.xml does not exist' FROM robots_files "
        "WHERE NOT EXISTS (SELECT 1 FROM sitemaps)",
        needs="requests",
        thing="hosts",
    ),
    AuditCheck(
        id="sitemap-broken",
        group="sitemap",
        severity=ERROR,
        title="Sitemaps that cannot be read",
        fix="Correct the sitemap: it is XML or text, at most 50,000 URLs and 50 MB.",
        sql="SELECT url, source, problem FROM sitemaps WHERE problem != ''",
        thing="sitemaps",
    ),
    AuditCheck(
        id="sitemap-error",
        group="sitemap",
        severity=ERROR,
        title="Sitemap entries that do not work",
        fix="Remove the entry, or bring the page back.",
        sql=_SITEMAP.format(
            detail="said(t.status, t.error)",
            where="(t.status >= 400 OR (t.status IS NULL AND t.error IS NOT NULL AND t.error != 'robots'))",
        ),
        needs="sitemap",
    ),
    AuditCheck(
        id="sitemap-redirect",
        group="sitemap",
        severity=WARNING,
        title="Sitemap entries that redirect",
        fix="Name the target of the redirect.",
        sql=_SITEMAP.format(detail="said(t.status, NULL)", where="t.location IS NOT NULL"),
        needs="sitemap",
    ),
    AuditCheck(
        id="sitemap-noindex",
        group="sitemap",
        severity=WARNING,
        title="Sitemap entries that forbid indexing",
        fix="Remove the entry, or allow indexing.",
        sql=_SITEMAP.format(detail="'noindex'", where="t.noindex AND t.status = 200"),
        needs="sitemap",
    ),
    AuditCheck(
        id="sitemap-noncanonical",
        group="sitemap",
        severity=WARNING,
        title="Sitemap entries that are not canonical",
        fix="Name the canonical URL.",
        sql=_SITEMAP.format(
            detail="'its canonical URL is ' || (SELECT url FROM urls WHERE id = t.canonical)",
            where="t.status = 200 AND t.canonical IS NOT NULL AND t.canonical != t.id",
        ),
        needs="sitemap",
    ),
    AuditCheck(
        id="sitemap-blocked",
        group="sitemap",
        severity=WARNING,
        title="Sitemap entries that robots.txt forbids",
        fix="Remove the entry, or allow it in robots.txt.",
        sql="SELECT u.url, '', 'in ' || min(m.sitemap) FROM blocked b JOIN sitemap_urls m ON m.id = b.id "
        "JOIN urls u ON u.id = b.id GROUP BY b.id",
        needs="sitemap",
    ),
    AuditCheck(
        id="sitemap-other-host",
        group="sitemap",
        severity=WARNING,
        title="Sitemap entries of other hosts",
        fix="List only pages of the site.",
        sql="SELECT u.url, '', 'in ' || min(m.sitemap) FROM sitemap_urls m JOIN urls u ON u.id = m.id "
        "WHERE u.host NOT IN (SELECT host FROM hosts) GROUP BY m.id",
        needs="sitemap",
    ),
    AuditCheck(
        id="sitemap-page-missing",
        group="sitemap",
        severity=NOTICE,
        title="Pages that no sitemap lists",
        fix="Add the page to the sitemap, or forbid its indexing.",
        sql="SELECT u.url, '', '' FROM targets t JOIN urls u ON u.id = t.id WHERE t.indexable "
        f"AND NOT {_IN_SITEMAP}",
        needs="sitemap",
    ),
)
