"""Fixtures for the browser tests: a site of a few pages, and collectors with a real Chromium that may
connect to this machine."""

from __future__ import annotations

import http.server
import os
import shutil
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from gossamer.collectors.browser.chromium import Chromium
from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Failure, Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests whose browser is not installed. In CI nothing is skipped, so a missing browser is an
    error there."""
    here = os.path.dirname(__file__)
    if shutil.which("chromium") is None and os.environ.get("CI") != "true":
        for item in items:
            if str(item.path).startswith(here):
                item.add_marker(pytest.mark.skip(reason="needs chromium"))
    if shutil.which("firefox-esr") is None and os.environ.get("CI") != "true":
        for item in items:
            if str(item.path).startswith(here) and "[firefox]" in item.name:
                item.add_marker(pytest.mark.skip(reason="needs firefox-esr"))


class Stage(http.server.ThreadingHTTPServer):
    """Serves `pages`: each path has a body, or a tuple of status, headers and body. `seen`: the path and
    the headers of each request."""

    daemon_threads = True

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__((address, 0), Answers)
        self.address = address
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.came: Counter[str] = Counter()
        """The number of requests per client address."""
        self.bodies: list[bytes] = []
        self.pages: dict[str, Any] = {}

    def url(self, path: str = "/", host: str = "") -> str:
        """Return a URL of this server."""
        return f"http://{host or self.address}:{self.server_port}{path}"

    def paths(self) -> list[str]:
        """Return the requested paths in order."""
        return [path for path, _ in self.seen]


class Answers(http.server.BaseHTTPRequestHandler):
    server: Stage
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.server.came[self.client_address[0]] += 1
        if length := int(self.headers.get("content-length", 0)):
            self.server.bodies.append(self.rfile.read(length))
        made = self.server.pages.get(self.path, (404, {}, b"nothing"))
        if callable(made):
            made = made()
        status, headers, body = made if isinstance(made, tuple) else (200, {}, made)
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in ({"content-type": "text/html"} | headers).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - http.server's name

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def stage() -> Iterator[Stage]:
    server = Stage()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


TOTAL_S = 60.0
"""The time for a page. A person's gestures get a third of what is left of it after the page has loaded."""


async def here(host: str, _port: int) -> list[str]:
    """Resolve every host name to this machine. Return an IP address unchanged."""
    return [host if host.replace(".", "").isdecimal() else "127.0.0.1"]


Make = Callable[..., BrowserCollector]


BOTH = pytest.mark.parametrize("program", [None, "firefox-esr"], ids=["chromium", "firefox"])
"""Run a test with Chromium and with Firefox."""


@pytest.fixture
def program() -> str | None:
    """The browser executable that `browser` uses. None means the default executable."""
    return None


class Borrower(BrowserCollector):
    """A collector that uses the browser process of `lender`, in contexts of its own."""

    lender: BrowserCollector

    async def _running(self) -> Chromium:
        self._now = await self.lender._running()
        self._now._resolver = self._resolver
        return self._now

    async def close(self) -> None:
        """Close the contexts, and leave the browser running."""
        now, self._now = self._now, None
        if now is not None and not now.dead:
            while now._idle:
                await now._drop(now._idle.popitem()[0])
        await super().close()


Borrow = Callable[..., Borrower]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def borrow() -> AsyncIterator[Borrow]:
    """Yield `borrow(**options)`, which creates a collector with the user agent `test/1` that may connect to this
    machine. The collectors of a module share a browser process for each executable and user agent. Tests that
    use it run in the module's event loop: `pytestmark = IN_MODULE`."""
    lenders: dict[tuple[str | None, str | None], BrowserCollector] = {}

    def borrow(resolver: Resolver | None = None, **more: Any) -> Borrower:
        options: dict[str, Any] = {"agent": "test/1", "domain": lambda host: host, "total": TOTAL_S} | more
        options = {"resolver": resolver or Resolver(["127.0.0.0/8"], lookup=here)} | options
        key = options.get("program"), options["agent"]
        if key not in lenders:
            lenders[key] = BrowserCollector(**options)
        made = Borrower(**options)
        made.lender = lenders[key]
        return made

    yield borrow
    for one in lenders.values():
        await one.close()


IN_MODULE = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def browser(program: str | None, borrow: Borrow) -> AsyncIterator[Make]:
    """Yield `browser(**options)`, which creates a collector (see `borrow`)."""
    made: list[BrowserCollector] = []

    def make(
        resolver: Resolver | None = None, looks: Callable[[str], Render] = lambda _: Render(), **more: Any
    ) -> BrowserCollector:
        made.append(borrow(resolver, render=looks, **({"program": program} | more)))
        return made[-1]

    yield make
    for one in made:
        await one.close()


class Shared(NamedTuple):
    """A collector that all tests of a module use. `looks`: the rendering of each host, without its port."""

    collector: BrowserCollector
    looks: dict[str, Render]
    is_firefox: bool


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=[None, "firefox-esr"], ids=["chromium", "firefox"]
)
async def shared(request: pytest.FixtureRequest, borrow: Borrow) -> AsyncIterator[Shared]:
    """Yield the collector of a module, once with Chromium and once with Firefox (see `borrow`)."""
    looks: dict[str, Render] = {}
    collector = borrow(program=request.param, render=lambda host: looks.get(host.partition(":")[0], Render()))
    yield Shared(collector, looks, request.param is not None)
    await collector.close()


async def page(
    collector: BrowserCollector, url: str, headers: dict[str, str] | None = None, **more: Any
) -> Page:
    """Fetch a URL, and return the page. Fail if the collector returns a failure."""
    got = await collector.collect(Request(url, **more), headers or {})
    assert isinstance(got, Page), got
    return got


async def failure(collector: BrowserCollector, url: str, **more: Any) -> Failure:
    """Fetch a URL, and return the failure. Fail if the collector returns a page."""
    got = await collector.collect(Request(url, **more), {})
    assert isinstance(got, Failure), got
    return got
