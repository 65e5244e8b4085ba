"""What becomes of the times that a cron line named since somebody looked last: run, made up for, or missed;
and when each run begins."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import NamedTuple

from gossamer.recrawl.cron import Cron

MISSED = ("run", "skip", "all")
OVERLAP = ("skip", "queue")
LATE = 60.0
"""Seconds after which a due time counts as missed; a scheduler that takes over needs a few."""
MOST = 10_000
"""Due times looked at in one go."""


class Due(NamedTuple):
    """Times in seconds since the epoch."""

    mark: float
    """All times up to here are decided."""
    made_up: list[float]
    """Missed, and to be run now."""
    on_time: list[float]
    missed: list[float]
    """Let go."""


def decide(cron: Cron, mark: float, now: float, missed: str = "run", most: int = 10) -> Due:
    """What to do about the times after `mark` up to `now`; `missed` is one of MISSED, `most` bounds `all`.

    >>> decide(Cron("0 * * * *"), 0, 4 * 3600 + 5)
    Due(mark=14400.0, made_up=[], on_time=[14400.0], missed=[3600.0, 7200.0, 10800.0])
    >>> decide(Cron("0 * * * *"), 0, 4 * 3600 + 600, "all", 2).made_up
    [10800.0, 14400.0]
    """
    times = []
    for at in islice(cron.all_after(mark), MOST + most + 1):
        if at > now:
            break
        times.append(at)
    else:  # more than we look at in one go: the rest of these stays for the next look
        times = times[:MOST]
        return Due(times[-1], [], [], times)
    late = [at for at in times if now - at > LATE]
    on_time = times[len(late) :]
    keep = 0 if missed == "skip" else most if missed == "all" else 0 if on_time else 1
    made_up = late[max(0, len(late) - keep) :] if keep else []
    return Due(times[-1] if times else mark, made_up, on_time, late[: len(late) - len(made_up)])


def starts(name: str, due: float, parts: int, jitter: float, spread: float) -> list[float]:
    """When each part of a run begins: spread evenly over a window, all of them later by the same jitter.

    The jitter follows from name and due time alone, so that all schedulers agree.

    >>> starts("nightly", 0.0, 4, 0, 7200)
    [0.0, 1800.0, 3600.0, 5400.0]
    """
    mark = hashlib.blake2b(f"{name}\t{due:.0f}".encode(), digest_size=8).digest()
    late = jitter * int.from_bytes(mark, "big") / 2**64
    return [due + late + spread * part / parts for part in range(parts)]
