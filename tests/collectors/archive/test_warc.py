"""Tests of WARC reading: files of warcio are read as warcio reads them, and broken records are skipped and
reported."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import brotli
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter as Warcio

from gossamer.collectors.archive.collector import archive_collector
from gossamer.collectors.archive.warc import WarcArchive
from gossamer.errors import ConfigError
from gossamer.model.request import Request
from support.byte_servers import bad, good
from support.repetitions import repetitions


class WARCWriter(Warcio):
    """warcio's writer with temporary files in memory, because warcio does not close its temporary files."""

    @staticmethod
    def _create_temp_file() -> io.BytesIO:
        return io.BytesIO()


TEXT = b"<p>Some text, and more of it. " * 400


def chunked(body: bytes, size: int = 700) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def response(
    writer: WARCWriter, url: str, body: bytes, *headers: tuple[str, str], status: str = "200 OK"
) -> None:
    fields = StatusAndHeaders(status, [("Content-Type", "text/html"), *headers], protocol="HTTP/1.1")
    writer.write_record(
        writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=fields)
    )


def written(path: Path, packed: bool) -> Path:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=packed)
        writer.write_record(writer.create_warcinfo_record("x.warc", {"software": "test"}))
        response(writer, "http://e.com/", b"home")
        response(writer, "http://e.com/gzip", gzip.compress(TEXT), ("Content-Encoding", "gzip"))
        response(writer, "http://e.com/chunked", chunked(TEXT), ("Transfer-Encoding", "chunked"))
        both = (("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip"))
        response(writer, "http://e.com/both", chunked(gzip.compress(TEXT), 50), *both)
        response(writer, "http://e.com/br", brotli.compress(TEXT), ("Content-Encoding", "br"))
        response(writer, "http://e.com/unchunked", TEXT, ("Transfer-Encoding", "chunked"))
        response(writer, "http://e.com/moved", b"", ("Location", "/"), status="302 Found")
        response(writer, "http://e.com/twice", b"old")
        response(writer, "http://e.com/twice", b"new")
        response(writer, "http://E.com:80/caf\u00e9", b"form")
        writer.write_record(
            writer.create_revisit_record(
                "http://e.com/again", "sha1:none", "http://e.com/both", "2020-01-01T00:00:00Z"
            )
        )
        writer.write_record(
            writer.create_revisit_record(
                "http://e.com/lost", "sha1:none", "http://e.com/nowhere", "2020-01-01T00:00:00Z"
            )
        )
        resource = writer.create_warc_record(
            "http://e.com/resource",
            "resource",
            payload=io.BytesIO(b"plain"),
            warc_content_type="text/plain",
            length=5,
            warc_headers_dict={"WARC-Date": "2024-03-01T10:00:00Z"},
        )
        writer.write_record(resource)
        for beside in (
            "dns:e.com",
            "<metadata://gnu.org/software/wget/warc/wget.log>",
            "gopher:e.com",
        ):  # the first two URIs are not URLs of web resources
            writer.write_record(
                writer.create_warc_record(
                    beside, "resource", payload=io.BytesIO(b"1"), warc_content_type="text/dns"
                )
            )
    return path


@pytest.mark.parametrize("packed", [True, False])
async def test_all_kinds_of_records(packed: bool, tmp_path: Path) -> None:
    path = written(tmp_path / ("x.warc.gz" if packed else "x.warc"), packed)
    collector = archive_collector(str(path))
    wanted = {
        "": b"home",
        "gzip": TEXT,
        "chunked": TEXT,
        "both": TEXT,
        "br": TEXT,
        "unchunked": TEXT,
        "twice": b"new",
        "again": TEXT,
        "resource": b"plain",
        "caf%C3%A9": b"form",
    }
    for path_, body in wanted.items():
        page = good(await collector.collect(Request(f"http://e.com/{path_}"), {}))
        assert (page.status, page.body, page.collector) == (200, body, "archive"), path_
    moved = good(await collector.collect(Request("http://e.com/moved"), {}))
    assert (moved.status, moved.header("location")) == (302, "/")
    resource = good(await collector.collect(Request("http://e.com/resource"), {}))
    assert (resource.content_type, resource.fetched_at) == ("text/plain", 1709287200.0)
    for absent in ("lost", "none"):
        assert good(await collector.collect(Request(f"http://e.com/{absent}"), {})).status == 404
    assert [one.partition(": ")[2] for one in collector.skipped] == [
        "a revisit of http://e.com/lost, whose original record is missing",
        "a resource whose URL is not http(s): gopher:e.com",
    ]
    await collector.close()


@pytest.mark.parametrize("packed", [True, False])
async def test_as_warcio_reads_it(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "many.warc"
    dice = random.Random(5)
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=packed)
        for number in range(120):
            body = dice.randbytes(dice.randrange(0, 3000)) + b"\r\n\r\nWARC/1.0\r\n"
            coding = dice.choice(["", "gzip", "chunked"])
            packed_body = (
                gzip.compress(body) if coding == "gzip" else chunked(body) if coding == "chunked" else body
            )
            header = {
                "": [],
                "gzip": [("Content-Encoding", "gzip")],
                "chunked": [("Transfer-Encoding", "chunked")],
            }[coding]
            response(writer, f"http://e.com/{number}", packed_body, *header)
    collector = archive_collector(str(path))
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            page = good(await collector.collect(Request(record.rec_headers["WARC-Target-URI"]), {}))
            assert page.body == record.content_stream().read()
    assert collector.skipped == []
    await collector.close()


async def test_many_records_in_one_member(tmp_path: Path) -> None:
    plain = written(tmp_path / "x.warc", False).read_bytes()
    path = tmp_path / "one.warc.gz"
    path.write_bytes(gzip.compress(plain))
    collector = archive_collector(str(path))
    assert good(await collector.collect(Request("http://e.com/both"), {})).body == TEXT
    assert good(await collector.collect(Request("http://e.com/twice"), {})).body == b"new"
    await collector.close()


@pytest.mark.parametrize("packed", [True, False])
async def test_what_is_broken_is_skipped(packed: bool, tmp_path: Path) -> None:
    good_bytes = written(tmp_path / "x.warc", packed).read_bytes()
    with io.BytesIO() as file:
        response(WARCWriter(file, gzip=packed), "http://e.com/last", b"last")
        last = file.getvalue()
    noise = random.Random(6).randbytes(70_000)
    for name, data in {
        "noise": good_bytes + noise + b"\n" + last,
        "begins with noise": b"\x1f\x8b\x08" * packed + noise + b"\n" + last,
    }.items():
        path = tmp_path / f"{name}.warc"
        path.write_bytes(data)
        warc = WarcArchive(path)
        found = warc.find("http://e.com/last", 1000)
        assert found is not None, name
        assert found.body == b"last"
        assert warc.skipped, name
        warc.close()
    path = tmp_path / "cut.warc"
    path.write_bytes(good_bytes + last[: len(last) // 2])
    warc = WarcArchive(path)
    assert warc.find("http://e.com/last", 1000) is None
    assert warc.find("http://e.com/", 1000) is not None
    assert warc.skipped or packed
    warc.close()


async def test_sizes_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x.warc.gz"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        response(writer, "http://e.com/large", bytes(3 << 20))
        response(writer, "http://e.com/bomb", gzip.compress(bytes(3 << 20)), ("Content-Encoding", "gzip"))
        response(writer, "http://e.com/chunks", chunked(bytes(3 << 20)), ("Transfer-Encoding", "chunked"))
        response(writer, "http://e.com/fine", b"fine")
    collector = archive_collector(str(path), wire=1 << 20, decoded=2 << 20)
    for name in ("large", "bomb", "chunks"):
        assert bad(await collector.collect(Request(f"http://e.com/{name}"), {})).reason == "too-large", name
    assert good(await collector.collect(Request("http://e.com/fine"), {})).body == b"fine"
    await collector.close()


def test_what_is_no_warc(tmp_path: Path) -> None:
    for data in (
        b"",
        b"\x1f\x8b\x08",
        b"WARC/1.0\r\n",
        b"no warc at all",
        b"\n" * 100_000,
        b"WARC/1.0\r\nWARC-Type: response\r\n\r\n" * 3,
        b"WARC/1.0\r\nContent-Length: 99999999999999\r\n\r\nx",
    ):
        path = tmp_path / "x.warc"
        path.write_bytes(data)
        warc = WarcArchive(path)
        assert warc.urls() == []
        warc.close()
    with pytest.raises(ConfigError):
        archive_collector(str(tmp_path / "none.warc.gz"))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=repetitions(60)
)
@given(st.data(), st.booleans())
async def test_no_bent_file_raises(tmp_path: Path, data: st.DataObject, packed: bool) -> None:
    source = tmp_path / f"source-{packed}"
    if not source.exists():
        written(source, packed)
    bent = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        bent[data.draw(st.integers(0, len(bent) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "bent.warc"
    path.write_bytes(bent)
    warc = WarcArchive(path)
    for url in warc.urls():
        warc.find(url, 1 << 20)
    warc.close()
