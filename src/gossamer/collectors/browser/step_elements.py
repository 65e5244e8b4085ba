"""Finds the elements of steps on a page with the script `steps.js`, waits until they are ready, and says what prevents
a step."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Protocol

from playwright.async_api import Error

from gossamer.collectors.browser.human import Gesture
from gossamer.model.rendering import Step

LOOK_INTERVAL_S, SEVERAL_S, ASK_TIMEOUT_S = 0.03, 0.5, 0.5
"""LOOK_INTERVAL_S is the number of seconds between two looks at a page. A selector must match several elements for
SEVERAL_S seconds before its step fails. ASK_TIMEOUT_S limits the questions about a page whose step has failed."""
_FINAL = ("invalid", "no field", "no select", "no frame", "readonly")
_SENTENCES = {
    "none": "{where} has no {css}",
    "several": "{n} elements of {where} match {css}, and a step needs one: {what}",
    "hidden": "{css} is not visible: {what}",
    "disabled": "{css} is disabled: {what}",
    "covered": "{css} lies under {by}: {what}",
    "moving": "{css} does not come to rest: {what}",
    "invalid": "{css} is not a CSS selector",
    "no field": "{css} is not a field for text: {what}",
    "readonly": "{css} can only be read: {what}",
    "no select": "{css} is not a select: {what}",
    "no frame": "{css} is not an iframe: {what}",
    "no option": "{css} has no option {text}; its options are {options}",
    "no text": "{where} does not show the text {text}",
}
"""What prevents a step, by the state that `steps.js` returns."""


class StepFailed(Error):
    """A step could not be performed. The text names the step, and what was there instead."""


class StepTab(Protocol):
    """A tab in which steps are performed. A frame is a value that only the tab understands, and None is the
    page itself. `notes`: the windows and dialogs that the page opened. All methods raise Playwright's Error."""

    notes: list[str]

    async def evaluate(self, function: str, *given: int, frame: Any = None) -> Any:
        """Calls a JavaScript function in gossamer's own world of a frame."""

    async def frame_of(self, function: str, frame: Any = None) -> Any:
        """Returns the frame inside of the iframe that a JavaScript function returns, or None."""

    async def page_value(self, expression: str, frame: Any = None) -> Any:
        """Returns the plain value of a JavaScript expression of the page's own scripts."""

    async def perform(self, gestures: Iterable[Gesture]) -> None:
        """Moves the mouse and presses keys."""

    async def address(self) -> str:
        """Returns the URL that the tab shows."""

    async def picture(self) -> bytes:
        """Returns a PNG of the visible part of the page."""


class RenderedPage(Protocol):
    """The page on which steps are performed. `responses`: the URLs of the responses since the last step that
    changed something."""

    responses: deque[str]

    async def settle(self) -> None:
        """Waits for the requests that a step caused."""

    async def idle(self) -> None:
        """Waits until the page has sent no requests for a while."""

    async def scroll_down(self) -> None:
        """Scrolls to the end of the page."""

    def is_left(self) -> bool:
        """Returns whether the page leads to a page of another host, which the tab does not open."""


class StepElements:
    """Finds the elements of steps. `frame`: the frame of the element that was found last. `why`: what prevents the
    step, or ''."""

    def __init__(self, tab: StepTab, page: RenderedPage) -> None:
        self._tab, self._page = tab, page
        self.frame: Any = None
        self.why = ""

    def explain(self, why: str) -> None:
        """Records what prevents the step, or ''."""
        self.why = why

    async def _look(self, step: Step, act: str, turn: int = 0) -> dict[str, Any]:
        """Asks the page for the element of a step, and for what prevents `act`. The point in the answer is a
        point in the window of the tab. Remembers the frame of the element."""
        chain: list[Any] = [None]
        for css in step.frame:
            asked: dict[str, Any] = {"act": "frame", "css": css}
            answer = await self.ask(chain[-1], **asked)
            if answer["state"] != "ok":
                return answer | {"css": css}
            frame = await self._tab.frame_of(asking(element=True, **asked), chain[-1])
            if frame is None:
                return {"state": "none", "css": f"content in {css}"}
            chain.append(frame)
        asked = {"act": act, "css": step.what, "text": step.text, "control": step.control, "turn": turn}
        answer = await self.ask(chain[-1], **asked)
        self.frame = chain[-1]
        for css, frame in zip(reversed(step.frame), reversed(chain[:-1]), strict=True):
            if answer["state"] != "ok" or "x" not in answer:
                break
            inside = [answer["x"], answer["y"]]
            outer = await self.ask(frame, act="point", css=css, inside=inside, turn=turn)
            if outer["state"] != "ok":
                return outer | {"css": css}
            answer |= {"x": outer["x"], "y": outer["y"]}
        return answer

    async def ask(self, frame: Any, **asked: Any) -> dict[str, Any]:
        """Asks the script in a frame (see `steps.js`). Raises Playwright's Error."""
        found: dict[str, Any] = json.loads(await self._tab.evaluate(asking(**asked), frame=frame))
        return found

    async def ready(self, step: Step, act: str) -> dict[str, Any]:
        """Waits until nothing prevents `act` on the element of a step. For `point`, the element must be at rest.
        Returns the answer of `steps.js`. Raises StepFailed."""
        began, before, turn = time.monotonic(), None, 0
        while True:
            answer: dict[str, Any] = {}
            with contextlib.suppress(Error, ValueError):  # the page may be navigating
                answer = await self._look(step, act, turn)
            state, place = answer.get("state", ""), (answer.get("x"), answer.get("y"))
            if state == "ok" and (act not in ("point", "arm") or place == before):
                return answer
            if state == "ok" and before is not None:
                answer["state"] = "moving"
            self.why = _sentence(step, answer) if answer.get("state", "ok") != "ok" else self.why
            several = state == "several" and time.monotonic() - began >= SEVERAL_S
            if state in _FINAL or several:
                raise StepFailed(self.why)
            if self._page.is_left():
                raise StepFailed("")
            before, turn = place if state == "ok" else None, turn + (state == "covered")
            await asyncio.sleep(LOOK_INTERVAL_S)

    async def instead(self, step: Step) -> str:
        """Returns what the page is, for the message of a failed step."""
        said = ""
        with contextlib.suppress(Error, TimeoutError, ValueError):
            async with asyncio.timeout(ASK_TIMEOUT_S):
                said = f"; the page is {await self._tab.address()}"
                page = json.loads(await self._tab.evaluate(asking(act="page")))
                said += f' "{page["title"] or page["text"]}"'
                if page["frames"] and not step.frame:
                    said += f", with the frames {', '.join(page['frames'])}"
        return said + "".join(f"; {note}" for note in self._tab.notes)


def _sentence(step: Step, answer: Mapping[str, Any]) -> str:
    """Returns what prevents a step."""
    where = f"the frame {step.frame[-1]}" if step.frame else "the page"
    css = step.what if step.control is None else f"{step.what} {json.dumps(dict(step.control))}"
    values: dict[str, Any] = {
        "where": where,
        "css": css,
        "n": 0,
        "by": "",
        "text": json.dumps(step.text, ensure_ascii=False),
    }
    values |= {"what": "", "options": ""} | dict(answer)
    if "css" in answer:  # the frame itself is the problem
        values["where"] = "the page"
    for name in ("what", "options"):
        values[name] = ", ".join(values[name])
    return _SENTENCES[answer["state"]].format(**values)


def asking(**asked: Any) -> str:
    """Returns a JavaScript function that calls `steps.js` with an argument."""
    return f"() => ({_script()})({json.dumps(asked | {'control': dict(asked['control'])} if asked.get('control') else asked)})"


@lru_cache(1)
def _script() -> str:
    text = resources.files("gossamer.collectors.browser").joinpath("steps.js").read_text("utf-8")
    return text[text.index("\n(asked)") :].strip()
