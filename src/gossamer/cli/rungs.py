"""`gossamer host rung`: sets a fixed rung that fetches a host's pages. The command `host show` uses functions
of this module to format rungs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Data,
    Host,
    Json,
    Setting,
    StoreUrl,
    open_existing_store,
    parse_authority,
    read_settings,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

Rung = Annotated[
    str,
    Argument(
        metavar="RUNG", help="plain, impersonated, ..., or auto: forget what was learned, and learn again."
    ),
]


def rung(
    host: Host,
    name: Rung,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Fetch a host's pages only with the given rung. The setting applies to all crawls whose ladder includes
    the rung."""
    from gossamer.cli.host_change import print_change
    from gossamer.config.value_parsers import RUNGS

    if name not in (*RUNGS, "auto"):
        raise UsageError(f"unknown rung {name!r}; use {', '.join(RUNGS)}, or auto")
    known = parse_authority(host)
    asyncio.run(_fix(read_settings(data, store, setting), known, "" if name == "auto" else name))
    said = "learned again" if name == "auto" else f"by {name} alone"
    return print_change({"host": known, "rung": None if name == "auto" else name}, said, as_json)


async def _fix(settings: Settings, host: str, name: str) -> None:
    from gossamer.app.host_state import fix_rung

    async with open_existing_store(settings) as store:
        await fix_rung(store, host, name)


def rung_row(known: dict[str, Any]) -> list[tuple[str, str]]:
    """Formats the result of `rungs_of_host` as a list of one table row, which consists of a label and a
    value. Returns [] if `known` is empty."""
    if not known:
        return []
    said = [f"{known['rung']}" if not known["fixed"] else f"{known['fixed']} (fixed by hand)"]
    said += [f"{path} {name}" for path, name in known["paths"].items()]
    return [("rung", "; ".join(said) + (f"; the last block: {known['why']}" if known["why"] else ""))]
