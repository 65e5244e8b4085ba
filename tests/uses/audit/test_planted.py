"""A clean site has no findings. Its copy has three planted instances of every check, and the audit finds all
of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.uses.audit.checks import hosts
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.model import AuditSummary
from gossamer.uses.audit.registry import CHECKS
from uses.audit.audited_site import (
    TIMES,
    Answer,
    AuditedSite,
    clean_site,
    failing_site,
    planted_site,
    serving,
)

SITE_WIDE = {
    "http-page",
    "hsts-missing",
    "csp-missing",
    "nosniff-missing",
    "robots-broken",
    "sitemap-missing",
    *(check.id for check in hosts.CHECKS),
}
"""Checks with one finding per host. A separate test covers them."""
FAILURES = {"page-5xx", "page-no-response", "javascript-needed"}
"""Checks of pages that prevent a crawl from seeing the whole site."""

TIMED = {"slow-page"}
"""Checks of times, which depend on the machine. They have a test without a server."""


def found_urls(database: Path) -> dict[str, set[str]]:
    """Returns the pages of the findings, by check."""
    found: dict[str, set[str]] = {}
    with AuditDatabase(database) as base:
        for check, url in base.rows("SELECT DISTINCT check_id, url FROM findings"):
            found.setdefault(check, set()).add(url)
    return found


def differences(site: AuditedSite, database: Path) -> dict[str, dict[str, list[str]]]:
    """Returns the missed and the false findings, by check."""
    found = found_urls(database)
    told = {}
    for check in {*found, *site.truth} - {"duplicate-near", *TIMED}:
        missed, false = (
            site.truth[check] - found.get(check, set()),
            found.get(check, set()) - site.truth[check],
        )
        if missed or false:
            told[check] = {"missed": sorted(missed), "false": sorted(false)}
    return told


def html_pages(site: AuditedSite) -> int:
    return sum(one.kind.startswith("text/html") for one in site.answers.values())


def test_clean_site_has_no_finding(
    tmp_path: Path, keys: Path, run_audit: Callable[..., AuditSummary]
) -> None:
    with serving(clean_site, keys) as site:
        done = run_audit(site.url("/"), http_port=int(site.plain.rpartition(":")[2]))
    assert found_urls(tmp_path / "audit.db").keys() <= TIMED
    assert (done.whole, done.reasons, done.errors, done.notices) == (True, [], 0, 0)
    assert done.pages == done.indexable == html_pages(site)
    assert {one.state for one in done.checks} == {"checked"}


def test_a_copy_of_a_clean_site_is_checked_as_the_site_itself(
    tmp_path: Path, keys: Path, run_audit: Callable[..., AuditSummary]
) -> None:
    served: list[str] = []

    def copy(base: str, other: str, plain: str = "") -> AuditedSite:
        served.append(base)
        return clean_site("https://www.live.example", other, plain)

    with serving(copy, keys) as site:
        done = run_audit(f"{served[0]}/", as_host="www.live.example", external=None)
    assert found_urls(tmp_path / "audit.db").keys() <= TIMED
    assert (done.whole, done.reasons) == (True, [])
    assert done.pages == done.indexable == html_pages(site)


def test_all_planted_instances_are_found_and_nothing_else(
    tmp_path: Path, keys: Path, run_audit: Callable[..., AuditSummary]
) -> None:
    with serving(planted_site, keys) as site:
        done = run_audit(site.url("/"), external=None)
    assert done.reasons == []
    assert differences(site, tmp_path / "audit.db") == {}
    near = found_urls(tmp_path / "audit.db")["duplicate-near"]
    assert sorted(len(near & pair) for pair in site.near) == [1] * TIMES
    assert near <= set().union(*site.near)
    planted = {check.id for check in CHECKS} - SITE_WIDE - FAILURES - TIMED - {"duplicate-near"}
    assert {name: len(site.truth[name]) for name in planted if len(site.truth[name]) < TIMES} == {}


def test_pages_that_fail_are_found_and_hide_what_cannot_be_known(
    tmp_path: Path, keys: Path, run_audit: Callable[..., AuditSummary]
) -> None:
    with serving(failing_site, keys) as site:
        done = run_audit(site.url("/"), external=None)
    assert differences(site, tmp_path / "audit.db") == {}
    assert {name: len(site.truth[name]) for name in FAILURES} == dict.fromkeys(FAILURES, TIMES)
    states = {one.id: (one.state, one.count) for one in done.checks}
    assert states["orphan"] == ("likely", TIMES)
    assert (states["single-inlink"], states["deep-page"]) == (("checked", 0), ("checked", 0))
    assert not done.whole
    assert any("script-0.html" in reason for reason in done.reasons)


@pytest.mark.parametrize("n", range(TIMES))
def test_site_wide_faults_are_found(
    n: int, tmp_path: Path, keys: Path, run_audit: Callable[..., AuditSummary]
) -> None:
    def bare(base: str, other: str, plain: str = "") -> AuditedSite:
        site = AuditedSite(base, other, plain)
        for page in range(n + 2):
            site.add(f"/page-{page}.html", body='<a href="/list-b.html">The second list of all</a>')
        site.finish(sitemap=False)
        site.answers["/robots.txt"] = Answer(
            *((b"<html>no</html>", 200), (b"#" * 600_000, 200), (b"<HTML><p>no", 200))[n], kind="text/plain"
        )
        return site

    with serving(bare, keys, secure=n != 1, security={}) as site:
        run_audit(site.url("/"))
    found = {name: urls for name, urls in found_urls(tmp_path / "audit.db").items() if name not in TIMED}
    expected = (
        SITE_WIDE
        - {check.id for check in hosts.CHECKS}
        - ({"http-page"} if n != 1 else {"hsts-missing", "csp-missing", "nosniff-missing"})
    )
    assert set(found) == expected
    assert all(len(urls) == 1 for urls in found.values())
