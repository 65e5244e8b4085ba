"""Tests of `--refresh`: known pages are visited again, with conditional requests if possible, and only
changed pages are written."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import job
from gossamer.app.job import JobOutput
from gossamer.app.runner import crawl
from gossamer.collectors.archive.collector import archive_collector
from gossamer.errors import UsageError
from gossamer.model.summary import Summary
from gossamer.recrawl import known_pages


class Shop:
    """A site whose pages change between crawls. `pages`: bodies, keyed by path. `tagged`: paths with an
    ETag. `moved`: redirects."""

    def __init__(self) -> None:
        self.pages = {f"/{n}": f"<title>Page {n}</title><p>It says {n}" for n in range(20)}
        self.pages["/"] = (
            "<title>Home</title>" + "".join(f"<a href=/{n}>{n}</a>" for n in range(20)) + "<a href=/old>o</a>"
        )
        self.tagged = {f"/{n}" for n in range(10)}
        self.moved = {"/old": "/new"}
        self.pages["/new"] = "<title>New</title>"
        self.shut = ""
        self.lies: dict[str, str] = {}
        """Paths whose response is always status 304, with the given ETag."""
        self.answers: Counter[tuple[str, int]] = Counter()
        self.url = ""
        self.stops: asyncio.Event | None = None
        """An event that is set at the tenth request."""

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, str, bytes]:
        if path == "/robots.txt":
            return 200, "", f"User-agent: *\nDisallow: {self.shut}\n".encode()
        if path in self.moved:
            return 302, f"Location: {self.moved[path]}\r\n", b""
        if (page := self.pages.get(path)) is None:
            return 404, "", b"<title>Not here</title>"
        if path in self.lies:
            return 304, f"ETag: {self.lies[path]}\r\n", b""
        tag = f'"{hash(page)}"' if path in self.tagged else None
        if tag is not None and headers.get("if-none-match") == tag:
            return 304, f"ETag: {tag}\r\n", b""
        return 200, f"ETag: {tag}\r\n" if tag else "", page.encode()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {
                    name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])
                }
                path = lines[0].split()[1]
                status, more, body = self.answer(path, headers)
                self.answers[path, status] += 1
                if self.stops is not None and self.answers.total() == 10:
                    self.stops.set()
                more += "" if status == 304 else f"Content-Length: {len(body)}\r\n"
                writer.write(f"HTTP/1.1 {status} x\r\nContent-Type: text/html\r\n{more}\r\n".encode() + body)
        writer.close()


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    server = await asyncio.start_server(shop.connection, "127.0.0.1", 0)
    shop.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    yield shop
    server.close()


async def run(shop: Shop, folder: Path, **given: Any) -> tuple[Summary, list[dict[str, Any]]]:
    """Run a pass, and return its summary and the rows that it wrote."""
    shop.answers.clear()
    before = len((folder / "out.jsonl").read_text().splitlines()) if (folder / "out.jsonl").exists() else 0
    summary = await crawl(job(given.pop("targets", [shop.url]), folder, **given))
    assert summary.adds_up()
    return summary, [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()[before:]]


async def test_only_changes_are_written(shop: Shop, tmp_path: Path) -> None:
    summary, rows = await run(shop, tmp_path)
    assert (summary.state, len(rows)) == ("finished", 22)
    summary, rows = await run(shop, tmp_path, refresh=True)
    assert (summary.state, summary.pages, summary.unchanged, rows) == ("finished", 22, 22, [])
    assert [shop.answers[one] for one in (("/3", 304), ("/13", 200), ("/old", 302))] == [1, 1, 1]

    shop.pages["/3"] += " and more"
    shop.pages["/13"] = "<!-- another moment -->" + shop.pages["/13"]
    shop.pages["/14"] += " and more"
    shop.pages["/new"] += "<p>words"
    shop.pages["/15"] += "<a href=/child>c</a>"
    shop.pages["/child"] = "<title>Child</title>"
    del shop.pages["/5"]
    summary, rows = await run(shop, tmp_path, refresh=True)
    paths = {row["url"].removeprefix(shop.url): row["status"] for row in rows}
    assert paths == {"3": 200, "14": 200, "new": 200, "15": 200, "child": 200, "5": 404}
    assert next(row["requested_url"] for row in rows if row["url"].endswith("/new")) == f"{shop.url}old"
    assert (summary.pages, summary.unchanged, summary.gone) == (23, 17, 1)

    summary, rows = await run(shop, tmp_path, refresh=True)
    assert (summary.unchanged, summary.gone, rows) == (23, 0, [])


@pytest.mark.parametrize("where", ["pages.warc.gz", "objects:plain"])
async def test_each_answer_of_a_pass_is_stored_and_the_pages_stay(
    shop: Shop, tmp_path: Path, where: str
) -> None:
    shape, _, name = where.rpartition(":")
    stored = JobOutput(f"{shape}:{tmp_path / name}" if shape else str(tmp_path / name))
    for refresh in (False, True):
        given = job([shop.url], tmp_path, refresh=refresh)
        given.outputs.append(stored)
        summary = await crawl(given)
    assert (summary.pages, summary.unchanged) == (22, 22)
    files = [tmp_path / "pages.warc.gz"] if not shape else (tmp_path / "plain").glob("*.jsonl")
    data = b"".join(file.read_bytes() for file in files)
    told = (
        data.count(b'"status":304') if shape else gzip.decompress(data).count(b"revisit/server-not-modified")
    )
    assert told == 10
    archive = archive_collector(str(tmp_path / name))
    for path, page in shop.pages.items():
        assert (found := archive.find(shop.url + path[1:])) is not None
        assert (found.status, found.body) == (200, page.encode())
    archive.shut()


SITE = """
from gossamer import Site

site = Site("shop", seeds=[{url!r}], follow=True)


@site.page(r"^/[0-9]+$")
def page(page):
    if {broken}:
        raise ValueError("the parser is not ready for this one")
    yield {{"title": page.css("title::text").get()}}
"""


async def test_a_mended_site_file_reads_pages_that_did_not_change(shop: Shop, tmp_path: Path) -> None:
    path, shop.tagged = tmp_path / "shop.py", {f"/{n}" for n in range(20)}

    async def crawled(broken: str, **given: Any) -> tuple[Summary, list[dict[str, Any]]]:
        path.write_text(SITE.format(url=shop.url, broken=broken))
        return await run(shop, tmp_path, targets=[str(path)], **given)

    summary, rows = await crawled("page.url.endswith('/3')")
    assert (summary.errors, len(rows)) == ({"parse": 1}, 19)
    # with the same site file, the failed page is read again and fails again
    summary, rows = await crawled("page.url.endswith('/3')", refresh=True)
    assert (summary.errors, rows, shop.answers["/3", 200], shop.answers["/4", 304]) == (
        {"parse": 1},
        [],
        1,
        1,
    )
    summary, rows = await crawled("False", refresh=True)
    assert (len(rows), shop.answers["/4", 200]) == (20, 1)
    summary, rows = await crawled("False", refresh=True)
    assert (rows, shop.answers["/3", 304]) == ([], 1)
    assert (tmp_path / "data" / "c" / known_pages.NAME).stat().st_mode & 0o777 == 0o600


async def test_what_robots_forbade_is_asked_for_when_they_no_longer_do(shop: Shop, tmp_path: Path) -> None:
    shop.shut = "/7"
    shop.tagged.add("/")  # the page that links to /7 has an ETag, so the second run does not transfer it
    summary, _ = await run(shop, tmp_path)
    assert summary.skipped["robots"] == 1
    _, rows = await run(shop, tmp_path, refresh=True, ignore_robots=True)
    assert [row["title"] for row in rows] == ["Page 7"]
    assert shop.answers["/", 304] == 1


async def test_a_pass_that_was_stopped_goes_on(shop: Shop, tmp_path: Path) -> None:
    await run(shop, tmp_path)
    shop.pages["/19"] += " and more"
    stop = asyncio.Event()
    shop.answers.clear()
    shop.stops = stop
    assert (await crawl(job([shop.url], tmp_path, refresh=True, delay=(0.05, 0.05)), stop=stop)).pending
    shop.stops = None
    summary, _ = await run(shop, tmp_path)  # the next run continues the pass without the option
    assert (summary.state, summary.pages, summary.unchanged) == ("finished", 22, 21)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["title"] for row in rows[22:]] == ["Page 19"]


async def test_what_is_known_lies_where_it_is_said(shop: Shop, tmp_path: Path) -> None:
    await run(shop, tmp_path, known=str(tmp_path / "seen"))
    assert [path.name for path in (tmp_path / "seen" / "c").iterdir()] == [known_pages.NAME]
    summary, rows = await run(shop, tmp_path, refresh=True, known=str(tmp_path / "seen"))
    assert (summary.unchanged, rows) == (22, [])


async def test_nothing_known_and_something_left_to_do(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="knows no page yet"):
        await run(shop, tmp_path, refresh=True)
    await run(shop, tmp_path, limit=3)
    with pytest.raises(UsageError, match="still pending"):
        await run(shop, tmp_path, refresh=True, limit=3)


def test_a_log_is_settled_whatever_is_in_it(tmp_path: Path) -> None:
    lines = [
        b'{"url":"https://a.example/","at":1,"known":{"status":200,"body":"1"}}\n',
        b"torn {\n",
        b"\xff\n",
    ]
    lines += [b'{"url":"https://b.example/","at":1,"known":{},"depth":2,"needs":{"use":"page","later":1}}\n']
    lines += [
        b'{"url":"https://a.example/","at":2,"known":{"status":200,"body":"2"}}\n',
        b'{"url":"https://c.ex',
    ]
    (tmp_path / known_pages.NAME).write_bytes(b"".join(lines[:3]))
    (tmp_path / known_pages.name_of("1")).write_bytes(b"".join(lines[3:]))
    # this entry is older than the entry in part 1
    (tmp_path / known_pages.name_of("2")).write_bytes(lines[0].replace(b'"body":"1"', b'"body":"3"'))
    assert known_pages.merge_logs(tmp_path) == 2
    found = [known_pages.request_of(line) for batch in known_pages.lines(tmp_path) for line in batch]
    assert [(one.url, one.depth, one.use, one.known and one.known.body) for one in found] == [
        ("https://a.example/", 0, None, "2"),
        ("https://b.example/", 2, "page", ""),
    ]
    assert [path.name for path in tmp_path.iterdir()] == [known_pages.NAME]


async def test_a_tag_that_came_with_an_unasked_304_is_not_believed_to_be_of_our_page(
    shop: Shop, tmp_path: Path
) -> None:
    await run(shop, tmp_path)
    shop.pages["/13"] += " and more"
    shop.lies["/13"] = f'"{hash(shop.pages["/13"])}"'
    summary, rows = await run(shop, tmp_path, refresh=True)
    assert (summary.unchanged, rows, shop.answers["/13", 304]) == (22, [], 1)
    shop.lies = {}
    shop.tagged.add("/13")
    summary, rows = await run(shop, tmp_path, refresh=True)
    assert [row["url"] for row in rows] == [f"{shop.url}13"]
