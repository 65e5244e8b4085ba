"""Requeues URLs that were parked because of a host's byte or time limit (`host_limits.lua`). A later run
requeues the parked URLs if it has a higher limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.store.store import Store

OF_A_HOST = ("host_bytes", "host_time")


def is_larger(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Returns whether at least one limit per host is higher now than in the last run. None means no limit.

    >>> is_larger({"host_bytes": 100}, {"host_bytes": None}), is_larger({}, {"host_bytes": 5})
    (True, False)
    """
    limits = [(was.get(name), now.get(name)) for name in OF_A_HOST]
    return any(old is not None and (new is None or new > old) for old, new in limits)


async def requeue_parked(store: Store, crawl: str) -> int:
    """Requeues all parked URLs and returns their number. URLs that are still over a limit are parked
    again."""
    found = 0
    async for page in store.scan(f"{{b:???}}{crawl}:e:*"):
        for key in page:
            tag, _, rest = key.decode().partition("}")
            bucket, host = int(tag[3:], 16), rest.removeprefix(f"{crawl}:e:")
            while n := int(await store.run("return_parked", bucket, crawl, host)):
                found += n
    return found
