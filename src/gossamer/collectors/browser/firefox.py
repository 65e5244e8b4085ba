"""Controls Firefox by WebDriver BiDi (`bidi_connection`). The classes have the same interfaces as the classes for
Chromium. Each user context has its own cookies, and gossamer's tunnel is its proxy. Captured responses are not
supported."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import Any

from gossamer.collectors.browser.bidi_connection import BidiConnection, BidiError
from gossamer.collectors.browser.chromium import START_TIMEOUT_S, Chromium, ContextInUse
from gossamer.collectors.browser.document import Parts
from gossamer.collectors.browser.fingerprint import BrowserFingerprint
from gossamer.collectors.browser.firefox_rendering import GeckoRendering
from gossamer.collectors.browser.firefox_requests import GeckoWatch
from gossamer.collectors.browser.firefox_tab import MAX_BODIES_BYTES, GeckoTab

PREFS = {
    # disable background requests
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.search.update": False,
    "browser.newtabpage.enabled": False,
    "browser.startup.page": 0,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.region.network.url": "",
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "",
    "extensions.update.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "",
    "dom.push.enabled": False,
    # send all traffic through the tunnel
    "network.proxy.type": 1,
    "network.proxy.socks_version": 5,
    "network.proxy.socks_remote_dns": True,
    "network.proxy.socks5_remote_dns": True,
    "network.proxy.allow_hijacking_localhost": True,
    "network.proxy.no_proxies_on": "",
    "network.proxy.failover_direct": False,
    "network.trr.mode": 5,
    "network.dns.disablePrefetch": True,
    "network.prefetch-next": False,
    "network.predictor.enabled": False,
    "network.http.speculative-parallel-limit": 0,
    "network.http.http3.enable": False,
    "media.peerconnection.enabled": False,
    "dom.serviceWorkers.enabled": False,
    "dom.security.https_first": False,
    # disable the built-in viewers for JSON and PDF, and make English the only language
    "devtools.jsonview.enabled": False,
    "pdfjs.disabled": True,
    "intl.accept_languages": "en-US, en",
    "intl.locale.requested": "en-US",
    "remote.network.maxTotalDataSize": MAX_BODIES_BYTES,
    "fission.autostart": False,
    "dom.ipc.processCount": 2,
    "browser.sessionhistory.max_entries": 2,
}


class Firefox(Chromium):
    """Controls one Firefox process by WebDriver BiDi."""

    parts = Parts(GeckoWatch, GeckoRendering, None)

    async def start(self, program: str) -> None:
        """Starts the browser. Raises BidiError, OSError, TimeoutError."""
        await self._nowhere.open()
        self._tabs: dict[str, GeckoTab] = {}  # by the frames and windows of the tabs
        agent = {"general.useragent.override": self._agent} if self._agent else {}
        own = {"network.proxy.socks": "127.0.0.1", "network.proxy.socks_port": _port(self._nowhere.url)}
        async with asyncio.timeout(START_TIMEOUT_S):
            self._browser = BidiConnection(self._heard, lambda: self._died(None))
            await self._browser.start(program, PREFS | own | agent)

    async def _open(self, kept: ContextInUse, _worn: BrowserFingerprint | None) -> None:
        proxy = {"proxyType": "manual", "socksProxy": kept.tunnel.url.partition("://")[2], "socksVersion": 5}
        made = await self._browser.send("browser.createUserContext", proxy=proxy)
        await self._browser.send(
            "browser.setDownloadBehavior",
            downloadBehavior={"type": "denied"},
            userContexts=[made["userContext"]],
        )
        kept.begin(Context(self._browser, made["userContext"]))

    async def _tab(self, kept: ContextInUse) -> Any:
        tab = await GeckoTab.open(self._browser, kept.context.user)
        self._tabs[tab.frame] = tab
        return tab

    async def give(self, kept: ContextInUse | None, sound: bool) -> None:
        """See `Chromium.give`. Forgets the frames and windows of finished pages, and closed tabs."""
        await super().give(kept, sound)
        open_tabs: set[Any] = {one.tab for one in self._all}
        resting: set[Any] = {one.tab for one in self._idle}
        self._tabs = {
            frame: tab
            for frame, tab in self._tabs.items()
            if tab in open_tabs and (frame == tab.frame or tab not in resting)
        }

    def _heard(self, event: str, params: dict[str, Any]) -> None:
        """Passes an event to its tab. An event of a frame is passed to the tab that contains the frame."""
        tab = self._tabs.get(params.get("context") or "")
        if event == "browsingContext.contextCreated":
            opener = self._tabs.get(params.get("originalOpener") or "")
            if (parent := self._tabs.get(params.get("parent") or "") or opener) is not None:
                self._tabs[params["context"]] = parent
            if opener is not None:
                opener.windows.add(params["context"])
        elif tab is not None:
            tab.heard(event, params)
        elif params.get("isBlocked"):
            _pass_on(self._browser, event, params)


def _pass_on(wire: BidiConnection, event: str, params: dict[str, Any]) -> None:
    """Handles a paused request that belongs to no tab. A request of the browser itself has no context and goes
    through the tunnel like any other request. A request of an unknown window is refused."""
    request = params["request"]["request"]
    if params.get("context") is not None:
        wire.post("network.failRequest", request=request)
    elif event == "network.authRequired":
        wire.post("network.continueWithAuth", request=request, action="cancel")
    elif event == "network.beforeRequestSent":
        wire.post("network.continueRequest", request=request)
    else:
        wire.post("network.continueResponse", request=request)


class Context:
    """Manages the cookies of a user context. The methods have the same names as in Playwright's
    BrowserContext."""

    def __init__(self, wire: BidiConnection, user: str) -> None:
        self._wire, self.user = wire, user
        self._in = {"partition": {"type": "storageKey", "userContext": user}}

    async def cookies(self, _url: str = "") -> list[dict[str, Any]]:
        """Returns all cookies."""
        said = await self._wire.send("storage.getCookies", **self._in)
        return [
            {
                **{name: one[name] for name in ("name", "domain", "path", "secure", "httpOnly")},
                "value": _text(one["value"]),
                "expires": one.get("expiry", -1),
            }
            for one in said["cookies"]
        ]

    async def add_cookies(self, cookies: list[dict[str, Any]]) -> None:
        """Adds cookies. Raises BidiError."""
        for one in cookies:
            cookie: dict[str, Any] = {
                name: one[name] for name in ("name", "domain", "path", "secure", "httpOnly") if name in one
            }
            cookie["value"] = {"type": "string", "value": one["value"]}
            if one.get("expires", -1) > 0:
                cookie["expiry"] = int(one["expires"])
            await self._wire.send("storage.setCookie", cookie=cookie, **self._in)

    async def clear_cookies(self, **which: str) -> None:
        """Removes one cookie by name, domain and path."""
        await self._wire.send("storage.deleteCookies", filter=which, **self._in)

    async def close(self) -> None:
        """Closes the context and its tabs."""
        with contextlib.suppress(BidiError):
            await self._wire.send("browser.removeUserContext", userContext=self.user)


def _text(value: dict[str, str]) -> str:
    return (
        value["value"]
        if value["type"] == "string"
        else base64.b64decode(value["value"]).decode("utf-8", "replace")
    )


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
