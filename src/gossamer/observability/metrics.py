"""The metrics of a store: their names, types, labels and meaning, and their values in a snapshot.

Names follow Prometheus: one prefix, base units, `_total` for counters. The number of series is bounded for
every crawl. The values of labels come from closed lists. At most 50 domains, 50 crawls and MAX_FIELDS item
fields have their own series.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gossamer import __version__
from gossamer.frontier.crawls import UNDER_WAY
from gossamer.model.response_times import BOUNDS_S
from gossamer.model.verdict import ERRORS
from gossamer.observability.snapshot import CrawlNow, Snapshot
from gossamer.recrawl.freshness import Freshness

MAX_FIELDS = 200
"""Maximum number of item fields that have a series of their own."""
MAX_WORKERS = 500

Sample = tuple[str, tuple[str, ...], float]
"""A sample of a metric. The tuple contains the suffix of the sample's name (for example `_bucket`, usually
''), the values of the labels, and the value of the sample."""


class Metric(NamedTuple):
    """One metric. `read` yields the samples of the metric."""

    name: str
    kind: str
    """The type of the metric: `counter`, `gauge` or `histogram`."""
    text: str
    labels: tuple[str, ...]
    read: Callable[[Snapshot], Iterator[Sample]]


def _total(what: str, known: Sequence[str] = ()) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns a function that yields the totals named `WHAT|LABEL|...`. `known`: labels whose series exist
    with the value 0 before anything is counted, because Prometheus sees no increase when a new series
    appears."""

    def read(found: Snapshot) -> Iterator[Sample]:
        counts: dict[tuple[str, ...], int] = {(label,): 0 for label in known}
        counts.update(found.labelled(what))
        for labels, n in counts.items():
            yield "", labels, n

    return read


def _plain(name: str) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns a function that yields the total `name`, which has no labels."""
    return lambda found: iter([("", (), float(found.totals[name]))])


def _prefixed(prefix: str, known: Sequence[str] = ()) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns a function that yields the totals whose names consist of `prefix` and a word. `known`: words
    that get a series with the value 0 before anything is counted, for the same reason as in `_total`."""

    def read(found: Snapshot) -> Iterator[Sample]:
        names = {name for name in found.totals if name.startswith(prefix)} | {prefix + word for word in known}
        for name in sorted(names):
            yield "", (name.removeprefix(prefix),), found.totals[name]

    return read


def _items(found: Snapshot) -> Iterator[Sample]:
    kinds = sorted({name.split("|")[1] for name in found.totals if name.startswith("items|")})
    for kind in kinds:
        bad = found.totals[f"items|{kind}|b"]
        yield "", (kind, "true"), found.totals[f"items|{kind}|i"] - bad
        yield "", (kind, "false"), bad


def _durations(found: Snapshot) -> Iterator[Sample]:
    collectors = sorted({name.split("|")[1] for name in found.totals if name.startswith("le|")})
    for collector in collectors:
        total = 0
        for j, bound in enumerate((*BOUNDS_S, "+Inf")):
            total += found.totals[f"le|{collector}|{j}"]
            yield "_bucket", (collector, str(bound)), total
        yield "_sum", (collector,), found.totals[f"seconds|{collector}"] / 10_000
        yield "_count", (collector,), total


def _crawls(read: Callable[[CrawlNow, Snapshot], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    def samples(found: Snapshot) -> Iterator[Sample]:
        for one in found.crawls:
            if (value := read(one, found)) is not None:
                yield "", (one.name,), value

    return samples


def _recent_dead(found: Snapshot) -> Iterator[Sample]:
    for one in found.crawls:
        for site, reason, n in one.dead:
            yield "", (one.name, site, reason), n


def _page_age(one: CrawlNow, found: Snapshot) -> float | None:
    if one.state not in UNDER_WAY:
        return None
    return max(0.0, found.now - (one.recent.last or one.started_at))


def _fresh(read: Callable[[Freshness], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns a function that yields one sample for each crawl that visits its pages again. `read` returns
    the sample's value, given the freshness of the crawl's copies of pages."""
    return _crawls(lambda one, _: None if one.freshness is None else read(one.freshness))


def _fresh_pages(found: Snapshot) -> Iterator[Sample]:
    for one in found.crawls:
        if (fresh := one.freshness) is not None:
            yield "", (one.name, "known"), fresh.pages
            yield "", (one.name, "never_changed"), fresh.never_changed
            yield "", (one.name, "always_changed"), fresh.always_changed
            yield "", (one.name, "too_old"), fresh.over_age


def _limits(found: Snapshot) -> Iterator[Sample]:
    counts = Counter((one.crawl, one.limit) for one in found.levels)
    for (crawl, limit), n in sorted(counts.items()):
        yield "", (crawl, limit), n


def _coverage(found: Snapshot) -> Iterator[Sample]:
    most = MAX_FIELDS
    for one in found.crawls:
        for site, quality in one.sites.items() if one.state in UNDER_WAY else ():
            for field, share in quality.coverage.items():
                if share == share and (most := most - 1) >= 0:
                    kind, _, name = field.partition(".")
                    yield "", (one.name, site, kind, name), share


def _drift(found: Snapshot) -> Iterator[Sample]:
    for one in found.crawls:
        for site, quality in one.sites.items() if one.state in UNDER_WAY else ():
            for what, fall in list(quality.drift.items())[:MAX_FIELDS]:
                yield "", (one.name, site, what), fall


def _workers(found: Snapshot) -> Iterator[Sample]:
    for one in found.workers[:MAX_WORKERS]:
        yield "", (one.name, one.region), float(one.state not in ("gone", "unread"))


def _worker_count(found: Snapshot) -> Iterator[Sample]:
    counts: dict[tuple[str, ...], float] = {}
    for one in found.workers:
        for lane in one.lanes:
            name = (lane, one.region, one.state)
            counts[name] = counts.get(name, 0) + 1
    yield from (("", name, n) for name, n in sorted(counts.items()))


METRICS: tuple[Metric, ...] = (
    Metric(
        "gossamer_build_info",
        "gauge",
        "Always 1. The labels contain the versions of gossamer and of Python.",
        ("version", "python"),
        lambda _: iter([("", (__version__, platform.python_version()), 1)]),
    ),
    Metric(
        "gossamer_requests_total",
        "counter",
        "Requests by their outcome: ok, an error, a skip, or an outcome "
        "that does not end the claim. robots.txt is included.",
        ("collector", "outcome"),
        _total("requests"),
    ),
    Metric(
        "gossamer_request_duration_seconds",
        "histogram",
        "Time from the start of a request to its last byte.",
        ("collector", "le"),
        _durations,
    ),
    Metric(
        "gossamer_wire_bytes_total", "counter", "Bytes of bodies as received.", ("collector",), _total("wire")
    ),
    Metric(
        "gossamer_decoded_bytes_total",
        "counter",
        "Bytes of decoded bodies.",
        ("collector",),
        _total("decoded"),
    ),
    Metric(
        "gossamer_domain_requests_total",
        "counter",
        "Requests by registered domain, for at most 50 domains and `other`.",
        ("domain", "result"),
        _total("domain"),
    ),
    Metric(
        "gossamer_pages_total",
        "counter",
        "Pages of all crawls, by the lanes and the region of the worker.",
        ("lane", "region"),
        _total("lane"),
    ),
    Metric("gossamer_redirects_total", "counter", "URLs that were redirected.", (), _plain("redirected")),
    Metric(
        "gossamer_page_errors_total",
        "counter",
        "Pages and URLs that ended with an error.",
        ("reason",),
        _prefixed("err:", ERRORS),
    ),
    Metric(
        "gossamer_skipped_total",
        "counter",
        "URLs that were found and skipped, by reason.",
        ("reason",),
        _prefixed("skip:"),
    ),
    Metric("gossamer_urls_added_total", "counter", "New URLs.", (), _plain("added")),
    Metric(
        "gossamer_retries_total",
        "counter",
        "Visits that will be tried again.",
        ("reason",),
        _total("retried"),
    ),
    Metric(
        "gossamer_escalations_total",
        "counter",
        "Visits that climbed from one rung to another.",
        ("from", "to"),
        _total("climbed"),
    ),
    Metric(
        "gossamer_dead_letters_total",
        "counter",
        "Requests that failed permanently.",
        ("reason",),
        _total("dead", ERRORS),
    ),
    Metric(
        "gossamer_leases_expired_total",
        "counter",
        "Claims that returned to the queue because their worker did not renew them.",
        (),
        _plain("lapsed"),
    ),
    Metric(
        "gossamer_breaker_openings_total",
        "counter",
        "Openings of circuit breakers of hosts (`open`), and hosts that gossamer gave up on.",
        ("state",),
        _total("breaker", ("open", "given-up")),
    ),
    Metric(
        "gossamer_robots_fetches_total", "counter", "Requests for robots.txt.", ("result",), _total("robots")
    ),
    Metric("gossamer_items_total", "counter", "Items by kind.", ("kind", "valid"), _items),
    Metric("gossamer_files_total", "counter", "Files of items that were downloaded.", (), _plain("files")),
    Metric(
        "gossamer_proxy_requests_total",
        "counter",
        "Requests through proxies.",
        ("provider", "result"),
        _total("proxy"),
    ),
    Metric(
        "gossamer_unlocker_credits_total",
        "counter",
        "Credits that unlockers charged.",
        ("collector",),
        _total("credits"),
    ),
    Metric(
        "gossamer_crawl_state",
        "gauge",
        "Always 1. The label `state` contains the state of the crawl.",
        ("crawl", "state"),
        lambda found: (("", (one.name, one.state), 1) for one in found.crawls),
    ),
    Metric(
        "gossamer_crawl_pages",
        "gauge",
        "Pages of the crawl.",
        ("crawl",),
        _crawls(lambda one, _: one.count("pages")),
    ),
    Metric(
        "gossamer_crawl_pending",
        "gauge",
        "Pages that are queued or being visited.",
        ("crawl",),
        _crawls(lambda one, _: one.pending),
    ),
    Metric(
        "gossamer_crawl_in_flight",
        "gauge",
        "Claims that workers hold.",
        ("crawl",),
        _crawls(lambda one, _: one.in_flight),
    ),
    Metric(
        "gossamer_crawl_dead_letters",
        "gauge",
        "Dead letters of the crawl.",
        ("crawl",),
        _crawls(lambda one, _: one.count("dead")),
    ),
    Metric(
        "gossamer_crawl_given_up",
        "gauge",
        "Requests of the crawl that were given up, including dead letters that were requeued or dropped later.",
        ("crawl",),
        _crawls(lambda one, _: one.count("letter")),
    ),
    Metric(
        "gossamer_crawl_recent_dead_letters",
        "gauge",
        "Dead letters of the last 15 minutes, for the most frequent sites (hosts) and reasons.",
        ("crawl", "site", "reason"),
        _recent_dead,
    ),
    Metric(
        "gossamer_crawl_items",
        "gauge",
        "Items of the crawl.",
        ("crawl",),
        _crawls(lambda one, _: one.count("items")),
    ),
    Metric(
        "gossamer_crawl_rejected_items",
        "gauge",
        "Rejected items of the crawl.",
        ("crawl",),
        _crawls(lambda one, _: one.count("rejected")),
    ),
    Metric(
        "gossamer_crawl_pages_per_second",
        "gauge",
        "Pages per second in the last minute.",
        ("crawl",),
        _crawls(lambda one, _: one.recent.pages[0] if one.state in UNDER_WAY else None),
    ),
    Metric(
        "gossamer_crawl_last_page_age_seconds",
        "gauge",
        "Time since the last page of a running crawl, or since its start.",
        ("crawl",),
        _crawls(_page_age),
    ),
    Metric(
        "gossamer_item_field_coverage_ratio",
        "gauge",
        "Share of the items of a running crawl in which a field has a value.",
        ("crawl", "site", "kind", "field"),
        _coverage,
    ),
    Metric(
        "gossamer_site_drift_ratio",
        "gauge",
        "How far a value of a running crawl is below its value in the last good runs of the site. "
        "The value is the coverage of a field, the quality, or the yield.",
        ("crawl", "site", "what"),
        _drift,
    ),
    Metric(
        "gossamer_crawl_waits_for_output",
        "gauge",
        "1 if an output of a running crawl does not answer.",
        ("crawl",),
        _crawls(lambda one, _: float(one.waits_for_output) if one.state in UNDER_WAY else None),
    ),
    Metric(
        "gossamer_freshness_pages",
        "gauge",
        "Pages of a crawl that visits them again: known, never_changed and always_changed (in at least three "
        "visits), too_old (older than the maximum age).",
        ("crawl", "pages"),
        _fresh_pages,
    ),
    Metric(
        "gossamer_freshness_expected_stale_ratio",
        "gauge",
        "Share of time for which a page is expected to be stale, on average over the pages.",
        ("crawl",),
        _fresh(lambda one: one.expected_stale),
    ),
    Metric(
        "gossamer_freshness_measured_stale_ratio",
        "gauge",
        "Measured share of time for which copies were stale. A visit that finds a change counts half of the time since the previous visit.",
        ("crawl",),
        _fresh(lambda one: one.measured_stale),
    ),
    Metric(
        "gossamer_freshness_stale_now_ratio",
        "gauge",
        "Share of pages that are expected to have changed since their last visit.",
        ("crawl",),
        _fresh(lambda one: one.stale_now),
    ),
    Metric(
        "gossamer_freshness_budget_visits_per_day",
        "gauge",
        "Visits of known pages per day that the budget allows.",
        ("crawl",),
        _fresh(lambda one: one.budget),
    ),
    Metric(
        "gossamer_freshness_budget_used_ratio",
        "gauge",
        "Share of the budget that was used since the process began.",
        ("crawl",),
        _fresh(lambda one: one.budget_used),
    ),
    Metric(
        "gossamer_freshness_saved_visits_per_day",
        "gauge",
        "Additional visits per day that equal intervals would need for the same freshness.",
        ("crawl",),
        _fresh(lambda one: one.saved),
    ),
    Metric(
        "gossamer_unlocker_credits_daily_max",
        "gauge",
        "Maximum credits per day, if the exporter has the setting `credits_daily`.",
        (),
        lambda found: iter([("", (), found.credits_daily)] if found.credits_daily is not None else []),
    ),
    Metric(
        "gossamer_lane_hosts",
        "gauge",
        "Hosts of running crawls that may get a request now (`ready`) or later (`waiting`).",
        ("lane", "region", "state"),
        lambda found: (
            ("", (one.lane, one.region, state), n)
            for one in found.lanes
            for state, n in (("ready", one.ready), ("waiting", one.waiting))
        ),
    ),
    Metric(
        "gossamer_lane_oldest_ready_seconds",
        "gauge",
        "Time for which the first ready host has waited for a worker.",
        ("lane", "region"),
        lambda found: (("", (one.lane, one.region), one.oldest) for one in found.lanes),
    ),
    Metric(
        "gossamer_concurrency_level",
        "gauge",
        "Maximum number of concurrent visits of a process, over all of its crawls.",
        ("crawl", "process"),
        lambda found: (("", (one.crawl, one.process), one.visits) for one in found.levels[:MAX_WORKERS]),
    ),
    Metric(
        "gossamer_concurrency_limit_processes",
        "gauge",
        "Processes that work on the crawl, by the limit of their concurrent visits.",
        ("crawl", "limit"),
        _limits,
    ),
    Metric("gossamer_workers", "gauge", "Workers of the fleet.", ("lane", "region", "state"), _worker_count),
    Metric(
        "gossamer_worker_up",
        "gauge",
        "1 if the worker sent a heartbeat in the last 15 s, 0 if it is gone.",
        ("worker", "region"),
        _workers,
    ),
    Metric(
        "gossamer_worker_memory_bytes",
        "gauge",
        "Memory of all processes of the worker.",
        ("worker",),
        lambda found: (
            ("", (one.name,), one.memory) for one in found.workers[:MAX_WORKERS] if one.state != "gone"
        ),
    ),
    Metric(
        "gossamer_worker_memory_limit_bytes",
        "gauge",
        "Memory that all processes of the worker together may use (`recycle_memory`).",
        ("worker",),
        lambda found: (
            ("", (one.name,), one.memory_limit) for one in found.workers[:MAX_WORKERS] if one.state != "gone"
        ),
    ),
    Metric(
        "gossamer_worker_processes",
        "gauge",
        "Processes of the worker.",
        ("worker",),
        lambda found: (
            ("", (one.name,), one.processes) for one in found.workers[:MAX_WORKERS] if one.state != "gone"
        ),
    ),
    Metric(
        "gossamer_malformed_messages_total",
        "counter",
        "Malformed messages that a running worker removed from the broker.",
        ("worker",),
        lambda found: (
            ("", (one.name,), one.malformed) for one in found.workers[:MAX_WORKERS] if one.malformed
        ),
    ),
    Metric(
        "gossamer_worker_clock_offset_seconds",
        "gauge",
        "Seconds by which the clock of a worker is ahead of the store's clock.",
        ("worker",),
        lambda found: (("", (one.name,), one.clock_off) for one in found.workers[:MAX_WORKERS]),
    ),
    Metric(
        "gossamer_store_memory_bytes",
        "gauge",
        "Memory that a server of the store uses.",
        ("server",),
        lambda found: (("", (one.name,), one.memory) for one in found.servers),
    ),
    Metric(
        "gossamer_store_memory_max_bytes",
        "gauge",
        "Memory that a server of the store may use, or 0 if there is no limit.",
        ("server",),
        lambda found: (("", (one.name,), one.most) for one in found.servers),
    ),
    Metric(
        "gossamer_store_full",
        "gauge",
        "1 if a server of the store takes no writes, because its memory or its disk is full.",
        ("server",),
        lambda found: (("", (one.name,), float(one.is_full)) for one in found.servers),
    ),
    Metric(
        "gossamer_store_replica_behind_seconds",
        "gauge",
        "Seconds by which the slowest replica of a server of the store is behind.",
        ("server",),
        lambda found: (("", (one.name,), one.behind) for one in found.servers),
    ),
    Metric(
        "gossamer_store_went_back_total",
        "counter",
        "How often a worker noticed that the store lost its last writes.",
        (),
        lambda found: iter([("", (), found.totals["went_back"])]),
    ),
    Metric(
        "gossamer_broker_up",
        "gauge",
        "0 if the fleet's broker refused the last message of a worker.",
        (),
        lambda found: iter([("", (), float(not found.broker_error))]),
    ),
    Metric(
        "gossamer_store_evicted_keys_total",
        "counter",
        "Keys that a server of the store dropped to save memory. The number must be 0.",
        ("server",),
        lambda found: (("", (one.name,), one.evicted) for one in found.servers),
    ),
    Metric(
        "gossamer_store_clients",
        "gauge",
        "Connections to a server of the store.",
        ("server",),
        lambda found: (("", (one.name,), one.clients) for one in found.servers),
    ),
    Metric(
        "gossamer_store_commands_total",
        "counter",
        "Commands that a server of the store executed.",
        ("server",),
        lambda found: (("", (one.name,), one.commands) for one in found.servers),
    ),
    Metric(
        "gossamer_schedule_last_success_timestamp_seconds",
        "gauge",
        "Time at which the last good run of a schedule ended, or 0 if there was none.",
        ("schedule",),
        lambda found: (
            ("", (one.name,), one.last_success or 0.0) for one in found.schedules if not one.paused
        ),
    ),
    Metric(
        "gossamer_schedule_runs_total",
        "counter",
        "Runs of a schedule by result: runs, failed, skipped, missed.",
        ("schedule", "result"),
        lambda found: (
            ("", (one.name, what), n) for one in found.schedules for what, n in sorted(one.counts.items())
        ),
    ),
    Metric(
        "gossamer_proxies",
        "gauge",
        "Proxies by state: up, quarantined, or cooling at a domain.",
        ("provider", "state"),
        lambda found: (("", name, n) for name, n in sorted(found.proxies.items())),
    ),
    Metric(
        "gossamer_unlocker_credits_today",
        "gauge",
        "Credits spent or reserved since midnight UTC.",
        ("unlocker",),
        lambda found: (("", (name,), n) for name, n in sorted(found.credits.items())),
    ),
    Metric(
        "gossamer_snapshot_seconds",
        "gauge",
        "Time that reading the store for this page took.",
        (),
        lambda found: iter([("", (), found.took)]),
    ),
)

_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


def text_of(found: Snapshot | None, *, refuses: bool = False) -> str:
    """Returns the page that Prometheus scrapes, in its text format 0.0.4. `found` is None if the store cannot
    be read. `refuses`: whether the store answers, but refuses the user or a call.

    The page is built without Prometheus' client library, because the library takes 12 ms for 2,500 series,
    which is more than half of the time that a scrape may take.
    """
    lines = [
        "# HELP gossamer_up 1 if the store answers.",
        "# TYPE gossamer_up gauge",
        f"gossamer_up {int(found is not None)}",
        "# HELP gossamer_store_refuses 1 if the store answers, but refuses the user of gossamer or a call.",
        "# TYPE gossamer_store_refuses gauge",
        f"gossamer_store_refuses {int(refuses)}",
    ]
    for metric in METRICS if found is not None else ():
        lines.append(f"# HELP {metric.name} {metric.text}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        assert found is not None
        for ending, values, value in metric.read(found):
            labels = ",".join(
                f'{name}="{text.translate(_ESCAPES)}"'
                for name, text in zip(metric.labels, values, strict=False)
            )
            number = int(value) if value == int(value) else repr(round(value, 6))
            lines.append(
                f"{metric.name}{ending}{{{labels}}} {number}" if labels else f"{metric.name}{ending} {number}"
            )
    lines.append("")
    return "\n".join(lines)
