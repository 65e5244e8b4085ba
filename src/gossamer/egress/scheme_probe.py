"""Asks whether a host speaks https or only http, before the first request to it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

CONNECT_S = 5.0
"""Seconds after which a host counts as silent."""


async def accepts(host: str, port: int, *, secure: bool = False) -> bool:
    """Returns whether a server accepts a connection. A server that does not answer counts as one that does for
    https, because it may only be slow."""
    context = ssl.create_default_context() if secure else None
    if context is not None:  # only the scheme matters here; the crawl checks the certificate
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except TimeoutError:
        return secure
    except (OSError, ValueError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
