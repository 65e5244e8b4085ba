"""Runs a crawl in a separate thread with its own event loop. The caller's event loop is not used, so a crawl
can run in a script, a coroutine or a notebook."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from gossamer.worker.read_watch import HURRY_S, hurry

STOP_SECONDS = 1.0
"""Seconds for which visits in flight may continue after a crawl is stopped. After this time, the visits are
cancelled, and the next run repeats them."""
Result = TypeVar("Result")


class Background(Generic[Result]):
    """Runs one coroutine in a separate thread. `work`: a function that creates the coroutine. The argument of
    `work` is an event that is set when the coroutine should stop. `done`: the future of the result."""

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
        """Sets the stop event of the coroutine, and cancels the coroutine after `seconds` (None means never).
        Does not wait until the coroutine has ended."""
        self._begun.wait()
        if seconds is not None:
            hurry(self._stop, HURRY_S)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the event loop is already closed
                self._loop.call_soon_threadsafe(self._ask, seconds)

    def wait(self) -> Result:
        """Waits for the result and returns the result. Ctrl-C stops the coroutine, and KeyboardInterrupt is
        raised after the coroutine has ended."""
        try:
            return self.done.result()
        except BaseException:
            if not self.done.done():
                self.stop()
            raise
        finally:
            self._thread.join()

    async def wait_async(self) -> Result:
        """Waits for the result in a coroutine and returns the result. Cancelling the waiting coroutine stops
        the background work, and `CancelledError` is raised after the work has ended."""
        waiting = asyncio.wrap_future(self.done)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self.stop()
            while not waiting.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([waiting])
            waiting.exception()  # marks the exception as retrieved; the caller gets CancelledError
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
    """Returns the exception to raise in the waiting thread. A CancelledError is replaced with CrawlStopped.
    In the waiting thread, a CancelledError would look like a cancellation of the caller's own task."""
    if isinstance(error, asyncio.CancelledError):
        from gossamer.errors import CrawlStopped

        return CrawlStopped("the crawl was stopped before its visits ended: run it again to continue")
    return error
