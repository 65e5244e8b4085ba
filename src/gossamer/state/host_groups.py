"""Manages groups of hosts that share one politeness budget. A group consists of the hosts at one IP address,
or of the hosts of one registered domain. Before each request, a worker must get a turn of the host's group,
which is a permit for one request.

The hosts at one address are in many buckets, so a claim cannot see all of them. Therefore, each group has a
separate key, which contains the turns of the group. A worker requests a turn only after it has claimed a
host, because the worker does not know the address of the host earlier. Groups by domain work in the same way.
"""

from __future__ import annotations

import secrets
from typing import Any, cast

from gossamer.store import keys
from gossamer.store.store import Store, script_part


class HostGroups:
    """Takes and releases turns of host groups for one worker. A turn is a permit for one request. `at_once`
    is the maximum number of concurrent requests to the hosts of a group. `hold` is the number of seconds
    after which the permit of a dead worker expires."""

    def __init__(self, store: Store, at_once: int, hold: float) -> None:
        self._store, self._at_once, self._hold = store, at_once, round(hold * 1000)
        self._enter, self._leave = script_part("host_group_enter"), script_part("host_group_leave")
        self._mine = secrets.token_hex(6)
        self._count = 0

    async def enter(self, name: str, delay: float) -> tuple[str, float]:
        """Requests a permit for one request to a host of the group `name`. Returns two values: the token of
        the permit, and the number of seconds after which to try again. If the permit is granted, the second
        value is 0. `delay` is the minimum number of seconds between this request and the next request to the
        group."""
        self._count += 1
        token = f"{self._mine}{self._count}"
        wait = await self._do(self._enter, name, token, self._at_once, round(delay * 1000), self._hold)
        return token, int(wait) / 1000

    async def leave(self, name: str, token: str, since: float, delay: float) -> None:
        """Gives a turn back. `since` is the number of seconds since the request began. If no request was
        sent, `since` is negative."""
        await self._do(
            self._leave, name, token, round(since * 1000) if since >= 0 else -1, round(delay * 1000)
        )

    async def _do(self, script: str, name: str, *args: Any) -> Any:
        return await self._store.guard(cast(Any, self._store.client.eval(script, 1, keys.group(name), *args)))
