"""Groups of hosts that share one politeness budget: hosts at one IP address, or hosts of one registered
domain. A worker takes a turn of the group before each request.

The hosts of an address are in many buckets, so a claim cannot see all of them. The turn therefore has its own
key. A worker takes it after the claim, when the address is known. Domains work in the same way.
"""

from __future__ import annotations

import secrets
from typing import Any, cast

from gossamer.store import keys
from gossamer.store.store import Store, script_part


class HostGroups:
    """The turns of one worker. `at_once` is the number of turns of a group that may be held at the same time.
    `hold` is the number of seconds after which the turn of a dead worker expires."""

    def __init__(self, store: Store, at_once: int, hold: float) -> None:
        self._store, self._at_once, self._hold = store, at_once, round(hold * 1000)
        self._enter, self._leave = script_part("host_group_enter"), script_part("host_group_leave")
        self._mine = secrets.token_hex(6)
        self._count = 0

    async def enter(self, name: str, delay: float) -> tuple[str, float]:
        """Asks for a turn. Returns the token of the turn, and 0 if the turn was granted, otherwise the
        seconds after which to try again. `delay` is the minimum number of seconds until the next turn."""
        self._count += 1
        token = f"{self._mine}{self._count}"
        wait = await self._do(self._enter, name, token, self._at_once, round(delay * 1000), self._hold)
        return token, int(wait) / 1000

    async def leave(self, name: str, token: str, since: float, delay: float) -> None:
        """Gives a turn back. `since` is the number of seconds since the request began, negative if none was
        made."""
        await self._do(
            self._leave, name, token, round(since * 1000) if since >= 0 else -1, round(delay * 1000)
        )

    async def _do(self, script: str, name: str, *args: Any) -> Any:
        return await self._store.guard(cast(Any, self._store.client.eval(script, 1, keys.group(name), *args)))
