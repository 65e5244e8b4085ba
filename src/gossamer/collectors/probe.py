"""Checks whether a server accepts connections."""

from __future__ import annotations

import asyncio
import time

from gossamer.collectors.http.collector import AddressResolver

TIMEOUT_S = 5.0
"""Seconds for which a host may take to accept a connection."""


async def connect_time(resolver: AddressResolver, authority: str) -> float | None:
    """Measures how many seconds `host:port` takes to accept a connection. Returns None if the host does not
    accept the connection, or if the egress guard does not permit the address."""
    began = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            found = resolver.known(authority) or await resolver.resolve(authority)
            if not found.addresses:
                return None
            _, writer = await asyncio.open_connection(found.addresses[0], int(authority.rpartition(":")[2]))
    except (OSError, TimeoutError):
        return None
    writer.transport.abort()
    return time.perf_counter() - began
