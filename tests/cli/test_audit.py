"""Tests of `gossamer audit`: reports, comparisons, exit codes, and sites that cannot be audited."""

from __future__ import annotations

import csv
import gzip
import http.server
import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lxml import etree

from cli.command_line import begin, gossamer
from support.answers import answering

PAGES = 30
HEAD = '<html lang="en"><head><meta name="viewport" content="width=device-width">'


class Docs(http.server.BaseHTTPRequestHandler):
    """A small documentation site with some faults. `pages`: replacements of the usual pages, keyed by
    path."""

    pages: ClassVar[dict[str, tuple[int, str, bytes]]] = {}
    asked: ClassVar[list[str]] = []
    hold: ClassVar[list[float]] = [0.0]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        status, kind, body = self.pages.get(self.path) or page(self.path)
        if self.path not in ("/robots.txt", "/sitemap.xml"):
            time.sleep(self.hold[0])
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the server calls it by this name

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


def page(path: str) -> tuple[int, str, bytes]:
    found = re.fullmatch(r"/(?:p(\d+)\.html)?", path)
    if not found or int(found[1] or 0) >= PAGES:
        return 404, "text/html", b"<title>none</title>"
    number = int(found[1] or 0)
    links = "".join(f'<a href="/p{n}.html">Page number {n} of all</a>' for n in range(PAGES))
    broken = '<a href="/gone.html">The page that is gone</a>' if number == 3 else ""
    title = f"<title>Page number {number} of the small site</title>" if number != 5 else ""
    words = " ".join(f"word{number * 60 + n}" for n in range(60))
    return (
        200,
        "text/html",
        f"{HEAD}{title}</head><body><h1>Page {number}</h1>{words}{links}{broken}</body>".encode(),
    )


@pytest.fixture
def docs() -> Iterator[str]:
    Docs.pages, Docs.asked, Docs.hold = {}, [], [0.0]
    with answering(Docs) as port:
        yield f"http://127.0.0.1:{port}/"


@contextmanager
def replaced(path: str, status: int, kind: str, body: bytes) -> Iterator[None]:
    Docs.pages[path] = (status, kind, body)
    try:
        yield
    finally:
        del Docs.pages[path]


def audited(folder: Path, url: str, *words: str) -> dict[str, Any]:
    code, out, err = gossamer(folder, "audit", url, "--delay", "0", "--json", *words)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    found["by"] = {one["id"]: one for one in found["checks"]}
    return found


def read_csv(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


def test_one_command_writes_a_report(tmp_path: Path, docs: str) -> None:
    code, out, err = gossamer(tmp_path, "audit", docs, "--delay", "0")
    assert code == 0, err
    assert "broken-link" in out
    assert f"audit 1 of {docs} finished" in out
    (report,) = tmp_path.glob("audit-127.0.0.1-*.html")
    text = report.read_text()
    assert "/gone.html" in text
    assert "<script" not in text
    assert "Links to pages of the site that do not work" in text


def test_second_audit_names_what_is_new_and_what_is_fixed(tmp_path: Path, docs: str) -> None:
    first = audited(tmp_path, docs)
    assert (first["before"], first["new"], first["fixed"]) == (None, 0, 0)
    fixed = page("/p3.html")[2].replace(b"/gone.html", b"/p4.html")
    with replaced("/p3.html", 200, "text/html", fixed), replaced("/p7.html", 404, "text/html", b"gone"):
        second = audited(tmp_path, docs, "-o", "found/")
    assert (second["before"], second["audit"]) == (1, 2)
    assert second["by"]["broken-link"]["new"] == PAGES  # all other pages link to p7
    assert second["by"]["broken-link"]["fixed"] == 1
    rows = read_csv(tmp_path / "found" / "fixed.csv")
    assert [row["url"] for row in rows if row["check"] == "broken-link"] == [f"{docs}p3.html"]


def test_all_outputs(tmp_path: Path, docs: str) -> None:
    from openpyxl import load_workbook

    names = ("r.html", "r.xlsx", "all.csv", "links.gexf", "sitemap.xml.gz", "found/")
    done = audited(tmp_path, docs, *(word for name in names for word in ("-o", name)))
    assert {Path(name).name for name in done["outputs"]} >= {name.strip("/") for name in names[:-1]}
    graph = etree.fromstring((tmp_path / "links.gexf").read_bytes())
    space = {"g": "http://gexf.net/1.3"}
    nodes = {node.get("id") for node in graph.iterfind(".//g:node", space)}
    edges = list(graph.iterfind(".//g:edge", space))
    assert len(nodes) == PAGES + 2  # the graph also contains the first page and the missing page
    assert {edge.get("source") for edge in edges} | {edge.get("target") for edge in edges} <= nodes
    listed = etree.fromstring(gzip.decompress((tmp_path / "sitemap.xml.gz").read_bytes()))
    assert len(listed) == done["indexable"] == PAGES + 1
    book = load_workbook(tmp_path / "r.xlsx", read_only=True)
    assert book.sheetnames[0] == "checks"
    assert "broken-link" in book.sheetnames
    rows = read_csv(tmp_path / "all.csv")
    assert len(rows) == done["errors"] + done["warnings"] + done["notices"]
    kept = sum(len(read_csv(file)) for file in (tmp_path / "found").glob("*.csv") if file.stem != "summary")
    assert kept == len(rows)


def test_stored_audit_is_exported_again_without_a_request(tmp_path: Path, docs: str) -> None:
    audited(tmp_path, docs, "--database", "site.db")
    Docs.asked.clear()
    code, out, err = gossamer(tmp_path, "audit", "site.db", "-o", "again.html", "-o", "sitemap.xml")
    assert code == 0, err
    assert "written: again.html" in out
    assert Docs.asked == []


def test_fail_on(tmp_path: Path, docs: str) -> None:
    words = ("audit", docs, "--delay", "0", "-q", "--fail-on")
    code, _, err = gossamer(tmp_path, *words, "error")
    assert (code, "--fail-on error: 3 findings" in err) == (30, True)
    assert gossamer(tmp_path, *words, "new")[0] == 0
    with replaced("/p7.html", 404, "text/html", b"gone"):
        assert gossamer(tmp_path, *words, "new-error")[0] == 30


def test_limit_leaves_orphans_undecided(tmp_path: Path, docs: str) -> None:
    body = "".join(f"<url><loc>{docs}p{n}.html</loc></url>" for n in range(PAGES))
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{body}</urlset>'.encode()
    with replaced("/sitemap.xml", 200, "application/xml", sitemap):
        part = audited(tmp_path, docs, "--limit", "10")
        whole = audited(tmp_path, docs)
    assert (part["state"], part["whole"]) == ("limited", False)
    assert part["by"]["orphan"]["state"] == "inconclusive"
    assert "a limit ended the crawl" in part["by"]["orphan"]["reason"]
    assert (whole["state"], whole["by"]["orphan"]["state"]) == ("finished", "checked")


def test_killed_audit_continues(tmp_path: Path, docs: str) -> None:
    Docs.hold[0] = 0.1
    process = begin(tmp_path, "audit", docs, "--delay", "0")
    deadline = time.monotonic() + 30
    while sum(path.startswith("/p") for path in Docs.asked) < 8:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    Docs.hold[0] = 0.0
    seen = set(Docs.asked)
    Docs.asked.clear()
    done = audited(tmp_path, docs)
    assert (done["audit"], done["pages"], done["whole"]) == (1, PAGES + 1, True)
    again = {path for path in Docs.asked if path in seen and path.startswith("/p")}
    assert len(again) <= 4  # only the requests in flight at the kill are repeated
    assert done["by"]["broken-link"]["count"] == 1


def test_other_options_do_not_continue_an_audit(tmp_path: Path, docs: str) -> None:
    Docs.hold[0] = 0.1
    process = begin(tmp_path, "audit", docs, "--delay", "0", "--limit", "20")
    while sum(path.startswith("/p") for path in Docs.asked) < 4:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 11, err
    assert "the same command continues" in err
    Docs.hold[0] = 0.0
    code, _, err = gossamer(tmp_path, "audit", docs, "--delay", "0")
    assert (code, "--limit 20" in err, "--fresh" in err) == (4, True, True)
    assert audited(tmp_path, docs, "--fresh")["state"] == "finished"


def test_site_that_is_dead_closed_or_broken(tmp_path: Path, docs: str) -> None:
    code, _, err = gossamer(tmp_path, "audit", "http://127.0.0.1:9/", "-s", "retries=none")
    assert (code, "127.0.0.1:9" in err) == (9, True)
    with replaced("/robots.txt", 200, "text/plain", b"User-agent: *\nDisallow: /"):
        code, _, err = gossamer(tmp_path, "audit", docs)
        assert (code, "robots.txt disallows" in err, "--ignore-robots" in err) == (5, True, True)
        assert audited(tmp_path, docs, "--ignore-robots")["pages"] == PAGES + 1
    with replaced("/", 404, "text/html", b"none"):
        code, _, err = gossamer(tmp_path, "audit", docs)
        assert (code, "HTTP 404" in err) == (5, True)
    assert list((tmp_path / ".gossamer" / "audits").glob("*.db"))


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("ftp://example.com/",),
        ("https://",),
        ("https://a.example/", "--fail-on", "bad"),
        ("https://a.example/", "--external", "many"),
        ("https://a.example/", "-o", "report.pdf"),
        ("https://a.example/", "-o", "none/report.html"),
        ("none.db",),
    ],
)
def test_wrong_words_are_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    code, _, err = gossamer(tmp_path, "audit", *words)
    assert code == 2
    assert err.startswith("gossamer: ")
    assert err.count("\n") == 1


def test_file_that_is_no_database_is_refused(tmp_path: Path, docs: str) -> None:
    (tmp_path / "a.db").write_text("this is a text and no database of anything at all")
    code, _, err = gossamer(tmp_path, "audit", docs, "--database", "a.db")
    assert (code, "a.db" in err) == (4, True)
    audited(tmp_path, docs, "--database", "b.db")
    code, _, err = gossamer(tmp_path, "audit", "http://127.0.0.1:9/", "--database", "b.db")
    assert (code, "give another --database" in err) == (4, True)


def test_odd_pages_do_no_harm(tmp_path: Path, docs: str) -> None:
    deep = b"<div>" * 100_000 + b"x"
    large = f"{HEAD}<title>Large</title></head><body>{'<p>many words of text</p>' * 400_000}</body>".encode()
    odd = {
        "/p1.html": b"",
        "/p2.html": large,
        "/p4.html": deep,
        "/p6.html": b"\xff\xfe\x00<html>\x00" * 1000,
        "/p8.html": b"<title>" + b"x" * 100_000,
        "/p9.html": b'<a href="http://[::bad/">x</a><a href="//">y</a><link rel=canonical href="http://%zz">'
        * 50,
        "/p10.html": b'<script type="application/ld+json">' + b"[" * 50_000 + b"</script>",
    }
    for path, body in odd.items():
        Docs.pages[path] = (200, "text/html", body)
    try:
        done = audited(tmp_path, docs, "-o", "r.html", "-o", "r.xlsx", "-o", "l.gexf", "-o", "s.xml")
    finally:
        Docs.pages.clear()
    assert done["pages"] == PAGES + 1
    assert done["by"]["large-page"]["count"] == 1
    assert done["by"]["structured-invalid"]["count"] == 1
    etree.fromstring((tmp_path / "l.gexf").read_bytes())
    etree.fromstring((tmp_path / "s.xml").read_bytes())


def test_checks_are_listed(tmp_path: Path) -> None:
    code, out, _ = gossamer(tmp_path, "audit", "--checks")
    assert code == 0
    assert "hreflang-return-missing" in out


def test_password_of_a_site_is_neither_stored_nor_shown(tmp_path: Path, docs: str) -> None:
    url = docs.replace("http://", "http://me:geheim77@")
    code, out, err = gossamer(tmp_path, "audit", url, "--delay", "0", "-o", "r.html", "--database", "a.db")
    assert code == 0, err
    assert "geheim77" not in out + err
    assert b"geheim77" not in (tmp_path / "a.db").read_bytes() + (tmp_path / "r.html").read_bytes()


def test_stored_pages_are_audited_without_a_request(tmp_path: Path, docs: str) -> None:
    words = ("--name", "c", "--delay", "0", "-q", "-o", "pages.warc.gz", "-o", "rows.jsonl")
    code, _, err = gossamer(tmp_path, "crawl", docs, *words)
    assert code == 0, err
    Docs.asked.clear()
    live = None
    for given in (("--crawl", "c"), ("--archive", "pages.warc.gz")):
        done = audited(tmp_path, docs, *given, "--database", f"{given[0].strip('-')}.db")
        assert (done["whole"], done["pages"]) == (True, PAGES + 1)
        found = {name: one["count"] for name, one in done["by"].items() if one["count"]}
        assert (found["broken-link"], found["page-4xx"], found["title-missing"]) == (1, 1, 1)
        assert done["by"]["external-broken"]["reason"] == "stored pages are audited, so nothing is requested"
        assert live in (None, found)
        live = found
    assert Docs.asked == []
    fresh = audited(tmp_path, docs, "--database", "live.db")
    counts = {name: one["count"] for name, one in fresh["by"].items() if one["count"]}
    for name in ("slow-page", "sitemap-missing"):  # stored pages lack the data for these checks
        counts.pop(name, None)
    assert live == counts


def test_a_part_of_the_stored_pages_is_not_the_site(tmp_path: Path, docs: str) -> None:
    words = ("--name", "c", "--delay", "0", "-q", "-o", "pages.warc.gz", "--limit", "5")
    gossamer(tmp_path, "crawl", docs, *words)
    done = audited(tmp_path, docs, "--crawl", "c")
    assert not done["whole"]
    assert "linked URLs of the site are not among the stored pages" in " ".join(done["reasons"])
    assert done["by"]["page-4xx"]["count"] == 0
    code, _, err = gossamer(tmp_path, "audit", f"{docs}nowhere.html", "--crawl", "c", "--database", "x.db")
    assert (code, len(err.splitlines())) == (5, 1), err
    assert "not among the stored pages" in err


def test_a_crawl_that_stored_no_whole_pages_is_refused(tmp_path: Path, docs: str) -> None:
    gossamer(
        tmp_path,
        "crawl",
        docs,
        "--name",
        "c",
        "--delay",
        "0",
        "-q",
        "--text",
        "-o",
        "rows.jsonl",
        "--limit",
        "2",
    )
    for words, message in (
        (("--crawl", "c"), "c stored no whole pages, and an audit needs them: crawl with --fresh"),
        (("--crawl", "d"), "there is no crawl d"),
        (("--archive", "none.warc.gz"), "there is nothing"),
        (("--crawl", "c", "--archive", "x"), "give one of them"),
        (("--store", "valkey://127.0.0.1:1"), "--store is for --crawl"),
    ):
        code, out, err = gossamer(tmp_path, "audit", docs, "-q", *words)
        assert (code, out, len(err.splitlines())) == (2, "", 1), err
        assert message in err


def test_outputs_that_can_be_written_are_written(tmp_path: Path, docs: str) -> None:
    other = '<link rel=canonical href="https://other.example/">'
    with replaced("/", 200, "text/html", f"{HEAD}<title>Copy</title>{other}</head><p>A page.</p>".encode()):
        code, out, err = gossamer(tmp_path, "audit", docs, "--delay", "0", "-o", "map.xml", "-o", "r.html")
    assert code == 2
    assert "no page can be indexed, so the checks of titles" in out
    assert "canonical-other-site" in out
    assert "map.xml: no page can be indexed" in err
    assert (tmp_path / "r.html").exists()
    assert not (tmp_path / "map.xml").exists()
