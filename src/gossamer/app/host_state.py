"""Reads everything that is known about one host. The command `gossamer host show` and the operations of the API
show the same values."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from gossamer import url as urls
from gossamer.app.query.attempts_tail import last_blocks
from gossamer.config.settings import Settings
from gossamer.config.value_texts import format_bytes, format_duration, format_time
from gossamer.errors import UnknownName
from gossamer.frontier.stats import CrawlStatistics, HostView, Queued, is_rate_limited
from gossamer.model.site import Site
from gossamer.politeness.breaker import Breaker
from gossamer.politeness.ladder import RUNGS, Ladder
from gossamer.proxies.proxy_health import ProxyHealth
from gossamer.state.learned_rungs import LearnedRungs
from gossamer.state.logins import Logins, Session
from gossamer.state.proxy_stats import ProxyStatistics
from gossamer.store.store import Store

SHOWN_BLOCKS = 3
"""Number of recent blocks to show per crawl."""


class HostState(NamedTuple):
    """The state of one host. `rungs`: the result of `rungs_of_host`. `blocks`: the result of `blocks`. `cooling`
    and `blocked`: the result of `count_cooling_proxies`."""

    view: HostView
    rungs: dict[str, Any]
    blocks: list[dict[str, Any]]
    cooling: int
    blocked: int
    sessions: list[Session]

    def plain(self) -> dict[str, Any]:
        """Returns the values as `host show --json` prints them."""
        return {
            **to_plain_values(self.view),
            "ladder": self.rungs,
            "blocks": self.blocks,
            "proxies": {"cooling": self.cooling, "blocked": self.blocked},
            "sessions": [one._asdict() for one in self.sessions],
        }


async def host_state(store: Store, settings: Settings, host: str) -> HostState:
    """Returns the state of a host. Raises UnknownName, a UsageError, if no crawl knows the host."""
    view, rungs = await CrawlStatistics(store).host(host), await rungs_of_host(store, host)
    cooling, blocked = await count_cooling_proxies(store, host)
    sessions = await session_values(store, host)
    if not view.known:
        raise UnknownName(f"no crawl knows the host {host}")
    return HostState(view, rungs, blocks(settings, view), cooling, blocked, sessions)


def blocks(settings: Settings, view: HostView) -> list[dict[str, Any]]:
    """Returns the requests that the host blocked most recently, from the attempts logs in the data folder.
    The requests of each crawl are sorted latest first."""
    found = [
        line for held in view.crawls for line in last_blocks(settings, held.crawl, view.host, SHOWN_BLOCKS)
    ]
    return [{name: line.get(name) for name in ("crawl", "ts", "status", "block", "url")} for line in found]


def to_plain_values(view: HostView) -> dict[str, Any]:
    """Converts a host's state to plain values for JSON. The state of the circuit breaker is decoded from its
    stored form. Times are in seconds. `since` is the number of seconds since the first fault of the current
    series, and `until` is the number of seconds until the circuit breaker becomes half-open."""
    out: dict[str, Any] = msgspec.to_builtins(view)
    limited = view.next > 0 and is_rate_limited(view.pace)
    out["rate_limited_until"] = format_time(view.now + view.next) if limited else None
    now, held = round(out.pop("now") * 1000), Breaker.of(out.pop("trouble"))
    out["breaker"] = {
        "state": held.state(now).replace(" ", "-"),
        "faults": held.faults,
        "openings": held.openings,
        "since": (now - held.since) / 1000 if held.since else None,
        "until": max(0, held.ends - now) / 1000 if held.ends else None,
        "failing": held.share / 1000,
        "hard": held.hard,
    }
    return out


async def rungs_of_host(store: Store, host: str) -> dict[str, Any]:
    """Returns a dict with the keys `fixed`, `rung`, `paths` and `why`, which describes the rungs of a host.
    `paths` maps the first folder of a path, such as `/shop/`, to the rung of the pages in this folder, if
    this rung differs from the rung of the host. `why` describes the last block. Returns {} if no rungs are
    known for the host."""
    held = Ladder.of(await LearnedRungs(store).known(host))
    if held == Ladder():
        return {}
    paths = {
        f"/{name}/": RUNGS[known.rung] for name, known in held.classes.items() if known.rung != held.host.rung
    }
    return {
        "fixed": held.fixed or None,
        "rung": RUNGS[held.host.rung],
        "paths": paths,
        "why": held.why or None,
    }


async def fix_rung(store: Store, host: str, name: str) -> None:
    """Fetches a host's pages only with the rung `name`. With '', forgets what was learned and learns again."""
    await LearnedRungs(store).learn(
        host, lambda text: msgspec.structs.replace(Ladder.of(text), fixed=name).text() if name else ""
    )


async def session_values(store: Store, host: str | None = None) -> list[Session]:
    """Returns the sessions of all accounts. If `host` is given, returns only the sessions at the sites to
    which the host belongs."""
    logins, out = Logins(store), list[Any]()
    for site, hosts in (await logins.sites()).items():
        if host is None or Site("x", hosts=hosts).claims(host):
            out += await logins.told(site)
    return out


async def count_cooling_proxies(store: Store, host: str) -> tuple[int, int]:
    """Returns how many proxies are cooling down now for the registered domain of a host, and how many were
    blocked there recently."""
    now, kept = await ProxyStatistics(store, "").exchange({})
    there = [
        ProxyHealth.of(text)
        for key, text in kept.items()
        if key.endswith(f"\t{urls.registered_domain(host)}")
    ]
    return sum(one.until > now for one in there), len(there)


def format_spent(held: Queued) -> str:
    """Formats the bytes and the time that a crawl spent on a host. Amounts that the crawl does not limit are
    omitted."""
    said = [f"{format_bytes(held.bytes)} received"] if held.bytes else []
    said += [f"{format_duration(held.seconds)} since its first request"] if held.seconds is not None else []
    return ", ".join(said)


def format_breaker(view: HostView) -> str:
    """Formats the state of a host's circuit breaker."""
    now = round(view.now * 1000)
    held = Breaker.of(view.trouble)
    state = held.state(now)
    since, left = format_duration((now - held.since) / 1000), format_duration((held.ends - now) / 1000)
    row = f"{held.faults} faults in a row since {since} ago" if held.faults else ""
    told = {
        "closed": "closed",
        "open": f"open, {left} left",
        "half-open": "half-open: one request at a time until one succeeds",
        "given up": f"open: given up ({held.why}), its URLs fail without a request; probed again in {left}",
    }[state]
    share = f"{held.share / 10:.0f} % of its visits fail" + (", a hard host" if held.hard else "")
    return "; ".join(filter(None, (told, row, share if held.share else "")))


def session_line(one: Session) -> str:
    """Formats a session as a short line of text."""
    since = f" {format_duration(one.since)} ago" if one.since is not None else ""
    way = session_reason(one)
    return f"{one.site} as {one.account}: {one.state}{since}{f' ({way})' if way else ''}"


def session_reason(one: Session) -> str:
    """Formats the wait and the reason of a session that is not logged in."""
    return ": ".join(filter(None, (f"{format_duration(one.wait)} to wait" if one.wait else "", one.why)))
