"""Pure functions that find faults in a log of requests. An empty result means that the crawl was correct."""

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
    """A violation of politeness. `kind` is "gap" or "at-once". `found` and `asked` are seconds for a gap,
    otherwise the number of concurrent requests and its limit."""

    kind: str
    host: str
    path: str
    found: float
    asked: float


def by_host(log: Iterable[Hit]) -> dict[str, list[Hit]]:
    """Returns the hits of each host in the order in which the server saw them."""
    hosts: dict[str, list[Hit]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.seen):
        hosts[hit.host].append(hit)
    return dict(hosts)


class Stall(NamedTuple):
    """A period in which the crawler's process was suspended, in ns of the machine's monotonic clock."""

    begin: int
    end: int


def held_up(hit: Hit, by: float, stalls: Iterable[Stall]) -> bool:
    """Returns whether a request may have been delayed by `by` seconds because its process was suspended."""
    return any(
        s.end - s.begin >= by * 1e9 and s.begin <= hit.seen and s.end >= hit.start - 50_000_000
        for s in stalls
    )


def gaps(log: Iterable[Hit], host: str) -> list[float]:
    """Returns the seconds between consecutive starts of the host's requests.

    The kernel's timestamp is coarse, and the server's timestamp is late when the machine is busy. The larger
    of the two gaps counts, so a gap is too short only if it is too short by both clocks.
    """
    hits = sorted((hit for hit in log if hit.host == host), key=lambda hit: hit.seen)
    return [max(b.start - a.start, b.seen - a.seen) / 1e9 for a, b in pairwise(hits)]


def at_once(log: Iterable[Hit], host: str) -> int:
    """Returns the largest number of concurrent requests of a host, as the server saw them. A request that
    ends within 20 ms after the start of another does not overlap it."""
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
    """Returns requests that started too soon, and hosts with too many concurrent requests.

    `delay_by_host` contains seconds by authority. Hosts not in it are judged only by `per_host`. Without
    `closed`, requests that got no answer because the server closed a kept connection are left out, because
    the crawler sends these GET requests again. A start is not too soon if a stall of the crawler
    (`e2e.runs.stalls`) delayed the request before it by the missing time.
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
    """Returns the minimum gap of each host: the crawler's own delay, or the delay in robots.txt if that is
    longer."""
    return {plan.authority(host): max(own, robots.delay(plan, host)) for host in plan.all_hosts()}


def url_of(hit: Hit, scheme: str = "http") -> str:
    return f"{scheme}://{hit.host}{hit.path}"


def fetched(log: Iterable[Hit], scheme: str = "http") -> Counter[str]:
    """Returns the requests per page. Tracking variants count for their page, and robots.txt and sitemaps are
    left out."""
    aid = ("/robots.txt", "/robots-hop-", *sitemaps.PATHS)
    return Counter(truth.home(url_of(hit, scheme)) for hit in log if not hit.path.startswith(aid))


def robots_first(log: Iterable[Hit], plan: Plan, crawls: int = 1) -> list[str]:
    """Returns the hosts whose robots.txt was not read before all other URLs, or was not read as often as
    expected for that number of crawls."""
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
    """Returns the share of the requests that went into traps. The robots.txt of a spam host counts as a
    trap."""
    numbers = {plan.authority(host): host for host in plan.all_hosts()}
    hits = list(log)
    return sum(traps.is_trap(plan, numbers[hit.host], hit.path) for hit in hits) / max(1, len(hits))


def faults(
    log: Iterable[Hit], plan: Plan, hosts: Iterable[int] | None = None, orphans: bool = True
) -> list[str]:
    """Returns one line for every URL of the web that was not requested as often as expected.

    `hosts` are the hosts that the crawl visited (default: all). `orphans` means that sitemaps were read.
    `failing` URLs may be tried any number of times, and `wasted` judges traps. A page that is also linked by
    trap URLs may be fetched under any of these URLs.
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
