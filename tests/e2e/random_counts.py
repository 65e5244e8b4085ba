"""Random runs of whole crawls into nine outputs, on one machine and on a fleet: a site changes, the crawl is
stopped, killed or left alone, or the server of its output is killed and restarted. Then the crawl visits the site
again. What the summary counts must follow from what the output contained before and after the run.

A run into a store with one row per item begins with `--fresh`, and counts items. A run into files, Kafka or S3
continues with `--refresh`, and counts pages. `--pages` writes the pages that the run found to be new, changed or
gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import http.server
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from e2e.changing_items import Places, Site, Stored
from e2e.kill_crawl import fire
from e2e.runs import begin, command, job
from gossamer.app.job import JobOutput
from gossamer.app.runner import crawl
from sinks.test_object_archive import answers, fetched
from support.answers import answering
from support.fleet_workers import Fleet, Worker
from support.java_servers import Kafka
from support.object_stores import Minio
from support.processes import Process

FILES = ("jsonl", "csv", "parquet")
AWAY = ("kafka", "s3")
"""Kafka gets each item exactly once, and S3 gets WARC files."""
SERVERS = ("postgresql", "mongodb", "hash", *AWAY)
"""Outputs whose server can be killed and restarted with its data."""
OUTPUTS = (*FILES, "sqlite", "postgresql", "mongodb", "hash", *AWAY)
FLEET_OUTPUTS = tuple(name for name in OUTPUTS if name != "sqlite")
NUMBERS = ("new", "changed", "unchanged", "gone", "refused")
SITE = """
from gossamer import Item, Site

site = Site("shop", seeds=["{url}/"], pace=0)


class Book(Item, key="upc"):
    upc: str
    title: str
    number: int


@site.page("^/p/")
def product(page):
    for one in page.css("i"):
        title, key = one.css("::text").get(), one.attrib["id"]
        number = {large} if title.startswith("bad") else 1
        if one.attrib["class"] == "book":
            yield Book(upc=key, title=title, number=number)
        else:
            yield {{"_key": key, "title": title}}


@site.page()
def listing(page):
    yield from page.follow("a")
"""
"""A site with declared and undeclared items. `large`: the number of a bad item. No Parquet column can hold
10**30."""


class Web:
    """Serves the pages of a `Site`. `event` is called at the request with the number `until`."""

    def __init__(self) -> None:
        self.site = Site(random.Random(0))
        self.url = ""
        self.until, self.event = 0, _nothing
        self.found: set[str] = set()
        """The paths of the pages that were asked for."""
        self._lock = threading.Lock()

    def answer(self, path: str) -> tuple[int, str]:
        """Returns the status and the body of a page."""
        with self._lock:
            self.until -= 1
            if self.until == 0:
                self.event()
        if path == "/robots.txt":
            return 404, ""
        self.found.add(path)
        if path == "/":
            return 200, "".join(f"<a href=/p/{n}>{n}</a>" for n in self.site.pages)
        if (number := int(path[3:])) in self.site.gone:
            return 404, "none"
        items = self.site.pages[number]
        return 200, "".join(f"<i class={kind} id={key}>{title}</i>" for kind, key, title in items)


def _nothing() -> None: ...


@contextmanager
def serving() -> Iterator[Web]:
    """Serves pages for the duration of the block."""
    made = Web()

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body = made.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the event killed the client
                self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with answering(Answers) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


@dataclass
class Order:
    """What a run is asked to do. `event`: what happens to the run at the request with the number `until`:
    "stopped", "killed", "outage" or "". `begin_outage` kills the server of the output, which comes back soon."""

    folder: Path
    site: str
    output: str
    spec: str
    words: tuple[str, ...]
    event: str
    until: int
    begin_outage: Callable[[], None]


class Outage:
    """An outage of the server of an output, which takes `seconds` and the time of the server's start."""

    def __init__(self, server: Any, seconds: float) -> None:
        self._server, self._seconds = server, seconds
        self._ends = threading.Thread(target=self._end)
        self.began = False

    def begin(self) -> None:
        """Kills the server."""
        self._server.kill()
        self.began = True
        self._ends.start()

    def wait(self) -> None:
        """Waits until the server is back."""
        if self.began:
            self._ends.join()

    def _end(self) -> None:
        time.sleep(self._seconds)
        self._server.start()
        if isinstance(self._server, Process):
            self._server.ready()


class Runner(Protocol):
    """Runs crawls on one machine or on a fleet."""

    outputs: tuple[str, ...]
    events: tuple[str, ...]

    def spec(self, folder: Path, output: str) -> str:
        """Returns the value of `-o` for files in a folder."""
        ...

    async def run(self, order: Order) -> dict[str, Any]:
        """Runs a crawl to its end. Returns its summary."""
        ...


class Machine:
    """Runs crawls with a store of their own."""

    outputs: tuple[str, ...] = OUTPUTS
    events: tuple[str, ...] = ("", "", "stopped", "killed")

    def __init__(self, web: Web) -> None:
        self._web = web

    def spec(self, folder: Path, output: str) -> str:
        return f"{folder}/out.{output}"

    async def run(self, order: Order) -> dict[str, Any]:
        own = {"fresh": "--fresh" in order.words, "refresh": "--refresh" in order.words}
        if order.output in (*FILES, *AWAY):
            own["pages"] = f"{order.folder}/pages/pages.jsonl"
        one = job([order.site], order.folder, guard="off", **own)
        one.outputs = [JobOutput(order.spec)]
        self._web.until, stop = order.until, asyncio.Event()
        if order.event == "killed":
            more = ("--pages", one.pages) if one.pages else ()
            door = begin(command(one, *order.words, *more, "--guard", "off"))
            self._web.event = lambda: _ignored(fire("all", door, order.folder / "data"))
            out, err = await asyncio.to_thread(door.communicate)
            if door.returncode == 0:
                found: dict[str, Any] = json.loads(out)
                return found
            assert door.returncode == -9, err
        elif order.event == "stopped":
            loop = asyncio.get_running_loop()
            self._web.event = lambda: _ignored(loop.call_soon_threadsafe(stop.set))
            ended = await crawl(one, stop=stop)
            if ended.state == "finished" or (one.refresh and not ended.pending):
                return ended.dict()  # the next `--refresh` would begin another pass
        one.fresh = one.fresh and order.event not in ("killed", "stopped")
        self._web.event = order.begin_outage if order.event == "outage" else _nothing
        return (await crawl(one)).dict()


def _ignored(_: object) -> None: ...


class OnFleet:
    """Runs crawls on the workers of a fleet. The site files are in the folder of the fleet."""

    outputs: tuple[str, ...] = FLEET_OUTPUTS
    events: tuple[str, ...] = ("", "", "", "killed")

    def __init__(self, fleet: Fleet, web: Web) -> None:
        self._fleet, self._web, self._started = fleet, web, 0
        self._worker = self._start()
        fleet.ready(1)

    def spec(self, folder: Path, output: str) -> str:
        return {"jsonl": f"{folder}/", "csv": f"{folder}/:csv", "parquet": f"{folder}/out.parquet"}[output]

    def _start(self) -> Worker:
        self._started += 1
        return self._fleet.worker(f"w{self._started}", "--sites", ".", processes=2)

    async def run(self, order: Order) -> dict[str, Any]:
        self._web.until = order.until
        self._web.event = order.begin_outage if order.event == "outage" else _nothing
        killed = threading.Event()
        if order.event == "killed":

            def kill() -> None:
                self._worker.kill()
                killed.set()

            self._web.event = kill
        words = ["--name", order.folder.name, "--delay", "0", "--quiet", "--guard", "off", *order.words]
        if order.output in (*FILES, *AWAY):
            words += ["--pages", f"{order.folder}/pages/", "--known", f"{order.folder}/known/"]
        words += ["-o", order.spec, "--allow-private", "127.0.0.0/8"]

        def whole() -> dict[str, Any]:
            self._fleet.run("submit", order.site, *words)
            if order.event == "killed" and killed.wait(10):
                self._worker = self._start()
            return self._fleet.ended(order.folder.name, 180)

        return await asyncio.to_thread(whole)


class FileRow(NamedTuple):
    """A row of an item in a file. `lost`: whether the row lost a value that its column cannot hold."""

    kind: str
    key: str
    title: str
    lost: bool


def read_items(folder: Path) -> Counter[FileRow]:
    """Returns the items in all files of a folder."""
    found: Counter[FileRow] = Counter()
    for path in folder.rglob("*.*"):
        if path.is_symlink() or not path.is_file():
            continue
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        elif path.suffix == ".csv":
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
        else:
            import pyarrow.parquet

            rows = pyarrow.parquet.read_table(path).to_pylist()
        for row in rows:
            kind = row.get("_kind") or ("item" if ".item." in f"{path.parent.name} {path.name}" else "book")
            found[_file_row(kind, row)] += 1
    return found


def _file_row(kind: str, row: dict[str, Any]) -> FileRow:
    data = row if row.get("title") else json.loads(row.get("data") or row["_extra"])
    return FileRow(kind, row["_key"], data["title"], kind == "book" and row["number"] is None)


def read_topic(server: Kafka, topic: str) -> Counter[FileRow]:
    """Returns the items in a topic."""
    found = server.messages(topic)
    return Counter(_file_row(headers["kind"], json.loads(value)) for _, value, headers in found)


def read_pages(folder: Path) -> list[tuple[str, int]]:
    """Returns the path and the status of each page record in a folder, in the order of the visits."""
    rows = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    rows.sort(key=lambda row: row["fetched_at"])
    return [("/" + row["url"].split("/", 3)[3], row["status"]) for row in rows]


@dataclass
class Files:
    """Files of items and of page records that grow from run to run. `output`: Kafka and S3 have no files of
    items. `server`: their server."""

    folder: Path
    output: str
    server: Any = None
    items: Counter[FileRow] = field(default_factory=Counter)
    pages: list[tuple[str, int]] = field(default_factory=list)

    def expected(self, site: Site, found: set[str]) -> Counter[str]:
        """Returns the counts that follow from the files before and after a run. `found`: the paths that
        the run asked for. Also checks the rows of the run."""
        pages = read_pages(self.folder / "pages")
        if self.output == "kafka":
            items = read_topic(self.server, self.folder.name)
        else:
            items = read_items(self.folder / "out")
        before, written = dict(self.pages), Counter(pages) - Counter(self.pages)
        more, numbers = items - self.items, Counter[str]()
        assert not self.items - items, "rows are gone"
        assert set(written.values()) <= {1}, written
        good = {path for path, status in written if status == 200}
        numbers["new"] = len(good - before.keys())
        numbers["changed"] = len(good & before.keys())
        numbers["unchanged"] = len(found - {path for path, _ in written})
        numbers["gone"] = sum(before.get(path) == 200 for path, status in written if status in (404, 410))
        numbers["refused"] = sum(n for row, n in more.items() if row.lost)
        shown = Counter(one for path in good - {"/"} for one in site.pages[int(path[3:])])
        if self.output == "s3":
            assert good <= self._archived(), "a page is not in the bucket"
        else:
            rows = Counter([(row.kind, row.key, row.title) for row in more.elements()])
            assert rows == shown, f"too many: {rows - shown}; missing: {shown - rows}"
        self.items, self.pages = items, pages
        return numbers

    def _archived(self) -> set[str]:
        """Returns the paths of the pages whose responses are in the bucket."""
        with tempfile.TemporaryDirectory() as there:
            top = fetched(bucket(self.server, self.folder), Path(there))
            folders = [
                top,
                *(path for path in top.rglob("*") if path.is_dir()),
            ]  # each process of a fleet has one
            found = [url for folder in folders for url in answers(folder)]
        return {"/" + url.split("/", 3)[3] for url in found}


def bucket(server: Minio, folder: Path) -> str:
    """Returns the value of `-o` for the responses of a crawl."""
    return server.url.replace("some/prefix", f"{folder.parent.name}/{folder.name}")


async def try_runs(
    seed: int, output: str, folder: Path, web: Web, runner: Runner, places: Places, runs: int = 3
) -> Counter[str]:
    """Makes random runs into an output, and checks the counts of each. Returns how often each event
    happened. `folder`: an empty folder whose name is that of the crawl."""
    chance = random.Random(f"{type(runner).__name__} {output} {seed}")
    web.site = Site(chance)
    for name in ("out", "pages"):
        (folder / name).mkdir()
    site = folder.parent / ("large.py" if output == "parquet" else "shop.py")
    site.write_text(SITE.format(url=web.url, large="10**30" if output == "parquet" else 1))
    server = places.server(output) if output in SERVERS else None
    files = Files(folder, output, server) if output in (*FILES, *AWAY) else None
    place = None if files else places(output, folder)
    refusing, before, made = {"book"} if files else set[str](), Stored(), Counter[str]()
    for number in range(runs):
        web.site.change(refusing)
        web.found = set()
        event = chance.choice((*runner.events, *(("outage",) * 3 if server else ())))
        words = ("--fresh",) if place else ("--refresh",) if number else ()
        if place:
            spec = place.spec
        elif output == "kafka":
            spec = f"{server.url}/{folder.name}?journal={folder}/journal"
        else:
            spec = bucket(server, folder) if server else runner.spec(folder / "out", output)
        until, outage = chance.randint(2, 2 + len(web.site.pages)), Outage(server, chance.uniform(0, 3))
        told = await runner.run(Order(folder, str(site), output, spec, words, event, until, outage.begin))
        outage.wait()
        if event == "outage" and not outage.began:
            event = ""
        assert told["state"] == "finished" or (event, told["pending"]) == ("stopped", 0), told
        if place:
            after = place.stored()
            try:
                expected, before = web.site.expected(before, after, refusing), after
            except AssertionError as error:
                raise AssertionError(f"run {number} ({event}): {error}") from error
            refusing = place.refuse()
        else:
            assert files is not None
            expected = await asyncio.to_thread(files.expected, web.site, web.found)
        names = [name for name in NUMBERS if not (name == "gone" and output == "hash")]
        counted, right = {name: told[name] for name in names}, {name: expected[name] for name in names}
        assert counted == right, f"{output}, seed {seed}, run {number} ({event}): {counted}, not {right}"
        assert (told["gone"] is None) == (output == "hash")
        made[event or "undisturbed"] += 1
    return made
