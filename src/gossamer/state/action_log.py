"""The log of actions: who changed what, when, and with which outcome. A stream of the store keeps the last ones, so all
servers and machines of a store share it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from gossamer.config.redaction import MASK, mask, suggests_secret
from gossamer.store import keys
from gossamer.store.store import Store

MAX_ACTIONS = 10_000
"""About as many actions are kept."""
MAX_ENTRIES, MAX_CHARS = 20, 500
"""The first entries of a list, and the first characters of a text, that an action contains."""
DONE = "done"


class Action(msgspec.Struct, kw_only=True):
    """One action. Secrets are hidden.

    - `who`: the name of the token, or its id, or `USER@MACHINE` for a command, or '' without tokens. `token`: the id.
    - `by`: the way in which the action arrived. `operation`: the name of the operation or of the command.
    - `crawl`: the crawl that it concerns, or ''. `given`: its input.
    - `outcome`: `done`, or the word of the problem. `detail`: the message of the problem.
    """

    at: str
    who: str
    by: str
    operation: str
    outcome: str = DONE
    token: str = ""
    crawl: str = ""
    given: dict[str, Any] = {}
    detail: str = ""


def action_of(
    *,
    who: str,
    by: str,
    operation: str,
    given: Mapping[str, Any],
    token: str = "",
    outcome: str = DONE,
    detail: str = "",
) -> Action:
    """Returns an action of the present moment. Secrets in `given` are hidden, and long values are cut off."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    shown = {name: _shown(value, name) for name, value in given.items() if name != "crawl"}
    crawl = given.get("crawl")
    return Action(
        at=now,
        who=who,
        by=by,
        operation=operation,
        outcome=outcome,
        token=token,
        crawl=crawl if isinstance(crawl, str) else "",
        given=shown,
        detail=mask(" ".join(detail.split()))[:MAX_CHARS],
    )


def _shown(value: Any, name: str) -> Any:
    if suggests_secret(name) and value not in (None, "", True, False):
        return MASK
    if isinstance(value, str):
        text = mask(value)
        return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
    if isinstance(value, Mapping):
        return {str(key): _shown(one, str(key)) for key, one in list(value.items())[:MAX_ENTRIES]}
    if isinstance(value, list | tuple):
        more = [f"and {len(value) - MAX_ENTRIES} more"] if len(value) > MAX_ENTRIES else []
        return [*(_shown(one, name) for one in value[:MAX_ENTRIES]), *more]
    return value if value is None or isinstance(value, bool | int | float) else _shown(str(value), name)


class ActionLog:
    """The log of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, action: Action) -> None:
        """Appends an action. Raises StoreError."""
        call = self._store.client.xadd(
            keys.ACTIONS, {"a": msgspec.json.encode(action)}, maxlen=MAX_ACTIONS, approximate=True
        )
        await self._store.guard(cast(Any, call))

    async def before(self, number: str, count: int) -> list[tuple[str, Action]]:
        """Returns at most `count` actions, newest first, each with its number. `number`: only those before it, or ''."""
        last = f"({number}" if number else "+"
        call = self._store.client.xrevrange(keys.ACTIONS, last, "-", count)
        found = []
        for at, fields in await self._store.guard(cast(Any, call)):
            try:
                found.append((at.decode(), msgspec.json.decode(fields[b"a"], type=Action)))
            except (KeyError, msgspec.MsgspecError):  # another version wrote it
                continue
        return found
