"""Tests of the archive collector, which serves pages from folders, files and dicts. No URL leads out of
the folder."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.collectors.archive import mirror
from gossamer.collectors.archive.answers import StoredAnswer
from gossamer.collectors.archive.collector import ArchiveCollector, archive_collector, from_pages
from gossamer.errors import ConfigError
from gossamer.model.page import Page
from gossamer.model.request import Request
from support.byte_servers import bad, good
from support.repetitions import repetitions


async def body(collector: ArchiveCollector, url: str) -> bytes:
    return good(await collector.collect(Request(url), {})).body


@pytest.fixture
def mirrored(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    files = {
        "e.com/index.html": "home",
        "e.com/a/index.html": "a",
        "e.com/a/b.html": "b",
        "e.com/plain": "<p>plain",
        "e.com/guide.html": "guide",
        "e.com/list?page=2": "<p>two",
        "e.com/list.html@x=1.html": "x",
        "e.com/robots.txt": "User-agent: *",
        "e.com/sitemap.xml": "<urlset/>",
        "e.com/a b.html": "space",
        "e.com/caf%C3%A9.html": "as it stands",
        "e.com/données.html": "decoded",
        "e.com:8080/index.html": "8080",
        "e.com+9000/index.html": "9000",
        "[::1]/index.html": "six",
        "e.com/data.json": "{}",
        "e.com/noise": "\0\1",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "e.com/s.xml.gz").write_bytes(gzip.compress(b"<urlset/>"))
    return folder


async def test_a_mirror(mirrored: Path) -> None:
    collector = archive_collector(str(mirrored))
    wanted = {
        "http://e.com/": b"home",
        "https://e.com/a/": b"a",
        "http://e.com/a/b.html": b"b",
        "http://e.com/plain": b"<p>plain",
        "http://e.com/guide": b"guide",
        "http://e.com/list?page=2": b"<p>two",
        "http://e.com/list.html?x=1": b"x",
        "http://e.com/a%20b.html": b"space",
        "http://e.com/caf%C3%A9.html": b"as it stands",
        "http://e.com/donn%C3%A9es.html": b"decoded",
        "http://e.com:8080/": b"8080",
        "http://e.com:9000/": b"9000",
        "http://e.com:7000/": b"home",
        "http://[::1]/": b"six",
        "http://e.com/?unknown=1": b"home",
        "http://e.com/a/#part": b"a",
    }
    for url, text in wanted.items():
        assert await body(collector, url) == text, url
    page = good(await collector.collect(Request("http://e.com/"), {}))
    assert (page.status, page.collector, page.content_type, page.requests, page.wire) == (
        200,
        "archive",
        "text/html",
        0,
        4,
    )
    assert page.fetched_at == pytest.approx((mirrored / "e.com/index.html").stat().st_mtime)
    moved = good(await collector.collect(Request("http://e.com/a?x=1"), {}))
    assert (moved.status, moved.header("location")) == (301, "http://e.com/a/?x=1")
    for absent in (
        "http://e.com/no",
        "http://other.com/",
        "http://e.com/a/no/",
        "http://e.com/index.html/",
        "http://e.com/plain/x",
    ):
        assert good(await collector.collect(Request(absent), {})).status == 404, absent
    await collector.close()
    await collector.close()


async def test_types_of_files(mirrored: Path) -> None:
    collector = archive_collector(str(mirrored))
    kinds = {
        "robots.txt": "text/plain",
        "data.json": "application/json",
        "plain": "text/html",
        "noise": "application/octet-stream",
    }
    for name, kind in kinds.items():
        assert good(await collector.collect(Request(f"http://e.com/{name}"), {})).content_type == kind
    packed = good(await collector.collect(Request("http://e.com/s.xml.gz"), {}))
    assert (packed.content_type, gzip.decompress(packed.body)) == ("application/gzip", b"<urlset/>")
    assert good(await collector.collect(Request("http://e.com/", method="HEAD"), {})).body == b""
    await collector.close()


async def test_a_folder_under_a_base(mirrored: Path) -> None:
    collector = archive_collector(str(mirrored / "e.com"), base="https://Docs.example/v1/")
    assert await body(collector, "https://docs.example/v1/a/b.html") == b"b"
    assert await body(collector, "https://docs.example/v1/") == b"home"
    for absent in (
        "https://docs.example/",
        "http://docs.example/v1/",
        "https://docs.example/v1/../a/b.html",
        "https://docs.example/v10/",
    ):
        assert good(await collector.collect(Request(absent), {})).status == 404
    await collector.close()


async def test_a_single_file(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<p>one")
    first = archive_collector(str(file))
    assert await body(first, "https://e.com/shop?x=1") == b"<p>one"
    assert good(await first.collect(Request("https://e.com/other"), {})).status == 404
    assert await body(first, "https://e.com/shop?x=1") == b"<p>one"
    named = archive_collector(str(file), base="https://e.com/x")
    assert good(await named.collect(Request("https://e.com/"), {})).status == 404
    assert await body(named, "https://e.com/x") == b"<p>one"
    file.unlink()
    assert bad(await named.collect(Request("https://e.com/x"), {})).reason == "reset"
    with pytest.raises(ConfigError, match="cannot be read"):
        archive_collector(str(file))
    with pytest.raises(ConfigError):
        archive_collector(str(tmp_path), base="no url")
    with pytest.raises(ConfigError, match="only files on this machine"):
        archive_collector("s3://bucket/pages")


async def test_links_and_odd_files_in_a_folder_are_not_there(mirrored: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("secret")
    (mirrored / "e.com/link.html").symlink_to(tmp_path / "secret.html")
    (mirrored / "e.com/out").symlink_to(tmp_path)
    (mirrored / "evil.com").symlink_to(tmp_path)
    os.mkfifo(mirrored / "e.com/fifo")
    collector = archive_collector(str(mirrored))
    for url in (
        "http://e.com/link.html",
        "http://e.com/out/secret.html",
        "http://evil.com/secret.html",
        "http://e.com/fifo",
        "http://e.com/out",
    ):
        assert good(await collector.collect(Request(url), {})).status == 404, url
    await collector.close()
    linked = tmp_path / "linked"
    linked.symlink_to(mirrored)
    named = archive_collector(str(linked))
    assert await body(named, "http://e.com/") == b"home", "the folder itself is the user's choice"
    await named.close()


CLIMBS = [
    "/../secret.html",
    "/%2e%2e/secret.html",
    "/..%2fsecret.html",
    "/a/..%2f..%2f..%2fsecret.html",
    "/%2e%2e%2fsecret.html",
    "/..\\secret.html",
    "/%5c..%5csecret.html",
    "//secret.html",
    "/./secret.html",
    "/\0secret.html",
    "/%00",
    "/secret.html%00.html",
    "/CON",
    "/" + "a" * 300,
    "/" + "a/" * 2000,
    "/.%2e/secret.html",
    "/%252e%252e/secret.html",
    "/..;/secret.html",
    "/%c0%ae%c0%ae/secret.html",
    "/?/../../secret.html",
    "/?%2f..%2f..%2fsecret.html",
    "/~/secret.html",
    "/%2fetc/passwd",
    "/etc/passwd",
]


@pytest.mark.parametrize("path", CLIMBS)
@pytest.mark.parametrize("host", ["e.com", "..", "%2e%2e", ".", "e.com/..", "..:80", ""])
async def test_no_url_leads_out_of_the_folder(host: str, path: str, mirrored: Path) -> None:
    (mirrored.parent / "secret.html").write_text("secret")
    (mirrored / "secret.html").write_text("secret")  # a file beside the host folders, to which no URL leads
    for base in (None, "http://e.com/"):
        collector = archive_collector(str(mirrored if base is None else mirrored / "e.com"), base=base)
        page = good(await collector.collect(Request(f"http://{host}{path}"), {}))
        assert b"secret" not in page.body
        assert b"root:" not in page.body
        await collector.close()


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=repetitions(200)
)
@given(
    st.lists(
        st.sampled_from(
            ["..", ".", "", "%2e", "%2f", "/", "a", "e.com", "secret.html", "\\", "%00", "?", "é", "%ff"]
        ),
        max_size=8,
    )
)
async def test_no_joined_parts_lead_out_of_the_folder(mirrored: Path, parts: list[str]) -> None:
    (mirrored.parent / "secret.html").write_text("secret")
    found = mirror.Mirror(mirrored)
    for mark in ("", "/"):
        kept = found.find("http://e.com/" + mark.join(parts), 1000)
        assert kept is None or b"secret" not in kept.body
    found.close()


async def test_sizes_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "e.com").mkdir()
    (tmp_path / "e.com/large.html").write_bytes(b"x" * 5000)
    collector = archive_collector(str(tmp_path), wire=4999)
    failure = bad(await collector.collect(Request("http://e.com/large.html"), {}))
    assert (failure.reason, failure.final, failure.wire, failure.collector) == (
        "too-large",
        True,
        5000,
        "archive",
    )
    cut = archive_collector(str(tmp_path), wire=4999, truncate=True)
    assert len(await body(cut, "http://e.com/large.html")) == 4999
    await collector.close()
    await cut.close()
    bomb = StoredAnswer(headers=[("content-encoding", "gzip")], body=gzip.compress(bytes(1 << 20)))
    small = ArchiveCollector(lambda url, most: bomb, decoded=1000)
    assert bad(await small.collect(Request("http://e.com/"), {})).reason == "too-large"


async def test_a_dict_of_pages() -> None:
    moved = Page("http://e.com/m", 302, [("location", "/")], b"", 1.0, 0.1, 0)
    collector = from_pages(
        {
            "http://E.com": "<p>é",
            "http://e.com/b": b"b",
            "http://e.com/m": moved,
            "http://e.com/k": StoredAnswer(500),
        }
    )
    assert await body(collector, "http://e.com/") == "<p>é".encode()
    assert good(await collector.collect(Request("http://e.com/m"), {})).header("location") == "/"
    assert good(await collector.collect(Request("http://e.com/k"), {})).status == 500
    gone = good(await collector.collect(Request("http://e.com/none"), {}))
    assert (gone.status, gone.content_type) == (404, "text/html; charset=utf-8")
    await collector.close()
