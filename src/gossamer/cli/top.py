"""`gossamer top`: shows a live view of crawls, workers and the busiest hosts, and reacts to keys. If stderr
is not a terminal, prints one line of JSON every 10 s."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import (
    Data,
    Json,
    MaybeCrawl,
    Option,
    Setting,
    StoreUrl,
    open_existing_store,
    read_settings,
)

if TYPE_CHECKING:
    from gossamer.cli.top_screens import TopSnapshots
    from gossamer.config.settings import Settings


def top(
    crawl: MaybeCrawl = None,
    once: Annotated[bool, Option("--once", help="One look, then end.")] = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Watch and steer crawls, workers and hosts. Key ? shows all keys: open a crawl or host, filter, sort, pause,
    finish, requeue, undo."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_top(read_settings(data, store, setting), crawl, once, as_json))
    return 0


async def _top(settings: Settings, name: str | None, once: bool, as_json: bool) -> None:
    from gossamer.cli.printing import is_plain_stderr
    from gossamer.cli.top_screens import TopSnapshots

    async with open_existing_store(settings) as store:
        snapshots = TopSnapshots(store, name)
        if is_plain_stderr() or once or as_json:
            await _print_lines(snapshots, once)
        else:
            from gossamer.cli.top_view import TopView

            await TopView(snapshots, store, settings).run()


async def _print_lines(snapshots: TopSnapshots, once: bool) -> None:
    """Prints a snapshot as one line of JSON every 10 s. If `once` is true, prints only one snapshot. During
    an outage of the store, prints a message and waits until the store responds again."""
    from gossamer.cli.printing import put_json, remark
    from gossamer.cli.top_screens import UPDATE_INTERVAL_S
    from gossamer.errors import Away

    away = False
    while True:
        try:
            found = await snapshots.plain()
        except Away as error:
            if once:
                raise
            if not away:
                remark(f"{error}; waiting for it")
            away = True
            await asyncio.sleep(UPDATE_INTERVAL_S)
            continue
        if away:
            remark("the store answers again")
        away = False
        put_json(found)
        if once:
            return
        await asyncio.sleep(UPDATE_INTERVAL_S * 10)
