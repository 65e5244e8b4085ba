"""Adapts a site file's own `collect` function to the collector interface. For example, `collect` gets pages
from a library, from an archive, or over the user's own protocol."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gossamer.config.redaction import mask
from gossamer.model.browser_profile import Guise
from gossamer.model.item import exception_message
from gossamer.model.media_types import UNKNOWN, media_type
from gossamer.model.page import Failure, Page, Response
from gossamer.model.request import Request
from gossamer.model.wall_clock import CLOCK


class SiteCollector:
    """Calls the site's own `collect(request)` for its pages. Robots.txt, pace, retries, block detection and
    parsing apply as for any other page.

    `collect`: an async function, or a function that runs in its own thread. The function returns a
    `Response`, or a body as bytes or text. `total`: the maximum number of seconds of one call. `most`: the
    maximum number of bytes of a body.
    """

    name = "site"

    def __init__(self, site: str, collect: Callable[[Request], Any], *, total: float, most: int) -> None:
        self._site, self._collect, self._total, self._most = site, collect, total, most

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Returns the page. If the site's function raises an exception, returns a failure that is retried.
        The failure's reason is `timeout` for a TimeoutError and `collector` for any other exception. The
        function gets the request with the headers that the plain rung would send."""
        began, clock = CLOCK.now(), time.monotonic()

        def failure(reason: str, detail: str, final: bool = False) -> Failure:
            return Failure(
                reason, mask(detail), began, time.monotonic() - clock, final=final, collector=self.name
            )

        asked = msgspec.structs.replace(request, headers=dict(headers) or None)
        try:
            async with asyncio.timeout(self._total):
                if inspect.iscoroutinefunction(self._collect):
                    found = await self._collect(asked)
                else:
                    found = await _in_thread(self._collect, asked)
            response = found if isinstance(found, Response) else Response(found)
            body = _body(response.body)
            headers_received = _headers(response, body)
        except TimeoutError:
            return failure("timeout", f"{self._where} took longer than {self._total:g} s")
        except Exception as error:  # noqa: BLE001 - the site's own code
            return failure("collector", f"{self._where}: {type(error).__name__}: {exception_message(error)}")
        if len(body) > self._most:
            return failure("too-large", f"{len(body)} bytes of at most {self._most}", final=True)
        elapsed = time.monotonic() - clock
        return Page(
            request.url, response.status, headers_received, body, began, elapsed, len(body), self.name
        )

    async def close(self) -> None:
        """If `collect` is a method of an object that also has a method `close`, calls `close`."""
        close = getattr(getattr(self._collect, "__self__", None), "close", None)
        if callable(close) and inspect.isawaitable(done := close()):
            await done

    @property
    def _where(self) -> str:
        return f"the collector of site {self._site}"


def _body(found: Any) -> bytes:
    if isinstance(found, str):
        return found.encode("utf-8", "replace")
    if isinstance(found, bytes | bytearray):
        return bytes(found)
    raise TypeError(f"it returned {type(found).__name__}: return gossamer.Response, bytes or str")


def _headers(response: Response, body: bytes) -> list[tuple[str, str]]:
    """Returns the headers as a list of pairs with names in lower case. Adds a Content-Type if it is
    missing."""
    given = response.headers.items() if isinstance(response.headers, Mapping) else response.headers
    found = [(str(name).lower(), str(value)) for name, value in given]
    if not any(name == "content-type" for name, _ in found):
        if isinstance(response.body, str):
            kind = media_type(body)
            kind = "text/html" if kind in (UNKNOWN, "text/plain") else kind
            found.append(("content-type", f"{kind}; charset=utf-8"))
        else:
            found.append(("content-type", media_type(body)))
    return found


async def _in_thread(call: Callable[[Request], Any], request: Request) -> Any:
    """Runs a blocking function in its own daemon thread, so that a function that hangs does not prevent
    exiting."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def finish(result: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_exception(error) if error is not None else done.set_result(result)

    def run() -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = call(request)
        except StopIteration:  # a Future rejects StopIteration
            error = RuntimeError("StopIteration")
        except Exception as raised:  # noqa: BLE001 - the site's own code
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=run, name="site-collector", daemon=True).start()
    return await done
