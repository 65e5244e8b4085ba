"""Saved pages imported as runs: HTML with and without its URL, JSON of providers, WARC files, and files that
belong to no search."""

from __future__ import annotations

import gzip
import json
import os
import uuid
from pathlib import Path

from cli.command_line import gossamer
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.import_pages import read_saved
from gossamer.uses.ranks.series import read_series
from uses.ranks.simulated_days import OWN, page_html

DAY = 1_790_000_000
LIST = f"keyword,domain,country\nkettle,{OWN},us\npot,{OWN},\n"


def save(path: Path, body: bytes, day: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    os.utime(path, (DAY + day * 86_400, DAY + day * 86_400))


def positions(folder: Path) -> dict[str, list[int | None]]:
    with RankHistory(str(folder / "ranks.db")) as history:
        return {
            one.keyword: [point.position for point in read_series(history, name, OWN)]
            for name, one in history.searches().items()
        }


def test_pages_of_two_days(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text(LIST)
    pages = tmp_path / "pages"
    head = b"<!-- saved from url=(0057)https://www.google.com/search?q=kettle&gl=us -->\n"
    save(pages / "a" / "one.html", head + page_html("kettle", 1, 4, None, False))
    save(pages / "two.html.gz", gzip.compress(page_html("kettle", 1, 2, None, False)), day=1)
    answer = {
        "searchParameters": {"q": "pot", "page": 1},
        "organic": [{"title": "t", "link": f"https://{OWN}/", "position": 1}],
    }
    save(pages / "three.json", json.dumps(answer).encode(), day=1)
    save(pages / "other.html", page_html("never listed", 1, 4, None, False))
    save(pages / "notes.txt", b"hello")
    code, out, err = gossamer(tmp_path, "ranks", "import", "pages", "--keywords", "k.csv")
    assert code == 0, err
    assert out.startswith("3 pages of 2 days")
    assert positions(tmp_path) == {"kettle": [4, 2], "pot": [1]}
    reasons = [
        json.loads(line)["reason"] for line in (tmp_path / "pages.rejected.jsonl").read_text().splitlines()
    ]
    assert len(reasons) == 2
    assert any("never listed" in reason for reason in reasons)
    code, _, err = gossamer(tmp_path, "ranks", "import", "pages/a", "--keywords", "k.csv")
    assert code == 2
    assert "older than the last run" in err


def warc_record(url: str, status: str, body: bytes) -> bytes:
    """Returns a response record as a gzip member."""
    block = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-09-21T14:13:20Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


def test_pages_of_a_warc(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text(LIST)
    search = "https://www.google.com/search?q="
    records = (
        (f"{search}kettle&gl=us", "200 OK", page_html("kettle", 1, 7, None, False)),
        (f"{search}kettle&gl=us&start=10", "200 OK", page_html("kettle", 2, 7, None, False)),
        (f"{search}pot", "429 Too Many Requests", b"<form id=captcha-form action=/sorry/index>"),
        ("https://example.com/", "200 OK", b"<p>another page"),
    )
    (tmp_path / "p.warc.gz").write_bytes(b"".join(warc_record(*one) for one in records))
    assert len(list(read_saved([str(tmp_path / "p.warc.gz")]))) == 4
    code, out, err = gossamer(
        tmp_path, "ranks", "import", "p.warc.gz", "--keywords", "k.csv", "--first", "20", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["pages"] == 3
    assert positions(tmp_path) == {"kettle": [7], "pot": []}
    code, out, _ = gossamer(tmp_path, "ranks", "failing", "--json")
    assert json.loads(out.splitlines()[0])["state"] == "failed"
