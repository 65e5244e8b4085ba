"""Costly pages are parsed in a process that can be killed. The results are the same as in the worker, the
limits hold, and the event loop continues."""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer import url as urls
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim
from gossamer.parsing import page_cost
from gossamer.sites import load, sources
from gossamer.url.scope import Scope
from gossamer.worker.link_intake import LinkIntake, ReadResult, UrlPlaces
from gossamer.worker.page_process_messages import ProcessSettings
from gossamer.worker.page_reader import PageReader
from gossamer.worker.reader import PageReceivers, Reader, ReadSettings
from gossamer.worker.records import edges

URL = "https://www.example.com/"
ADOPTION = b"".join(b"<b class=c%d><p>" % n for n in range(40_000))
SITE = """
from decimal import Decimal
from typing import Annotated
from gossamer import File, Item, Site

class Book(Item, key="name"):
    name: str
    price: Decimal | None = None
    cover: Annotated[str | None, File()] = None

site = Site("shop", hosts=["www.example.com"])

@site.page(".*")
def book(page):
    mode = page.css("meta[name=mode]::attr(content)").get()
    if mode == "fail":
        raise ValueError("no price here")
    if mode == "die":
        import os, signal
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "eat":
        bytearray(1 << 30)
    if mode == "spin":
        while True:
            pass
    print("this goes to stderr")
    yield Book(name=page.title or "?", price=Decimal("9.90"), cover="cover.jpg")
    yield {"big": 1 << 80, "text": "x" * 10, "list": [1, {"a": None}], "price": Decimal("1E+3")}
    yield {"bad": float("nan"), "_key": "k"}
    yield from page.follow("a", carry={"from": page.url})
"""


def reader(folder: Path | None = None, **given: Any) -> Reader:
    link_intake = LinkIntake(
        Scope.of([URL], "any"),
        UrlPlaces(7, lambda mark: (mark >> 32, mark & 0xFFFFFFFF), lambda _: 0, urls.key),
        own=lambda host: host == "www.example.com",
    )
    sites = []
    if folder is not None:
        path = folder / "shop.py"
        path.write_text(SITE)
        sites = load(path)
    known = {"pages": True, "text": True, "links": True, "duplicates": "near"} | given
    kept: list[tuple[str, str]] = []
    made = Reader(
        sites,
        link_intake,
        urls.key,
        ReadSettings(**known),
        PageReceivers(lambda page, request, why: kept.append((page.url, why))),
        graph=partial(edges, "c", urls.key, "@link"),
    )
    made.kept = kept  # type: ignore[attr-defined]
    return made


def order(one: Reader) -> ProcessSettings:
    return ProcessSettings(
        sources(one.sites),
        [site.name for site in one.sites],
        {},
        list(sys.path),
        (),
        one.settings,
        ("c", "@link"),
    )


@pytest.fixture
async def apart(tmp_path: Path) -> AsyncIterator[Any]:
    made = []

    def make(one: Reader) -> Reader:
        one.apart = PageReader(partial(order, one))
        made.append(one.apart)
        return one

    yield make
    for one in made:
        await one.close()


def page(body: bytes, url: str = URL, kind: str = "text/html") -> Page:
    return Page(url, 200, [("content-type", kind)], body, 1.5, 0.1, len(body))


def claim(use: str | None = None) -> Claim:
    return Claim(5, 0, "www.example.com", Request(URL, 2, use=use))


def plain(one: ReadResult, read: Reader, seen: Page) -> Any:
    rows = [
        (row.kind, row.key, msgspec.json.encode(row.data), repr(row.data), row.run, row.sketch, row.once)
        for row in one.rows
    ]
    return (
        rows,
        one.taken.adds,
        one.taken.skips,
        one.items,
        one.counts,
        one.error,
        one.infrastructure,
        seen.block,
        read.kept,  # type: ignore[attr-defined]
    )


async def both(
    apart: Any,
    monkeypatch: pytest.MonkeyPatch,
    bodies: list[bytes],
    folder: Path | None = None,
    use: str | None = None,
) -> None:
    here, there = reader(folder), apart(reader(folder))
    monkeypatch.setattr(there, "is_costly", lambda _: True)
    monkeypatch.setattr("gossamer.worker.reader.MAX_SITEMAP_BYTES", -1)
    for body in bodies:
        one, other = page(body), page(body)
        expected = plain(here.read(claim(use), one, None), here, one)
        assert plain(await there.reads(claim(use), other, None), there, other) == expected


PAGES = [
    *(path.read_bytes() for path in sorted(Path(__file__).parents[2].glob("examples/*/pages/*.html"))),
    b"",
    b"<title>t</title><base href=/x/><a href=a>1</a><a href=b rel=nofollow>2</a><a href=mailto:x@y>3</a>"
    + b"<a href=/%d>x" * 3 % (1, 2, 3),
    b"".join(b"<a href=/p/%d>%d</a>" % (n, n) for n in range(6000)),
    "<title>Größe</title><p>ünï".encode("utf-16"),
    b"<base href='/"
    + b"a" * 5000
    + b"/'><a href=x>1</a><a href=/y>2</a><a href='"
    + b"z" * 3000
    + b"'>3</a>",
]


async def test_a_page_is_read_as_in_the_worker(apart: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await both(apart, monkeypatch, PAGES)


async def test_a_page_of_a_site_is_read_as_in_the_worker(
    apart: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fails = b"<meta name=mode content=fail>"
    await both(apart, monkeypatch, [*PAGES, fails, PAGES[0]], tmp_path)


async def test_a_sitemap_is_read_as_in_the_worker(apart: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = b"".join(b"<url><loc>https://www.example.com/%d</loc></url>" % n for n in range(3000))
    whole = b"<urlset>" + entries + b"</urlset>"
    await both(apart, monkeypatch, [whole, b"nothing", gzip.compress(whole)], use="@sitemap")


async def test_a_packed_sitemap_of_50_000_entries_is_read_apart(apart: Any) -> None:
    entries = b"".join(
        b"<url><loc>https://www.example.com/some/where/else/%d</loc></url>\n" % n for n in range(50_000)
    )
    there = apart(reader())
    read = await there.reads(
        claim("@sitemap"), page(gzip.compress(b"<urlset>" + entries + b"</urlset>")), None
    )
    assert there.apart.started.is_set()
    assert read.error is None
    assert sum(len(flat) // 3 for flat in read.taken.adds.values()) == 50_000


async def test_the_loop_goes_on_while_a_tree_explodes(apart: Any) -> None:
    there = apart(reader())
    reading = asyncio.create_task(there.reads(claim(), page(ADOPTION), None))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0.001)
        turns += 1
    read = reading.result()
    assert read.error == "too-complex"
    assert turns > 20
    assert [row.data.error for row in read.rows] == ["too-complex"]
    assert "MiB of memory" in there.kept[0][1]
    good = await there.reads(claim(), page(b"<title>after</title>" + b"<p>" * 51_000), None)
    assert good.rows[0].data.title == "after"


@pytest.mark.parametrize(
    ("mode", "error"), [(b"die", "crash"), (b"eat", "too-complex"), (b"spin", "too-complex")]
)
async def test_a_site_function_that_takes_too_much(
    apart: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: bytes, error: str
) -> None:
    monkeypatch.setattr("gossamer.worker.page_reader.WALL_FACTOR", 0.2)
    there = apart(reader(tmp_path))
    monkeypatch.setattr(there, "is_costly", lambda _: True)
    read = await there.reads(claim(), page(b"<meta name=mode content=" + mode + b">"), None)
    assert read.error == error
    assert not read.taken.adds
    assert len(there.kept) == 1
    assert (await there.reads(claim(), page(b"<title>next</title>"), None)).items == 3


async def test_a_cancelled_read_leaves_no_process(apart: Any) -> None:
    there = apart(reader())
    reading = asyncio.create_task(there.reads(claim(), page(ADOPTION), None))
    await there.apart.started.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert not there.apart._all


@pytest.mark.parametrize(
    "body",
    [
        ADOPTION,
        ADOPTION[:100_000],
        b"".join(b"<font size=%d><table>" % n for n in range(2000)),
        b"".join(b"<i a='>%d'>x<p>" % n for n in range(2000)),
        b"".join(b'<i a=x"%d><p>' % n for n in range(2000)),
        "".join(f"<b id={n}><p>" for n in range(2000)).encode("utf-16"),
        b"<B\tid=1/x>" + b"".join(b"<sTrong/id=%d><li>" % n for n in range(2000)),
        b"<p>" * 51_000,
        b"<a HREF=/>" * 11_000,
        b"x" * 1_000_001,
    ],
)
def test_costly(body: bytes) -> None:
    assert page_cost.is_costly(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<p>text <b>bold</b> <i class=icon></i>" * 2000,
        b"<p>text</p>" * 20_000,
        b'<code class="c"><span>x</span>(<em><span class="n"><a href="/">y</a>=</span></em>)<br></code>'
        * 3000,
        b"<tr><td><strong>1</strong><td><a href=/>2</a>" * 900,
        b"".join(b'<li><i class="icon icon-%d"></i><a href="/%d">x</a>' % (n % 30, n) for n in range(900)),
    ],
)
def test_not_costly(body: bytes) -> None:
    assert not page_cost.is_costly(body)


def test_equal_elements_that_are_left_open_take_no_memory() -> None:
    body = b"<p>text <b>bold</b> <i class=icon>" * 2000
    assert not page_cost.is_costly(body), "the parser reopens three of them in each paragraph"
    assert not page_cost.may_explode(body)


WORKER = """
import asyncio, msgspec, sys
from pathlib import Path
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.worker.page_process_messages import ProcessSettings
from gossamer.worker.reader import PageReceivers, ReadSettings
from gossamer.worker.page_reader import ReaderProcess, _task
from gossamer.model.visit import Claim

async def main(site, body):
    process = ReaderProcess()
    sources = [(site, Path(site).read_bytes())]
    order = ProcessSettings(sources, ["shop"], {}, list(sys.path), (), ReadSettings(pages=True, text=True, links=True), None)
    await process.begin(msgspec.msgpack.encode(order))
    page = Page("https://www.example.com/", 200, [], body.encode(), 0.0, 0.0, 1)
    print(process._popen.pid, flush=True)
    await process.ask(_task(Claim(0, 0, "www.example.com", Request(page.url)), page, None), 1 << 30)
    print("read", flush=True)
    await asyncio.sleep(100)

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="the kernel of Linux ends it, elsewhere the end of a read does"
)
@pytest.mark.parametrize("body", ["<title>idle", "<meta name=mode content=spin>"])
async def test_a_process_ends_with_its_worker(tmp_path: Path, body: str) -> None:
    """The process ends even if the worker is killed, and even while a function of a site loops."""
    site = tmp_path / "shop.py"
    site.write_text(SITE)
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, str(site), body, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    pid = int(await worker.stdout.readline())
    if "idle" in body:
        assert await worker.stdout.readline() == b"read\n"
    worker.kill()
    await worker.wait()
    async with asyncio.timeout(60):
        while _is_alive(pid):  # noqa: ASYNC110 - nobody tells the end of another's child
            await asyncio.sleep(0.02)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
