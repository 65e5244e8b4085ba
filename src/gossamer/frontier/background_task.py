"""Runs a background task for the duration of an `async with` block."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any


@contextlib.asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """A context manager that runs `work` as a task. Yields the task, and cancels it when the block ends. If
    `work` raises an exception, the block is cancelled and the context manager raises the exception.
    """
    body = asyncio.current_task()
    assert body is not None
    task = asyncio.create_task(work)
    struck: list[BaseException] = []

    def ended(_: object) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            struck.append(error)
            body.cancel()

    task.add_done_callback(ended)
    try:
        yield task
    except asyncio.CancelledError:
        if not struck:
            raise
    finally:
        task.remove_done_callback(ended)
        if struck:
            body.uncancel()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    if struck:
        raise struck[0]
