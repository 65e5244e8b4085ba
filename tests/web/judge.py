"""The judge: pure functions from a log to what was wrong. An empty answer means that all was right."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from web import robots, sitemaps, traps, truth
from web.plan import Plan
from web.record import Hit

SLACK = 0.020  # s, decisions.md: gap >= delay - max(20 ms, 2 %)
OPEN = 1 << 62


class Violation(NamedTuple):
    """What was wrong: `kind` is gap or at-once; for a gap seconds found and asked, else requests found and
    allowed."""

    kind: str
    host: str
    path: str
    found: float
    asked: float


def by_host(log: Iterable[Hit]) -> dict[str, list[Hit]]:
    """The hits of each host in the order in which the server saw them."""
    hosts: dict[str, list[Hit]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.seen):
        hosts[hit.host].append(hit)
    return dict(hosts)


class Stall(NamedTuple):
    """A time in which the crawler's process did nothing, ns of the machine's monotonic clock."""

    begin: int
    end: int


def held_up(hit: Hit, by: float, stalls: Iterable[Stall]) -> bool:
    """Whether a request may have been on its way for so many seconds because its process stood still."""
    return any(
        s.end - s.begin >= by * 1e9 and s.begin <= hit.seen and s.end >= hit.start - 50_000_000
        for s in stalls
    )


def gaps(log: Iterable[Hit], host: str) -> list[float]:
    """Seconds between the starts of the host's requests, one after the other.

    The kernel's stamp is coarse and the server's is late when the machine is busy: the larger gap of the two
    counts, so that what is too short is short by both clocks.
    """
    hits = sorted((hit for hit in log if hit.host == host), key=lambda hit: hit.seen)
    return [max(b.start - a.start, b.seen - a.seen) / 1e9 for a, b in pairwise(hits)]


def at_once(log: Iterable[Hit], host: str) -> int:
    """Most requests of a host that were open at the same time, as the server saw it; an end within 20 ms is
    an end."""
    events: list[tuple[int, int]] = []
    for hit in log:
        if hit.host == host:
            events.append((hit.seen, 1))
            events.append((max(hit.seen + 1, (hit.end or OPEN) - int(SLACK * 1e9)), -1))
    most = now = 0
    for _, step in sorted(events):
        now += step
        most = max(most, now)
    return most


def violations(
    log: Iterable[Hit],
    delay_by_host: Mapping[str, float],
    per_host: int = 1,
    closed: bool = True,
    stalls: Sequence[Stall] = (),
) -> list[Violation]:
    """Starts that came too soon and hosts with too many requests at once.

    `delay_by_host` gives seconds by authority; hosts not in it are judged by `per_host` alone. Without
    `closed`, requests that got no answer because the server closed a kept connection are left out (the GET
    sent again is their second half). A start is not too soon where a stall of the crawler (`e2e.runs.stalls`)
    held the one before it up for what is missing.
    """
    found = []
    kept = [hit for hit in log if closed or hit.kind != "close-kept" or hit.status]
    for host, hits in by_host(kept).items():
        asked = delay_by_host.get(host, 0.0)
        least = asked - max(SLACK, asked * 0.02)
        for gap, before, hit in zip(gaps(hits, host), hits, hits[1:], strict=False):
            if gap < least and not held_up(before, least - gap, stalls):
                found.append(Violation("gap", host, hit.path, gap, asked))
        if (most := at_once(hits, host)) > per_host:
            found.append(Violation("at-once", host, "", most, per_host))
    return found


def delays(plan: Plan, own: float = 0.0) -> dict[str, float]:
    """The least gap of each host: the crawler's own delay, or what robots.txt asks for when that is more."""
    return {plan.authority(host): max(own, robots.delay(plan, host)) for host in plan.all_hosts()}


def url_of(hit: Hit, scheme: str = "http") -> str:
    return f"{scheme}://{hit.host}{hit.path}"


def fetched(log: Iterable[Hit], scheme: str = "http") -> Counter[str]:
    """Requests by page: tracking variants count for their page, robots.txt and sitemaps are left out."""
    aid = ("/robots.txt", "/robots-hop-", *sitemaps.PATHS)
    return Counter(truth.home(url_of(hit, scheme)) for hit in log if not hit.path.startswith(aid))


def robots_first(log: Iterable[Hit], plan: Plan, crawls: int = 1) -> list[str]:
    """Hosts whose robots.txt was not read before all else, or not as often as it should be in so many crawls."""
    wrong = []
    numbers = {plan.authority(host): host for host in plan.all_hosts()}
    for host, hits in by_host(log).items():
        count = sum(hit.path == "/robots.txt" for hit in hits)
        least, most = robots.requests(plan, numbers[host])
        if hits[0].path != "/robots.txt":
            wrong.append(f"{host}: {hits[0].path} was requested before robots.txt")
        if not least <= count <= most * crawls:
            wrong.append(
                f"{host}: robots.txt was requested {count} times, right are {least} to {most * crawls}"
            )
        said = min(
            (hit.end for hit in hits if hit.path == "/robots.txt" and hit.status == 200 and hit.end),
            default=0,
        )
        if said and (
            early := [hit.path for hit in hits if "robots" not in hit.path and hit.start < said - SLACK * 1e9]
        ):
            wrong.append(f"{host}: {early[0]} was requested before the answer of robots.txt")
    return wrong


def wasted(log: Iterable[Hit], plan: Plan) -> float:
    """Share of the requests that went into traps; the robots.txt of a spam host counts as waste."""
    numbers = {plan.authority(host): host for host in plan.all_hosts()}
    hits = list(log)
    return sum(traps.is_trap(plan, numbers[hit.host], hit.path) for hit in hits) / max(1, len(hits))


def faults(
    log: Iterable[Hit], plan: Plan, hosts: Iterable[int] | None = None, orphans: bool = True
) -> list[str]:
    """Every URL of the web that was not requested as often as it must be; one line each.

    `hosts` are those the crawl was to visit (default: all); `orphans`: sitemaps were read. `failing` URLs may
    be tried any number of times, traps are judged by `wasted`, and a page that is linked under trap writings,
    too, is right under any of them.
    """
    hits = list(log)
    scheme = "https" if plan.tls else "http"
    counts = fetched(hits, scheme)
    good = {truth.home(url_of(hit, scheme)) for hit in hits if hit.status == 200}
    wrong = []
    for host in range(plan.hosts) if hosts is None else hosts:
        for path, fate in truth.fates_of(plan, host):
            url = plan.url(host, path)
            if fate == "orphan" and not orphans:
                continue
            if fault := _fault(plan, url, fate, counts[url], good):
                wrong.append(f"{fault}: {url}")
    known = {plan.authority(host) for host in plan.all_hosts()}
    wrong += [f"unknown host: {hit.host}" for hit in hits if hit.host not in known]
    missing = {
        url_of(hit, scheme) for hit in hits if hit.kind == "missing" and hit.path not in sitemaps.PATHS
    }
    return wrong + [f"never linked: {url}" for url in sorted(missing)]


def _fault(plan: Plan, url: str, fate: str, count: int, good: set[str]) -> str:
    if fate in ("once", "orphan"):
        return "" if count == 1 else f"requested {count} times instead of once"
    if fate == "never":
        return f"requested {count} times instead of never" if count else ""
    if fate == "failing":
        return "" if count else "never tried"
    if fate == "any":
        return (
            ""
            if any(one.partition("?")[0] == url for one in good)
            else "not fetched under any of its writings"
        )
    expected = truth.expected(plan, url)
    most = expected.most if expected else 99
    if fate == "again" and url not in good:
        return f"not good after {count} requests"
    return f"requested {count} times, at most {most} are right" if count > most else ""
