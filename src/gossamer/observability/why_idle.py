"""Finds the reason why a crawl gets no pages. Possible reasons are checked in the order in which an operator
would check them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gossamer.config.value_texts import format_time
from gossamer.frontier.crawls import UNDER_WAY, Record
from gossamer.frontier.stats import CrawlStatistics, HostLine
from gossamer.model.summary import Summary
from gossamer.state.broker_state import BrokerState
from gossamer.state.lane_backlog import heaps_of_crawl
from gossamer.state.rates import Rates
from gossamer.state.workers import Refusals, WorkerRecords

QUIET_S = 15.0
"""Seconds without a page after which a crawl counts as idle."""
MAX_HOSTS = 500
"""Maximum number of hosts of a crawl that are checked."""
FULL_SHARE = 0.98


class Idle(NamedTuple):
    """The reason why a crawl gets no pages. `reason` is a word of REASONS, and `text` is a readable line."""

    reason: str
    text: str


REASONS = (
    "paused",
    "ending",
    "sink-away",
    "no-worker",
    "broker-away",
    "no-lane",
    "refused",
    "store-full",
    "nothing-pending",
    "retries",
    "robots-closed",
    "breaker-open",
    "host-paused",
    "rate-limited",
    "host-delay",
    "busy",
    "rate-cap",
    "not-claimed",
)


async def why_idle(statistics: CrawlStatistics, record: Record, summary: Summary) -> Idle | None:
    """Returns the reason why a crawl currently gets no pages, or None if the crawl has ended."""
    if record.state not in UNDER_WAY:
        return None
    if record.state == "paused":
        return Idle(
            "paused", f"paused{f': {record.reason}' if record.reason else ''}; gossamer resume {record.name}"
        )
    if record.reason and "waiting for it" in record.reason:
        return Idle("sink-away", record.reason)
    if record.state != "running":
        return Idle("ending", f"{record.state}: visits in flight end, then its outputs are closed")
    return (
        await _servers(statistics)
        or await _workers(statistics, record)
        or await _hosts(statistics, record, summary)
    )


async def _servers(statistics: CrawlStatistics) -> Idle | None:
    for server in await statistics.store.guard(statistics.store.client.servers.all()):
        try:
            info = await server.client.info("memory")
        except Exception:  # noqa: BLE001 - a user without the right to call INFO: this reason is left out
            return None
        most = int(info.get("maxmemory", 0))
        if most and int(info.get("used_memory", 0)) >= FULL_SHARE * most:
            return Idle(
                "store-full", f"the store is full ({most} bytes): gossamer clean, or give it more memory"
            )
    return None


async def _workers(statistics: CrawlStatistics, record: Record) -> Idle | None:
    """If the workers are the reason why the crawl gets no pages, returns this reason. Returns None for a
    crawl without a fleet."""
    if not record.fleet:
        return None
    working = await WorkerRecords(statistics.store).at_work()
    if not working:
        return Idle("no-worker", "no worker lives: start one with gossamer worker")
    if error := await BrokerState(statistics.store).error():
        return Idle("broker-away", f"the broker takes no messages: restart it ({error})")
    refused = await Refusals(statistics.store).of(record.name)
    if refused and all(one.name in refused for one in working):
        return Idle("refused", f"every worker refuses it: {next(iter(refused.values()))}")
    stranded = [line for line in await heaps_of_crawl(statistics.store, record.name) if line.stranded]
    lines = await heaps_of_crawl(statistics.store, record.name)
    if stranded and len(stranded) == len([line for line in lines if line.ready + line.waiting]):
        one = stranded[0]
        region = f" in region {one.region}" if one.region else ""
        return Idle("no-lane", f"its hosts wait in lane {one.lane}{region}, which no worker serves")
    return None


async def _hosts(statistics: CrawlStatistics, record: Record, summary: Summary) -> Idle:
    if not summary.pending:
        return Idle("nothing-pending", "no page is pending: it is about to end")
    hosts = [
        one for one in await statistics.hosts(record.name, MAX_HOSTS, "next") if one.waiting or one.in_flight
    ]
    limited = [one for one in hosts if one.state == "rate-limited"]
    if limited and len(limited) == len(hosts):
        first = min(limited, key=lambda one: one.next)
        until = format_time((await statistics.now()) + first.next)
        whose = first.host if len(hosts) == 1 else f"all {len(hosts)} hosts"
        return Idle("rate-limited", f"rate limited by {whose} until {until}, as {first.host} asked")
    retries = await statistics.retries(record.name, [one.host for one in hosts])
    if retries.urls and retries.urls >= summary.pending:
        return Idle(
            "retries",
            f"all {retries.urls} pending pages wait for a retry: the next in {retries.next:.0f} s, the last in "
            f"{retries.last:.0f} s{_end_of_waits(record, await statistics.now())}",
        )
    states = Counter(one.state for one in hosts)
    most = states.most_common(1)[0][0] if states else ""
    soonest = min((one.next for one in hosts if one.state == most), default=0.0)
    return _of_state(most, states[most], soonest, hosts) or await _unclaimed(statistics, states["ready"])


def _end_of_waits(record: Record, now: float) -> str:
    if record.finish_at is None:
        return f"; gossamer finish {record.name} ends the wait"
    seconds = max(0.0, record.finish_at - now)
    return f"; the crawl ends in at most {seconds:.0f} s, or at once with gossamer finish {record.name}"


def _of_state(state: str, n: int, soonest: float, hosts: list[HostLine]) -> Idle | None:
    """Returns the reason why a crawl gets no pages, given the state of most of its hosts."""
    whose = f"{n} hosts" if n > 1 else next((one.host for one in hosts if one.state == state), "its host")
    some = "are" if n > 1 else "is"
    match state:
        case "closed" | "robots":
            return Idle(
                "robots-closed", f"robots.txt of {whose} could not be read; the next try in {soonest:.0f} s"
            )
        case "open":
            return Idle("breaker-open", f"{whose} {some} failing: the next probe in {soonest:.0f} s")
        case "paused":
            return Idle(
                "host-paused", f"{whose} {some} paused for {soonest:.0f} s: gossamer host resume HOST"
            )
        case "waiting" | "rate-limited":
            return Idle(
                "host-delay",
                f"no host is free: {whose} may be asked again in {soonest:.0f} s at the earliest",
            )
        case "busy":
            return Idle(
                "busy", f"{whose} {some} being visited, and {'have' if n > 1 else 'has'} not answered yet"
            )
    return None


async def _unclaimed(statistics: CrawlStatistics, ready: int) -> Idle:
    if caps := await Rates(statistics.store).all():
        return Idle(
            "rate-cap", f"a rate cap holds the workers back: {', '.join(sorted(caps))}; see gossamer rate"
        )
    return Idle(
        "not-claimed",
        f"{'1 host is' if ready == 1 else f'{ready} hosts are'} ready, but no worker claims "
        f"{'it' if ready == 1 else 'them'}: its workers are full, or hang",
    )
