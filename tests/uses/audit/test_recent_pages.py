"""Tests of `--if-older`: an audit does not request pages again whose last visit is recent, and its findings are those
of an audit that requests all pages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.model import AuditSummary
from gossamer.uses.audit.recent_pages import mark_crawl
from gossamer.uses.audit.run import AuditOptions, reason_to_visit_all
from uses.audit.audited_site import Answer, AuditedSite, clean_site, planted_site, serving
from uses.audit.test_planted import TIMED

DAY_S = 86_400
Findings = set[tuple[str, ...]]


@pytest.fixture
def site(keys: Path) -> Iterator[AuditedSite]:
    """A site with all faults."""
    with serving(planted_site, keys) as one:
        yield one


@pytest.fixture
def small(keys: Path) -> Iterator[AuditedSite]:
    """A site without faults."""
    with serving(clean_site, keys) as one:
        yield one


def findings(database: Path, audit: int) -> Findings:
    """Returns the findings of an audit. Times are left out, because they depend on the machine. A host that did not
    answer for its robots.txt is not asked again, so its error is another one in the next audit."""
    with AuditDatabase(database) as base:
        query = "SELECT check_id, url, target, detail FROM findings WHERE audit = ?"
        return {
            (*row[:3], row[3].replace("robots-unreachable", "connect"))
            for row in base.rows(query, [audit])
            if row[0] not in TIMED
        }


def age(folder: Path, is_old: Callable[[str], bool], by: int = 2 * DAY_S) -> None:
    """Moves the visits of some paths back in time, for the audit and for its crawl."""
    (log,) = (
        one
        for one in folder.glob("data/audit-*/known.jsonl")
        if not one.parent.name.endswith(("-head", "-get"))
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line["at"] -= by * is_old(path_of(line["url"]))
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with sqlite3.connect(folder / "audit.db") as base:
        base.create_function("is_old", 1, lambda url: is_old(path_of(url)))
        base.execute(
            "UPDATE responses SET at = strftime('%Y-%m-%dT%H:%M:%fZ', at, ?) WHERE id IN "
            "(SELECT id FROM urls WHERE is_old(url))",
            [f"-{by} seconds"],
        )


def path_of(url: str) -> str:
    return f"/{url.partition('://')[2].partition('/')[2]}"


def good_pages(site: AuditedSite) -> set[str]:
    """Returns the paths of the pages that answer 200."""
    pages = {
        path for path, one in site.answers.items() if one.status == 200 and one.kind.startswith("text/html")
    }
    return {path for path in pages if not site.answers[path].reset}


def test_recent_pages_are_not_requested_and_count_as_before(
    tmp_path: Path, site: AuditedSite, run_audit: Callable[..., AuditSummary]
) -> None:
    first = run_audit(site.url("/"), external=None, if_older=DAY_S)
    site.asked.clear()
    second = run_audit(site.url("/"), external=None, if_older=DAY_S)
    assert (second.audit, second.state, second.whole) == (2, "finished", True)
    assert set(site.asked) & good_pages(site) == {"/"}, (
        "an audit always requests the first page, and its redirects"
    )
    assert findings(tmp_path / "audit.db", 2) == findings(tmp_path / "audit.db", 1)
    assert (second.pages, second.indexable, second.new, second.fixed) == (first.pages, first.indexable, 0, 0)
    assert (second.external_checked, second.external) == (first.external_checked, first.external)
    assert (first.recent, second.recent > 0.9 * first.pages) == (0, True)


def test_old_pages_are_read_again_and_the_findings_are_those_of_a_whole_audit(
    tmp_path: Path, site: AuditedSite, run_audit: Callable[..., AuditSummary]
) -> None:
    run_audit(site.url("/"), external=None, if_older=DAY_S)
    old = {
        "/",
        "/list-a.html",
        "/list-b.html",
        "/page-0.html",
        "/page-2.html",
        "/page-3.html",
        "/article.html",
    }
    old |= {"/temporary-0.html", "/links-to-gone-0.html"}
    age(tmp_path, old.__contains__)
    recent = site.answers["/page-1.html"].body
    site.answers["/page-0.html"].headers["X-Robots-Tag"] = "noindex"  # the same body
    site.answers["/page-1.html"].body = recent.replace(b"<title>", b"<title>Another ")
    site.answers["/page-2.html"] = Answer(status=301, headers={"Location": "/page-3.html"})
    site.answers["/page-3.html"].body += b'<a href="/child.html">A page that is new</a>'
    site.answers["/child.html"] = Answer(site.html("/child.html", title="").encode())
    del site.answers["/article.html"], site.answers["/temporary-0.html"]
    for path in ("/list-a.html", "/list-b.html"):
        site.answers[path].body = site.answers[path].body.replace(
            b'href="/article.html"', b'href="/page-4.html"'
        )
    site.answers["/links-to-gone-0.html"] = Answer(site.html("/links-to-gone-0.html").encode())
    site.answers["/sitemap.xml"] = site.sitemap([one for one in site.listed if one != "/article.html"])
    site.asked.clear()
    done = run_audit(site.url("/"), external=None, if_older=DAY_S)
    asked = set(site.asked)
    assert old | {"/child.html"} <= asked
    assert asked & good_pages(site) <= old | {"/child.html"}
    assert done.whole
    site.answers["/page-1.html"].body = recent
    whole = run_audit(site.url("/"), external=None, database=str(tmp_path / "whole.db"))
    found, wanted = findings(tmp_path / "audit.db", 2), findings(tmp_path / "whole.db", 1)
    assert (found - wanted, wanted - found) == (set(), set())
    assert (done.pages, done.indexable, done.links) == (whole.pages, whole.indexable, whole.links)
    assert ("noindex", site.url("/page-0.html")) in {one[:2] for one in found}
    assert done.fixed, "a finding of a page that was read again"


def test_an_interrupted_audit_keeps_the_recent_pages_and_other_options_visit_all(
    tmp_path: Path, small: AuditedSite, run_audit: Callable[..., AuditSummary]
) -> None:
    told: list[str] = []
    first = run_audit(small.url("/"), external=0)

    def stop(said: str) -> None:
        if "visited within --if-older" in said:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_audit(small.url("/"), tell=stop, external=0, if_older=DAY_S)
    small.asked.clear()
    done = run_audit(small.url("/"), external=0)  # continues with the option
    assert set(small.asked) & good_pages(small) == set()
    assert (done.audit, done.pages, done.recent) == (2, first.pages, first.pages)
    assert findings(tmp_path / "audit.db", 2) == findings(tmp_path / "audit.db", 1)
    third = run_audit(small.url("/"), tell=told.append, external=0, if_older=DAY_S, depth=5)
    assert "all pages are visited, because audit 2 had other options" in told
    assert (third.recent, third.pages) == (0, first.pages)
    assert good_pages(small) <= set(small.asked)


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ({}, ""),
        ({"state": "limited"}, "audit 1 did not finish"),
        ({"view": "other"}, "audit 1 had other options"),
        ({"start": "https://b.example/"}, "audit 1 had other options"),
        ({"database": "other.db"}, "another audit has crawled the site since audit 1"),
    ],
)
def test_reasons_to_visit_all_pages(tmp_path: Path, last: dict[str, Any], reason: str) -> None:
    view = AuditOptions(database="a.db").view()
    given = {"view": view, "start": "https://a.example/"}
    with AuditDatabase(tmp_path / "a.db") as database, AuditDatabase(tmp_path / "other.db") as other:
        mark_crawl(tmp_path / "crawl", other if last.pop("database", None) else database)
        state = last.pop("state", "finished")
        options = {
            name: value for name, value in {**given, "skipped": {}, **last}.items() if value is not None
        }
        database.update(database.begin("https://a.example/", options).number, state=state, ended=1.0)
        assert reason_to_visit_all(database, database.audits()[-1], tmp_path / "crawl", given) == reason


def test_options_that_decide_what_an_audit_sees() -> None:
    plain = AuditOptions(database="a.db", crawl={"delay": "1", "progress": True})
    same = AuditOptions(database="b.db", if_older=5.0, crawl={"delay": "2", "data": "d", "include": None})
    assert plain.view() == same.view()
    for more in ({"limit": 5}, {"as_host": "a.example"}, {"crawl": {"ladder": ["browser"]}}):
        assert AuditOptions(**{"database": "a.db", **more}).view() != plain.view()  # type: ignore[arg-type]
