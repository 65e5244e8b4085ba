"""`gossamer clean`: removes old data that is no longer needed. The scheduler also removes old data every
hour."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Data, Json, Option, Setting, StoreUrl, open_existing_store, read_settings
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.app.cleanup import Cleaned
    from gossamer.config.settings import Settings

OneCrawl = Annotated[str | None, Option("--crawl", metavar="CRAWL", help="Only this crawl (default: all).")]
What = Annotated[list[str] | None, Option("--what", metavar="PART", help="Only this part; repeatable.")]
Older = Annotated[
    str | None, Option("--older", metavar="TIME", help="Use this age (12h, 30d) for every part.")
]
DryRun = Annotated[bool, Option("--dry-run", help="Only show what would be removed.")]


def clean(
    what: What = None,
    older: Older = None,
    crawl: OneCrawl = None,
    dry_run: DryRun = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Remove old data that is no longer needed: ended crawls, their dead letters, leases, locks, logs. Data
    of a crawl that may still continue is never removed."""
    import msgspec

    from gossamer.app.cleanup import check_parts
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.cli.scheduled_commands import end_of_checks
    from gossamer.config.value_parsers import seconds
    from gossamer.config.value_texts import format_bytes
    from gossamer.fleet import broker_cleanup

    try:
        age = None if older is None else seconds(older)
    except ValueError as error:
        raise UsageError(f"--older {older!r}: {error}, or 30d") from None
    parts = [one for text in what or () for one in text.split(",") if one] or None
    settings = read_settings(data, store, setting)
    end_of_checks(lambda: check_parts(parts, {"queues": broker_cleanup.PART}))
    done = asyncio.run(_clean(settings, parts, age, crawl, dry_run))
    if as_json:
        put_json([{**msgspec.to_builtins(one), "dry_run": dry_run} for one in done])
        return 0
    rows = [(one.part, one.count, format_bytes(one.bytes) if one.bytes else "", one.what) for one in done]
    put_table(
        ("part", "would go" if dry_run else "gone", "size", ""),
        rows,
        right=("would go", "gone", "size"),
        long=("",),
    )
    if crawl is not None and not any(one.count for one in done):
        remark(
            f"nothing of {crawl} can be removed: it must have ended, be old enough, and have no "
            f"queue; see gossamer status {crawl}"
        )
    return 0


async def _clean(
    settings: Settings, what: list[str] | None, older: float | None, crawl: str | None, dry: bool
) -> list[Cleaned]:
    from gossamer.app import cleanup
    from gossamer.fleet import broker_cleanup

    async with open_existing_store(settings) as store:
        more = {"queues": broker_cleanup.PART}
        return await cleanup.clean(settings, store, what=what, older=older, crawl=crawl, dry=dry, more=more)
