"""Hosts that share one politeness budget: those at one address, or of one registered domain. A turn is taken
before each request.

The hosts of an address lie in many buckets, so no claim can see them all: the turn is a key of its own, asked
for when a claim is there and its address known. The hosts of a domain do it in the same way.
"""

from __future__ import annotations

import secrets
from importlib import resources
from typing import Any, cast

from gossamer.store import keys
from gossamer.store.store import Store


class Groups:
    """The turns of one worker. `at_once`: turns out at a time; `hold`: seconds after which a dead worker's is
    over."""

    def __init__(self, store: Store, at_once: int, hold: float) -> None:
        self._store, self._at_once, self._hold = store, at_once, round(hold * 1000)
        folder = resources.files("gossamer.frontier") / "lua"
        self._enter, self._leave = ((folder / f"{verb}.lua").read_text() for verb in ("enter", "leave"))
        self._mine = secrets.token_hex(6)
        self._count = 0

    async def enter(self, name: str, delay: float) -> tuple[str, float]:
        """Take a turn: its token and 0, or seconds after which to ask again. `delay`: seconds until the next
        turn may begin."""
        self._count += 1
        token = f"{self._mine}{self._count}"
        wait = await self._do(self._enter, name, token, self._at_once, round(delay * 1000), self._hold)
        return token, int(wait) / 1000

    async def leave(self, name: str, token: str, since: float, delay: float) -> None:
        """Give it back. `since`: seconds since the request began, negative when none was made."""
        await self._do(
            self._leave, name, token, round(since * 1000) if since >= 0 else -1, round(delay * 1000)
        )

    async def _do(self, script: str, name: str, *args: Any) -> Any:
        return await self._store.guard(cast(Any, self._store.client.eval(script, 1, keys.group(name), *args)))
