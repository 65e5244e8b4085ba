"""Tests of curl on the event loop when curl itself fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pycurl

from gossamer.model.request import Request
from support.byte_servers import answer, collecting, saying, serving


class GivesUp:
    """A curl multi handle that raises an error instead of handling its sockets."""

    def __init__(self, multi: Any) -> None:
        self._multi = multi

    def __getattr__(self, name: str) -> Any:
        return getattr(self._multi, name)

    def socket_action(self, _fd: int, _mask: int) -> None:
        raise pycurl.error("CurlMultiHandle invoked socket_action() failed")


async def test_when_curl_gives_up_all_who_wait_are_told() -> None:
    async with serving(saying(answer(b"<p>ok"))) as server, collecting() as collector:
        collector._multi._multi = GivesUp(collector._multi._multi)
        async with asyncio.timeout(5):
            said = await asyncio.gather(
                *(collector.collect(Request(server.url(f"/{n}")), {}) for n in range(3)),
                return_exceptions=True,
            )
        assert [type(one) for one in said] == [OSError] * 3
