"""Decides for each due time of a cron line whether a run starts on time, starts late or does not start. Also
computes the start time of each part of a run."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import NamedTuple

from gossamer.recrawl.cron import Cron

MISSED = ("run", "skip", "all")
OVERLAP = ("skip", "queue")
MISSED_AFTER_S = 60.0
"""Age in seconds after which a due time counts as missed. MISSED_AFTER_S must not be much shorter, because a
scheduler needs a few seconds to take over from another scheduler."""
MAX_DUE_TIMES = 10_000
"""Maximum number of due times that one call of `decide` handles."""


class Due(NamedTuple):
    """The decision about due times. All times are in seconds since the epoch."""

    mark: float
    """The time up to which all due times have been processed."""
    made_up: list[float]
    """Missed due times whose runs start now."""
    on_time: list[float]
    missed: list[float]
    """Missed due times whose runs do not start."""


def decide(cron: Cron, mark: float, now: float, missed: str = "run", most: int = 10) -> Due:
    """Decides which due times after `mark` and up to `now` are run. The due times up to `mark` were decided
    by earlier calls. `missed`: one of MISSED. This value determines which of the missed due times are run.
    `most`: the maximum number of missed due times that are run if `missed` is `all`.

    >>> decide(Cron("0 * * * *"), 0, 4 * 3600 + 5)
    Due(mark=14400.0, made_up=[], on_time=[14400.0], missed=[3600.0, 7200.0, 10800.0])
    >>> decide(Cron("0 * * * *"), 0, 4 * 3600 + 600, "all", 2).made_up
    [10800.0, 14400.0]
    """
    times = []
    for at in islice(cron.all_after(mark), MAX_DUE_TIMES + most + 1):
        if at > now:
            break
        times.append(at)
    else:  # more due times than one call handles, so the next call handles the rest
        times = times[:MAX_DUE_TIMES]
        return Due(times[-1], [], [], times)
    late = [at for at in times if now - at > MISSED_AFTER_S]
    on_time = times[len(late) :]
    keep = 0 if missed == "skip" else most if missed == "all" else 0 if on_time else 1
    made_up = late[max(0, len(late) - keep) :] if keep else []
    return Due(times[-1] if times else mark, made_up, on_time, late[: len(late) - len(made_up)])


def start_times(name: str, due: float, parts: int, jitter: float, spread: float) -> list[float]:
    """Returns the start time of each part of a run. The start times of the parts are spread evenly over
    `spread` seconds.

    A random delay of at most `jitter` seconds is added to all start times. The delay is derived only from the
    name and the due time, so all schedulers compute the same delay.

    >>> start_times("nightly", 0.0, 4, 0, 7200)
    [0.0, 1800.0, 3600.0, 5400.0]
    """
    mark = hashlib.blake2b(f"{name}\t{due:.0f}".encode(), digest_size=8).digest()
    late = jitter * int.from_bytes(mark, "big") / 2**64
    return [due + late + spread * part / parts for part in range(parts)]
