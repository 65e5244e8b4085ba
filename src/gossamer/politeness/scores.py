"""Scores how well a worker performs. The scores decide which workers visit hard hosts, and when a worker
stops taking claims.

A worker keeps moving averages of its visits, separately for easy and hard hosts: the success rate, the
latency, and the number of visits per second. Its score is the square of the success rate divided by the
square root of the latency (latencies up to 50 ms count as 50 ms). If the success rate falls by half, the
score falls to a quarter. If the latency grows sixteenfold, the score also falls to a quarter. If a worker has
visited few hard hosts, its results for easy hosts are used too. In this case, the success rate for easy hosts
is multiplied by the factor `hardness`. This factor is the success rate of all workers for hard hosts divided
by their success rate for easy hosts.

| the worker's score | the worker claims a hard host |
| --- | --- |
| at least 90% of the best score | at once |
| less than 90% of the best score | after the host has waited for 15 s |

If a worker's score for easy hosts is less than half of the best score, the worker leaves easy hosts to the
other workers for 0.3 s. The best score is the highest score of the live workers that take claims and have
capacity. However, if at most 20% of a worker's visits to easy hosts succeed, the worker does not leave easy
hosts to other workers. The worker may have lost its network connection, and more visits show this sooner.

A second table applies if the worker's last 20 visits went to 3 or more hosts, and each of these visits was
blocked or failed in the network (dns, connect, timeout).

| case | consequence |
| --- | --- |
| other workers succeed | this worker takes no claims |
| other workers also fail | this worker still takes claims, because the hosts cause the failures |
| there are no other workers, and at least 3 of the hosts have answered this worker before | this worker takes no claims |
| there are no other workers, and at most 2 of the hosts have answered this worker before | this worker still takes claims |

A worker that takes no claims makes one test visit every 30 s, and resumes when a test visit succeeds.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

FORMAT = 1
"""The format version of a worker's score record."""
NETWORK = ("dns", "connect", "timeout")
LAST_VISITS = 20
HOSTS = 3
PROBE_INTERVAL_S = 30.0
"""Seconds between the test visits of a worker that takes no claims."""
FRESH_S = 12.0
"""A worker's score record is current until the record is this many seconds old."""
MARGIN = 0.9
PRIOR = 5
"""The score for hard hosts also uses the results for easy hosts. PRIOR is the maximum weight of these
results, as a number of visits."""
FLOOR = 0.05
POOR, HOPELESS = 0.5, 0.2
HARD_WAIT_MS, EASY_WAIT_MS = 15_000, 300
"""Milliseconds for which a worker leaves hard hosts (HARD_WAIT_MS) and easy hosts (EASY_WAIT_MS) to better
workers."""
WEIGHT = 0.02
MAX_HOSTS = 2_000


class MovingMeans(msgspec.Struct):
    """Moving averages over the visits to easy hosts, or over the visits to hard hosts. `latency` is in
    seconds. `rate` is in visits per second."""

    n: int = 0
    success: float = 0.0
    latency: float = 0.0
    rate: float = 0.0

    def saw(self, good: bool, seconds: float) -> None:
        """Adds a visit. The latency of a failure is ignored."""
        self.n += 1
        weight = max(WEIGHT, 1 / self.n)
        self.success += weight * (good - self.success)
        if good:
            self.latency = (
                seconds
                if not self.latency
                else self.latency + max(WEIGHT, 1 / self.n) * (seconds - self.latency)
            )


class WorkerScore(msgspec.Struct):
    """The score record of a worker. The other workers can read the record. `at`: the time of writing on the
    store's clock, in seconds."""

    name: str
    serves: str = ""
    """The heaps from which the worker claims. A worker is only compared with workers that claim from the same
    heaps."""
    at: float = 0.0
    room: bool = True
    """Whether the worker could take more claims."""
    out: str = ""
    """The reason why the worker takes no claims, or ''."""
    easy: MovingMeans = msgspec.field(default_factory=MovingMeans)
    hard: MovingMeans = msgspec.field(default_factory=MovingMeans)
    good_at: float = 0.0
    """The time of the worker's last successful visit."""
    concurrency: int = 0
    """Maximum number of concurrent visits in the worker's process."""
    limit: str = ""
    """The limit that applies to `concurrency` (`worker.concurrency_level`)."""
    format: int = FORMAT


def read(raws: Iterable[bytes]) -> list[WorkerScore]:
    """Decodes the records that workers wrote. Records in another format are left out."""
    found = []
    for raw in raws:
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(raw, type=WorkerScore))
    return [one for one in found if one.format == FORMAT]


def score(record: WorkerScore, hardness: float = 1.0) -> float:
    """Returns a worker's score for hard hosts, or 1 if it has made no visits. `hardness`: the result of the
    function `hardness`.

    >>> round(score(WorkerScore("w", easy=MovingMeans(100, 1.0, 0.2), hard=MovingMeans(100, 0.5, 0.2))), 2)
    0.61
    """
    hard, easy = record.hard, record.easy
    prior = min(PRIOR, easy.n)
    seen = hard.n + prior
    if not seen:
        return 1.0
    success = (hard.n * hard.success + prior * easy.success * hardness) / seen
    latency = hard.latency or easy.latency
    return float(success**2 / max(latency, FLOOR) ** 0.5)


def easy_score(record: WorkerScore) -> float:
    """Returns a worker's score for easy hosts."""
    return float(record.easy.success**2 / max(record.easy.latency, FLOOR) ** 0.5) if record.easy.n else 1.0


def wait_times(mine: WorkerScore, others: Sequence[WorkerScore], now: float) -> tuple[int, int]:
    """Returns two waiting times in ms: one for easy hosts and one for hard hosts. This worker may claim a
    host only after the host has waited this long."""
    best = max((easy_score(one) for one in _rivals(mine, others, now)), default=0.0)
    easy = EASY_WAIT_MS if easy_score(mine) < POOR * best and mine.easy.success > HOPELESS else 0
    return easy, 0 if among_best(mine, others, now) else HARD_WAIT_MS


def among_best(mine: WorkerScore, others: Iterable[WorkerScore], now: float) -> bool:
    """Returns whether a worker is good enough to claim hard hosts as soon as they are ready."""
    rivals = _rivals(mine, others, now)
    factor = hardness([mine, *rivals])
    best = max((score(one, factor) for one in rivals), default=0.0)
    return not mine.out and score(mine, factor) >= MARGIN * best


def hardness(records: Iterable[WorkerScore]) -> float:
    """Returns the success rate for hard hosts divided by the success rate for easy hosts. The result is a
    mean over the workers, weighted by each worker's visits to hard hosts. Workers whose success rate for easy
    hosts is at most HOPELESS are left out. Returns 1 if none of the remaining workers has visited a hard
    host.

    >>> hardness([WorkerScore("w", easy=MovingMeans(10, 0.8), hard=MovingMeans(100, 0.4)), WorkerScore("v", easy=MovingMeans(10, 1.0))])
    0.5
    """
    known = [one for one in records if one.hard.n and one.easy.success > HOPELESS]
    visits = sum(one.hard.n for one in known)
    return (
        min(1.0, sum(one.hard.n * one.hard.success / one.easy.success for one in known) / visits)
        if visits
        else 1.0
    )


def _rivals(mine: WorkerScore, others: Iterable[WorkerScore], now: float) -> list[WorkerScore]:
    living = [
        one for one in others if one.name != mine.name and alive(one, now) and one.serves == mine.serves
    ]
    return [one for one in living if not one.out and one.room]


def alive(record: WorkerScore, now: float) -> bool:
    """Returns whether a worker's record is current."""
    return now - record.at <= FRESH_S


def merit(worker: str, records: Iterable[WorkerScore], now: float) -> dict[str, float | str | None]:
    """Summarizes the records of a worker's processes. `score`: the mean score, weighted by visits, or None if
    there are no recent visits. `out`: the reason why the worker takes no claims, or ''.

    >>> ours = [WorkerScore("w.1", at=99.0, easy=MovingMeans(30, 1.0, 0.04)), WorkerScore("w.2", at=99.0, out="its last 20 visits failed")]
    >>> found = merit("w", ours, 100.0)
    >>> round(found["score"], 2), found["out"]
    (4.47, 'its last 20 visits failed')
    """
    own = [one for one in records if one.name.rpartition(".")[0] == worker and alive(one, now)]
    visits = sum(one.easy.n + one.hard.n for one in own)
    mean = sum(score(one) * (one.easy.n + one.hard.n) for one in own) / visits if visits else None
    return {"score": mean, "out": next((one.out for one in own if one.out), "")}


class LastVisits:
    """The failed visits of a worker since its last success, and the hosts that answered the worker."""

    def __init__(self) -> None:
        self._last: deque[tuple[str, str]] = deque(maxlen=LAST_VISITS)
        self._answered: dict[str, None] = {}

    def saw(self, host: str, failed: str) -> None:
        """Records the end of a visit. `failed`: `dns`, `connect`, `timeout` or `blocked`, or '' if the host
        answered."""
        if not failed:
            self._last.clear()
            if host not in self._answered:
                if len(self._answered) >= MAX_HOSTS:
                    self._answered.pop(next(iter(self._answered)))
                self._answered[host] = None
            return
        self._last.append((host, failed))

    def out(self, others: Iterable[WorkerScore], now: float) -> str:
        """Returns the reason why the worker should take no claims, or ''."""
        hosts = {host for host, _ in self._last}
        if len(self._last) < LAST_VISITS or len(hosts) < HOSTS:
            return ""
        living = [one for one in others if alive(one, now)]
        if living:
            known = any(not one.out and now - one.good_at <= FRESH_S for one in living)
        else:
            known = len(hosts & self._answered.keys()) >= HOSTS
        if not known:
            return ""
        why = sorted({failed for _, failed in self._last})
        return f"its last {LAST_VISITS} visits, to {len(hosts)} hosts, failed ({', '.join(why)})" + (
            " while others succeed" if living else ""
        )

    def clear(self) -> None:
        """Removes all visits and hosts."""
        self._last.clear()
