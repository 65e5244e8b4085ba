"""Scrolls what scrolls on a page, step by step, until no more rows come. The script `scrolling.js` scrolls and
keeps the rows that leave the page. This module decides how long to wait and when to stop, for Chromium and
Firefox alike."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Set
from functools import lru_cache
from importlib import resources
from typing import Any, Protocol

from playwright.async_api import Error

from gossamer.collectors.browser.human import Gesture, wheel_down
from gossamer.model.rendering import Scroll

FIRST_WAIT_S = 2.5
"""Seconds without new rows after which a page ends that has loaded no rows before."""
DRAWING_S = 0.25
"""Seconds in which a page draws the rows that it has received."""
REQUEST_WAIT_S = 5.0
"""The minimum of the longest time for which an open request of the page is waited for, in seconds."""
ROUND_S = 0.25
"""The maximum length of one wait in the page, in seconds."""
MAX_FAR_FRAMES = 16
"""The maximum number of frames of other origins that are scrolled in one document."""
PLACE = 'globalThis[Symbol.for("gossamer.scrolling")]'


class Patience:
    """How long to wait for rows, by how long earlier rows took: twice the longest time, and between .05 and .15 s
    more. As long as fewer than three batches of rows have come, the wait is a part of FIRST_WAIT_S at least.

    >>> patience = Patience()
    >>> first = patience.seconds
    >>> for _ in range(3):
    ...     patience.learn(0.8)
    >>> first, round(patience.seconds, 2)
    (2.5, 1.75)
    """

    def __init__(self) -> None:
        self._longest, self._batches = 0.0, 0

    @property
    def seconds(self) -> float:
        """Returns the current wait in seconds."""
        learned = 2 * self._longest + min(0.15, max(0.05, self._longest)) if self._batches else 0.0
        return max(learned, FIRST_WAIT_S * (1 - self._batches / 3))

    def learn(self, seconds: float) -> None:
        """Adds the time that a batch of rows took."""
        self._longest, self._batches = max(self._longest, seconds), self._batches + 1


class Scrolled(Protocol):
    """A tab of Chromium or Firefox."""

    async def evaluate(self, function: str, *, frame: Any = None) -> Any:
        """Calls a JavaScript function in gossamer's own world of a frame, or of the page."""

    async def frame_of(self, function: str, frame: Any = None) -> Any:
        """Returns the frame inside of the iframe that a JavaScript function returns, or None."""

    async def perform(self, gestures: list[Gesture]) -> None:
        """Performs the gestures of a person."""


class Scroller:
    """Scrolls one page, and then its frames of other origins, one after another. A scroller of such a frame scrolls
    its document, if it can be scrolled at all. `reader`: the script that reads a document, whose functions the scrolling script uses.
    `human`: whether to turn the wheel of the mouse. `requests`: the open requests of the page. `most`: the
    maximum number of characters of the document and its kept rows. `received`: returns the number of bytes that
    the page has loaded, of which twice `most` are allowed. `frame`: the frame of another origin, or None for the
    page."""

    def __init__(
        self,
        tab: Scrolled,
        reader: str,
        scroll: Scroll,
        human: bool,
        requests: Set[Any],
        most: int,
        received: Callable[[], int],
        frame: Any = None,
    ) -> None:
        self._frame = frame
        self._tab, self._reader, self._scroll, self._human = tab, reader, scroll, human
        self._requests, self._most, self._received = requests, most, received
        self._patience = Patience()
        self._ends = self._since = 0.0
        self._ignored: Set[Any] = frozenset(requests)
        """Requests that do not bring rows: those from before the scrolling, and those that were waited for in vain."""
        self._steps = 0
        self._weight = 0

    async def run(self, ends: float) -> str:
        """Scrolls until no more rows come, or until a limit or the monotonic time `ends` is reached. Returns what
        ended the scrolling before the end of the page, or ''."""
        self._since = time.monotonic()
        self._ends = min(ends, self._since + self._scroll.seconds)
        try:
            script = f"() => ({self._reader})(0, '', false, {scrolling_script()})"
            await self._within(self._tab.evaluate(script, frame=self._frame))
            if blank := (await self._state("begin"))[2]:
                await self._rows_or_tire(blank)
            return await self._all_steps() or await self._far_frames()
        except TimeoutError:
            return self._late()
        except Error as error:
            if self._frame is not None:  # it may be gone, which is no fault of the page
                return ""
            return f"scrolling ended because of an error: {str(error).partition(chr(10))[0][:200]}"

    async def _far_frames(self) -> str:
        """Scrolls the frames of other origins that were in view, within the limits of the page."""
        (count,) = await self._call("far")
        for number in range(min(count, MAX_FAR_FRAMES)):
            with contextlib.suppress(Error):  # the frame is gone
                bring = f"() => {PLACE}.bring({number})"
                if (frame := await self._within(self._tab.frame_of(bring, self._frame))) is None:
                    continue
                left = self._scroll._replace(steps=self._scroll.steps - self._steps)
                one = Scroller(
                    self._tab,
                    self._reader,
                    left,
                    False,  # the wheel turns at a place of the window
                    self._requests,
                    self._most,
                    self._received,
                    frame,
                )
                limit = await one.run(self._ends)
                self._steps += one._steps
                if limit:
                    return limit
        return ""

    async def _all_steps(self) -> str:
        waited = pressed = False  # whether ends in view were waited for, whether a button owes rows
        vain = 0  # waits for a box in vain; each of them halves the wait for the next box
        while not (limit := self._limit()):
            began = time.monotonic()
            if self._scroll.press and not pressed and await self._press():
                self._since = began
                self._steps += 1
                pressed, waited = True, False
                continue
            moved, grown, blank, goes_on = await self._step(waited)
            if moved:
                self._steps += 1
                waited = False
                if not pressed:
                    self._since = began
                if grown and not blank:
                    self._patience.learn(time.monotonic() - self._since)
                    pressed = False
                elif blank:
                    await self._rows_or_tire(blank)
                    pressed = False
            elif waited or (self._frame is not None and not self._steps):
                return ""
            else:
                waited = not await self._rows_or_tire(blank, 0.5**vain if goes_on else 1.0)
                vain, pressed = vain + waited, False
        await self._rows(0, 0.0)  # rows that are on their way
        return limit

    async def _rows_or_tire(self, blank: int, share: float = 1.0) -> bool:
        """Waits for rows. Returns whether rows came. If none came, the page does not wait for them again."""
        came = await self._rows(blank, share)
        if not came:
            self._ignored = frozenset(self._requests)
            await self._call("tire")
        return came

    async def _rows(self, blank: int, share: float = 1.0) -> bool:
        """Waits until rows come, or until none came for a share of the time that the patience allows. `blank`: the
        number of rows in view that have no text yet. Returns whether rows came."""
        last = heard = self._since
        came = False
        while (now := time.monotonic()) < self._ends:
            patience = self._patience.seconds * share
            if self._requests - self._ignored and now < self._since + max(REQUEST_WAIT_S, 2 * patience):
                heard = now
            if (left := max(last + patience, heard + DRAWING_S) - now) <= 0:
                return came
            _, grown, still, _ = await self._state("wait", round(1000 * min(ROUND_S, left)))
            came = came or grown or still < blank
            if grown or still < blank:
                last = time.monotonic()
            if came and not still:
                self._patience.learn(time.monotonic() - self._since)
                self._since = time.monotonic()
                return True
            blank = still
        return came

    async def _step(self, leave: bool) -> tuple[bool, bool, int, bool]:
        if self._human:
            x, y, down = await self._call("aim", leave)
            if down > 0:
                await self._tab.perform([Gesture("move", x, y, 0.02), *wheel_down(down)])
        return await self._state("step", leave)

    async def _state(self, name: str, *given: Any) -> tuple[bool, bool, int, bool]:
        """Calls a function of the script that returns the state of the page. Returns the state without the
        weight."""
        moved, grown, blank, goes_on, self._weight = await self._call(name, *given)
        return moved, grown, blank, goes_on

    async def _press(self) -> bool:
        """Presses the button that loads more. Returns whether there was one."""
        if not self._human:
            return bool((await self._call("press", self._scroll.press))[0])
        x, y = await self._call("centre", self._scroll.press)
        if x or y:
            await self._tab.perform(
                [Gesture("move", x, y, 0.05), Gesture("down", x, y), Gesture("up", x, y, 0.1)]
            )
        return bool(x or y)

    def _limit(self) -> str:
        """Returns the limit that is reached, or ''."""
        if self._steps >= self._scroll.steps:
            return f"scrolling ended after {self._steps} steps, before the end of the page"
        if time.monotonic() >= self._ends:
            return self._late()
        if max(self._weight, self._received() // 2) > self._most:
            return f"scrolling ended after {self._steps} steps, because the page became too large"
        return ""

    def _late(self) -> str:
        return f"scrolling ended after {self._steps} steps, because its time was over"

    async def _call(self, name: str, *given: Any) -> Any:
        words = ", ".join(map(json.dumps, given))
        return await self._within(self._tab.evaluate(f"() => {PLACE}.{name}({words})", frame=self._frame))

    async def _within(self, call: Awaitable[Any]) -> Any:
        async with asyncio.timeout(max(1.0, self._ends - time.monotonic())):
            return await call


@lru_cache(1)
def scrolling_script() -> str:
    """Returns the JavaScript that scrolls."""
    return resources.files("gossamer.collectors.browser").joinpath("scrolling.js").read_text("utf-8")
