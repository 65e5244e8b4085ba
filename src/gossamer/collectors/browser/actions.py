"""Performs steps, such as clicks, on a page in a browser. The steps are the same in Chromium and in Firefox: the
script `steps.js` finds the elements, and the tab moves the mouse and presses the keys. The steps have either no
pauses or the timing of a human user."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from pathlib import Path

from playwright.async_api import Error

from gossamer.collectors.browser.human import Gesture, mouse_path
from gossamer.collectors.browser.step_elements import (
    LOOK_INTERVAL_S,
    RenderedPage,
    StepElements,
    StepFailed,
    StepTab,
)
from gossamer.config.redaction import mask
from gossamer.model.rendering import Step
from gossamer.url.patterns import compile_, found

KEY_PAUSE_S, CLICK_PAUSE_S = (0.04, 0.16), (0.08, 0.3)
"""Pauses that imitate a human user: KEY_PAUSE_S between two keys, and CLICK_PAUSE_S before a click. Each pair
contains the minimum and the maximum pause in seconds."""
PICTURE_TIMEOUT_S = 3.0
"""The maximum number of seconds for a picture."""
_ARM = """((own) => {
  const here = (url) => own(!url || url == "about:blank" ? "" : url, "_top");
  if (typeof own == "function") { here.own = own; open = here; }
})(open)"""
"""JavaScript of the page's own world. During a click, `window.open` opens its page in the tab."""
_DISARM = "typeof open == 'function' && open.own && (open = open.own), 1"
"""JavaScript that ends `_ARM`."""


class StepRunner:
    """Performs steps on a page. `ends`: the monotonic time at which the steps time out. `human`: whether mouse and
    keyboard have human timing. `show`: the folder for a picture before and after each step, or None."""

    def __init__(
        self, tab: StepTab, page: RenderedPage, ends: float, human: bool, show: Path | None = None
    ) -> None:
        self._tab, self._page, self._ends, self._human, self._show = tab, page, ends, human, show
        self._at = (random.uniform(200, 800), random.uniform(100, 500))
        self._elements = StepElements(tab, page)

    async def do(self, step: Step, label: str, number: int = 0) -> None:
        """Performs a step. `number`: the number of the step in the names of its pictures, or 0 for no picture.
        Raises StepFailed."""
        self._elements.explain("")
        await self._keep(number, step, "before")
        try:
            async with asyncio.timeout(self._left()):
                await getattr(self, f"_{step.act}")(step)
        except (Error, TimeoutError) as error:
            if self._page.is_left():
                return
            why = str(error) if isinstance(error, StepFailed) else self._elements.why
            why = why or f"the scripts of the page did not answer ({_line(error)})"
            raise StepFailed(
                mask(" ".join(f"{label}: {why}{await self._elements.instead(step)}".split()))
            ) from None
        finally:
            await self._keep(number, step, "after")

    def _left(self) -> float:
        """Returns the seconds until `ends`."""
        return max(0.001, self._ends - time.monotonic())

    async def _keep(self, number: int, step: Step, when: str) -> None:
        """Writes a picture of the page."""
        if self._show is None or not number:
            return
        began = time.monotonic()
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(PICTURE_TIMEOUT_S):
                data = await self._tab.picture()
            path = self._show / f"{number:02}-{step.act}-{when}.png"
            await asyncio.to_thread(path.write_bytes, data)
        self._ends += time.monotonic() - began  # a picture takes no time from the steps

    async def _point(self, step: Step, act: str = "point") -> None:
        """Moves the mouse to the element of a step. A human mouse moves on a curve to a random point near the
        element's center, fastest in the middle of the curve."""
        found = await self._elements.ready(step, act)
        x, y = found["x"], found["y"]
        if self._human:
            x += found["width"] * random.uniform(-0.2, 0.2)
            y += found["height"] * random.uniform(-0.2, 0.2)
            path = mouse_path(self._at, (x, y))
            await self._tab.perform([Gesture("move", *at, random.uniform(0.005, 0.02)) for at in path])
            await asyncio.sleep(random.uniform(*CLICK_PAUSE_S))
            again = await self._elements.ready(step, act)  # the page may have moved its elements meanwhile
            if (again["x"], again["y"]) != (found["x"], found["y"]):
                x, y = again["x"], again["y"]
        await self._tab.perform([Gesture("move", x, y)])
        self._at = x, y

    async def _click(self, step: Step) -> None:
        """Clicks on an element. A window that the click would open is opened in the tab."""
        await self._point(step, "arm")
        frame, held = self._elements.frame, random.uniform(0.04, 0.12) if self._human else 0.0
        self._page.responses.clear()
        with contextlib.suppress(Error):
            await self._tab.page_value(_ARM, frame)
        await self._tab.perform([Gesture("down", *self._at, held), Gesture("up", *self._at)])
        await self._page.settle()
        with contextlib.suppress(Error):  # the click may have led to another document
            await self._tab.page_value(_DISARM, frame)
            await self._elements.ask(frame, act="disarm")

    async def _hover(self, step: Step) -> None:
        self._page.responses.clear()
        await self._point(step)
        await self._page.settle()

    async def _fill(self, step: Step) -> None:
        self._page.responses.clear()
        await self._elements.ready(step, "fill")

    async def _select(self, step: Step) -> None:
        self._page.responses.clear()
        await self._elements.ready(step, "select")
        await self._page.settle()

    async def _type(self, step: Step) -> None:
        await self._click(step)
        pauses = KEY_PAUSE_S if self._human else (0.0, 0.0)
        await self._tab.perform([Gesture("text", 0, 0, random.uniform(*pauses), sign) for sign in step.text])

    async def _press(self, step: Step) -> None:
        self._page.responses.clear()
        await self._tab.perform([Gesture("key", key=step.what)])
        await self._page.settle()

    async def _wait(self, step: Step) -> None:
        if step.what == "idle":
            await self._page.idle()
        else:
            await self._elements.ready(step, "there")

    async def _wait_text(self, step: Step) -> None:
        await self._elements.ready(step._replace(text=step.what, what=""), "text")

    async def _wait_url(self, step: Step) -> None:
        pattern = compile_(step.what)
        self._elements.explain(f"the tab never showed a URL that matches {step.what}")
        while not found(pattern, await self._tab.address(), on_timeout=False):
            await self._wait_on()

    async def _wait_response(self, step: Step) -> None:
        pattern = compile_(step.what)
        while not any(found(pattern, url, on_timeout=False) for url in self._page.responses):
            came = ", ".join(list(self._page.responses)[-3:]) or "none"
            self._elements.explain(f"no response matches {step.what}; the last responses are {came}")
            await self._wait_on()

    async def _until(self, step: Step) -> None:
        self._elements.explain(f"{step.what[:100]} never became true")
        while True:
            try:
                if await self._tab.page_value(f"!!({step.what})") is True:
                    return
                self._elements.explain(f"{step.what[:100]} never became true")
            except Error as error:
                self._elements.explain(f"{step.what[:100]} never became true ({_line(error)})")
            await self._wait_on()

    async def _wait_on(self) -> None:
        if self._page.is_left():
            raise StepFailed("")
        await asyncio.sleep(LOOK_INTERVAL_S)

    async def _pause(self, step: Step) -> None:
        if float(step.what) > self._left():
            raise StepFailed(f"no time was left for a pause of {step.what} s")
        await asyncio.sleep(float(step.what))

    async def _scroll(self, _: Step) -> None:
        self._page.responses.clear()
        await self._page.scroll_down()


def _line(error: BaseException) -> str:
    """Returns the first line of an error's message, or the name of the error."""
    return next(iter(str(error).splitlines()), "")[:150] or type(error).__name__
