"""`gossamer host`: shows the state of one host, and changes how crawls treat it while they run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Data,
    Host,
    Json,
    Option,
    Setting,
    StoreUrl,
    hosts_of,
    open_existing_store,
    parse_authority,
    read_settings,
)
from gossamer.cli.printing import print_change
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.frontier.stats import HostView

For = Annotated[
    str | None, Option("--for", metavar="TIME", help="Only for 90s, 5m, 2h (default: until resumed).")
]
Delay = Annotated[
    str,
    Argument(
        metavar="SECONDS",
        help="Seconds between request starts, a rate such as 2/s or 30/m, or auto: learned.",
    ),
]
AtOnce = Annotated[
    int | None, Option("--per-host", metavar="N", help="Concurrent requests; 0: the crawl's setting.")
]


def show(
    host: Host, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """Show the host's state, robots.txt and pace, and its queue in each crawl."""
    return asyncio.run(_show(read_settings(data, store, setting), parse_authority(host), as_json))


def pause(
    host: Host,
    how_long: For = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Pause requests to the host in all crawls. Requests that have already begun are completed."""
    from gossamer.config.value_parsers import span
    from gossamer.frontier.operator import FOREVER_S

    try:
        wait = span(how_long) if how_long is not None else FOREVER_S
    except ValueError as error:
        raise UsageError(f"--for {how_long!r}: {error}") from None
    settings, name = read_settings(data, store, setting), parse_authority(host)
    until = f" for {how_long}" if how_long else f"; continue with: gossamer host resume {name}"
    asyncio.run(_do(settings, name, "pause", wait))
    return print_change(
        {"host": name, "paused": True, "seconds": wait if how_long else None}, f"paused{until}", as_json
    )


def resume(
    host: Host, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """End the pause of a host, and request it again if it was given up."""
    settings, name = read_settings(data, store, setting), parse_authority(host)
    asyncio.run(_do(settings, name, "resume"))
    return print_change({"host": name, "paused": False}, "goes on", as_json)


def rate(
    host: Host,
    delay: Delay,
    per_host: AtOnce = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Set a fixed delay for a host, or for all hosts of a site file, in all crawls. The delay is never
    shorter than the host's Crawl-delay."""
    from gossamer.config.value_parsers import host_rate, seconds

    try:
        fixed = None if delay == "auto" else 1 / host_rate(delay) if "/" in delay else seconds(delay)
    except ValueError as error:
        raise UsageError(f"{delay!r}: {error}, or auto") from None
    if per_host is not None and not 0 <= per_host <= 1000:
        raise UsageError("--per-host must be between 0 and 1000")
    settings, names = read_settings(data, store, setting), hosts_of(host)
    kept = asyncio.run(_rate(settings, names, fixed, per_host))
    said = "delay as learned" if fixed is None else f"{fixed:g} s from start to start"
    if per_host is not None:
        said += f", {per_host or 'as usual'} at once"
    elif kept is not None:
        said += f", {kept} at once, as fixed before; --per-host 0 ends that"
    return print_change({"host": ", ".join(names), "delay": fixed, "per_host": per_host}, said, as_json)


async def _show(settings: Settings, host: str, as_json: bool) -> int:
    from gossamer.app.host_state import host_state
    from gossamer.app.host_state import session_line as session
    from gossamer.cli.printing import put_json, put_table
    from gossamer.cli.rungs import rung_row

    async with open_existing_store(settings) as store:
        state = await host_state(store, settings, host)
    if as_json:
        put_json(state.plain())
        return 0
    cool, blocked = state.cooling, state.blocked
    said = [("proxies", f"{cool} cool down here, {blocked} were blocked recently")] if blocked else []
    put_table(
        (),
        [
            *state_rows(state.view),
            *rung_row(state.rungs),
            *said,
            *(("session", session(one)) for one in state.sessions),
            *(("block", f"{one['ts']} {one['block']} {one['url']}") for one in state.blocks),
        ],
    )
    return 0


def state_rows(view: HostView) -> list[tuple[str, str]]:
    """Returns the state of a host as labeled rows of a table."""
    from gossamer.app.host_state import format_breaker, format_spent
    from gossamer.config.value_texts import format_duration, format_time
    from gossamer.frontier.stats import is_rate_limited

    fixed = f" (fixed by hand: {format_duration(view.fixed_delay)})" if view.fixed_delay is not None else ""
    limited = view.next > 0 and is_rate_limited(view.pace)
    state = f"rate limited until {format_time(view.now + view.next)}" if limited else "open"
    out = [
        ("host", view.host),
        ("state", format_pause(view.paused) if view.paused else state),
        ("breaker", format_breaker(view)),
        (
            "in flight",
            f"{view.in_flight}" + (f" of {view.at_once} at once (fixed by hand)" if view.at_once else ""),
        ),
        ("next start", f"in {format_duration(view.next)}" if view.next else "now"),
        ("delay", format_duration(view.delay) + fixed),
        ("crawl-delay", format_duration(view.crawl_delay) if view.crawl_delay else "none"),
    ]
    for scheme, known in view.robots.items():
        out.append((f"robots.txt ({scheme})", format_robots(known)))
    for held in view.crawls:
        levels = (
            ", ".join(f"{n} at priority {level}" for level, n in sorted(held.levels.items(), reverse=True))
            or "0"
        )
        rest = f"cold {held.cold}, retrying {held.retrying}, parked {held.parked}, vouchers {held.vouchers}"
        rest += f", {had}" if (had := format_spent(held)) else ""
        out.append((held.crawl, f"{format_lane(held.heap)}queued {levels}; {rest}"))
    return out


def format_pause(left: float) -> str:
    """Formats the pause of a host. `left` is in seconds."""
    from gossamer.config.value_texts import format_duration
    from gossamer.frontier.operator import FOREVER_S

    return "paused until it is resumed" if left > FOREVER_S / 2 else f"paused, {format_duration(left)} left"


def format_robots(known: dict[str, float]) -> str:
    """Formats the state of robots.txt for one origin."""
    from gossamer.config.value_texts import format_duration
    from gossamer.politeness.robots_access import CLOSED, OPEN

    version = int(known["version"])
    if version == OPEN:
        what = "allows all"
    elif version < 0:
        what = f"closed: {CLOSED[version].detail}" if version in CLOSED else "closed"
    else:
        what = f"rules, version {version}"
    return f"{what}; read again in {format_duration(known['expires'])}"


def format_lane(heap: str) -> str:
    """Formats the lane, the region and the difficulty of a host, if they are not the defaults. `heap` is the
    name of the heap in which the host waits."""
    from gossamer.state.lane_backlog import split_heap

    name, region, hard = split_heap(heap)
    said = [f"lane {name}"] if name != "http" else []
    said += [f"region {region}"] if region else []
    said += ["a hard host"] if hard else []
    return ", ".join(said) + "; " if said else ""


async def _rate(
    settings: Settings, hosts: list[str], delay: float | None, per_host: int | None
) -> int | None:
    """Sets a fixed delay for hosts and, if `per_host` is given, a fixed number of concurrent requests.
    Returns the fixed number of concurrent requests of the first host that has such a number, or None."""
    from gossamer.frontier.operator import OperatorCommands
    from gossamer.frontier.stats import CrawlStatistics

    async with open_existing_store(settings) as store:
        steer = OperatorCommands(store)
        for host in hosts:
            if per_host is not None:
                await steer.at_once(host, per_host or None)
            await steer.rate(host, delay)
        return next(filter(None, [(await CrawlStatistics(store).host(host)).at_once for host in hosts]), None)


async def _do(settings: Settings, host: str, verb: str, value: Any = None) -> None:
    from gossamer.frontier.operator import OperatorCommands

    async with open_existing_store(settings) as store:
        steer = OperatorCommands(store)
        act = getattr(steer, verb)
        await (act(host) if verb == "resume" else act(host, value))
