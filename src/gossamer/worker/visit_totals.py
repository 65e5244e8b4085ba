"""Counts the requests of settled visits for the metrics of all crawls (`observability.totals`).

The counts are written to the store in the same call that settles the claims. A killed worker therefore
neither loses nor repeats the counts of a settled visit. The name of a count has the form `WHAT|LABEL|LABEL`.
Most labels come from fixed lists. The labels for domains, collectors, item kinds and proxy providers are
open-ended, so this module limits how many distinct labels of each kind are used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from gossamer.model.response_times import BOUNDS_S
from gossamer.model.verdict import CLIMBED, REDIRECTED, ClaimEnd
from gossamer.model.visit import Attempt, Visit
from gossamer.url import registered_domain

OTHER = "other"
"""The label that all names beyond a limit share."""
MAX_COLLECTORS, MAX_KINDS, MAX_PROVIDERS = 12, 50, 20
MIN_REQUESTS = 10
"""After this many requests to a domain, this process proposes that the domain gets separate metrics."""
MAX_WATCHED = 1000
"""Maximum number of domains whose requests a process counts."""
_OK = frozenset((ClaimEnd.DONE.word, REDIRECTED))


_At = tuple[str, str, int, str, str]


class LabelLimit:
    """Limits the number of distinct labels for one kind of name. The first `most` names are used as labels.
    All later names are replaced by the label OTHER."""

    def __init__(self, most: int) -> None:
        self._most, self._known = most, set[str]()

    def __call__(self, name: str) -> str:
        """Returns the label of a name. A `|` in a name is replaced, because this character separates
        labels."""
        if name in self._known:
            return name
        name = name.replace("|", "_")[:100]
        if name in self._known or len(self._known) < self._most:
            self._known.add(name)
            return name
        return OTHER


class TotalsOfVisits:
    """Counts the visits of one process for the metrics.

    - `lane`, `region`: the lane and the region of this worker.
    - `domains`: the registered domains that have their own metrics. All other domains are counted as OTHER.
      The set `domains` may grow while the process runs.
    - `ask`: a function that is called with a domain after MIN_REQUESTS requests, to propose that the domain
      is added to `domains`.
    """

    def __init__(
        self, lane: str, region: str, domains: Collection[str] = (), ask: Callable[[str], None] | None = None
    ) -> None:
        self._lane, self._domains, self._ask = f"lane|{lane}|{region}", domains, ask
        self._collector, self._kind, self._provider = (
            LabelLimit(most) for most in (MAX_COLLECTORS, MAX_KINDS, MAX_PROVIDERS)
        )
        self._requests: Counter[str] = Counter()
        self._names: dict[_At, tuple[str, ...]] = {}
        self._domain = lru_cache(10_000)(lambda host: registered_domain(host).replace("|", "_"))

    def __call__(self, visits: Collection[Visit], counts: Mapping[str, int]) -> Counter[str]:
        """Returns the amounts that the given visits add to the totals. `counts`: the sum of the counts of the
        visits. If `counts` is a dict, the number of requests is added under the key `requests`."""
        totals: Counter[str] = Counter()
        made = 0
        for visit in visits:
            if visit.settle.end == ClaimEnd.RETRY:
                totals[f"retried|{visit.settle.reason}"] += 1
            if visit.attempts:
                made += len(visit.attempts)
                self._requests_of(visit, totals)
        for name, n in counts.items():
            if name.startswith("q|") and n > 0:
                _, _, what, *rest = name.split("|", 3)
                if what in "ib":
                    totals[f"items|{self._kind(rest[0])}|{what}"] += n
        if pages := counts.get("pages"):
            totals[self._lane] += pages
        if made and isinstance(counts, dict):
            counts["requests"] = made
        return totals

    def _requests_of(self, visit: Visit, totals: Counter[str]) -> None:
        domain = self._label(self._domain(visit.claim.host))
        rung = ""
        for one in visit.attempts:
            what = result_of(one)
            short = "blocked" if one.block or what == "blocked" else "ok" if what == "ok" else "error"
            at = one.collector, what, bisect_left(BOUNDS_S, one.seconds), domain, short
            names = self._names.get(at)
            if names is None:
                names = self._remember(at)
            for name in names[:3]:
                totals[name] += 1
            totals[names[3]] += round(one.seconds * 10_000)
            totals[names[4]] += one.bytes_wire
            totals[names[5]] += one.bytes_decoded
            if one.credits:
                totals[f"credits|{self._collector(one.collector)}"] += one.credits
            if one.proxy is not None:
                totals[f"proxy|{self._provider(one.proxy.partition('/')[0])}|{short}"] += 1
            if rung and one.rung != rung:
                totals[f"climbed|{rung}|{one.rung}"] += 1
            rung = one.rung
        if visit.claim.kind == "robots":
            totals[f"robots|{result_of(visit.attempts[-1])}"] += 1

    def _remember(self, at: _At) -> tuple[str, ...]:
        """Returns the names of the totals that count a request, and caches these names."""
        collector, what, interval, domain, short = at
        collector = self._collector(collector)
        own = (f"{name}|{collector}" for name in ("seconds", "wire", "decoded"))
        names = f"requests|{collector}|{what}", f"le|{collector}|{interval}", f"domain|{domain}|{short}", *own
        if len(self._names) >= MAX_WATCHED:
            self._names.clear()
        self._names[at] = names
        return names

    def _label(self, domain: str) -> str:
        if domain in self._domains:
            return domain
        if self._ask is not None and (domain in self._requests or len(self._requests) < MAX_WATCHED):
            self._requests[domain] += 1
            if self._requests[domain] == MIN_REQUESTS:
                self._ask(domain)
        return OTHER


def result_of(attempt: Attempt) -> str:
    """Returns the outcome of one request for the metrics. If the request has an error, the outcome is the
    error. If the visit climbed to a higher rung after the request, the outcome is `blocked`. After a success
    or a redirect, the outcome is `ok`. In all other cases, the result is the outcome in the attempts log."""
    if attempt.error:
        return attempt.error
    if attempt.outcome == CLIMBED:
        return "blocked"
    return "ok" if attempt.outcome in _OK else attempt.outcome
