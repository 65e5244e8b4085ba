"""Finds, starts and terminates Chromium, and manages its browser contexts. gossamer's tunnel is Chromium's
only network connection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.collectors.browser.fingerprint import BrowserFingerprint, context_arguments, graphics_script
from gossamer.collectors.browser.memory_watch import MemoryWatch
from gossamer.collectors.browser.orphan_browsers import mark
from gossamer.collectors.browser.tunnel import Tunnel, upstream
from gossamer.collectors.http.collector import AddressResolver
from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from gossamer.collectors.browser.tab import Tab
    from gossamer.model.rendering import Render

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BARE = ("chromium-headless-shell", "chrome-headless-shell")
"""The names of the headless-only build of Chromium. The headless-only build needs half the CPU time of the
full build, but sites that check the browser can recognize the headless-only build as unusual."""
MAX_IDLE_CONTEXTS, MAX_IDLE_TABS = 32, 8
"""MAX_IDLE_CONTEXTS is the maximum number of unused contexts that are kept. MAX_IDLE_TABS is the maximum
number of unused contexts that keep an open tab."""
START_TIMEOUT_S, CLOSE_TIMEOUT_S = 30.0, 5.0
"""Seconds within which a browser must start, and within which a context or the browser must close."""
OFF = (
    # the features that Playwright disables, because this list replaces Playwright's list
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    # features that start a spare process for each page and for each address bar
    "SpareRendererForSitePerProcess",
    "WebUIOmniboxPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxAimPopup",
)
"""Features of Chromium that are disabled because they only cost time."""
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-pings",
    "--dns-prefetch-disable",
    # the tunnel resolves names instead of the browser
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=512",
    f"--disable-features={','.join(OFF)}",
)
NO_WORKERS = (
    "delete Navigator.prototype.serviceWorker;"
    "for (const name of ['ServiceWorker', 'ServiceWorkerContainer', 'ServiceWorkerRegistration']) delete globalThis[name];"
)
"""JavaScript that runs before a page's scripts and removes service workers, as Firefox does in a private
window. A page that finds the API, but whose worker never starts, may wait for the worker for ever."""
UNTOLD = ("capture", "screenshot", "console")
"""Fields of a Render that only Chromium supports."""
INSTALL = "the browser rung needs Chromium: apt-get install chromium, or name one in the setting `chromium`"
FIREFOX, FIREFOXES = "firefox", ("firefox", "firefox-esr")
"""The name that stands for any installed Firefox, and the names of its programs."""
INSTALL_FIREFOX = "a site with browser='firefox' needs Firefox on PATH: apt-get install firefox-esr"


def find_program(path: str | None, bare: bool = False) -> str:
    """Returns the path of the browser's executable. If `path` is `firefox`, any installed Firefox is returned.
    `bare`: whether to prefer the headless-only build of Chromium. Raises ConfigError if the executable or a
    required package is missing. The error's message contains the name of the package."""
    try:
        import playwright.async_api
    except ImportError as missing:
        raise ConfigError(f"the browser rung needs Playwright: {install_command('browser')}") from missing
    del playwright
    if is_firefox(path):
        try:
            import websockets
        except ImportError as missing:
            raise ConfigError(f"Firefox needs websockets: {install_command('browser')}") from missing
        del websockets
    names = FIREFOXES if path == FIREFOX else (path,) if path else BARE * bare + PROGRAMS
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and path == FIREFOX:
        raise ConfigError(INSTALL_FIREFOX)
    if found is None:
        raise ConfigError(f"{path} is not an executable program; {INSTALL}" if path else INSTALL)
    return found


Cookies = dict[tuple[str, str, str], dict[str, Any]]
"""The cookies of a context by name, domain (a leading dot includes subdomains) and path."""


def is_firefox(program: str | None) -> bool:
    """Returns whether the browser executable is Firefox, which the module `firefox` controls.

    >>> is_firefox("/usr/bin/firefox-esr"), is_firefox("chromium"), is_firefox(None)
    (True, False, False)
    """
    return PurePath(program or "").name.startswith("firefox")


def unsupported_by_firefox(render: Render) -> str:
    """Returns the name of a field of `render` that Firefox does not support, or '' if Firefox supports all
    fields.

    >>> from gossamer.model.rendering import Render
    >>> unsupported_by_firefox(Render(human=True)), unsupported_by_firefox(Render(console=True))
    ('', 'console')
    """
    return next((name for name in UNTOLD if getattr(render, name)), "")


def check_firefox(sites: Sequence[Any], held: Mapping[str, Sequence[str]], disguised: bool, why: str) -> None:
    """Raises ConfigError if a site needs a feature that Firefox does not support. `sites`: the sites whose pages
    Firefox loads. `held`: maps the name of each site to the rungs on which the site's accounts are logged in.
    `disguised`: whether a ladder of the crawl contains the impersonated rung. `why`: the setting that chose
    Firefox."""
    for one in sites:
        rungs = held[one.site.name] if one.site.session is not None else ()
        if word := unsupported_by_firefox(one.site.render):
            raise ConfigError(f"site {one.site.name}: {word} works in Chromium, not in Firefox ({why})")
        if rungs and disguised:
            raise ConfigError(
                f"site {one.site.name}: session: another site of this crawl imitates browsers, and Firefox cannot "
                f"({why}): crawl the two sites apart"
            )


class ContextKey(NamedTuple):
    """Identifies a browser context by a registered domain, a session, and the URL of a proxy, which is ''
    without a proxy."""

    domain: str
    visitor: str = ""
    proxy: str = ""


class ContextInUse:
    """A browser context with its own cookies, cache, connections, tab and tunnel. A context loads one page at
    a time."""

    def __init__(self, place: ContextKey, tunnel: Tunnel, fingerprint: BrowserFingerprint | None) -> None:
        self.place, self.tunnel, self.fingerprint = place, tunnel, fingerprint
        self.context: Any = None
        self.tab: Tab | None = None
        self.used = False
        self.cookies: Cookies = {}
        """The context's cookies after the last page."""
        self.crashed = asyncio.Event()
        """An event that is set when the process of the tab's page has died."""

    def begin(self, context: Any) -> None:
        """Takes the context that the browser has made."""
        self.context = context

    def note_cookies(self, cookies: Cookies) -> None:
        """Records the context's cookies after a page."""
        self.cookies = cookies

    async def ready(self, opened: Callable[[ContextInUse], Awaitable[Tab]]) -> None:
        """Opens a tab if the context has no usable tab. Raises Playwright's Error."""
        if self.tab is None or not await self.tab.ready():
            self.crashed.clear()
            self.tab = await opened(self)

    async def rest(self) -> None:
        """Closes the tab, because an idle context without a tab costs little. Raises TimeoutError."""
        tab, self.tab = self.tab, None
        if tab is not None:
            await tab.close()


class Chromium:
    """One browser process with its own empty profile. Playwright's driver terminates the browser if this
    process dies."""

    parts: Any = None
    """The classes that load a document (see `document.Parts`). None means that the classes for Chromium are
    used."""
    memory: MemoryWatch | None = None
    """Limits the memory of pages."""

    def __init__(self, resolver: AddressResolver, agent: str | None, ca_file: str | None = None) -> None:
        """`agent`: the user agent. None means the user agent that the browser sends when it runs with a
        window. `ca_file`: the trusted certificates for proxies that use TLS."""
        self._resolver, self._agent, self._ca_file = resolver, agent, ca_file
        self._nowhere = Tunnel(resolver)
        self._driver: Any = None
        self._browser: Any = None
        self._idle: OrderedDict[ContextInUse, None] = OrderedDict()
        self._all: set[ContextInUse] = set()
        self._own: str | None = None
        self.pages = self.busy = 0
        self.dead = self._closed = False

    async def start(self, program: str) -> None:
        """Starts the browser. Raises Playwright's Error, OSError, TimeoutError."""
        from playwright.async_api import async_playwright

        await self._nowhere.open()
        flags = [*FLAGS, mark(), f"--proxy-server={self._nowhere.url}", "--proxy-bypass-list=<-loopback>"]
        flags.append(
            "--disable-blink-features=AutomationControlled"
            if self._agent is None
            else f"--user-agent={self._agent}"
        )
        async with asyncio.timeout(START_TIMEOUT_S):
            self._driver = await async_playwright().start()
            self._browser = await self._driver.chromium.launch(
                executable_path=program,
                args=flags,
                chromium_sandbox=os.geteuid() != 0,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                ignore_default_args=None if self._agent else ["--enable-automation"],
            )
            self._browser.on("disconnected", self._died)
            if self._agent is None:
                page = await self._browser.new_page()
                self._own = str(await page.evaluate("navigator.userAgent")).replace("Headless", "")
                await page.close()
            self.memory = MemoryWatch(self._nowhere.url)
            await asyncio.to_thread(self.memory.start)

    async def take(self, place: ContextKey, fingerprint: BrowserFingerprint | None = None) -> ContextInUse:
        """Returns a context for a page: an idle context with this key, or else a new context that shows the
        fingerprint `fingerprint`."""
        self.pages += 1
        self.busy += 1
        if self.memory is not None:
            self.memory.begin()
        kept = next((one for one in reversed(self._idle) if one.place == place), None)
        if kept is not None:
            del self._idle[kept]
            await kept.ready(self._tab)
            return kept
        tunnel = Tunnel(self._resolver, upstream(place.proxy) if place.proxy else None, self._ca_file)
        await tunnel.open()
        kept = ContextInUse(place, tunnel, fingerprint)
        self._all.add(kept)
        await self._open(kept, fingerprint)
        await kept.ready(self._tab)
        return kept

    async def _open(self, kept: ContextInUse, fingerprint: BrowserFingerprint | None) -> None:
        made = await self._browser.new_context(
            **({"user_agent": self._own} if fingerprint is None else context_arguments(fingerprint)),
            locale="en-US",
            proxy={"server": kept.tunnel.url, "bypass": "<-loopback>"},
            accept_downloads=False,
            service_workers="block",
            permissions=[],
        )
        kept.begin(made)
        graphics = graphics_script(fingerprint) if fingerprint is not None else ""
        await made.add_init_script(NO_WORKERS + graphics)
        made.on("page", _only)

    async def _tab(self, kept: ContextInUse) -> Tab:
        from gossamer.collectors.browser.tab import Tab

        tab = await Tab.open(kept.context, kept.fingerprint)
        tab.page.on("crash", lambda _: kept.crashed.set())
        return tab

    async def give(self, kept: ContextInUse | None, sound: bool) -> None:
        """Ends a page's use of a context. If `sound` is true, the context is kept for later pages. Otherwise,
        the context is closed. Raises TimeoutError if the browser does not close a context in time."""
        self.busy -= 1
        if self.memory is not None:
            self.memory.end()
        if kept is None:
            return None
        kept.tunnel.end()
        kept.used = True
        if not sound or self.dead:
            return await self._drop(kept)
        if kept.tab is not None and not await kept.tab.rest():
            kept.tab = None
        self._idle[kept] = None
        if len(self._idle) > MAX_IDLE_CONTEXTS:
            await self._drop(self._idle.popitem(last=False)[0])
        if len(self._idle) > MAX_IDLE_TABS:
            await list(self._idle)[-MAX_IDLE_TABS - 1].rest()
        return None

    def memory_of_crash(self) -> int:
        """Called when a tab has crashed. Returns the number of bytes that its process took, or 0 if memory was
        not the cause."""
        return self.memory.claim() if self.memory is not None else 0

    def give_up(self) -> None:
        """Loads no more pages, because the browser does not respond."""
        self.dead = True

    async def close(self) -> None:
        """Closes the browser within a limited time. Playwright's driver kills the browser's remaining
        processes."""
        self.dead = True
        if self._closed:
            return
        self._closed = True
        if self.memory is not None:
            self.memory.close()
        for ending in (self._browser and self._browser.close, self._driver and self._driver.stop):
            if ending:
                with contextlib.suppress(Exception):
                    async with asyncio.timeout(CLOSE_TIMEOUT_S):
                        await ending()
        for tunnel in (self._nowhere, *(kept.tunnel for kept in self._all)):
            await tunnel.close()

    async def _drop(self, kept: ContextInUse) -> None:
        self._all.discard(kept)
        await kept.tunnel.close()
        if kept.context is not None and not self.dead:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await kept.context.close()

    def _died(self, _browser: Any) -> None:
        self.dead = True


async def _only(page: Any) -> None:
    """Closes a window that another page opened."""
    with contextlib.suppress(Exception):
        if await page.opener() is not None:
            await page.close()
