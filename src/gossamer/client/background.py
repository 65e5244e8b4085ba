"""Runs a crawl in a thread with its own event loop, so that it works in scripts, coroutines and notebooks
alike and never touches the caller's loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

STOP_SECONDS = 1.0
"""How long a stopped crawl may continue the visits in flight. After that they are cancelled, and the next run
repeats them."""
Result = TypeVar("Result")


class Background(Generic[Result]):
    """Runs one coroutine in a thread of its own. `work`: creates the coroutine, given an event that is set
    when the coroutine should stop. `done`: called with the result."""

    def __init__(self, work: Callable[[asyncio.Event], Coroutine[Any, Any, Result]]) -> None:
        self._work = work
        self.done: Future[Result] = Future()
        self._begun = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._task: asyncio.Task[Result] | None = None
        self._thread = threading.Thread(target=self._run, name="gossamer", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self.done.set_running_or_notify_cancel()
        self._thread.start()

    def stop(self, seconds: float | None = STOP_SECONDS) -> None:
        """Asks the work to stop gracefully, and cancels it after `seconds` (None: never). Returns at once."""
        self._begun.wait()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the event loop has ended already
                self._loop.call_soon_threadsafe(self._ask, seconds)

    def wait(self) -> Result:
        """Waits for the result and returns it. An interrupt (Ctrl-C) stops the work, and is raised when the
        work has ended."""
        try:
            return self.done.result()
        except BaseException:
            if not self.done.done():
                self.stop()
            raise
        finally:
            self._thread.join()

    async def wait_async(self) -> Result:
        """Does the same as `wait` in a coroutine. Cancelling the coroutine stops the work, and
        `CancelledError` is raised when the work has ended."""
        waiting = asyncio.wrap_future(self.done)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self.stop()
            while not waiting.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([waiting])
            waiting.exception()  # marks the error as retrieved; the cancellation is raised instead
            raise
        finally:
            self._thread.join()  # the thread ends right after `done` is set

    def join(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join()

    def _ask(self, seconds: float | None) -> None:
        if self._stop is not None and self._task is not None and self._loop is not None:
            self._stop.set()
            if seconds is not None:
                self._loop.call_later(seconds, self._task.cancel)

    def _run(self) -> None:
        try:
            result = asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._begun.set()
            self.done.set_exception(_as_error(error))
        else:
            self.done.set_result(result)

    async def _main(self) -> Result:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._task = asyncio.create_task(self._work(self._stop))
        self._begun.set()
        return await self._task


def _as_error(error: BaseException) -> BaseException:
    """Returns the error to raise in the waiting thread. A CancelledError of the work is converted, because in
    the waiting thread it would look as if that thread's own task was cancelled."""
    if isinstance(error, asyncio.CancelledError):
        from gossamer.errors import CrawlStopped

        return CrawlStopped("the crawl was stopped before its visits ended: run it again to continue")
    return error
