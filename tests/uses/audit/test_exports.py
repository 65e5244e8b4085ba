"""The files that an audit writes: sitemaps split into several files, and texts of pages, which are harmless
in a spreadsheet."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree

from gossamer.errors import UsageError
from gossamer.uses.audit import exports
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.link_checks import CheckedLinks
from gossamer.uses.audit.link_graph import build_graph
from gossamer.uses.audit.model import AuditSummary, PageFacts, PageLink, to_json
from gossamer.uses.audit.report_html import render_report
from gossamer.uses.audit.run import check_scope, evaluate_checks, summarize

BASE = "https://site.example"
ODD = '=cmd|" /C calc"!A0 <script>alert(1)</script> \x01\x0b'


@pytest.fixture
def base(tmp_path: Path) -> Iterator[AuditDatabase]:
    with AuditDatabase(tmp_path / "audit.db") as database:
        database.begin(f"{BASE}/", {})
        with database.transaction() as connection:
            connection.execute("INSERT INTO hosts VALUES ('site.example')")
        links = [PageLink(f"{BASE}/p{n}?a=1&b=2", "a", ODD) for n in range(10)]
        links += [PageLink(f"{BASE}/i.png", "img", "x"), PageLink(f"{BASE}/gone", "a", ODD)]
        for number in range(10):
            url = f"{BASE}/p{number}?a=1&b=2" if number else f"{BASE}/"
            facts = PageFacts(url=url, is_html=True, titles=[ODD, ODD], hreflangs=[("de", url, url)])
            database.write_pages([(url, facts, links, b"", 0.1)])
        build_graph(database, f"{BASE}/")
        yield database


def summary_of(base: AuditDatabase) -> AuditSummary:
    (record,) = base.audits()
    checked = CheckedLinks(0, 0, 0, 0)
    results = evaluate_checks(base, record.number, None, check_scope(base, [], True, checked), lambda _: None)
    done = summarize(base, record, None, "finished", [], checked, results, str(base.path))
    base.update(record.number, ended=1.0, summary=to_json(done))
    return done


def test_csv_files_begin_with_a_byte_order_mark_by_choice(base: AuditDatabase, tmp_path: Path) -> None:
    done = summary_of(base)
    exports.check_outputs([f"{tmp_path}/all.csv?bom=yes", f"{tmp_path}/folder/?bom=yes"])
    files = exports.write_output(f"{tmp_path}/all.csv?bom=yes", base, done)
    files += exports.write_output(f"{tmp_path}/folder/?bom=yes", base, done)
    plain = exports.write_output(f"{tmp_path}/plain.csv", base, done)
    starts = {file: Path(file).read_bytes()[:3] == b"\xef\xbb\xbf" for file in (*files, *plain)}
    assert starts == dict.fromkeys(files, True) | dict.fromkeys(plain, False)
    assert f"{tmp_path}/all.csv" in files


def test_numbers_are_written_in_english(base: AuditDatabase) -> None:
    text = "".join(render_report(base, summary_of(base)))
    assert "</b> 1 finding, on " in text
    assert "% of the indexable pages" in text
    assert not re.search(r"\d %|\b1 (?:pages|findings|links|words)\b", text)


@pytest.mark.parametrize("ending", [".xml", ".xml.gz"])
@pytest.mark.parametrize(("urls", "size"), [(4, 50_000_000), (50_000, 1600)])
def test_large_sitemaps_are_split(
    ending: str, urls: int, size: int, base: AuditDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MAX_SITEMAP_URLS", urls)
    monkeypatch.setattr(exports, "MAX_SITEMAP_BYTES", size)
    index, *parts = exports.write_sitemaps(str(tmp_path / f"map{ending}"), base, f"{BASE}/")
    assert len(parts) >= 2

    def read(file: str) -> etree._Element:
        data = Path(file).read_bytes()
        data = gzip.decompress(data) if ending.endswith("gz") else data
        assert len(data) <= size
        return etree.fromstring(data)

    names = [f"{BASE}/{Path(part).name}" for part in parts]
    assert [one.text for one in read(index).iter("{*}loc")] == names
    entries = [entry for part in parts for entry in read(part)]
    assert all(len(read(part)) <= urls for part in parts)
    assert len({entry.findtext("{*}loc") for entry in entries}) == len(entries) == 10
    assert entries[1].find("{*}image") is not None
    assert entries[1].find("{*}link").get("hreflang") == "de"  # type: ignore[union-attr]


def test_sitemap_without_a_page_is_refused(tmp_path: Path) -> None:
    with AuditDatabase(tmp_path / "a.db") as base:
        base.begin(f"{BASE}/", {})
        build_graph(base, f"{BASE}/")
        with pytest.raises(UsageError, match="no page can be indexed"):
            exports.write_sitemaps(str(tmp_path / "a.xml"), base, f"{BASE}/")


def test_texts_of_pages_do_no_harm(base: AuditDatabase, tmp_path: Path) -> None:
    done = summary_of(base)
    text = "".join(render_report(base, done))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    for name in ("l.gexf", "all.csv", "a.xlsx", "folder/"):
        exports.write_output(str(tmp_path / name) + ("/" if name.endswith("/") else ""), base, done)
    graph = etree.fromstring((tmp_path / "l.gexf").read_bytes())
    assert len(list(graph.iter("{*}node"))) == 10
    edges = [(one.get("source"), one.get("target")) for one in graph.iter("{*}edge")]
    assert edges
    assert all(source != target for source, target in edges)
    for file in (tmp_path / "all.csv", *(tmp_path / "folder").glob("*.csv")):
        assert ",=cmd" not in file.read_text()
    assert not list(tmp_path.glob("**/*.part"))
