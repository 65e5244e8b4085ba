"""Captures the responses to scripts, the console lines and the screenshot of a page, all within limits. A
page is captured only if the settings require it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.async_api import Error

from gossamer.config.redaction import mask
from gossamer.model.page import Captured
from gossamer.model.rendering import SHOTS, Render
from gossamer.url.patterns import found

MAX_CAPTURED_RESPONSES, MAX_CONSOLE_LINES, MAX_LINE_CHARS = 50, 20, 300
"""The maximum numbers of captured responses, of console lines, and of characters per line."""
SAID = ("log", "info", "warning", "error", "assert", "debug")
"""The types of console messages that a page's scripts write. Console messages of other types come from the
browser, for example a message about a blocked request."""
RESPONSES_TIMEOUT_S = 5.0
"""Seconds for which a loaded page waits for captured responses that are still arriving."""


class Capture:
    """Captures responses, console lines and a screenshot of one page. `most`: the maximum total size of the
    captured responses, in bytes. `folder`: the folder for screenshots."""

    def __init__(self, tab: Any, render: Render, most: int, folder: Path | None) -> None:
        self._tab, self._render, self._left, self._folder = tab, render, most, folder
        self._under_way: list[asyncio.Task[Captured | None]] = []
        self.console: list[str] = []
        self.captured: tuple[Captured, ...] = ()
        self.screenshot: str | None = None
        hears: dict[str, Callable[[Any], None]] = {}
        if render.capture:
            hears["response"] = self._answer
        if render.console:
            hears |= {"console": self._said, "pageerror": self._broke}
        tab.listen(hears)

    async def end(self) -> None:
        """Collects the captured responses and takes the screenshot. Responses that do not arrive in time are
        left out."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=RESPONSES_TIMEOUT_S)
            done = [task for task in self._under_way if task.done() and not task.cancelled()]
            found = [task.result() for task in done if task.exception() is None]
            self.captured = tuple(one for one in found if one is not None)
        if self._render.screenshot and self._folder is not None:
            with contextlib.suppress(Error):
                picture = await self._picture(self._render.screenshot)
                self.screenshot = await asyncio.to_thread(save_screenshot, picture, self._folder)

    def close(self) -> None:
        """Stops capturing."""
        for task in self._under_way:
            task.cancel()

    async def _picture(self, what: str) -> bytes:
        page, patience = self._tab.page, RESPONSES_TIMEOUT_S * 1000
        if what in SHOTS:
            shot: bytes = await page.screenshot(full_page=what == "full", timeout=patience)
        else:
            shot = await page.locator(what).first.screenshot(timeout=patience)
        return shot

    def _answer(self, response: Any) -> None:
        if (
            response.request.resource_type in ("xhr", "fetch")
            and len(self._under_way) < MAX_CAPTURED_RESPONSES
            and any(found(one, response.url, on_timeout=False) for one in self._render.capture)
        ):
            self._under_way.append(asyncio.ensure_future(self._body(response)))

    async def _body(self, response: Any) -> Captured | None:
        with contextlib.suppress(Error):  # a closed page has no response bodies
            length = response.headers.get("content-length", "")
            if length.isdecimal() and int(length[:18]) > self._left:
                return None
            body = await response.body()
            if len(body) <= self._left:
                self._left -= len(body)
                return Captured(response.url, response.status, response.headers.get("content-type", ""), body)
        return None

    def _said(self, message: Any) -> None:
        if message.type in SAID and "ERR_BLOCKED_BY_CLIENT" not in message.text:
            self._line(f"{message.type}: {message.text}")

    def _broke(self, error: Any) -> None:
        self._line(f"exception: {error}")

    def _line(self, text: str) -> None:
        if len(self.console) < MAX_CONSOLE_LINES:
            self.console.append(mask(" ".join(text.split()))[:MAX_LINE_CHARS])


def save_screenshot(picture: bytes, folder: Path) -> str:
    """Stores a screenshot and returns the path of its file. The file's name is a hash of the content. Raises
    OSError."""
    path = folder / f"{hashlib.blake2b(picture, digest_size=16).hexdigest()}.png"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}")
        aside.write_bytes(picture)
        aside.replace(path)
    return str(path)
