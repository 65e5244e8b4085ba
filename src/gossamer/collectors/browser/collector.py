"""The browser rung, which returns pages after their scripts have run. All traffic of the browser goes through
gossamer's tunnel (`tunnel`). The tunnel resolves, checks and pins names with the same egress guard as the
other rungs. Each combination of a registered domain, a session and a proxy has its own browser context, with
its own cookies, cache and connections. A browser that hangs or dies is replaced, and the pages that were
loading in this browser fail and are retried. The rules of robots.txt and the delays apply only to the request
for the page. The page's resources, such as images and scripts, are loaded without these rules and delays, as
in a visitor's browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec

from gossamer.collectors.browser.chromium import Chromium, ContextInUse, ContextKey, find_program, is_firefox
from gossamer.collectors.browser.fingerprint import BrowserFingerprint, time_zone
from gossamer.collectors.http.collector import AddressResolver, FailureCause
from gossamer.collectors.http.transfer import PROXIES, proxy_of
from gossamer.errors import BrowserFailed, GossamerError
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request, split
from gossamer.model.wall_clock import CLOCK

PAGES_PER_BROWSER = 500
"""The number of pages after which a browser is replaced."""
MAX_START_ATTEMPTS = 3
"""The maximum number of attempts to start a browser."""
PICTURES_S = 60.0
"""The seconds by which the time of a page is longer if a picture is taken before and after each step."""
MAX_LOADED_BODIES = 4
"""A page and its resources may together load at most this many times the maximum size of a body."""


Result = TypeVar("Result")


class PageCrashed(Exception):
    """Raised when the process of a page has died."""


class BrowserCollector:
    """Collects pages with a browser. `program`: the path of the browser's executable. None means that PATH
    is searched. `agent`: the user agent. None means the user agent of the page's fingerprint or, without a
    fingerprint, the browser's own user agent. `render`: a function that returns the settings for rendering
    a host's pages. `domain`: a function that returns a host's registered domain. `pages`: the maximum
    number of concurrent pages, or a semaphore that several collectors share. `total`: the maximum number of
    seconds per page. `wire`: the maximum number of bytes of a body. `requests`: the maximum number of
    requests that a page may make to its own host. `recycle`: the number of pages after which a browser
    process is replaced. `ca_file`: trusted certificates for proxies that use TLS. `folder`: the folder for
    screenshots. `show`: the folder for a picture before and after each step, or None. `fingerprint`: a function that
    maps a browser's name to the browser's fingerprint. `country`: a function that maps a proxy's URL to the
    proxy's country. Raises ConfigError if the browser or Playwright is missing."""

    name = "browser"

    def __init__(
        self,
        resolver: AddressResolver,
        *,
        agent: str | None,
        render: Callable[[str], Render],
        domain: Callable[[str], str],
        program: str | None = None,
        pages: int | asyncio.Semaphore = 4,
        total: float = 30.0,
        wire: int = 16 << 20,
        requests: int = 200,
        recycle: int = PAGES_PER_BROWSER,
        ca_file: str | None = None,
        folder: Path | None = None,
        show: Path | None = None,
        fingerprint: Callable[[str], BrowserFingerprint] | None = None,
        country: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._folder, self._show, self._worn, self._country = folder, show, fingerprint, country
        self._program = find_program(program, agent is not None)
        self._resolver, self._agent, self._render, self._domain, self._ca_file = (
            resolver,
            agent,
            render,
            domain,
            ca_file,
        )
        self._total, self._wire, self._recycle, self._requests = total, wire, recycle, requests
        self._pages = asyncio.Semaphore(pages) if isinstance(pages, int) else pages
        self._starting = asyncio.Lock()
        self._turns: WeakValueDictionary[ContextKey, asyncio.Lock] = WeakValueDictionary()
        self._now: Chromium | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Loads one URL and returns the loaded document. If the page redirects, by HTTP or by a script,
        returns the redirect. Raises BrowserFailed if no browser starts."""
        if not request.url.startswith(("http://", "https://")):
            return self._refused(FailureCause("filter", "only http and https are fetched", True))
        guise = guise or Guise()
        if guise.proxy is not None and proxy_of(guise.proxy) is None:
            return self._refused(FailureCause("filter", PROXIES, True))
        came, authority = time.perf_counter(), split(request.url)[1]
        found = self._resolver.known(authority) or await self._resolver.resolve(authority)
        if short := found.short:
            line = f"short of {short}"
            return Failure(
                "connect", line, CLOCK.now(), 0.0, sent=False, collector=self.name, later=1.0, short=short
            )
        if not found.addresses:
            return self._refused(FailureCause(found.reason, found.detail, found.final))
        place = ContextKey(self._domain(authority), f"{guise.browser}/{guise.session}", guise.proxy or "")
        async with self._turn(place, guise), self._pages:
            browser = await self._running()
            result = await self._visit(browser, place, request, headers, guise)
            if guise.browser:
                result = msgspec.structs.replace(result, session=f"{guise.browser}/{guise.session}")
            # the time that a page waits for a free tab does not count as the host's time
            return msgspec.structs.replace(
                result, lag=result.lag + time.perf_counter() - came - result.elapsed
            )

    async def close(self) -> None:
        """Closes the browser."""
        if self._now is not None:
            self._retire(self._now)
        while self._ending:
            await asyncio.gather(*self._ending)

    @contextlib.asynccontextmanager
    async def _turn(self, place: ContextKey, guise: Guise) -> AsyncIterator[None]:
        """A context manager that loads the pages of a logged-in account one after another, because these
        pages share one browser context."""
        if not guise.member:
            yield
            return
        lock = self._turns.setdefault(place, asyncio.Lock())
        async with lock:
            yield

    async def _running(self) -> Chromium:
        """Returns the running browser. Starts a new browser if none is running, or if the running browser has
        died or has loaded its maximum number of pages."""
        async with self._starting:
            now = self._now
            if now is not None and not now.dead and now.pages < self._recycle:
                return now
            if now is not None:
                self._now = None
                if now.dead or not now.busy:
                    self._retire(now)
            for left in reversed(range(MAX_START_ATTEMPTS)):
                made = browser_class(self._program)(self._resolver, self._agent, self._ca_file)
                try:
                    await made.start(self._program)
                except Exception as error:
                    self._retire(made)
                    if not left:
                        raise BrowserFailed(f"{self._program} does not start: {_line(error)}") from error
                else:
                    self._now = made
                    break
            return made

    def _retire(self, browser: Chromium) -> None:
        """Stops giving pages to a browser, and closes the browser in the background."""
        if self._now is browser:
            self._now = None
        task = asyncio.ensure_future(browser.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _visit(
        self, browser: Chromium, place: ContextKey, request: Request, headers: Mapping[str, str], guise: Guise
    ) -> Page | Failure:
        """Loads one page in a browser context, then returns the context to the browser."""
        from gossamer.collectors.browser.document import BrowserDocument, DocumentRules

        at, began = CLOCK.now(), time.perf_counter()
        render = guise.render or self._render(split(request.url)[1])
        kept, sound, ends = None, False, time.monotonic() + self._total * 0.8
        document: BrowserDocument | None = None
        try:
            async with asyncio.timeout(self._total + PICTURES_S * (self._show is not None)):
                kept = await browser.take(place, self._wears(guise))
                kept.tunnel.begin(MAX_LOADED_BODIES * self._wire)
                document = BrowserDocument(
                    kept,
                    request,
                    at,
                    began,
                    DocumentRules(self._wire, self._requests, self._folder, self._show),
                    guise.cookies,
                    browser.parts,
                )
                result = await _unless_crashed(document.get(headers, render, ends), kept.crashed)
            sound = not kept.crashed.is_set()
        except TimeoutError:
            late = document.rendering.late if document is not None and document.rendering is not None else ""
            why = f"the page did not finish within {self._total:g} s{late and '; '}{late}"
            result = self._broken(FailureCause("timeout", why), at, began, kept)
        except PageCrashed as error:
            result = self._broken(FailureCause("reset", str(error)), at, began, kept)
        except (GossamerError, MemoryError):
            raise
        except Exception as error:
            if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                raise  # this machine is short of files or space, whatever the page
            result = self._broken(_what_failed(error, browser), at, began, kept)
        finally:
            await self._give(browser, kept, sound)
        if kept is not None and kept.crashed.is_set() and (size := browser.memory_of_crash()):
            why = f"the page took {size >> 20} MiB more memory than an idle page"
            return self._broken(FailureCause("too-complex", why, True), at, began, kept)
        return result

    def _wears(self, guise: Guise) -> BrowserFingerprint | None:
        """Returns the fingerprint that the browser shows to sites, or None if sites see the browser's own
        fingerprint."""
        if self._worn is None or not guise.browser:
            return None
        fingerprint = self._worn(guise.browser)
        place = time_zone(self._country(guise.proxy)) if guise.proxy else ""
        return fingerprint._replace(session=f"{guise.browser}/{guise.session}", zone=place)

    async def _give(self, browser: Chromium, kept: ContextInUse | None, sound: bool) -> None:
        """Returns a context to its browser. Closes the browser if the browser does not respond, or if the
        browser was already replaced and loads no other page."""
        try:
            await asyncio.shield(browser.give(kept, sound))
        except Exception:  # noqa: BLE001 - after any error here, the browser cannot be used any more
            browser.give_up()
        if browser.dead if browser is self._now else not browser.busy:
            self._retire(browser)

    def _broken(self, why: FailureCause, at: float, began: float, kept: ContextInUse | None) -> Failure:
        got, through = (kept.tunnel.got, kept.tunnel.proxy) if kept is not None else (0, None)
        blame = "path" if through and not got and why.reason == "timeout" else ""
        return Failure(*why[:2], at, time.perf_counter() - began, got, why.final, self.name, blame=blame)

    def _refused(self, why: FailureCause) -> Failure:
        return Failure(
            why.reason, why.detail, CLOCK.now(), 0.0, final=why.final, sent=False, collector=self.name
        )


class BrowserPerHost:
    """Collects the pages of some hosts with Firefox, and the pages of the others with Chromium. `in_firefox`: a
    function that returns whether Firefox loads the pages of a host. `make`: a function that creates the
    collector for Firefox (True) or Chromium (False), when a page needs it. `at_once`: the browsers that are
    created now, so that a missing program is reported at the start. Raises ConfigError if a program is
    missing."""

    name = "browser"

    def __init__(
        self,
        in_firefox: Callable[[str], bool],
        make: Callable[[bool], BrowserCollector],
        at_once: Iterable[bool],
    ) -> None:
        self._in_firefox, self._make = in_firefox, make
        self._made = {firefox: make(firefox) for firefox in at_once}

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Loads one URL with the browser of its host (see `BrowserCollector.collect`)."""
        firefox = self._in_firefox(split(request.url)[1])
        if firefox not in self._made:
            self._made[firefox] = self._make(firefox)
        return await self._made[firefox].collect(request, headers, guise)

    async def close(self) -> None:
        """Closes the browsers."""
        for one in self._made.values():
            await one.close()


async def _unless_crashed(work: Coroutine[Any, Any, Result], crashed: asyncio.Event) -> Result:
    """Returns the result of `work`. Raises PageCrashed as soon as the process of the page has died."""
    task, crash = asyncio.ensure_future(work), asyncio.ensure_future(crashed.wait())
    try:
        await asyncio.wait((task, crash), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise PageCrashed("the process of the page died")
        return task.result()
    finally:
        crash.cancel()
        task.cancel()
        await asyncio.wait((task,))


def browser_class(program: str) -> type[Chromium]:
    """Returns the class that controls the browser with this executable."""
    if not is_firefox(program):
        return Chromium
    from gossamer.collectors.browser.firefox import Firefox

    return Firefox


def _what_failed(error: Exception, browser: Chromium) -> FailureCause:
    """Returns the failure that corresponds to an exception in the browser, or in gossamer's own handling of
    the page. The description of gossamer's own exception contains the place in the code."""
    if browser.dead or "Connection closed" in str(error) or "has been closed" in str(error):
        return FailureCause("reset", f"the browser is gone: {_line(error)}")
    if any(kind.__module__.startswith("playwright") for kind in type(error).__mro__):
        return FailureCause("collector", f"the browser cannot read the page: {_line(error)}")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{PurePath(frame.filename).name}:{frame.lineno}"
    why = f"the browser rung cannot read the page: {type(error).__name__}: {_line(error)} ({place})"
    return FailureCause("collector", why)


def _line(error: BaseException) -> str:
    """Returns the first line of an error's message."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[
        :200
    ]
