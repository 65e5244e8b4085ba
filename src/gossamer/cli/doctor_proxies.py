"""What `doctor` says of proxies, and `host show` of those that cool down at a host."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gossamer.cli.findings import Finding
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.store.store import Store

TRIED, AT_ONCE, NAMED = 200, 32, 5


async def proxies(settings: Settings) -> list[Finding]:
    """The lists, and how many of the first 200 proxies pass the health check."""
    from gossamer.app.proxy_setup import ProxyCheck, lists
    from gossamer.egress.resolver import Resolver
    from gossamer.proxies.proxy_choice import Pool, told

    if not settings.proxies:
        return []
    try:
        found = lists(settings)
    except GossamerError as error:
        return [Finding("proxies", "bad", str(error), "", error.exit_code)]
    out = [Finding("proxies", "ok", f"{len(found.proxies)}: {told(found.proxies)}")]
    if found.bad:
        path, number, reason = found.bad[0]
        out.append(
            Finding(
                "proxy lines", "warn", f"{len(found.bad)} are left out, first {path} line {number}: {reason}"
            )
        )
    guard, gate = Resolver(settings.allow_private), asyncio.Semaphore(AT_ONCE)
    check = ProxyCheck(settings, guard, Pool(found.proxies))

    async def one(place: int) -> float | None:
        async with gate:
            return await check.seconds(place)

    some = found.proxies[:TRIED]
    try:
        took = await asyncio.gather(*(one(place) for place in range(len(some))))
    finally:
        await check.close()
        await guard.close()
    bad = [proxy.id for proxy, seconds in zip(some, took, strict=True) if seconds is None]
    does = "bring the page of proxy_check" if settings.proxy_check else "take connections"
    level = "bad" if len(bad) == len(some) else "warn" if bad else "ok"
    advice = f"not {', '.join(bad[:NAMED])}{' ...' if len(bad) > NAMED else ''}" if bad else ""
    out.append(Finding("proxies tried", level, f"{len(some) - len(bad)} of {len(some)} {does}", advice, 21))
    return out


async def cooling(store: Store, host: str) -> tuple[int, int]:
    """Proxies that cool down at the registered domain of a host now, and those that were blocked there of
    late."""
    from gossamer import url as urls
    from gossamer.proxies.proxy_health import Standing
    from gossamer.state.proxy_stats import Proving

    now, kept = await Proving(store, "").exchange({})
    there = [
        Standing.of(text) for key, text in kept.items() if key.endswith(f"\t{urls.registered_domain(host)}")
    ]
    return sum(one.until > now for one in there), len(there)
