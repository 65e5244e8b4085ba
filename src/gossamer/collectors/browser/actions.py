"""Performs steps, such as clicks, on a page in a browser. The steps have either no pauses or the timing of a
human user."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Error

from gossamer.collectors.browser.human import mouse_path
from gossamer.model.rendering import Step

KEY_PAUSE_S, CLICK_PAUSE_S = (0.04, 0.16), (0.08, 0.3)
"""Pauses that imitate a human user: KEY_PAUSE_S between two keys, and CLICK_PAUSE_S before a click. Each pair
contains the minimum and the maximum pause in seconds."""


class StepRunner:
    """Performs steps on a page. `ends`: the monotonic time at which the steps time out. `human`: whether
    mouse and keyboard have human timing. `settle`: a function that waits for the requests that a step caused.
    `idle`: a function that waits until the page has sent no requests for a while. `scroll`: a function that
    scrolls to the end of the page."""

    def __init__(
        self,
        page: Any,
        ends: float,
        human: bool,
        settle: Callable[[], Awaitable[None]],
        idle: Callable[[], Awaitable[None]],
        scroll: Callable[[], Awaitable[None]],
    ) -> None:
        self._page, self._ends, self._human = page, ends, human
        self._settle, self._idle, self._down = settle, idle, scroll
        self._at = (random.uniform(200, 800), random.uniform(100, 500))

    async def do(self, steps: tuple[Step, ...]) -> None:
        """Performs all steps in order. Raises Playwright's Error, for example if a selector never matched."""
        for step in steps:
            await getattr(self, "_wait" if step.act == "until" else f"_{step.act}")(step)

    def _left(self) -> float:
        """Returns the milliseconds until `ends`."""
        return max(1.0, (self._ends - time.monotonic()) * 1000)

    async def _click(self, step: Step) -> None:
        if self._human:
            await self._point(step)
            await asyncio.sleep(random.uniform(*CLICK_PAUSE_S))
            await self._page.mouse.click(*self._at, delay=random.uniform(40, 120))
        else:
            await self._page.locator(step.what).first.click(timeout=self._left(), no_wait_after=True)
        await self._settle()

    async def _hover(self, step: Step) -> None:
        if self._human:
            await self._point(step)
        else:
            await self._page.locator(step.what).first.hover(timeout=self._left())
        await self._settle()

    async def _point(self, step: Step) -> None:
        """Moves the mouse to the element of a step. The mouse moves on a curve to a random point near the
        element's center. The movement is fastest in the middle of the curve."""
        element = self._page.locator(step.what).first
        await element.scroll_into_view_if_needed(timeout=self._left())
        box = await element.bounding_box(timeout=self._left())
        if box is None:
            raise Error(f" is not visible{step.what}")
        x, y = self._at
        to = (
            box["x"] + box["width"] * random.uniform(0.3, 0.7),
            box["y"] + box["height"] * random.uniform(0.3, 0.7),
        )
        for across, down in mouse_path((x, y), to):
            await self._page.mouse.move(across, down)
            await asyncio.sleep(random.uniform(0.005, 0.02))
        self._at = to

    async def _fill(self, step: Step) -> None:
        await self._page.locator(step.what).first.fill(step.text, timeout=self._left())

    async def _type(self, step: Step) -> None:
        await self._click(step)
        for sign in step.text:
            await self._page.keyboard.type(sign)
            if self._human:
                await asyncio.sleep(random.uniform(*KEY_PAUSE_S))

    async def _press(self, step: Step) -> None:
        await self._page.keyboard.press(step.what)
        await self._settle()

    async def _wait(self, step: Step) -> None:
        if step.act == "until":
            await self._page.wait_for_function(step.what, timeout=self._left())
        elif step.what == "idle":
            await self._idle()
        else:
            await self._page.wait_for_selector(f"css={step.what}", state="attached", timeout=self._left())

    async def _pause(self, step: Step) -> None:
        if float(step.what) > self._left() / 1000:
            raise Error("not enough time is left for the pause")
        await asyncio.sleep(float(step.what))

    async def _scroll(self, _: Step) -> None:
        await self._down()
