"""Runs all checks on the pages of an audit, and compares the findings with those of the previous audit."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from gossamer.uses.audit.checks.audit_check import MAX_DETAIL_CHARS, AuditCheck
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.link_graph import decode_facts
from gossamer.uses.audit.model import AuditFinding, CheckOutcome, Severity
from gossamer.uses.numbers import counted

CHUNK: Final = 1000
_LOCAL: Final = (".localhost", ".local", ".internal", ".test", ".localdomain")


UNRENDERED: Final = (
    "SELECT u.url FROM pages p JOIN urls u ON u.id = p.id WHERE p.status = 200 "
    "AND json_extract(p.facts, '$.unrendered') IS NOT NULL ORDER BY u.url"
)
"""Selects the URLs of pages that are empty without JavaScript."""


class CheckScope(NamedTuple):
    """The data of an audit that determine the states of its checks. `reasons`: the reasons why the crawl did
    not see the whole site. `sitemaps`: whether the site has a sitemap. `links`: whether links were checked.
    `unchecked`: the number of links that were not checked. `offline`: whether no other site answered,
    possibly because this machine is offline. `unread`: pages that the crawl requested and could not read.
    `unasked`: the reason why the audit sent no requests to the
    site's hosts, or ''. `stored`: whether the audit read stored pages and requested nothing."""

    reasons: Sequence[str]
    sitemaps: bool
    links: bool
    unchecked: int
    offline: bool = False
    unread: Sequence[str] = ()
    unasked: str = ""
    stored: bool = False


def said(status: int | None, error: str | None) -> str:
    """Describes a response in words.

    >>> said(404, None), said(None, "dns"), said(301, None)
    ('HTTP 404', 'no response: dns', 'HTTP 301')
    """
    if status is not None:
        return f"HTTP {status}"
    return f"no response: {error}" if error else "no response"


def bare_host(host: str) -> str:
    """Returns a host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def is_public(host: str) -> bool:
    """Returns whether a host is public, judging by its name or address. This machine and hosts in private
    networks are not public.

    >>> is_public("example.com:8080"), is_public("localhost:3000"), is_public("192.168.1.5"), is_public("[::1]")
    (True, False, False, False)
    """
    name = bare_host(host).strip("[]")
    if name == "localhost" or name.endswith(_LOCAL):
        return False
    try:
        return ipaddress.ip_address(name).is_global
    except ValueError:
        return True


def is_home(url: str) -> bool:
    """Returns whether a URL is that of the home page of a host, judging by its path.

    >>> is_home("https://e.example/?from=mail"), is_home("https://e.example/Index.html"), is_home("https://e.example/a")
    (True, True, False)
    """
    path = url.partition("://")[2].partition("#")[0].partition("?")[0].partition("/")[2].lower()
    return path.partition(".")[0] in ("", "index", "default", "home", "homepage") and "/" not in path


def is_generic(text: str) -> bool:
    """Returns whether the text of a link is generic. A generic text does not describe the link's target."""
    return text.strip(" .…:!>»›→").lower() in _generic()


@cache
def _generic() -> frozenset[str]:
    text = files("gossamer.uses.audit").joinpath("link_texts.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def run_checks(
    database: AuditDatabase,
    audit: int,
    before: int | None,
    checks: Sequence[AuditCheck],
    scope: CheckScope,
    states_before: dict[str, str],
    tell: Callable[[str], None],
) -> list[CheckOutcome]:
    """Runs checks, stores their findings, and returns a result for each check. `before`: the number of the
    previous audit. `states_before`: the states of the checks in the previous audit."""
    functions: tuple[tuple[str, int, Any], ...] = (
        ("said", 2, said),
        ("bare_host", 1, bare_host),
        ("is_public", 1, is_public),
        ("is_generic", 1, is_generic),
        ("is_home", 1, is_home),
        ("counted", 2, counted),
    )
    for name, arguments, function in functions:
        database.define(name, arguments, function)
    with database.transaction() as base:
        base.execute("DELETE FROM findings WHERE audit = ?", [audit])
    states = {check.id: state_of(check, scope) for check in checks}
    active = [check for check in checks if states[check.id][0] in ("checked", "partial")]
    tell("the pages are checked")
    _write(database, audit, _page_findings(database, [one for one in active if one.test is not None]))
    tell("the links are checked")
    empty = {url for (url,) in database.rows(UNRENDERED)}
    for check in active:
        if check.sql:
            rows = (row for row in database.rows(check.sql) if not (check.is_of_content and row[0] in empty))
            _write(
                database,
                audit,
                (
                    AuditFinding(check.id, *(str("" if value is None else value) for value in row))
                    for row in rows
                ),
            )
            if check.needs == "whole" and scope.unread:
                states[check.id] = _mark_likely(database, audit, check, scope.unread)
    comparable = {
        check.id
        for check in checks
        if before is not None
        and states[check.id][0] in ("checked", "partial")
        and states_before.get(check.id) in ("checked", "partial")
    }
    if before is not None:
        _mark_new(database, audit, before, comparable)
    return _results(
        database, audit, before, checks, states, comparable, whole=not (scope.reasons or scope.unread)
    )


def state_of(check: AuditCheck, scope: CheckScope) -> tuple[str, str]:
    """Returns the state of a check before it runs (`checked`, `partial`, `inconclusive` or `skipped`), and the
    reason for the state."""
    if check.needs == "whole":
        if scope.reasons:
            return "inconclusive", f"the crawl did not see the whole site: {'; '.join(scope.reasons)}"
        if check.id == "orphan" and not scope.sitemaps:
            return "skipped", "there is no sitemap with URLs to compare with"
    elif check.needs == "sitemap" and not scope.sitemaps:
        return "skipped", "there is no sitemap with URLs"
    elif (check.needs == "hosts" and scope.unasked) or (check.needs == "requests" and scope.stored):
        return "skipped", scope.unasked
    elif check.needs == "links":
        if not scope.links:
            return "skipped", scope.unasked or "links were not checked (--external 0)"
        if scope.offline and check.id.startswith("external"):
            return "inconclusive", "no other site answered: does this machine reach the internet?"
        if scope.unchecked:
            return "partial", f"{scope.unchecked:,} links were not checked: raise --external"
    return "checked", ""


def _mark_likely(
    database: AuditDatabase, audit: int, check: AuditCheck, unread: Sequence[str]
) -> tuple[str, str]:
    """Marks the findings that a link on an unread page would refute. Returns the state of the check, and the reason
    for the state. Unread pages can only refute findings about known pages, never add one. So a check without such
    findings is conclusive."""
    with database.transaction() as base:
        marked = base.execute(
            f"UPDATE findings SET detail = rtrim('likely: ' || detail, ': ') WHERE audit = ? AND check_id = ? "
            f"AND url NOT IN (SELECT u.url FROM urls u WHERE {check.holds})",
            [audit, check.id],
        ).rowcount
    if not marked:
        return "checked", ""
    pages = f"{unread[0]} could" if len(unread) == 1 else f"{len(unread):,} pages, such as {unread[0]}, could"
    return "likely", f"{pages} not be read: a link there would refute {marked:,} of the findings"


def _page_findings(database: AuditDatabase, checks: Sequence[AuditCheck]) -> Iterator[AuditFinding]:
    indexable = {flag: [check for check in checks if flag or check.over == "html"] for flag in (False, True)}
    query = (
        "SELECT u.url, p.facts, t.indexable FROM pages p JOIN urls u ON u.id = p.id JOIN targets t ON t.id = p.id "
        "WHERE p.status = 200 AND p.is_html AND t.internal"
    )
    for url, text, flag in database.rows(query):
        facts = decode_facts(text)
        # what a page shows is unknown if the page is empty without JavaScript
        for check in indexable[bool(flag) and not facts.unrendered]:
            assert check.test is not None
            found = check.test(facts)
            details = list(filter(None, [found] if isinstance(found, str) else found))
            for place, detail in enumerate(details):
                # several findings of one page differ by their detail
                yield AuditFinding(check.id, url, detail if len(details) > 1 or place else "", detail)


def _write(database: AuditDatabase, audit: int, findings: Iterable[AuditFinding]) -> None:
    chunk: list[AuditFinding] = []
    for finding in findings:
        chunk.append(finding)
        if len(chunk) == CHUNK:
            _write_chunk(database, audit, chunk)
            chunk = []
    _write_chunk(database, audit, chunk)


def _write_chunk(database: AuditDatabase, audit: int, chunk: Sequence[AuditFinding]) -> None:
    if chunk:
        with database.transaction() as base:
            base.executemany(
                "INSERT OR IGNORE INTO findings (audit, check_id, url, target, detail) VALUES (?, ?, ?, ?, ?)",
                [
                    (audit, one.check, one.url, one.target[:2000], one.detail[:MAX_DETAIL_CHARS])
                    for one in chunk
                ],
            )


_OTHER: Final = (
    "NOT EXISTS (SELECT 1 FROM findings o WHERE o.audit = ? AND o.check_id = f.check_id AND o.url = f.url "
    "AND o.target = f.target)"
)


def _mark_new(database: AuditDatabase, audit: int, before: int, comparable: Iterable[str]) -> None:
    with database.transaction() as base:
        for name in comparable:
            base.execute(
                f"UPDATE findings AS f SET is_new = 1 WHERE audit = ? AND check_id = ? AND {_OTHER}",
                [audit, name, before],
            )


def fixed_findings(
    database: AuditDatabase, audit: int, before: int, name: str, *, whole: bool
) -> Iterator[AuditFinding]:
    """Yields the findings that a check had in the previous audit but no longer has. If this audit did not see
    the whole site, the function yields only findings on pages that this audit saw."""
    seen = "" if whole else "AND f.url IN (SELECT u.url FROM targets t JOIN urls u ON u.id = t.id)"
    query = (
        "SELECT f.check_id, f.url, f.target, f.detail FROM findings f "
        f"WHERE f.audit = ? AND f.check_id = ? AND {_OTHER} {seen} ORDER BY f.url"
    )
    for row in database.rows(query, [before, name, audit]):
        yield AuditFinding(*row)


def _results(
    database: AuditDatabase,
    audit: int,
    before: int | None,
    checks: Sequence[AuditCheck],
    states: dict[str, tuple[str, str]],
    comparable: set[str],
    *,
    whole: bool,
) -> list[CheckOutcome]:
    query = "SELECT check_id, count(*), sum(is_new), count(DISTINCT url) FROM findings WHERE audit = ? GROUP BY check_id"
    counts = {name: (n, new, pages) for name, n, new, pages in database.rows(query, [audit])}
    indexable = max(1, database.value("SELECT count(*) FROM targets WHERE indexable"))
    found = []
    for check in checks:
        n, new, pages = counts.get(check.id, (0, 0, 0))
        fixed = 0
        if before is not None and check.id in comparable:
            fixed = sum(1 for _ in fixed_findings(database, audit, before, check.id, whole=whole))
        state, reason = states[check.id]
        found.append(
            CheckOutcome(
                *(check.id, check.group, check.severity.value, check.title, check.fix, state, reason),
                *(n, new, fixed, round(min(1.0, pages / indexable), 4)),
            )
        )
    return found


def total(results: Iterable[CheckOutcome], severity: Severity) -> int:
    """Returns the number of findings of a severity."""
    return sum(one.count for one in results if one.severity == severity)
