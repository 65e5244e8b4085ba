"""WARC output: other programs can read it, it is exact after a kill at any step, and it reads back
unchanged."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as Fast
from fastwarc.warc import WarcRecordType
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from gossamer.collectors.archive import warc
from gossamer.collectors.archive.answers import answer_key
from gossamer.collectors.archive.warc import WarcArchive as Reader
from gossamer.errors import SinkError
from gossamer.model.page import Exchange
from gossamer.model.visit import RAW, Raw, RequestContext, Row
from gossamer.sinks.warc import Warc, format_date, gzip_member
from sinks.rows_and_commits import Died, Store, crawl, dying

TEXT = b"<title>Some</title>" + b"<p>Text, and more of it. " * 300


def raw(n: int, body: bytes | None = None, **changes: object) -> Row:
    own = gzip.compress(TEXT + b"%d" % n, mtime=0) if body is None else body
    head = b"HTTP/1.1 200 Okay\r\nContent-Type: text/html; charset=utf-8\r\nX-N: %d\r\n" % n
    head += b"" if body is not None else b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"
    url, sent = f"http://a.test/{n}?b={n}&a=%C3%A9", b"GET /%d HTTP/1.1\r\nHost: a.test\r\n\r\n" % n
    fields = {
        "exchange": Exchange(sent, head + b"\r\n", own),
        "asked": RequestContext(depth=n, carry={"n": n}),
        "address": "127.0.0.1",
    }
    return Row(
        RAW, url, Raw(url, 200, "text/html; charset=utf-8", 1700000000.1234567 + n, **{**fields, **changes})
    )


ROWS = [raw(n) for n in range(9)]


def sink(path: Path, **options: object) -> Warc:
    return Warc(
        str(path), **{"owner": "crawl@1", "folder": not path.name.endswith(".gz"), "most": 2500, **options}
    )


def files(path: Path) -> list[Path]:
    return sorted((path if path.is_dir() else path.parent).glob("*.warc.gz"))


def responses(path: Path) -> list[str]:
    """Returns the URLs of all answers, as read by warcio with a check of the digests."""
    found = []
    for file in files(path):
        with file.open("rb") as opened:
            for record in ArchiveIterator(opened, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type in ("response", "revisit"):
                    found.append(record.rec_headers.get_header("WARC-Target-URI"))
    return found


def written(path: Path, rows: list[Row]) -> Path:
    one = sink(path, most=1 << 30)
    one.close(one.append(one.prepare(), rows))
    return path


@pytest.mark.parametrize("name", ["out.warc.gz", "raw"])
def test_others_accept_every_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store()
    crawl(sink(tmp_path / name), store, ROWS)
    assert len(files(tmp_path / name)) > 2
    checker = Checker(
        type("Args", (), {"inputs": [str(file) for file in files(tmp_path / name)], "verbose": False})()
    )
    assert checker.process_all() == 0, capsys.readouterr()
    found = Counter()
    for file in files(tmp_path / name):
        with file.open("rb") as opened:
            for record in Fast(opened, parse_http=True):
                if record.record_type == WarcRecordType.response:
                    assert record.verify_payload_digest()
                    assert gzip.decompress(record.reader.read()).startswith(b"<title>")
                    assert record.http_headers.status_code == 200
                found[str(record.record_type)] += 1
    assert found[str(WarcRecordType.response)] == found[str(WarcRecordType.request)] == len(ROWS)
    assert found[str(WarcRecordType.warcinfo)] == len(files(tmp_path / name))


def test_killed_at_every_step_nothing_is_lost_or_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = 0
    for at in range(1, 300):
        path, store = tmp_path / f"out{at}", Store()
        path.mkdir()
        with dying(at, monkeypatch):
            try:
                crawl(sink(path / "o.warc.gz"), store, ROWS)
            except Died:
                died += 1
            else:
                break
        crawl(sink(path / "o.warc.gz"), store, ROWS)
        assert sorted(responses(path)) == sorted(row.key for row in ROWS), at
        assert sorted(indexed(path)) == sorted(row.key for row in ROWS), at
        assert [one.name for one in path.iterdir() if one.name.startswith(".")] == []
    assert died > 25


def indexed(path: Path) -> list[str]:
    """Returns the URLs of the indexes, after a check that each offset leads to its record."""
    found = []
    for index in path.glob("*.cdxj"):
        lines = index.read_text().splitlines()
        assert lines == sorted(lines)
        for line in lines:
            place = json.loads(line.split(" ", 2)[2])
            with (path / place["filename"]).open("rb") as file:
                file.seek(int(place["offset"]))
                member = file.read(int(place["length"])).split(b"\r\n")[0]
                file.seek(int(place["offset"]))
                record = next(iter(ArchiveIterator(file)))
            assert member
            assert record.rec_headers.get_header("WARC-Target-URI") == place["url"]
            found.append(place["url"])
    return found


@pytest.mark.parametrize("lost", ["@", "=", "a line", "the end", "all but its first", "all"])
def test_what_the_journal_lost_with_the_power_is_read_out_of_the_file(lost: str, tmp_path: Path) -> None:
    rows = [
        *ROWS,
        raw(20, b"same"),
        raw(21, b"same"),
        raw(24, b"posted", asked=RequestContext(method="POST", body="a=1")),
        raw(25, b""),
    ]
    whole = tmp_path / "whole"
    whole.mkdir()
    for path in (whole / "o.warc.gz", tmp_path / "o.warc.gz"):
        one = sink(path, most=1 << 30)
        length = one.prepare()
        for at in range(0, len(rows), 3):
            length = one.append(length, rows[at : at + 3])
        if path.parent == tmp_path:
            journal = tmp_path / ".o.warc.gz.index"
            lines = journal.read_bytes().splitlines(keepends=True)
            marks = [at for at, line in enumerate(lines) if line[:1] == b"@"]
            cut = {
                "@": [marks[1]],
                "=": [marks[2] - 2],
                "a line": [marks[1] + 2],
                "the end": range(marks[3] + 1, len(lines)),
                "all but its first": range(marks[1], len(lines)),
                "all": range(len(lines)),
            }[lost]
            journal.write_bytes(b"".join(line for at, line in enumerate(lines) if at not in cut))
        one.close(length)
    assert told(tmp_path / "o.cdxj") == told(whole / "o.cdxj")
    assert len(indexed(tmp_path)) == len(rows)


def told(index: Path) -> list[str]:
    """Returns the lines of an index without sizes and offsets, which differ because the record ids compress
    differently."""
    return [re.sub(r'"(length|offset)":"\d+"', "", line) for line in index.read_text().splitlines()]


def test_what_the_store_forgot_is_cut_and_written_again(tmp_path: Path) -> None:
    path, store = tmp_path / "o.warc.gz", Store()
    crawl(sink(path), store, ROWS)
    for commits in (1, 3):
        store.lose(commits)
        crawl(sink(path), store, ROWS)
        assert sorted(responses(tmp_path)) == sorted(row.key for row in ROWS)


@pytest.mark.parametrize("index", ["right", "wrong", ""])
def test_it_is_read_back_as_it_was(index: str, tmp_path: Path) -> None:
    body = b"a=1"
    rows = [
        *ROWS,
        raw(20, b"same"),
        raw(21, b"same"),
        raw(22, b""),
        raw(23, b"x" * 200_000),
        raw(24, b"posted", asked=RequestContext(method="POST", body="a=1")),
    ][: -1 if index else None]
    path, beside = written(tmp_path / "o.warc.gz", rows), tmp_path / "o.cdxj"
    if index == "wrong":  # lengths that are wrong
        beside.write_bytes(re.sub(rb'"length":"\d(\d+)"', rb'"length":"\1"', beside.read_bytes()))
    elif not index:
        beside.unlink()
    reader = Reader(path)
    assert reader.skipped == []
    for row in rows:
        kept = reader.find(answer_key(row.key, row.data.asked.method, row.data.asked.body), 1 << 20)
        assert kept is not None
        assert (kept.body, kept.at, kept.asked) == (row.data.exchange.body, row.data.at, row.data.asked)
        assert ("x-n", row.data.exchange.head.split(b"X-N: ")[1].split(b"\r")[0].decode()) in kept.headers
        assert kept.version == "1.1"
    reader.close()
    assert body not in path.read_bytes()


def test_an_identical_body_is_written_once(tmp_path: Path) -> None:
    path = written(tmp_path / "o.warc.gz", [raw(n, b"the same body") for n in range(3)])
    kinds, bodies = [], []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            if record.rec_type in ("response", "revisit"):
                kinds.append(record.rec_type)
                bodies.append(record.content_stream().read())
                if record.rec_type == "revisit":
                    assert record.rec_headers.get_header("WARC-Refers-To-Target-URI") == heads(path)[0][1]
                    assert record.http_headers.get_header("X-N") == str(len(kinds) - 1)
    assert (kinds, bodies) == (["response", "revisit", "revisit"], [b"the same body", b"", b""])


@pytest.mark.parametrize("by_index", [True, False])
def test_an_answer_304_is_a_revisit_and_the_page_stays(by_index: bool, tmp_path: Path) -> None:
    head = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"
    row = raw(
        1, exchange=Exchange(b"GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n", head, b""), asked=RequestContext()
    )
    row.data.status = 304
    path = written(tmp_path / "o.warc.gz", [raw(1, b"blocked"), ROWS[1], row])
    if not by_index:
        (tmp_path / "o.cdxj").unlink()
    assert Checker(type("Args", (), {"inputs": [str(path)], "verbose": False})()).process_all() == 0
    with path.open("rb") as file:
        *_, last = [one for one in ArchiveIterator(file) if one.rec_type == "revisit"]
    assert last.rec_headers.get_header("WARC-Profile").endswith("/server-not-modified")
    assert last.http_headers.get_statuscode() == "304"
    reader = Reader(path)
    kept = reader.find(ROWS[1].key, 1 << 20)
    reader.close()
    assert kept is not None
    assert (kept.status, kept.body) == (200, ROWS[1].data.exchange.body), (
        "of several answers the last page counts"
    )


def heads(path: Path) -> list[tuple[str, str]]:
    """Returns the type and the URL of all answers."""
    with path.open("rb") as file:
        return [
            (row.rec_type, row.rec_headers.get_header("WARC-Target-URI"))
            for row in ArchiveIterator(file)
            if row.rec_type in ("response", "revisit")
        ]


def test_a_body_whose_record_was_cut_is_not_referred_to(tmp_path: Path) -> None:
    one = sink(tmp_path / "o.warc.gz")
    base = one.prepare()
    one.append(base, [raw(1, b"lost"), raw(2, b"kept")])
    # another process had the claim of row 1 by then
    one.close(one.append(base, [raw(2, b"kept"), raw(3, b"lost")]))
    assert [kind for kind, _ in heads(tmp_path / "o.warc.gz")] == ["response", "response"]


def test_another_crawl_appends_and_the_first_may_not_go_on(tmp_path: Path) -> None:
    path, store = tmp_path / "o.warc.gz", Store()
    crawl(sink(path), store, ROWS[:4])
    crawl(sink(path, owner="crawl@2"), Store(), ROWS[4:])
    assert sorted(responses(tmp_path)) == sorted(row.key for row in ROWS)
    with pytest.raises(SinkError, match="another crawl"):
        crawl(sink(path), store, [*ROWS[:4], raw(30)])


@given(
    st.binary(max_size=300),
    st.binary(max_size=300),
    st.sampled_from([0, 65230, 65531, 131_066]),
    st.booleans(),
)
def test_a_member_unpacks_to_what_went_in(head: bytes, body: bytes, more: int, packed: bool) -> None:
    body += bytes(more)
    assert gzip.decompress(gzip_member(b"said", head, body, packed)) == b"said" + head + body + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024", 1704067200),
        ("2024-02", 1706745600),
        ("2024-02-01", 1706745600),
        ("20240201103000", 1706783400),
        ("2024-02-01T10:30Z", 1706783400),
        ("2024-02-01T10:30:00", 1706783400),
        ("2024-02-01T11:30:00.5+01:00", 1706783400.5),
        ("", 0),
        ("99", 0),
        ("yesterday", 0),
        ("99999999999999999", 0),
    ],
)
def test_dates_of_other_tools(text: str, seconds: float) -> None:
    assert warc.parse_date(text) == seconds


@given(st.floats(0, 4e9))
def test_a_date_gives_the_float_back(at: float) -> None:
    assert warc.parse_date(format_date(at)) == float(f"{at:.9f}")


def test_the_digest_is_that_of_the_body_as_received(tmp_path: Path) -> None:
    import base64

    path = written(tmp_path / "o.warc.gz", [raw(1)])
    own = base64.b32encode(hashlib.sha1(raw(1).data.exchange.body, usedforsecurity=False).digest()).decode()
    with path.open("rb") as file:
        record = next(row for row in ArchiveIterator(file) if row.rec_type == "response")
        assert record.rec_headers.get_header("WARC-Payload-Digest") == f"sha1:{own}"
        assert record.http_headers.get_header("Transfer-Encoding") is None
