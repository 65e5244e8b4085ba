"""Controls a tab of Firefox by WebDriver BiDi: runs scripts in its frames, moves the mouse and presses keys."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from gossamer.collectors.browser.bidi_connection import BidiConnection, BidiError
from gossamer.collectors.browser.frames import WORLD
from gossamer.collectors.browser.human import Gesture
from gossamer.collectors.browser.step_tab import MAX_NOTES
from gossamer.collectors.browser.tab import IDLE_S as STILL
from gossamer.collectors.browser.tab import WATCH_CHANGES, Watch

MAX_BODY_BYTES, MAX_BODIES_BYTES = 1 << 25, 1 << 26
"""The maximum number of bytes that Firefox keeps of one body, and of all bodies together."""
KEY_CODES = {
    **dict(zip(("Backspace", "Tab"), "\ue003\ue004", strict=True)),
    **dict(zip(("Enter", "Shift", "Control", "Alt"), "\ue007\ue008\ue009\ue00a", strict=True)),
    **dict(
        zip(
            ("Escape", "Space", "PageUp", "PageDown", "End", "Home"),
            "\ue00c\ue00d\ue00e\ue00f\ue010\ue011",
            strict=True,
        )
    ),
    **dict(zip(("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"), "\ue012\ue013\ue014\ue015", strict=True)),
    **dict(zip(("Insert", "Delete", "Meta"), "\ue016\ue017\ue03d", strict=True)),
    **{f"F{n}": chr(0xE030 + n) for n in range(1, 13)},
}
"""The characters of WebDriver for the keys that have a name (WebDriver, section Keyboard actions)."""


class InputTurn(NamedTuple):
    """What mouse, wheel and keyboard do at the same time, as actions of WebDriver BiDi."""

    pointer: dict[str, Any]
    wheel: dict[str, Any]
    key: dict[str, Any]


def _turns(gesture: Gesture) -> list[InputTurn]:
    """Returns the actions of a gesture, one after another."""
    kind, x, y, seconds, key = gesture
    rest, at = {"type": "pause", "duration": round(seconds * 1000)}, {"x": int(x), "y": int(y)}
    if kind in ("down", "up"):
        press = {"type": f"pointer{kind.capitalize()}", "button": 0}
        return [
            InputTurn(press, {"type": "pause"}, {"type": "pause"}),
            InputTurn(rest, dict(rest), dict(rest)),
        ]
    if kind in ("text", "key"):
        down = [key[at] for at in range(len(key))] if kind == "text" else _key_codes(key)
        turns = [{"type": "keyDown", "value": one} for one in down]
        if kind == "text":
            turns = [{"type": word, "value": one} for one in down for word in ("keyDown", "keyUp")]
        else:
            turns += [{"type": "keyUp", "value": one} for one in reversed(down)]
        return [InputTurn({"type": "pause"}, {"type": "pause"}, one) for one in turns] + [
            InputTurn(rest, dict(rest), dict(rest))
        ]
    pointer = {"type": "pointerMove", **at, "duration": rest["duration"]} if kind == "move" else rest
    wheel = {"type": "scroll", **at, "deltaX": 0, "deltaY": round(y), "duration": rest["duration"]}
    return [InputTurn(pointer, wheel if kind == "wheel" else {"type": "pause"}, {"type": "pause"})]


def _key_codes(key: str) -> list[str]:
    """Returns the keys to press, as characters of WebDriver.

    >>> _key_codes("Enter") == ["\ue007"], _key_codes("Control+A") == ["\ue009", "A"]
    (True, True)
    """
    names = [key] if key == "+" else key.split("+")
    return [KEY_CODES.get(name, name) for name in names]


class GeckoTab:
    """A tab of a user context. `watch`: the object that handles the page's paused requests. `hears`: maps the
    name of each event to the page's handler."""

    def __init__(self, wire: BidiConnection, frame: str) -> None:
        self.wire, self.frame, self.page, self.cdp, self.steps = wire, frame, self, None, self
        self.watch: Watch | None = None
        self.hears: dict[str, Callable[[Any], None]] = {}
        self.notes: list[str] = []
        self.windows: set[str] = set()
        """The windows that the page opened, and that were not closed yet."""

    @classmethod
    async def open(cls, wire: BidiConnection, user: str) -> GeckoTab:
        """Opens a tab in a user context. Raises BidiError."""
        # Firefox draws no frames and slows timers in a tab behind another, so each tab has a window
        made = await wire.send("browsingContext.create", type="window", userContext=user)
        tab = cls(wire, made["context"])
        await wire.send(
            "network.addDataCollector",
            dataTypes=["response"],
            maxEncodedDataSize=MAX_BODY_BYTES,
            contexts=[tab.frame],
        )
        watch = f"() => {WATCH_CHANGES}"
        await wire.send(
            "script.addPreloadScript", functionDeclaration=watch, contexts=[tab.frame], sandbox=WORLD
        )
        return tab

    def heard(self, event: str, params: dict[str, Any]) -> None:
        """Handles an event of the tab, of a frame in the tab, or of a window that the tab's page opened."""
        if event == "browsingContext.userPromptOpened":
            what = f"{params['type']}: {params['message'][:80]}"
            self._note(f"the page opened a dialog ({what}), which was dismissed")
        elif params.get("context") in self.windows:
            if params.get("isBlocked"):  # a window loads nothing
                self.wire.post("network.failRequest", request=params["request"]["request"])
            if event == "network.beforeRequestSent":
                url = params["request"]["url"]
                self._note(f"the page opened a window with {url}, which was closed")
                self.windows.discard(params["context"])
                self.wire.post("browsingContext.close", context=params["context"])
            return
        if event == "network.authRequired":
            # gossamer has already sent the credentials that it knows, and Firefox must not show a dialog
            asked = {"request": params["request"]["request"], "action": "cancel"}
            self.wire.post("network.continueWithAuth", **asked)
        elif params.get("isBlocked"):
            if self.watch is not None:
                self.watch.paused(params)
            else:  # no page uses the tab, so the request is refused
                self.wire.post("network.failRequest", request=params["request"]["request"])
        if call := self.hears.get(event):
            call(params)

    async def leave(self, url: str) -> None:
        """Does nothing, because the tab is blank between two pages."""

    async def ready(self) -> bool:
        """Returns whether a page can use the tab."""
        return not self.wire.over

    async def rest(self) -> bool:
        """Navigates the tab to about:blank after a page. Returns whether other pages can use the tab. Raises
        TimeoutError."""
        self.watch, self.hears = None, {}
        while self.windows:
            self.wire.post("browsingContext.close", context=self.windows.pop())
        with contextlib.suppress(BidiError):
            async with asyncio.timeout(STILL * 10):
                await self.wire.send(
                    "browsingContext.navigate", context=self.frame, url="about:blank", wait="complete"
                )
                return True
        return False

    async def close(self) -> None:
        """Closes the tab. Raises TimeoutError."""
        with contextlib.suppress(BidiError):
            async with asyncio.timeout(STILL * 10):
                await self.wire.send("browsingContext.close", context=self.frame)

    async def evaluate(self, function: str, *given: int, frame: str | None = None) -> Any:
        """Calls a JavaScript function in gossamer's sandbox and returns its result, a plain value or a list.
        Raises BidiError."""
        found = await self._called(function, frame, *given)
        return (
            [one.get("value") for one in found["value"]] if found["type"] == "array" else found.get("value")
        )

    async def _called(self, function: str, frame: str | None, *given: int) -> dict[str, Any]:
        said = await self.wire.send(
            "script.callFunction",
            functionDeclaration=function,
            awaitPromise=True,
            arguments=[{"type": "number", "value": one} for one in given],
            target={"context": frame or self.frame, "sandbox": WORLD},
        )
        if said["type"] != "success":
            raise BidiError(said["exceptionDetails"]["text"])
        found: dict[str, Any] = said["result"]
        return found

    async def frame_of(self, function: str, frame: str | None = None) -> str | None:
        """Returns the frame inside of the iframe that a JavaScript function returns, or None if there is no
        frame yet. Raises BidiError."""
        inner = (
            f"() => {{ const node = ({function})(), kind = node && (node.localName === 'frame' ? HTMLFrameElement :"
            " HTMLIFrameElement); return node && Reflect.apply(Object.getOwnPropertyDescriptor(kind.prototype,"
            " 'contentWindow').get, node, []); }"
        )
        found = await self._called(inner, frame)
        return str(found["value"]["context"]) if found["type"] == "window" else None

    async def page_value(self, expression: str, frame: str | None = None) -> Any:
        """Returns the plain value of a JavaScript expression of the page's own scripts. Raises BidiError."""
        target = {"context": frame or self.frame}
        said = await self.wire.send(
            "script.evaluate", expression=expression, target=target, awaitPromise=False
        )
        if said["type"] != "success":
            raise BidiError(said["exceptionDetails"]["text"])
        return said["result"].get("value")

    async def address(self) -> str:
        """Returns the URL that the tab shows. Raises BidiError."""
        tree = await self.wire.send("browsingContext.getTree", root=self.frame, maxDepth=0)
        return str(tree["contexts"][0]["url"])

    async def picture(self) -> bytes:
        """Returns a PNG of the visible part of the page. Raises BidiError."""
        said = await self.wire.send("browsingContext.captureScreenshot", context=self.frame)
        return base64.b64decode(said["data"])

    async def perform(self, gestures: Iterable[Gesture]) -> None:
        """Performs the gestures of a person with one command. Raises BidiError."""
        turns = [turn for gesture in gestures for turn in _turns(gesture)]
        at = (1, 1)
        for turn in turns:  # a wheel turns where the mouse is
            at = (turn.pointer["x"], turn.pointer["y"]) if "x" in turn.pointer else at
            if "deltaY" in turn.wheel:
                turn.wheel.update(x=at[0], y=at[1])
        mouse = {"parameters": {"pointerType": "mouse"}, "actions": [turn.pointer for turn in turns]}
        sources = [
            {"type": "pointer", "id": "mouse"} | mouse,
            {"type": "wheel", "id": "wheel", "actions": [turn.wheel for turn in turns]},
            {"type": "key", "id": "keyboard", "actions": [turn.key for turn in turns]},
        ]
        await self.wire.send("input.performActions", context=self.frame, actions=sources)

    def _note(self, line: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(line)
