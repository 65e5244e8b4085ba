"""Reports the damage done by faults: pages or items that are missing or duplicated, requests that start too
close to each other, and more repeated fetches than expired leases."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Any

from fleet.chaos import Chaos
from support.machines_apart import Machines
from web import Hit, Web
from web.judge import delays, fetched, violations

AWAKE = 5.0
"""Seconds after its wake-up during which the requests of a frozen worker are not judged. The worker sent them
before it could notice the pause."""
HELD_UP = 2.0
"""Seconds by which a lost packet may delay a request. Such a request reaches the server shortly before the
next request, although the worker sent the two further apart."""


def wrong(chaos: Chaos, web: Web, summary: dict[str, Any], delay: float) -> list[str]:
    """Returns one line per fault. An empty list means that the crawl was correct."""
    plan, log = web.plan, web.log()
    wanted = plan.must_fetch()
    found = [row["url"] for row in chaos.fleet.rows()]
    counts = fetched(log)
    faults = []
    if summary["state"] != "finished" or summary["pending"] or summary["dead"] or summary["failed"]:
        faults.append(f"it ended as {summary}")
    if summary["runs"] != ["finished"]:
        faults.append(f"the schedule's runs came to {summary['runs']}")
    if summary["unstruck"]:
        faults.append(f"{summary['unstruck']} faults could not strike")
    if summary["pages"] != len(wanted):
        faults.append(f"{summary['pages']} pages counted, there are {len(wanted)}")
    for what, kept in (("requests", set(counts)), ("items", set(found))):
        if missing := wanted - kept:
            faults.append(f"{len(missing)} pages without {what}, such as {min(missing)}")
    if len(found) != len(set(found)):
        faults.append(f"{len(found) - len(set(found))} items twice")
    if (again := fetched_again(counts)) > summary["lapsed"] + summary["retried"]:
        faults.append(
            f"{again} pages fetched again, but {summary['lapsed']} leases expired and {summary['retried']} retries"
        )
    if close := violations(judged(chaos, log), delays(plan, delay)):
        faults.append(f"{len(close)} starts too close, such as {close[0]}")
    return faults


def fetched_again(counts: Counter[str]) -> int:
    """Returns the number of page requests beyond the first one of each page."""
    return sum(n - 1 for n in counts.values())


def judged(chaos: Chaos, log: list[Hit]) -> list[Hit]:
    """Returns the requests whose timing can be judged. Requests of a worker that was just frozen and requests
    that a lost packet delayed are left out.

    If all workers share one address, requests cannot be attributed to a worker.
    """
    if not isinstance(chaos.places, Machines):
        assert not chaos.asleep, "freeze on machines apart"
        return log
    asleep = [
        (chaos.places.address[name], since * 1e9, (till + AWAKE) * 1e9) for name, since, till in chaos.asleep
    ]
    lost: dict[str, list[int]] = {}
    for at, to in chaos.places.lost():
        lost.setdefault(to, []).append(at)

    def usual(hit: Hit) -> bool:
        moments = lost.get(hit.host.partition(":")[0], [])
        first = bisect_left(moments, hit.seen - round(HELD_UP * 1e9))
        held_up = first < len(moments) and moments[first] < hit.seen
        return not held_up and not any(
            hit.peer == who and since < hit.seen < till for who, since, till in asleep
        )

    return [hit for hit in log if usual(hit)]
