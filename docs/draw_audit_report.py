"""Draws the picture of the audit report: `python docs/draw_audit_report.py` writes
`docs/images/audit-report.png`.

The program audits a made-up shop of 240 pages twice. Between the two audits, some faults are fixed and some
new ones appear. The picture shows the report of the second audit in Chromium. `--html FILE` keeps the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from report_picture import draw_report

from gossamer.uses.audit.database import AuditDatabase, ResponseRow
from gossamer.uses.audit.link_checks import CheckedLinks
from gossamer.uses.audit.link_graph import build_graph
from gossamer.uses.audit.model import AuditSummary, ImageFacts, PageFacts, PageLink, to_json
from gossamer.uses.audit.report_html import render_report
from gossamer.uses.audit.run import check_scope, evaluate_checks, summarize

SITE = "https://shop.example"
KINDS = ("lamps", "chairs", "kettles", "drills", "jackets", "books")
PAGES = 40
"""The number of pages per kind."""
SECURITY = ["strict-transport-security", "content-security-policy", "x-content-type-options"]


def pages(number: int) -> Iterator[tuple[str, PageFacts, list[PageLink], bytes, float]]:
    """Yields the pages of audit `number`, which is 1 or 2."""
    hubs = [PageLink(f"{SITE}/{kind}/", "a", kind) for kind in KINDS]
    yield page(
        "/", "Everything for the house", [*hubs, PageLink(f"{SITE}/old-catalogue", "a", "The old catalogue")]
    )
    for kind in KINDS:
        products = [PageLink(f"{SITE}/{kind}/{n}", "a", f"{kind} number {n}") for n in range(PAGES)]
        yield page(f"/{kind}/", f"All {kind} of the shop", [*hubs, *products])
        for n in range(PAGES):
            links = [*hubs, PageLink(f"{SITE}/{kind}/{(n + 1) % PAGES}", "a", "The next one")]
            if n == 7 and (number == 1 or kind != "lamps"):
                links.append(PageLink(f"{SITE}/guides/{kind}", "a", f"How to choose {kind}"))
            found = page(f"/{kind}/{n}", f"{kind.title()} model {n} of our workshop", links)
            spoil(found[1], kind, n, number)
            yield (*found[:4], 3.4 if kind == "books" and n < 5 * number else 0.2)


def spoil(facts: PageFacts, kind: str, n: int, number: int) -> None:
    """Adds faults to a page."""
    if n % 19 == 3:
        facts.titles = [f"{kind.title()} of our workshop"]
    if n % 13 == 5 and number == 1:
        facts.descriptions = []
    if n == 11 and number == 2:
        facts.robots = ["noindex"]
    if n % 17 == 2:
        facts.images = ImageFacts(count=3, without_alt=[f"/images/{kind}-{n}.jpg"])
    if kind == "drills" and n < 6:
        facts.structured_errors = [
            'Expecting \',\' delimiter: line 4 column 3 (char 91): {"@type": "Product"'
        ]


def page(path: str, title: str, links: list[PageLink]) -> tuple[str, PageFacts, list[PageLink], bytes, float]:
    """Returns a page without faults."""
    url = SITE + path
    facts = PageFacts(
        url=url,
        is_html=True,
        titles=[f"{title}, shop.example"],
        descriptions=[f"{title}: what it can do, what it costs, and when we can send it to you. Page {path}"],
        h1s=[f"{title} {path}"],
        headings=[1, 2],
        canonicals=[url],
        canonical=url,
        language="en",
        words=300,
        text_hash=path,
        main_hash=path,
        viewport=True,
        security_headers=SECURITY[:2],
    )
    return url, facts, links, b"", 0.2


def audit(database: AuditDatabase, number: int) -> AuditSummary:
    """Audits the made-up shop."""
    record = database.begin(f"{SITE}/", {})
    with database.transaction() as base:
        base.execute("INSERT INTO hosts VALUES ('shop.example')")
        base.execute("INSERT INTO robots_files VALUES (?, 200, '', x'')", [SITE])
    database.write_pages(pages(number))
    gone = [ResponseRow(f"{SITE}/guides/{kind}", 404, "done", None, 0.1, 0, None, "2026") for kind in KINDS]
    moved = [
        ResponseRow(f"{SITE}/old-catalogue", 301, "redirected", None, 0.1, 0, f"{SITE}/catalogue", "2026"),
        ResponseRow(f"{SITE}/catalogue", 301, "redirected", None, 0.1, 0, f"{SITE}/", "2026"),
    ]
    database.write_responses([*gone, *moved])
    build_graph(database, f"{SITE}/")
    before = database.audits()[-2] if number > 1 else None
    checked = CheckedLinks(0, 0, 0, 0)
    scope = check_scope(database, [], True, checked)
    results = evaluate_checks(database, record.number, before, scope, lambda _: None)
    done = summarize(database, record, before, "finished", [], checked, results, str(database.path))
    database.update(record.number, ended=1.0, started=1_795_600_000.0, summary=to_json(done))
    return done


def report_of_audits(folder: Path) -> str:
    """Runs both audits. Returns the report of the second audit."""
    with AuditDatabase(f"{folder}/audit.db") as database:
        audit(database, 1)
        return "".join(render_report(database, audit(database, 2)))


if __name__ == "__main__":
    draw_report(__doc__, "audit-report.png", 1560, report_of_audits)
