"""`gossamer.AsyncClient` has the methods of `gossamer.Client` as coroutines. Each call runs in a thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from gossamer.client.service_calls import from_thread
from gossamer.client.service_client import Client
from gossamer.client.service_methods import AsyncServiceMethods
from gossamer.operations.results import CrawlEvent

Given = ParamSpec("Given")
Kind = TypeVar("Kind")


def _awaited(
    call: Callable[Concatenate[Client, Given], Kind],
) -> Callable[Concatenate[AsyncClient, Given], Coroutine[Any, Any, Kind]]:
    """Returns a method of `Client` as a coroutine function with the same parameters."""

    @functools.wraps(call)
    async def method(self: AsyncClient, /, *args: Given.args, **options: Given.kwargs) -> Kind:
        return await asyncio.to_thread(call, self._client, *args, **options)

    return method


class AsyncClient(AsyncServiceMethods):
    """The crawls of one `gossamer serve`, for coroutines. Methods and errors are those of `Client`."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60.0, ca_file: str | None = None
    ) -> None:
        """See `Client`."""
        self._client = Client(url, token, timeout=timeout, ca_file=ca_file)

    wait = _awaited(Client.wait)
    wait_run = _awaited(Client.wait_run)
    export = _awaited(Client.export)

    async def events(
        self, crawl: str | None = None, after: str = ""
    ) -> AsyncIterator[tuple[str, CrawlEvent]]:
        """Yields the changes of crawls as they happen, as `Client.events` does."""
        async for one in from_thread(self._client.events(crawl, after), 1):
            yield one
