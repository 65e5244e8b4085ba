"""Audit checks as functions of a page's facts and as database queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.uses.audit.checks.indexability import language_fault
from gossamer.uses.audit.checks.titles import width_px
from gossamer.uses.audit.database import AuditDatabase, ResponseRow, host_of, write_urls
from gossamer.uses.audit.findings import CheckScope, is_generic, is_public, run_checks, said, state_of
from gossamer.uses.audit.link_graph import build_graph, lacks_fragment, likeness
from gossamer.uses.audit.model import PageFacts, PageLink, url_id
from gossamer.uses.audit.page_facts import sketch_of
from gossamer.uses.audit.registry import CHECKS, check_of
from gossamer.uses.audit.run import copy_hint

BASE = "https://site.example"
WHOLE = CheckScope((), sitemaps=True, links=True, unchecked=0)


def database(tmp_path: Path, pages: dict[str, tuple[list[str], float]]) -> AuditDatabase:
    """Creates a database of pages, given by path with the paths that they link to and their response times in
    seconds."""
    base = AuditDatabase(tmp_path / "audit.db")
    base.begin(f"{BASE}/", {})
    with base.transaction() as connection:
        connection.execute("INSERT INTO hosts VALUES ('site.example')")
    base.write_pages(
        (
            BASE + path,
            PageFacts(url=BASE + path, is_html=True, titles=[path]),
            [PageLink(BASE + target, "a", "x") for target in targets],
            b"",
            seconds,
        )
        for path, (targets, seconds) in pages.items()
    )
    return base


def found(base: AuditDatabase, name: str, number: int = 1, before: int | None = None) -> list[str]:
    """Returns the paths that a check finds."""
    check = check_of(name)
    assert check is not None
    run_checks(base, number, before, [check], WHOLE, {name: "checked"}, lambda _: None)
    rows = base.rows("SELECT url FROM findings WHERE audit = ? ORDER BY url", [number])
    return [url.removeprefix(BASE) for (url,) in rows]


def test_ids_are_distinct_and_every_check_has_one_way_to_find() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all((check.test is None) != (check.sql == "") for check in CHECKS)
    assert all(check.fix.endswith((".", ">", "in.")) for check in CHECKS)


def test_a_site_whose_canonicals_name_another_host_looks_like_a_copy(tmp_path: Path) -> None:
    with database(tmp_path, {}) as base:
        for place, host in enumerate(("site.example", "live.example", "live.example")):
            url = f"{BASE}/{place}"
            facts = PageFacts(url=url, is_html=True, canonical=f"https://{host}/{place}")
            base.write_pages([(url, facts, [], b"", 0.1)])
            build_graph(base, url)
            assert ("--as live.example" in copy_hint(base)) == (place == 2)


def test_slow_pages(tmp_path: Path) -> None:
    pages = {f"/{n}": ([], 5.0 if n < 3 else 0.1) for n in range(6)}
    with database(tmp_path, pages) as base:
        build_graph(base, f"{BASE}/0")
        assert found(base, "slow-page") == ["/0", "/1", "/2"]


def test_depth_counts_clicks_through_redirects(tmp_path: Path) -> None:
    steps = {"/": ["/a"], "/b": ["/c"], "/c": ["/d"], "/d": ["/e"], "/e": []}
    with database(tmp_path, {path: (links, 0.1) for path, links in steps.items()}) as base:
        base.write_responses([ResponseRow(f"{BASE}/a", 301, "redirected", None, 0, 0, f"{BASE}/b", "2026")])
        build_graph(base, f"{BASE}/")
        assert base.value("SELECT depth FROM depths WHERE id = ?", [url_id(f"{BASE}/e")]) == 4
        assert found(base, "deep-page") == ["/e"]
        assert found(base, "link-to-redirect") == ["/"]


def test_circles_of_redirects_end(tmp_path: Path) -> None:
    with database(tmp_path, {"/": (["/a"], 0.1)}) as base:
        pairs = (("/a", "/b"), ("/b", "/c"), ("/c", "/a"))
        base.write_responses(
            ResponseRow(BASE + one, 302, "redirected", None, 0, 0, BASE + other, "2026")
            for one, other in pairs
        )
        build_graph(base, f"{BASE}/")
        assert found(base, "redirect-loop") == ["/a", "/b", "/c"]
        assert found(base, "redirect-chain") == []


def test_newest_response_counts_and_a_check_does_not_replace_a_visit(tmp_path: Path) -> None:
    with database(tmp_path, {}) as base:
        url = f"{BASE}/a"
        base.write_responses([ResponseRow(url, 200, "done", None, 0, 0, None, "2026-02")])
        base.write_responses([ResponseRow(url, 500, "retry", None, 0, 0, None, "2026-01")])
        base.write_responses([ResponseRow(url, 404, "done", None, 0, 0, None, "2026-03", checked=True)])
        assert base.value("SELECT status FROM responses") == 200


def test_pages_are_written_again_without_doubles(tmp_path: Path) -> None:
    with database(tmp_path, {"/": (["/a", "/b"], 0.1)}) as base:
        for _ in range(2):
            facts = PageFacts(url=f"{BASE}/", is_html=True, titles=["x"])
            base.write_pages([(f"{BASE}/", facts, [PageLink(f"{BASE}/a", "a")], b"", 0.1)])
        assert base.value("SELECT count(*) FROM links") == 1
        assert base.value("SELECT count(*) FROM pages") == 1


def test_comparison_names_what_is_new_and_what_is_fixed(tmp_path: Path) -> None:
    with database(tmp_path, {"/": (["/gone"], 0.1), "/a": ([], 9.0), "/b": ([], 9.0)}) as base:
        build_graph(base, f"{BASE}/")
        assert found(base, "slow-page") == ["/a", "/b"]
        base.update(1, ended=1.0)
        base.begin(f"{BASE}/", {})
        with base.transaction() as connection:
            connection.execute("INSERT INTO hosts VALUES ('site.example')")
            write_urls(connection, [(url_id(f"{BASE}/{n}"), f"{BASE}/{n}") for n in "abc"])
        base.write_pages(
            (f"{BASE}/{name}", PageFacts(url=f"{BASE}/{name}", is_html=True), [], b"", seconds)
            for name, seconds in (("a", 0.1), ("c", 9.0))
        )
        build_graph(base, f"{BASE}/")
        check = check_of("slow-page")
        assert check is not None
        before = {check.id: "checked"}
        partial = CheckScope(("a limit ended the crawl",), sitemaps=True, links=True, unchecked=0)
        (result,) = run_checks(base, 2, 1, [check], partial, before, lambda _: None)
        assert (result.count, result.new, result.fixed) == (1, 1, 1)  # the state of /b is unknown
        (result,) = run_checks(base, 2, 1, [check], WHOLE, before, lambda _: None)
        assert (result.count, result.new, result.fixed) == (1, 1, 2)
        (result,) = run_checks(base, 2, 1, [check], WHOLE, {}, lambda _: None)
        assert (result.new, result.fixed) == (0, 0)  # the previous audit did not run this check


def test_orphans_need_a_whole_crawl_and_a_sitemap() -> None:
    orphan = check_of("orphan")
    assert orphan is not None
    assert state_of(orphan, WHOLE)[0] == "checked"
    state, reason = state_of(orphan, WHOLE._replace(reasons=("a limit ended the crawl",)))
    assert (state, "a limit" in reason) == ("inconclusive", True)
    assert state_of(orphan, WHOLE._replace(sitemaps=False))[0] == "skipped"


@pytest.mark.parametrize("source", ["/a", "/d"])
@pytest.mark.parametrize("planted", [True, False])
def test_a_page_that_fails_leaves_open_only_what_it_could_refute(
    tmp_path: Path, source: str, planted: bool
) -> None:
    """`source` links to the failing page. The clean twin has the same failing page and none of the faults."""
    tree = {"/": ["/a", "/b"], "/a": ["/b", "/c"], "/b": ["/a", "/c"], "/c": ["/d", "/a"], "/d": ["/e", "/a"]}
    pages = (
        tree | {"/e": ["/a"], "/lost": ["/a"]} if planted else {"/": ["/a", "/b"], "/a": ["/b"], "/b": ["/a"]}
    )
    if source not in pages:
        source = "/b"
    pages[source] = [*pages[source], "/fails"]
    with database(tmp_path, {path: (targets, 0.1) for path, targets in pages.items()}) as base:
        base.write_responses([ResponseRow(f"{BASE}/fails", 500, "dead", None, 0.1, 9, None, "2026", False)])
        with base.transaction() as connection:
            connection.executemany(
                "INSERT INTO sitemap_urls VALUES ('s', ?, '')", [[url_id(BASE + p)] for p in pages]
            )
        build_graph(base, f"{BASE}/")
        checks = [check for name in ("orphan", "single-inlink", "deep-page") if (check := check_of(name))]
        scope = WHOLE._replace(unread=[f"{BASE}/fails"])
        found = {
            one.id: (one.state, one.count) for one in run_checks(base, 1, None, checks, scope, {}, print)
        }
        details = base.rows("SELECT check_id, detail FROM findings WHERE audit = 1")
        marked = {check for check, detail in details if detail.startswith("likely")}
    if not planted:
        assert found == dict.fromkeys(found, ("checked", 0))
        return
    deep = "likely" if source == "/a" else "checked"
    assert found == {"orphan": ("likely", 1), "single-inlink": ("likely", 2), "deep-page": (deep, 1)}
    assert marked == {name for name, (state, _) in found.items() if state == "likely"}


@pytest.mark.parametrize(
    ("code", "is_right"),
    [
        *((code, True) for code in ("en", "EN-gb", "zh-Hant", "zh-Hant-TW", "x-default", "pt-BR", "es-419")),
        *((code, False) for code in ("en-UK", "en_US", "xx", "eng", "", "en-", "de-DEU1x", "uk-EU", "x")),
    ],
)
def test_codes_of_language_versions(code: str, is_right: bool) -> None:
    assert (language_fault(code, hreflang=True) == "") is is_right


@pytest.mark.parametrize(
    ("code", "is_right"),
    [
        *((code, True) for code in ("en", "de-DE-1996", "haw", "sr-Latn", "x-klingon", "ca-valencia")),
        *((code, False) for code in ("english", "en_US", "qq", "en-XX", "de AT")),
    ],
)
def test_codes_of_pages(code: str, is_right: bool) -> None:
    assert (language_fault(code) == "") is is_right


def test_width_of_titles() -> None:
    assert width_px("iiii", 20) < width_px("WWWW", 20)
    assert width_px("漢字", 20) == 40


def test_words_for_responses_hosts_and_links() -> None:
    assert said(None, "timeout") == "no response: timeout"
    assert host_of("http://user:pw@Example.com:8080/a@b") == "example.com:8080"
    assert [is_public(host) for host in ("10.0.0.1:80", "shop.local", "8.8.8.8", "a.example")] == [
        False,
        False,
        True,
        True,
    ]
    assert is_generic(" Read more » ")
    assert not is_generic("continue")
    assert not lacks_fragment({"caf\u00e9"}, "caf%C3%A9")
    assert not lacks_fragment(set(), ":~:text=word")
    assert not lacks_fragment({"plain"}, "plain:~:text=word")
    assert lacks_fragment(set(), "plain:~:text=word")


def test_sketches_tell_how_alike_texts_are() -> None:
    words = [f"w{n}" for n in range(400)]
    other = [*words[:396], "x", "y", "z", "q"]
    assert likeness(sketch_of(words), sketch_of(words)) == 1.0
    assert likeness(sketch_of(words), sketch_of(other)) > 0.9
    assert likeness(sketch_of(words), sketch_of([f"v{n}" for n in range(400)])) < 0.05


def test_pages_that_share_only_the_name_of_the_site_as_a_heading_are_no_duplicates(tmp_path: Path) -> None:
    with database(tmp_path, {}) as base:
        base.write_pages(
            (BASE + path, PageFacts(url=BASE + path, is_html=True, h1s=["The site", own]), [], b"", 0.1)
            for path, own in (("/a", "One"), ("/b", "Two"), ("/c", "Two"))
        )
        build_graph(base, f"{BASE}/a")
        assert found(base, "h1-duplicate") == ["/b", "/c"]


def test_lines_of_code_are_fragments(tmp_path: Path) -> None:
    with database(tmp_path, {}) as base:
        links = [PageLink(f"{BASE}/a", "a", "x", fragment=one) for one in ("5-9", "v1-v2", "7-8", "none")]
        facts = PageFacts(url=f"{BASE}/a", is_html=True, ids=["5", "v1-v2"])
        base.write_pages([(f"{BASE}/a", facts, links, b"", 0.1)])
        build_graph(base, f"{BASE}/a")
        found(base, "fragment-missing")
        rows = base.rows("SELECT target FROM findings ORDER BY target")
        assert [target.partition("#")[2] for (target,) in rows] == ["7-8", "none"]
