"""Computes the plan of a run. The plan contains the duration of the run with given delays. The plan also
contains the number of pages of each host that do not fit into the time window."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.uses.prices.targets import HostPages

PAGE_BYTES = 150_000
"""The assumed compressed size of a product page in bytes."""
PAGES_PER_S = 40.0
"""Number of pages per second that a run reads on one core (see benchmarks/price_run.py)."""


class HostPlan(msgspec.Struct, frozen=True):
    """The plan for one host."""

    host: str
    pages: int
    hours: float
    """The number of hours in which a run visits all pages of the host. More workers do not help, because all
    workers share the delay of the host."""
    unfit: int
    """Number of pages of the host that a run cannot visit within the time window."""


class RunPlan(msgspec.Struct, frozen=True):
    """The plan of a run."""

    pages: int
    targets: int
    delay: tuple[float, float]
    window_hours: float | None
    hosts: list[HostPlan]
    hours: float
    """The duration of the whole run in hours."""
    bound_by: str
    """The bottleneck of the run: `hosts` (the delays of the hosts), `processor` or `bandwidth`."""
    unfit: int
    """Number of pages that the run cannot visit within the time window."""
    reasons: list[str]
    """Messages that explain why the time window is too short for all pages, and what the user can change."""

    @property
    def fits(self) -> bool:
        """Whether all pages fit into the window."""
        return not self.unfit


def make_plan(
    hosts: Sequence[HostPages],
    targets: int,
    *,
    delay: tuple[float, float],
    window_s: float | None = None,
    megabits: float | None = None,
) -> RunPlan:
    """Returns the plan of a run. All workers and proxies together visit a host once per delay. More workers
    or proxies therefore do not shorten the time that a host needs. The plan does not include second visits of
    changed pages.

    >>> hosts = [HostPages(f"shop{n}.example", 5000) for n in range(10)]
    >>> round(make_plan(hosts, 50_000, delay=(2, 2)).hours, 2)
    2.78
    """
    mean = (delay[0] + delay[1]) / 2
    pages = sum(one.pages for one in hosts)
    window = None if window_s is None else window_s / 3600
    times = [one.pages * mean / 3600 for one in hosts]
    bounds = {
        "hosts": max(times, default=0.0),
        "processor": pages / PAGES_PER_S / 3600,
        "bandwidth": pages * PAGE_BYTES * 8 / (megabits * 1e6) / 3600 if megabits else 0.0,
    }
    bound_by = max(bounds, key=lambda name: bounds[name])
    plans = []
    for one, hours in zip(hosts, times, strict=True):
        fitting = one.pages if window is None or hours <= window else int(one.pages * window / hours)
        plans.append(HostPlan(one.host, one.pages, hours, one.pages - fitting))
    unfit = sum(one.unfit for one in plans)
    reasons = [_reason(one, delay, window) for one in plans if one.unfit and window is not None]
    for name in ("processor", "bandwidth"):
        if window is not None and bounds[name] > window:
            unfit = max(unfit, pages - int(pages * window / bounds[name]))
            limit = "one process reads" if name == "processor" else f"{megabits:g} Mbit/s carry"
            reasons.append(f"{limit} {int(pages * window / bounds[name]):,} of {pages:,} pages in the window")
    return RunPlan(pages, targets, delay, window, plans, max(bounds.values()), bound_by, unfit, reasons)


def _reason(host: HostPlan, delay: tuple[float, float], window: float) -> str:
    mean = (delay[0] + delay[1]) / 2
    needed = mean * window / host.hours
    return (
        f"{host.host} has {host.pages:,} pages and needs {told_hours(host.hours)} with a delay of {mean:g} s, however "
        f"many workers there are: {host.unfit:,} pages do not fit. They fit with a delay of {needed:.2g} s, if the "
        f"shop allows that, or in {told_hours(host.hours)}"
    )


def told_hours(hours: float) -> str:
    """Formats a duration in hours for messages.

    >>> told_hours(2.7778), told_hours(0.01)
    ('2 h 46 min', '36 s')
    """
    seconds = round(hours * 3600)
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02} min"
