"""How well a worker performs, and what follows: who visits hard hosts, and when a worker stops taking claims.

A worker keeps moving averages of its visits, separately for easy and hard hosts: the success rate, the
latency, the rate. Its score is the squared success rate divided by the root of the latency (latencies up to
50 ms count as 50 ms): failing half of the visits weighs as much as being sixteen times as slow. A worker that
has seen few hard hosts is judged by its easy ones, reduced by what hard hosts cost all workers.

| a worker | asks for hard hosts |
| --- | --- |
| whose score is at least nine tenths of the best live one that takes claims and has capacity | always |
| any other | when they have waited for 15 s |

A worker whose score for easy hosts is less than half of such a best one's leaves those to it for 0.3 s,
unless almost all its visits fail: such a worker should find out soon that it is cut off.

| the last 20 visits, to 3 or more hosts, all failed by the network (dns, connect, timeout) or were blocked | the worker |
| --- | --- |
| other workers succeed | takes no claims |
| there are other workers, and none succeeds | continues, because the hosts are the cause |
| there is no other worker, and 3 of these hosts have answered it before | takes no claims |
| there is no other worker, and they have not | continues |

While it takes no claims, it makes one visit every 30 s, and resumes when one succeeds.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

FORMAT = 1
"""The version of the records' format."""
NETWORK = ("dns", "connect", "timeout")
LAST_VISITS = 20
HOSTS = 3
PROBE_INTERVAL_S = 30.0
"""Seconds between the visits of a worker that is out."""
FRESH_S = 12.0
"""Seconds for which a worker's record is current."""
MARGIN = 0.9
PRIOR = 5
"""For this many visits of hard hosts, visits of easy hosts count as well."""
FLOOR = 0.05
POOR, HOPELESS = 0.5, 0.2
HARD_WAIT_MS, EASY_WAIT_MS = 15_000, 300
"""Milliseconds for which hosts are left to better workers."""
WEIGHT = 0.02
MAX_HOSTS = 2_000


class MovingMeans(msgspec.Struct):
    """Moving averages of one kind of visits. Latency in seconds, rate in visits per second."""

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
    """The record of a worker that other workers see. `at`: seconds of the store's clock."""

    name: str
    serves: str = ""
    """The heaps from which it claims. Workers of other lanes and regions do not compete with it."""
    at: float = 0.0
    room: bool = True
    """Whether it could take more claims."""
    out: str = ""
    """Why it takes no claims, or ''."""
    easy: MovingMeans = msgspec.field(default_factory=MovingMeans)
    hard: MovingMeans = msgspec.field(default_factory=MovingMeans)
    good_at: float = 0.0
    """When a visit of it last succeeded."""
    format: int = FORMAT


def read(raws: Iterable[bytes]) -> list[WorkerScore]:
    """Decodes the records that workers wrote. Records in another format are left out."""
    found = []
    for raw in raws:
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(raw, type=WorkerScore))
    return [one for one in found if one.format == FORMAT]


def score(record: WorkerScore, hardness: float = 1.0) -> float:
    """Returns how good a worker is for hard hosts, 1 if nothing is known about it. `hardness`: see
    `hardness`.

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
    """Returns how good a worker is for easy hosts."""
    return float(record.easy.success**2 / max(record.easy.latency, FLOOR) ** 0.5) if record.easy.n else 1.0


def wait_times(mine: WorkerScore, others: Sequence[WorkerScore], now: float) -> tuple[int, int]:
    """Returns the milliseconds that easy and hard hosts must have waited before this worker claims them."""
    best = max((easy_score(one) for one in _rivals(mine, others, now)), default=0.0)
    easy = EASY_WAIT_MS if easy_score(mine) < POOR * best and mine.easy.success > HOPELESS else 0
    return easy, 0 if among_best(mine, others, now) else HARD_WAIT_MS


def among_best(mine: WorkerScore, others: Iterable[WorkerScore], now: float) -> bool:
    """Returns whether a worker should claim hard hosts as soon as they are ready."""
    rivals = _rivals(mine, others, now)
    factor = hardness([mine, *rivals])
    best = max((score(one, factor) for one in rivals), default=0.0)
    return not mine.out and score(mine, factor) >= MARGIN * best


def hardness(records: Iterable[WorkerScore]) -> float:
    """Returns how much less often visits of hard hosts succeed than those of easy ones, over all workers. 1
    if nothing is known.

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
    """Returns the summary of the records of a worker's processes: the mean score weighted by visits (None: no
    recent visits), and the reason why the worker takes no claims.

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
    """The last visits of a worker, and the hosts that answered it."""

    def __init__(self) -> None:
        self._last: deque[tuple[str, str]] = deque(maxlen=LAST_VISITS)
        self._answered: dict[str, None] = {}

    def saw(self, host: str, failed: str) -> None:
        """Records the end of a visit. `failed`: dns, connect, timeout or blocked, '' if the host answered."""
        if not failed:
            self._last.clear()
            if host not in self._answered:
                if len(self._answered) >= MAX_HOSTS:
                    self._answered.pop(next(iter(self._answered)))
                self._answered[host] = None
            return
        self._last.append((host, failed))

    def out(self, others: Iterable[WorkerScore], now: float) -> str:
        """Returns why the worker should take no claims, or ''."""
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
        """Starts over."""
        self._last.clear()
