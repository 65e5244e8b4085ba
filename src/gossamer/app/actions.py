"""Reads the log of actions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from gossamer.state.action_log import Action, ActionLog
from gossamer.store.store import Store

PAGE_ACTIONS = 500


async def read_actions(
    store: Store,
    *,
    limit: int,
    crawl: str | None = None,
    who: str | None = None,
    operation: str | None = None,
    age: float | None = None,
    before: str = "",
    sees: Callable[[str], bool] = lambda _: True,
) -> AsyncIterator[tuple[str, Action]]:
    """Yields at most `limit` actions, newest first, each with its number. `who`: the name or id of a token, or
    `USER@MACHINE`. `age`: only actions of the last seconds. `before`: only those before this number. `sees`: whether the
    caller may see the actions on a crawl ('' for those on no crawl)."""
    log, yielded = ActionLog(store), 0
    first = 0 if age is None else round((time.time() - age) * 1000)
    operation = None if operation is None else operation.replace(" ", "_")
    while found := await log.before(before, PAGE_ACTIONS):
        for number, one in found:
            before = number
            if int(number.partition("-")[0]) < first:
                return
            if (
                crawl in (None, one.crawl)
                and (who is None or who in (one.who, one.token))
                and operation in (None, one.operation.replace(" ", "_"))
                and sees(one.crawl)
            ):
                yield number, one
                yielded += 1
                if yielded >= limit:
                    return
