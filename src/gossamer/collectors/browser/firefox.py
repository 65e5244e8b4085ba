"""Controls Firefox by WebDriver BiDi. Starts one Firefox process with an empty profile, and exchanges
commands and events with the process over a WebSocket on loopback. The classes have the same interfaces as the
classes for Chromium. Each user context has its own cookies, and gossamer's tunnel is its proxy. Captured
responses are not supported.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Error
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from gossamer.collectors.browser.chromium import START_TIMEOUT_S, Chromium, ContextInUse
from gossamer.collectors.browser.document import Parts
from gossamer.collectors.browser.fingerprint import BrowserFingerprint
from gossamer.collectors.browser.frames import WORLD
from gossamer.collectors.browser.human import Gesture
from gossamer.collectors.browser.step_tab import MAX_NOTES
from gossamer.collectors.browser.tab import (
    HTML,
    MAX_RESPONSES,
    QUIET_S,
    QUIET_TIMEOUT_S,
    WATCH_CHANGES,
    Rendering,
    Watch,
    reading_script,
)
from gossamer.collectors.browser.tab import IDLE_S as STILL
from gossamer.collectors.http.transfer import ACCEPT, content_type_gate
from gossamer.model.content_type import essence
from gossamer.model.page import REDIRECTS
from gossamer.model.rendering import Render
from gossamer.model.request import split

GUARD = '"$@" & child=$!; read -r _; kill -9 $child; wait $child; rm -rf "$0" || { sleep 1; rm -rf "$0"; }'
"""A shell script that starts the browser and then reads from a pipe. This process holds the other end of the
pipe. When this process ends for any reason, the kernel closes the pipe. The script then kills the browser and
removes the browser's profile."""
EVENTS = (
    "network.beforeRequestSent",
    "network.responseStarted",
    "network.responseCompleted",
    "network.fetchError",
    "network.authRequired",
    "browsingContext.load",
    "browsingContext.contextCreated",
    "browsingContext.userPromptOpened",
)


class BidiError(Error):
    """A command failed, or the browser has exited. If a command failed, the text contains the browser's
    message."""


class BidiConnection:
    """The connection to the browser. `hear`: a function that is called with the name and the parameters of
    each event. `died`: a function that is called when the browser has exited."""

    def __init__(self, hear: Callable[[str, dict[str, Any]], None], died: Callable[[], None]) -> None:
        self._hear, self._died = hear, died
        self._ids, self._answers = count(1), dict[int, asyncio.Future[dict[str, Any]]]()
        self._process: asyncio.subprocess.Process | None = None
        self._socket: ClientConnection | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._sent: set[asyncio.Task[None]] = set()
        self._folder = ""
        self.over = False

    async def start(self, program: str, prefs: Mapping[str, Any]) -> None:
        """Starts the browser with the preferences `prefs`. Raises BidiError, OSError."""
        self._folder = tempfile.mkdtemp(prefix="gossamer-firefox-")
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in prefs.items()]
        await asyncio.to_thread(Path(self._folder, "user.js").write_text, "".join(lines))
        words = [
            program,
            "--headless",
            "--no-remote",
            "--profile",
            self._folder,
            "--remote-debugging-port",
            "0",
        ]
        self._process = await asyncio.create_subprocess_exec(
            "sh", "-c", GUARD, self._folder, *words, stdin=-1, stdout=-3, stderr=-1, start_new_session=True
        )
        assert self._process.stderr is not None
        found, said = None, ""
        while found is None:
            if not (line := (await self._process.stderr.readline()).decode("utf-8", "replace")):
                raise BidiError(f"it exited: {said}")
            found, said = re.search(r"BiDi listening on ws://[^:\s]+:(\d+)", line), line.strip() or said
        self._tasks.append(asyncio.create_task(self._drain(self._process.stderr)))
        self._socket = await connect(
            f"ws://127.0.0.1:{found[1]}/session", max_size=None, ping_interval=None, proxy=None
        )
        self._tasks.append(asyncio.create_task(self._read(self._socket)))
        await self.send(
            "session.new", capabilities={"alwaysMatch": {"unhandledPromptBehavior": {"default": "dismiss"}}}
        )
        await self.send("session.subscribe", events=list(EVENTS))
        phases = ["beforeRequestSent", "responseStarted", "authRequired"]
        await self.send("network.addIntercept", phases=phases)

    async def send(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Sends a command and returns its result. Raises BidiError."""
        if self._socket is None or self.over:
            raise BidiError("Connection closed")
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
            said = await answer
        except WebSocketException as error:
            raise BidiError(f"Connection closed: {error}") from error
        finally:
            self._answers.pop(number, None)
        if said.get("type") == "error":
            raise BidiError(f"{method}: {said['error']}: {said['message']}")
        result: dict[str, Any] = said["result"]
        return result

    def post(self, method: str, /, **params: Any) -> None:
        """Sends a command in the background. Errors are ignored, because the page may be closed."""

        async def send() -> None:
            with contextlib.suppress(BidiError):
                await self.send(method, **params)

        task = asyncio.ensure_future(send())
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)

    async def close(self) -> None:
        """Closes the browser and removes its profile."""
        self.over = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()  # the shell script GUARD then kills the browser
            await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()
        if self._folder:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _read(self, socket: ClientConnection) -> None:
        with contextlib.suppress(WebSocketException):
            async for text in socket:
                said = json.loads(text)
                if said.get("type") == "event":
                    self._hear(said["method"], said["params"])
                elif (answer := self._answers.get(said.get("id"))) is not None and not answer.done():
                    answer.set_result(said)
        self.over = True
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(BidiError("Connection closed"))
        self._died()

    async def _drain(self, stream: asyncio.StreamReader) -> None:
        """Reads the browser's output, because an unread pipe would block the browser."""
        while await stream.read(4096):
            pass


KINDS = {"images": ("image",), "fonts": ("font",), "media": ("audio", "video", "track")}
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
MARK, SOON = "https://mark.invalid/", 1.0
"""MARK is a URL that gossamer's script requests in the page. When the event of the request for MARK arrives,
all earlier events have arrived. gossamer waits for the event for at most SOON seconds, because a page may not
be allowed to make requests."""


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


class GeckoWatch(Watch):
    """Watches a page's requests through BiDi events, as `Watch` does for Chromium."""

    _tab: Any

    async def start(self, render: Render) -> None:
        """Starts to intercept the page's requests."""
        self._unwanted = [kind for word, kinds in KINDS.items() if word not in render.load for kind in kinds]
        self._tab.watch, self._blocked, self.whole = self, render.block, False

    async def _answer(self, event: dict[str, Any]) -> None:
        try:
            await self._decide(event)
        except BidiError:
            pass  # a request of a closed page needs no response
        except Exception as error:  # noqa: BLE001 - as in Chromium
            self.problem = f"{type(error).__name__}: {error}"
            with contextlib.suppress(BidiError):
                await self._fail(event, "")

    async def _decide(self, event: dict[str, Any]) -> None:
        """Continues or aborts a paused request. Raises BidiError."""
        asked, send = event["request"], self._tab.wire.send
        main = event["context"] == self._tab.frame and bool(event.get("navigation"))
        main = main and asked.get("destination") not in ("object", "embed")
        if "response" in event:
            await (
                self._response(event) if main else send("network.continueResponse", request=asked["request"])
            )
        elif asked.get("destination") in self._unwanted or (
            not main and (self._refuses(asked["url"]) or self.exceeds(asked["url"]))
        ):
            await self._fail(event, "")
        elif main:
            await self._document(event)
        else:
            await send("network.continueRequest", request=asked["request"], **self._known(asked))

    def _known(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Returns the headers of a request with the credentials of the page's origin, or {} if the headers
        stay as they are. Firefox keeps changed headers after a redirect, so the credentials are removed if the
        redirect leads to another origin."""
        if not self._basic:
            return {}
        own = [(one["name"], one["value"]) for one in asked["headers"]]
        if self.may_know(asked["url"], [name for name, _ in own]):
            headers = [*own, ("Authorization", {"type": "string", "value": self._basic})]
        elif split(asked["url"])[:2] != self._origin:
            headers = [(name, value) for name, value in own if value.get("value") != self._basic]
        else:
            headers = own
        return (
            {"headers": [{"name": name, "value": value} for name, value in headers]} if headers != own else {}
        )

    def _refuses(self, url: str) -> bool:
        return url == MARK or url.endswith("/favicon.ico") or self.blocks(url)

    async def _document(self, event: dict[str, Any]) -> None:
        """Handles a request of the main frame for a document."""
        asked = event["request"]
        if not self.admits(asked["url"], asked["method"]):
            return await self._fail(event, "")
        again = self.asked > 0
        if again and self.follows:
            self.asked += 1
            await self._tab.wire.send(
                "network.continueRequest", request=asked["request"], **self._known(asked)
            )
            return None
        self.asked += 1
        given = {name.lower() for name in self._headers}
        own = {
            one["name"]: one["value"]["value"] for one in asked["headers"] if one["name"].lower() not in given
        }
        change: dict[str, Any] = {
            "headers": [
                {"name": name, "value": {"type": "string", "value": value}}
                for name, value in (own | self._headers).items()
            ]
        }
        if not again and (self._request.method != "GET" or self._request.body is not None):
            change["method"] = self._request.method
            change["body"] = {"type": "string", "value": self._request.body or ""}
        await self._tab.wire.send("network.continueRequest", request=asked["request"], **change)
        self.asked_at = time.perf_counter()
        return None

    async def _response(self, event: dict[str, Any]) -> None:
        """Handles the main document's response. If the response is HTML, the browser loads it. A redirect is
        followed during the page's steps, and otherwise returned to the caller. The body of other accepted
        content is read as received. All other responses are refused."""
        self.asked_at = time.perf_counter()  # as in Chromium
        said, request, send = event["response"], event["request"]["request"], self._tab.wire.send
        headers = [(one["name"].lower(), str(one["value"]["value"])) for one in said["headers"]]
        asked = {name.lower() for name in self._headers}
        # Firefox asks by itself whether a document in its cache is still right, and then shows that document
        kept = int(said["status"]) == 304 and asked.isdisjoint(("if-none-match", "if-modified-since"))
        if kept and not any(name == "content-type" for name, _ in headers):
            headers.append(("content-type", "text/html"))
        self.main = 200 if kept else int(said["status"]), headers
        found = dict(reversed(headers))
        kind = essence(found.get("content-type"))
        redirected = self.main[0] in REDIRECTS and "location" in found
        if redirected and not self.follows:
            await self._fail(event, "")
        elif redirected or (kind in HTML and "attachment" not in found.get("content-disposition", "")):
            await send("network.continueResponse", request=request)
        elif content_type_gate(ACCEPT)(kind):
            # the load event may arrive before the body is complete, so wait for the body instead
            self.whole = True
            await send("network.continueResponse", request=request)
            got = (await send("network.getData", dataType="response", request=request))["bytes"]
            self.raw = _bytes(got)
            self.away.set()
        else:
            self.refused = kind
            await self._fail(event, "")

    async def _fail(self, event: dict[str, Any], reason: str) -> None:
        await self._tab.wire.send("network.failRequest", request=event["request"]["request"])


class GeckoRendering(Rendering):
    """Loads and reads a page through BiDi events, as `Rendering` does for Chromium."""

    _tab: Any

    def __init__(self, tab: Any, watch: Watch, wire: int, received: Callable[[], int]) -> None:
        self._tab, self._page, self._watch = tab, tab, watch
        self._wire, self._received, self.told = wire, received, list[str]()
        self._under_way: set[Any] = set()
        self._changed = time.monotonic()
        self.late, self._there, self._loading = "", True, False
        self._ends, self._render = 0.0, Render()
        self.responses = deque[str](maxlen=MAX_RESPONSES)
        self._marked = asyncio.Event()
        tab.hears = {
            "network.beforeRequestSent": self._asks,
            "network.responseCompleted": self._has,
            "network.fetchError": self._has,
            "browsingContext.load": self._came,
        }

    async def handles_routes(self) -> bool:
        """Returns False, because WebDriver BiDi does not list event listeners."""
        return False

    def route(self, asked: str) -> str:
        """Returns the requested URL. In Firefox, gossamer does not track how a page changes the fragment of
        its URL."""
        return asked

    async def load(self, url: str, render: Render, ends: float) -> None:
        """Opens the URL, then waits until the conditions of `render` are met, or until the monotonic time
        `ends`. Raises BidiError if there is no document."""
        await self._tab.wire.send("browsingContext.navigate", context=self._tab.frame, url=url, wait="none")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout((ends - time.monotonic()) / 2):
                await self._watch.away.wait()
        if self._watch.target is None and self._watch.raw is None:
            await self._hears()
        idle = render.wait == "idle"
        await self._quiet(
            STILL if idle else QUIET_S, ends if idle else min(ends, time.monotonic() + QUIET_TIMEOUT_S)
        )
        if self._watch.target is None and self._watch.raw is None:
            await self._acts(render, ends)

    async def read(self, most: int) -> tuple[bytes | int, str]:
        """See `Rendering.read`."""
        try:
            text, protocol, _ = await self._tab.evaluate(
                reading_script()[reading_script().index("\n(most") :], most
            )
        except BidiError:  # the document is read as Firefox writes it
            whole = await self._tab.evaluate("() => document.documentElement.outerHTML")
            text, protocol = len(whole) if len(whole) > most else whole, ""
        if isinstance(text, int):
            return text, protocol
        body: bytes = text.encode("utf-8", "replace")
        return body if body.isascii() else b"\xef\xbb\xbf" + body, protocol

    async def _hears(self) -> None:
        """Waits until the events of the page's requests have arrived. Some of these events may arrive later
        than the load event."""
        self._marked.clear()
        with contextlib.suppress(BidiError, TimeoutError):
            async with asyncio.timeout(SOON):
                await self._tab.evaluate(f"() => {{ fetch({MARK!r}, {{mode: 'no-cors'}}).catch(() => 0); }}")
                await self._marked.wait()

    def _asks(self, params: dict[str, Any]) -> None:
        if params["request"]["url"] == MARK:
            return self._marked.set()
        if (
            not params["request"]["url"].startswith("data:")
            and params["request"].get("initiatorType") != "beacon"
        ):
            self._under_way.add(params["request"]["request"])
            self._changed = time.monotonic()
        return None

    def _has(self, params: dict[str, Any]) -> None:
        if "response" in params:
            self.responses.append(params["request"]["url"])
        self._under_way.discard(params["request"]["request"])
        self._changed = time.monotonic()

    def _came(self, params: dict[str, Any]) -> None:
        if (
            params["context"] == self._tab.frame
            and self._watch.main is not None
            and not getattr(self._watch, "whole", False)
        ):
            self._watch.away.set()


def _bytes(value: dict[str, str]) -> bytes:
    """Returns a BiDi value as bytes."""
    return base64.b64decode(value["value"]) if value["type"] == "base64" else value["value"].encode()


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
        self._tabs: dict[str, GeckoTab] = {}
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
        kept.context = Context(self._browser, made["userContext"])

    async def _tab(self, kept: ContextInUse) -> Any:
        tab = await GeckoTab.open(self._browser, kept.context.user)
        self._tabs[tab.frame] = tab
        return tab

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
