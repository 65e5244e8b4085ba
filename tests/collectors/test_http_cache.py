"""Tests of the development cache: each URL is fetched once and then replayed, only permanent results are
stored, and file names never come from outside."""

from __future__ import annotations

import asyncio
import os
import stat
from multiprocessing import get_context
from pathlib import Path

import pytest

from gossamer.collectors.archive.answers import StoredAnswer
from gossamer.collectors.archive.collector import from_pages
from gossamer.collectors.http_cache import CacheCollector
from gossamer.errors import ConfigError
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from support.byte_servers import bad, good


class Counting:
    """An inner collector that records its requests."""

    name = "http"

    def __init__(self, **answers: Page | Failure | StoredAnswer) -> None:
        self.answers, self.asked, self.closed = answers, [], False

    async def collect(
        self, request: Request, headers: dict[str, str], guise: object = None
    ) -> Page | Failure:
        self.asked.append(request.url)
        found = self.answers.get(request.url.rpartition("/")[2])
        if isinstance(found, Failure):
            return found
        status = found.status if isinstance(found, StoredAnswer) else 200
        answer = [("content-type", "text/html"), ("set-cookie", "a=1"), ("set-cookie", "b=2")]
        answer += found.headers if isinstance(found, StoredAnswer) else []
        return Page(
            request.url,
            status,
            answer,
            f"<p>{len(self.asked)}".encode(),
            123.5,
            0.25,
            77,
            address="127.0.0.1",
            version="2",
        )

    async def close(self) -> None:
        self.closed = True


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_fetched_once_then_replayed(tmp_path: Path) -> None:
    inner = Counting()
    collector = CacheCollector(inner, str(tmp_path / "new" / "cache"))
    first = good(await collector.collect(Request("http://e.com/a"), {}))
    again = good(await collector.collect(Request("http://e.com/a"), {}))
    assert len(inner.asked) == 1
    assert (first.collector, again.collector, again.requests) == ("http", "cache", 0)
    for field in ("url", "status", "headers", "body", "fetched_at", "wire", "version", "address"):
        assert getattr(first, field) == getattr(again, field), field
    await collector.close()
    assert inner.closed
    later = CacheCollector(Counting(), str(tmp_path / "new" / "cache"))
    assert good(await later.collect(Request("http://e.com/a"), {})).body == b"<p>1"
    await later.close()
    await later.close()


async def test_what_tells_answers_apart(tmp_path: Path) -> None:
    inner = Counting()
    collector = CacheCollector(inner, str(tmp_path))
    url = "http://e.com/a"
    asked: list[tuple[Request, dict[str, str]]] = [
        (Request(url), {}),
        (Request(url + "?"), {}),
        (Request(url, method="HEAD"), {}),
        (Request(url, method="POST", body="a"), {}),
        (Request(url, method="POST", body="b"), {}),
        (Request(url), {"Cookie": "s=1"}),
        (Request(url), {"Cookie": "s=2"}),
        (Request(url), {"Authorization": "Basic eA=="}),
        (Request(url), {"X-Api-Key": "k"}),
    ]
    bodies = [good(await collector.collect(request, headers)).body for request, headers in asked]
    assert len(set(bodies)) == len(asked)
    assert [good(await collector.collect(request, headers)).body for request, headers in asked] == bodies
    await collector.collect(Request(url), {"Referer": "http://e.com/"})
    await collector.collect(Request(url, depth=3), {"cookie": "s=1"})
    assert len(inner.asked) == len(asked), "a referrer makes no difference, nor does the case of a name"
    data = b"".join(path.read_bytes() for path in files(tmp_path))
    assert b"Basic" not in data
    assert b"s=1" not in data
    await collector.close()


async def test_cookies_of_sites_differ_by_name_and_given_ones_by_value(tmp_path: Path) -> None:
    inner = Counting()
    given: dict[str, str] = {}
    collector = CacheCollector(inner, str(tmp_path), lambda request: given)
    request = Request("http://e.com/a")
    for cookie in ("sid=1; b=2", "b=3; sid=4", "sid=5; b=6"):
        assert good(await collector.collect(request, {"Cookie": cookie})).body == b"<p>1"
    assert good(await collector.collect(request, {"Cookie": "sid=1"})).body == b"<p>2"
    assert good(await collector.collect(request, {})).body == b"<p>3"
    for number, person in enumerate(("ann", "bob"), 4):
        given = {"cookie": f"who={person}"}
        assert (
            good(await collector.collect(request, {"cookie": f"who={person}; sid=1"})).body
            == b"<p>%d" % number
        )
        assert (
            good(await collector.collect(request, {"cookie": f"who={person}; sid=2"})).body
            == b"<p>%d" % number
        )
    assert len(inner.asked) == 5
    await collector.close()


async def test_a_page_that_sets_a_cookie_and_leads_to_itself(tmp_path: Path) -> None:
    """The redirect is stored once, and is not replayed for the request with the new cookie. The second
    round reads both responses from the stored files, as a later run would."""
    url = "http://e.com/a"
    bounce = StoredAnswer(302, [("location", "/a"), ("set-cookie", "sid=2")])
    answers = iter([bounce, StoredAnswer(200)])

    class Bouncing(Counting):
        async def collect(
            self, request: Request, headers: dict[str, str], guise: object = None
        ) -> Page | Failure:
            self.answers["a"] = next(answers)
            return await super().collect(request, headers)

    inner = Bouncing()
    for _ in range(2):
        collector = CacheCollector(inner, str(tmp_path), lambda request: {})
        statuses = [
            good(await collector.collect(Request(url), {"Cookie": f"sid={value}"})).status for value in (1, 2)
        ]
        assert statuses == [302, 200]
        await collector.close()
    assert len(inner.asked) == 2


async def test_only_what_stays_is_kept(tmp_path: Path) -> None:
    passing = {f"s{status}": StoredAnswer(status) for status in (304, 408, 425, 429, 500, 502, 503, 504)}
    staying = {
        f"s{status}": StoredAnswer(status) for status in (200, 204, 301, 302, 307, 308, 401, 403, 404, 410)
    }
    inner = Counting(**passing, **staying, fails=Failure("timeout", "x", 1.0, 1.0))
    collector = CacheCollector(inner, str(tmp_path))
    for name in (*passing, *staying, "fails"):
        for _ in range(2):
            await collector.collect(Request(f"http://e.com/{name}"), {})
    counts = {name: inner.asked.count(f"http://e.com/{name}") for name in (*passing, *staying, "fails")}
    assert {name for name, count in counts.items() if count == 2} == {*passing, "fails"}
    assert bad(await collector.collect(Request("http://e.com/fails"), {})).reason == "timeout"
    await collector.close()


async def test_a_damaged_entry_is_fetched_again(tmp_path: Path) -> None:
    inner = Counting()
    collector = CacheCollector(inner, str(tmp_path))
    request = Request("http://e.com/a")
    await collector.collect(request, {})
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    other = Request("http://e.com/b")
    await collector.collect(other, {})
    (second,) = (one for one in files(tmp_path) if one != path)
    damages = [
        b"",
        whole[:10],
        whole[:-1],
        whole + b"x",
        whole[:40] + b"\xff" + whole[41:],
        b"x" * 100,
        second.read_bytes(),
        bytes(len(whole)),
    ]
    for number, damage in enumerate(damages):
        path.write_bytes(damage)
        page = good(await collector.collect(request, {}))
        assert page.url == request.url
        assert page.collector == "http", number
        assert good(await collector.collect(request, {})).collector == "cache"
    await collector.close()


async def test_names_are_hashes_and_links_are_not_followed(tmp_path: Path) -> None:
    folder, victim = tmp_path / "cache", tmp_path / "victim"
    victim.write_text("mine")
    collector = CacheCollector(Counting(), str(folder))
    for path in ("/../../victim", "/%2e%2e/x", "/a\0b", "/" + "x" * 5000, "/CON"):
        await collector.collect(Request("http://e.com" + path), {})
    for path in files(folder):
        assert all(c in "0123456789abcdef" for c in path.parent.name + path.name)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (first, *_) = files(folder)
    first.unlink()
    first.symlink_to(victim)
    for path in ("/../../victim", "/%2e%2e/x", "/a\0b", "/" + "x" * 5000, "/CON"):
        good(await collector.collect(Request("http://e.com" + path), {}))
    assert victim.read_text() == "mine"
    assert not first.is_symlink(), "the link was replaced, not followed"
    sub = first.parent
    for file in sub.iterdir():
        file.unlink()
    sub.rmdir()
    sub.symlink_to(tmp_path)
    before = set(os.listdir(tmp_path))
    for path in ("/../../victim", "/%2e%2e/x", "/a\0b", "/" + "x" * 5000, "/CON"):
        good(await collector.collect(Request("http://e.com" + path), {}))
    assert set(os.listdir(tmp_path)) == before
    await collector.close()


async def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match="cache folder"):
        CacheCollector(Counting(), str(file))
    with pytest.raises(ConfigError, match="cache folder"):
        CacheCollector(Counting(), str(file / "below"))
    collector = CacheCollector(Counting(), str(tmp_path / "gone"))
    (tmp_path / "gone").rmdir()
    assert good(await collector.collect(Request("http://e.com/"), {})).collector == "http", (
        "unkept, but fetched"
    )
    await collector.close()


def crowd(folder: str) -> int:
    async def main() -> int:
        collector = CacheCollector(
            from_pages({f"http://e.com/{n}": "<p>x" * 2000 for n in range(40)}), folder
        )
        pages = [
            good(await collector.collect(Request(f"http://e.com/{n}"), {}))
            for _ in range(3)
            for n in range(40)
        ]
        await collector.close()
        return sum(page.body == b"<p>x" * 2000 for page in pages)

    return asyncio.run(main())


def test_processes_share_a_folder(tmp_path: Path) -> None:
    with get_context("spawn").Pool(3) as pool:
        assert pool.map(crowd, [str(tmp_path)] * 3) == [120] * 3
    assert len(files(tmp_path)) == 40, "no file is left aside"
