"""Summarizes the attempts log by proxy provider, hour of day, host, reason, rung, worker or region."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from gossamer.model.verdict import REDIRECTED, ClaimEnd

Row = dict[str, Any]
BY: dict[str, Callable[[Row], str]] = {
    "provider": lambda row: (
        str(row["proxy"]).partition("/")[0]
        if row.get("proxy") and "/" in row["proxy"]
        else row.get("proxy") or "none"
    ),
    "hour": lambda row: str(row.get("ts"))[11:13],
    "host": lambda row: str(row.get("host")),
    "reason": lambda row: str(row.get("error") or "none"),
    "rung": lambda row: str(row.get("rung")),
    "worker": lambda row: str(row.get("worker")),
    "region": lambda row: str(row.get("region") or "none"),
}
"""Maps each value of `--by`, such as `host`, to a function that returns the group of an attempt. Hours are in
UTC."""
MAX_KEPT_DURATIONS = 1000
"""The median and the 95th percentile of a group are computed from the durations of the last
MAX_KEPT_DURATIONS requests in the group."""


class AttemptGroup(msgspec.Struct):
    """Statistics of one group of attempts. `good`: the share of requests whose result was a page or a
    redirect. `seconds`: the mean, median and 95th percentile of the duration of a request."""

    group: str
    requests: int
    good: float
    blocked: int
    errors: dict[str, int]
    seconds: tuple[float, float, float]
    bytes: int
    credits: int


class _Sum:
    def __init__(self) -> None:
        self.requests = self.good = self.blocked = self.bytes = self.credits = 0
        self.total = 0.0
        self.errors: dict[str, int] = defaultdict(int)
        self.times: list[float] = []


def report(rows: Iterable[Row], by: str) -> list[AttemptGroup]:
    """Groups the attempts. Returns the groups with the most requests first, but hours in chronological order.
    `by`: one or more keys of BY, separated by commas."""
    sums: dict[str, _Sum] = defaultdict(_Sum)
    names = [BY[word] for word in by.split(",")]
    for row in rows:
        one = sums[" ".join(name(row) for name in names)]
        one.requests += 1
        one.good += row.get("outcome") in (ClaimEnd.DONE.word, REDIRECTED) and not row.get("error")
        one.blocked += bool(row.get("block"))
        one.bytes += row.get("bytes_wire") or 0
        one.credits += row.get("credits") or 0
        seconds = float(row.get("seconds") or 0.0)
        one.total += seconds
        if len(one.times) < MAX_KEPT_DURATIONS:
            one.times.append(seconds)
        else:
            one.times[one.requests % MAX_KEPT_DURATIONS] = seconds
        if row.get("error"):
            one.errors[str(row["error"])] += 1
    lines = [_line(group, one) for group, one in sums.items()]
    return sorted(lines, key=lambda line: (line.group if by == "hour" else "", -line.requests, line.group))


def _line(group: str, one: _Sum) -> AttemptGroup:
    times = sorted(one.times)
    middle, late = times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.95))]
    errors = dict(sorted(one.errors.items(), key=lambda pair: -pair[1]))
    mean = round(one.total / one.requests, 4)
    return AttemptGroup(
        group,
        one.requests,
        round(one.good / one.requests, 4),
        one.blocked,
        errors,
        (mean, middle, late),
        one.bytes,
        one.credits,
    )
