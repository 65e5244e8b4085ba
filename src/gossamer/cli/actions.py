"""`gossamer actions`: shows who changed what."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Data, Json, Option, Setting, StoreUrl, open_existing_store, read_settings
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

OfCrawl = Annotated[str | None, Option("--crawl", metavar="CRAWL", help="Only what concerns this crawl.")]
Who = Annotated[
    str | None, Option("--who", metavar="WHO", help="Only of this token (name or id), or USER@MACHINE.")
]
OfOperation = Annotated[
    str | None,
    Option("--operation", metavar="NAME", help="Only this operation (dead_drop) or command (dead drop)."),
]
Since = Annotated[str | None, Option("--since", metavar="TIME", help="Only of the last 90s, 5m, 2h, 3d.")]
Limit = Annotated[int, Option("--limit", metavar="N", help="How many (default 50).", least=1)]


def actions(
    crawl: OfCrawl = None,
    who: Who = None,
    operation: OfOperation = None,
    since: Since = None,
    limit: Limit = 50,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Show who changed what, newest first: by commands, by the API and by the dashboard. The last 10,000 actions are
    kept."""
    from gossamer.config.value_parsers import seconds

    try:
        age = None if since is None else seconds(since)
    except ValueError as error:
        raise UsageError(f"--since {since!r}: {error}") from None
    wanted = {"crawl": crawl, "who": who, "operation": operation}
    return asyncio.run(_show(read_settings(data, store, setting), wanted, age, limit, as_json))


async def _show(
    settings: Settings, wanted: dict[str, Any], age: float | None, limit: int, as_json: bool
) -> int:
    from gossamer.app.actions import read_actions
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.cli.query import cell_text

    async with open_existing_store(settings) as store:
        found = [one async for _, one in read_actions(store, limit=limit, age=age, **wanted)]
    if as_json:
        for one in found:
            put_json(one)
    elif found:
        heads = ("at", "who", "by", "operation", "crawl", "given", "outcome")
        rows: list[tuple[Any, ...]] = [
            (
                *(one.at, one.who, one.by, one.operation, one.crawl, cell_text(one.given)),
                f"{one.outcome}: {one.detail}" if one.detail else one.outcome,
            )
            for one in found
        ]
        put_table(heads, rows, least=("given", "by"))
    else:
        remark("no action matches" if age or any(wanted.values()) else "nobody has changed anything yet")
    return 0
