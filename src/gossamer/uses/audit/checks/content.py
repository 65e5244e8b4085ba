"""Checks of text, language, images and structured data, and checks of pages that need JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gossamer.uses.audit.checks.audit_check import ERROR, NOTICE, WARNING, AuditCheck
from gossamer.uses.audit.checks.indexability import language_fault
from gossamer.uses.audit.link_graph import CLICKS
from gossamer.uses.audit.model import PageFacts
from gossamer.uses.numbers import counted

THIN_WORDS: Final = 50
LARGE_IMAGE_BYTES: Final = 500_000
HEAVY_BYTES: Final = 5_000_000
_WEIGHT: Final = f"""
SELECT u.url, '', round((t.size + sum(f.size)) / 1e6, 1) || ' MB in ' || counted(count(*), 'file') || ' and the page'
FROM targets t JOIN urls u ON u.id = t.id
JOIN (SELECT DISTINCT source, target FROM links WHERE kind IN ('img', 'script', 'stylesheet')) l ON l.source = t.id
JOIN targets f ON f.id = l.target AND f.status = 200 AND f.size > 0
WHERE t.internal AND t.is_page AND t.status = 200 GROUP BY t.id HAVING t.size + sum(f.size) > {HEAVY_BYTES}
"""
_RESOURCE: Final = """
SELECT s.url, d.url, said(t.status, t.error) FROM links l JOIN targets t ON t.id = l.target
JOIN urls s ON s.id = l.source JOIN urls d ON d.id = l.target LEFT JOIN finals f ON f.id = l.target
LEFT JOIN targets e ON e.id = f.final
WHERE {where} AND (t.status >= 400 OR (t.status IS NULL AND t.error IS NOT NULL AND t.error NOT IN ('robots', 'rate-limited', 'blocked'))
  OR e.status >= 400) AND (t.internal OR coalesce(t.status, 0) NOT IN (401, 403, 405, 429, 999)) GROUP BY l.source, l.target
"""
_HOST_HEADER: Final = """
SELECT 'https://' || u.host || '/', '', count(*) || ' of ' || counted((SELECT count(*) FROM pages q JOIN urls v ON v.id = q.id
  WHERE v.host = u.host AND q.is_html AND q.status = 200), 'page') || ', for example ' || min(u.url)
FROM pages p JOIN urls u ON u.id = p.id WHERE p.is_html AND p.status = 200 AND u.url LIKE 'https://%'
AND p.facts NOT LIKE '%"{name}"%' GROUP BY u.host
"""


def language_invalid(facts: PageFacts) -> Iterator[str]:
    """Finds a `lang` attribute that is not a language code."""
    if facts.language and (fault := language_fault(facts.language)):
        yield f"{facts.language}: {fault}"


def language_mismatch(facts: PageFacts) -> Iterator[str]:
    """Finds a text whose language differs from the declared language."""
    declared = facts.language.replace("_", "-").partition("-")[0].lower()
    found = facts.detected_language.partition("-")[0].lower()
    if declared and found and declared != found and not language_fault(facts.language):
        yield f"declared {facts.language}, the text is {found}"


def _listed(values: list[str], most: int = 5) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return f"{', '.join(one or 'no src' for one in values[:most])[:250]}{more}"


CHECKS: Final = (
    AuditCheck(
        id="thin-page",
        group="content",
        severity=NOTICE,
        title=f"Pages with fewer than {THIN_WORDS} words",
        fix="Add text, merge the page with another page, or forbid its indexing.",
        test=lambda facts: counted(facts.words, "word") if facts.words < THIN_WORDS else "",
    ),
    AuditCheck(
        id="duplicate-exact",
        group="content",
        severity=WARNING,
        title="Pages with the same text",
        fix="Keep one page, and redirect the others or make it their canonical page.",
        sql="SELECT u.url, substr(g.first, 7), g.n || ' pages' FROM pages p JOIN targets t ON t.id = p.id "
        "JOIN urls u ON u.id = p.id JOIN (SELECT p.text_hash, count(*) AS n, "
        "  min(printf('%05d ', length(u.url)) || u.url) AS first FROM pages p JOIN targets t ON t.id = p.id "
        "  JOIN urls u ON u.id = p.id WHERE t.indexable AND p.words > 0 GROUP BY p.text_hash HAVING count(*) > 1) g "
        "ON g.text_hash = p.text_hash WHERE t.indexable AND u.url != substr(g.first, 7)",
        is_of_content=True,
    ),
    AuditCheck(
        id="duplicate-near",
        group="content",
        severity=NOTICE,
        title="Pages with nearly the same text",
        fix="Make the pages differ, or keep one of them.",
        sql="SELECT u.url, f.url, 'about ' || cast(round(a.likeness * 100) AS INTEGER) || '% alike' FROM alike a "
        "JOIN urls u ON u.id = a.page JOIN urls f ON f.id = a.first JOIN pages p ON p.id = a.page "
        "JOIN pages q ON q.id = a.first WHERE p.text_hash != q.text_hash",
        is_of_content=True,
    ),
    AuditCheck(
        id="lorem-ipsum",
        group="content",
        severity=WARNING,
        title="Pages with placeholder text",
        fix="Replace the lorem ipsum.",
        test=lambda facts: "lorem ipsum dolor" if facts.is_lorem else "",
        over="html",
    ),
    AuditCheck(
        id="charset-wrong",
        group="content",
        severity=WARNING,
        title="Pages with a wrong character encoding",
        fix="Save the page as UTF-8, and declare UTF-8 in the header and the page.",
        test=lambda facts: facts.charset_faults,
        over="html",
    ),
    AuditCheck(
        id="language-missing",
        group="content",
        severity=NOTICE,
        title="Pages that declare no language",
        fix='Add lang to the html element: <html lang="en">.',
        test=lambda facts: "" if facts.language else "the html element has no lang",
        over="html",
    ),
    AuditCheck(
        id="language-invalid",
        group="content",
        severity=WARNING,
        title="Pages with an invalid language code",
        fix="Write a language code such as en or pt-BR.",
        test=language_invalid,
        over="html",
    ),
    AuditCheck(
        id="language-mismatch",
        group="content",
        severity=WARNING,
        title="Pages whose text is in another language",
        fix="Declare the language of the text, or translate the text.",
        test=language_mismatch,
    ),
    AuditCheck(
        id="duplicate-id",
        group="content",
        severity=NOTICE,
        title="Pages that use an id twice",
        fix="Give each element an id of its own: links to a fragment reach only the first one.",
        test=lambda facts: _listed(facts.duplicate_ids),
        over="html",
    ),
    AuditCheck(
        id="alt-missing",
        group="media",
        severity=WARNING,
        title="Images without alt",
        fix='Describe the image in alt, or write alt="" if it is a decoration.',
        test=lambda facts: _listed(facts.images.without_alt),
        over="html",
    ),
    AuditCheck(
        id="alt-long",
        group="media",
        severity=NOTICE,
        title="Images with a long alt",
        fix="Describe the image in a sentence. Put longer descriptions into the text.",
        test=lambda facts: _listed(facts.images.long_alt),
        over="html",
    ),
    AuditCheck(
        id="image-size-missing",
        group="media",
        severity=NOTICE,
        title="Images without width and height",
        fix="Give the image width and height, so that the page does not jump when it loads.",
        test=lambda facts: _listed(facts.images.without_size),
        over="html",
    ),
    AuditCheck(
        id="picture-without-img",
        group="media",
        severity=WARNING,
        title="Pictures without an img",
        fix="Put an <img> into the <picture>: without it nothing is shown.",
        test=lambda facts: f"{facts.images.empty_pictures or ''}",
        over="html",
    ),
    AuditCheck(
        id="image-broken",
        group="media",
        severity=ERROR,
        title="Images that do not load",
        fix="Correct the address of the image.",
        sql=_RESOURCE.format(where="l.kind IN ('img', 'srcset', 'preview')"),
        needs="links",
        thing="files",
    ),
    AuditCheck(
        id="image-large",
        group="media",
        severity=NOTICE,
        title="Images larger than 500 kB",
        fix="Shrink the image, or save it as WebP or AVIF.",
        sql="SELECT s.url, d.url, round(t.size / 1e3) || ' kB' FROM links l JOIN targets t ON t.id = l.target "
        "JOIN urls s ON s.id = l.source JOIN urls d ON d.id = l.target "
        f"WHERE l.kind = 'img' AND t.status = 200 AND t.size > {LARGE_IMAGE_BYTES} GROUP BY l.target",
        needs="links",
        thing="files",
    ),
    AuditCheck(
        id="resource-broken",
        group="media",
        severity=ERROR,
        title="Scripts, style sheets and media that do not load",
        fix="Correct the address of the file.",
        sql=_RESOURCE.format(where="l.kind IN ('script', 'stylesheet', 'media')"),
        needs="links",
        thing="files",
    ),
    AuditCheck(
        id="resource-blocked",
        group="media",
        severity=WARNING,
        title="Scripts and style sheets that robots.txt forbids",
        fix="Allow the file in robots.txt: without it, search engines do not see the page as visitors do.",
        sql="SELECT s.url, d.url, l.kind FROM blocked b CROSS JOIN links l ON l.target = b.id JOIN urls s ON s.id = l.source "
        "JOIN urls d ON d.id = b.id WHERE l.kind IN ('script', 'stylesheet') GROUP BY l.source, l.target",
        thing="files",
    ),
    AuditCheck(
        id="structured-invalid",
        group="structured data",
        severity=ERROR,
        title="Structured data that does not parse",
        fix="Correct the JSON: search engines ignore the whole script.",
        test=lambda facts: facts.structured_errors,
        over="html",
    ),
    AuditCheck(
        id="structured-incomplete",
        group="structured data",
        severity=WARNING,
        title="Structured data without a required property",
        fix="Add the property, or the page gets no rich result.",
        test=lambda facts: facts.structured_gaps,
        over="html",
    ),
    AuditCheck(
        id="structured-value",
        group="structured data",
        severity=WARNING,
        title="Structured data with a value of a wrong type",
        fix="Write numbers as 9.90, dates as 2026-05-01, URLs without spaces.",
        test=lambda facts: facts.structured_bad,
        over="html",
    ),
    AuditCheck(
        id="structured-contradiction",
        group="structured data",
        severity=WARNING,
        title="Structured data that contradicts the page",
        fix="Make the data say what the page shows, or search engines ignore the data or the whole site's.",
        test=lambda facts: facts.contradictions,
        over="html",
    ),
    AuditCheck(
        id="blocking-script",
        group="loading",
        severity=NOTICE,
        title="Scripts in the head that block rendering",
        fix="Give the script defer or async, or put it at the end of the body.",
        test=lambda facts: _listed(facts.blocking_scripts),
        over="html",
    ),
    AuditCheck(
        id="late-picture",
        group="loading",
        severity=NOTICE,
        title="First images that load late",
        fix="Load the first picture of the page at once: without loading=lazy and without a script.",
        test=lambda facts: facts.lazy_hero,
        over="html",
    ),
    AuditCheck(
        id="heavy-page",
        group="loading",
        severity=NOTICE,
        title=f"Pages that weigh more than {HEAVY_BYTES / 1e6:g} MB with their files",
        fix="Shrink or leave out the largest images and scripts. Videos are not counted.",
        sql=_WEIGHT,
        needs="links",
    ),
    AuditCheck(
        id="mixed-content",
        group="security",
        severity=ERROR,
        title="Pages of https that load files over http",
        fix="Load the files over https: browsers block them.",
        test=lambda facts: _listed(facts.mixed),
        over="html",
    ),
    AuditCheck(
        id="insecure-form",
        group="security",
        severity=ERROR,
        title="Forms that send over http",
        fix="Send the form to an https address.",
        test=lambda facts: _listed(facts.insecure_forms),
        over="html",
    ),
    AuditCheck(
        id="http-page",
        group="security",
        severity=WARNING,
        title="Hosts that serve pages without https",
        fix="Serve the site over https, and redirect http to it.",
        sql="SELECT 'http://' || u.host || '/', '', counted(count(*), 'page') || ', for example ' || min(u.url) FROM pages p "
        "JOIN urls u ON u.id = p.id WHERE p.is_html AND p.status = 200 AND u.url LIKE 'http://%' "
        "AND is_public(u.host) GROUP BY u.host",
        thing="hosts",
    ),
    AuditCheck(
        id="http-link",
        group="security",
        severity=NOTICE,
        title="Links of https pages to http addresses of the site",
        fix="Link to the https address.",
        sql=f"SELECT s.url, d.url, l.text FROM urls d CROSS JOIN links l ON l.target = d.id JOIN urls s ON s.id = l.source "
        f"WHERE l.kind IN {CLICKS} AND s.url LIKE 'https://%' AND d.url LIKE 'http://%' "
        "AND bare_host(d.host) IN (SELECT bare_host(host) FROM hosts) GROUP BY l.source, l.target",
        thing="links",
    ),
    AuditCheck(
        id="hsts-missing",
        group="security",
        severity=NOTICE,
        title="Hosts without Strict-Transport-Security",
        fix="Send Strict-Transport-Security, so that browsers never use http.",
        sql=_HOST_HEADER.format(name="strict-transport-security"),
        thing="hosts",
    ),
    AuditCheck(
        id="csp-missing",
        group="security",
        severity=NOTICE,
        title="Hosts without Content-Security-Policy",
        fix="Send a Content-Security-Policy, which limits what injected scripts can do.",
        sql=_HOST_HEADER.format(name="content-security-policy"),
        thing="hosts",
    ),
    AuditCheck(
        id="nosniff-missing",
        group="security",
        severity=NOTICE,
        title="Hosts without X-Content-Type-Options",
        fix="Send X-Content-Type-Options: nosniff.",
        sql=_HOST_HEADER.format(name="x-content-type-options"),
        thing="hosts",
    ),
    AuditCheck(
        id="viewport-missing",
        group="mobile",
        severity=WARNING,
        title="Pages without a viewport",
        fix='Add <meta name="viewport" content="width=device-width, initial-scale=1">.',
        test=lambda facts: "" if facts.viewport else "there is no meta viewport",
    ),
    AuditCheck(
        id="viewport-locked",
        group="mobile",
        severity=WARNING,
        title="Pages that forbid visitors to zoom in",
        fix="Remove user-scalable and maximum-scale from the viewport.",
        test=lambda facts: facts.viewport_locked,
        over="html",
    ),
)
