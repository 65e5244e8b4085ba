"""`gossamer rate`: caps the requests per second of all crawls together, while they run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Argument, Data, Json, Setting, StoreUrl, open_existing_store, read_settings
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

What = Annotated[
    str | None,
    Argument(metavar="[LANE|fleet]", help="The workers of a lane, or all; without: shows the caps."),
]
Cap = Annotated[
    str | None, Argument(metavar="[N|none]", help="Maximum requests per second; none removes the cap.")
]


def rate(
    what: What = None,
    n: Cap = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Cap the requests per second of a lane or of the whole fleet. Without arguments, show the current
    caps."""
    from gossamer.config import value_parsers

    settings = read_settings(data, store, setting)
    if what is None or n is None:
        return asyncio.run(_show(settings, what, as_json))
    try:
        value_parsers.lane(what)
        cap = None if n == "none" else value_parsers.rate(n)
    except ValueError as error:
        raise UsageError(f"gossamer rate {what} {n}: {error}, or none") from None
    return asyncio.run(_set(settings, what, cap, as_json))


async def _show(settings: Settings, what: str | None, as_json: bool) -> int:
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.state.rates import Rates

    async with open_existing_store(settings) as store:
        caps = await Rates(store).all()
    caps = {name: cap for name, cap in sorted(caps.items()) if what in (None, name)}
    if as_json:
        put_json(caps)
    elif caps:
        put_table(
            ("cap of", "requests/s"),
            [(name, f"{cap:g}") for name, cap in caps.items()],
            right=("requests/s",),
        )
    else:
        remark(f"{what} has no cap" if what else "there is no cap")
    return 0


async def _set(settings: Settings, what: str, cap: float | None, as_json: bool) -> int:
    from gossamer.cli.printing import put_json, remark
    from gossamer.state.rates import FLEET, Rates
    from gossamer.state.workers import WorkerRecords

    async with open_existing_store(settings) as store:
        await Rates(store).set(what, cap)
        lanes = {lane for worker in await WorkerRecords(store).living() for lane in worker.lanes}
    if lanes and cap is not None and what not in (FLEET, *lanes):
        remark(f"no worker serves the lane {what} now; there are: {', '.join(sorted(lanes))}")
    if as_json:
        put_json({what: cap})
    else:
        whose = "the fleet" if what == FLEET else f"lane {what}"
        print(f"{whose}: {'no cap' if cap is None else f'at most {cap:g} requests per second'}")
    return 0
