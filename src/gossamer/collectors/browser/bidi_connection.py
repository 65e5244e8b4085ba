"""The connection to Firefox by WebDriver BiDi: starts the process with an empty profile, and exchanges commands
and events with the process over a WebSocket on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from playwright.async_api import Error
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

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
