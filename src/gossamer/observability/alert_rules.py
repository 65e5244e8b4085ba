"""The alert rules. Each rule defines the readings that it watches, when it fires and clears, and an
equivalent rule in PromQL.

A high value of a reading is bad. A rule fires when a reading has been above `fire` for `for_s` seconds, and
clears when the reading is at most `clear`. If a reading varies near one limit, the distance between the two
limits keeps the rule from firing again and again. For some rules, each reading is the increase of a total
within the last `window_s` seconds.
"""

from __future__ import annotations

import tomllib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gossamer.config.value_parsers import nearest, seconds
from gossamer.errors import ConfigError
from gossamer.frontier.crawls import UNDER_WAY
from gossamer.observability.snapshot import CrawlNow, Snapshot

Labels = tuple[tuple[str, str], ...]
MIN_REQUESTS = 20
"""Minimum number of requests from which a share is calculated."""
DEAD_SHARE = 0.02
DEAD_OF_ONE_CRAWL = 20
"""Maximum number of dead letters of a crawl that also count for all crawls together."""
SEVERAL = "several"
"""The value of the label `crawl` of an alert about all crawls together."""
MAX_SHOWN = 3
"""Maximum number of sites, reasons or crawls in a message."""


class SnapshotHistory:
    """Keeps the last snapshots, for rules that read the growth within a window."""

    def __init__(self, seconds: float) -> None:
        self._length, self._looks = seconds, deque[Snapshot]()

    def add(self, found: Snapshot) -> None:
        """Adds a snapshot, and drops the snapshots that no rule needs any longer."""
        self._looks.append(found)
        while len(self._looks) > 2 and self._looks[1].now <= found.now - self._length:
            self._looks.popleft()

    @property
    def last(self) -> Snapshot:
        """The latest snapshot."""
        return self._looks[-1]

    def before(self, window: float) -> Snapshot:
        """Returns the last snapshot before the window, or the first snapshot."""
        then = self._looks[0]
        for look in self._looks:
            if look.now > self.last.now - window:
                break
            then = look
        return then

    def growth(self, window: float) -> dict[str, int]:
        """Returns how much each total grew within the window, or since the first snapshot."""
        now, then = self.last, self.before(window)
        found = {name: n - then.totals[name] for name, n in now.totals.items()}
        for server in now.servers:
            before = next((one.evicted for one in then.servers if one.name == server.name), server.evicted)
            found[f"evicted|{server.name}"] = server.evicted - before
        for schedule in now.schedules:
            counts = next(
                (one.counts for one in then.schedules if one.name == schedule.name), schedule.counts
            )
            for what, n in schedule.counts.items():
                found[f"schedule|{schedule.name}|{what}"] = n - counts.get(what, 0)
        return found


class Details(NamedTuple):
    """Facts about a reading that may change while its alert fires. `labels` are sent with the labels of the alert,
    but they are not a part of its name. `text` is the part of the message that replaces `{details}`."""

    labels: Labels = ()
    text: str = ""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One alert rule. A rule yields readings from snapshots, and defines when a reading causes an alert."""

    name: str
    text: str
    """The message of an alert, with placeholders in braces. `{value}` is replaced by the value of the
    reading, `{NAME}` by the value of the label NAME, and `{details}` by the text of `details`."""
    expr: str
    """The alert rule in PromQL. The placeholders `{fire}` and `{window}` are replaced by the values of the
    rule."""
    read: Callable[[SnapshotHistory, float], Iterator[tuple[Labels, float]]]
    """A function that yields the labels and the value of each reading. The function receives the history of
    snapshots, and the length of the window in seconds."""
    fire: float = 0.0
    clear: float = 0.0
    for_s: float = 0.0
    window_s: float = 900.0
    severity: str = "warn"
    """The severity of the alert. An alert with the severity `page` requires immediate action. An alert with
    the severity `warn` requires action within the day."""
    enabled: bool = True
    details: Callable[[SnapshotHistory, Labels], Details] = lambda _, __: Details()
    """A function that returns the details of a reading whose alert begins to fire."""


def _shares(found: Mapping[str, int], what: str, bad: Callable[[str], bool]) -> dict[str, tuple[int, int]]:
    """Sums the totals that are named `WHAT|LABEL|RESULT`. Maps each LABEL to two sums: the sum over the
    results for which `bad` returns True, and the sum over all results."""
    sums: dict[str, tuple[int, int]] = {}
    for name, n in found.items():
        first, *labels = name.split("|")
        if first == what and len(labels) == 2 and n > 0:
            some, total = sums.get(labels[0], (0, 0))
            sums[labels[0]] = (some + (n if bad(labels[1]) else 0), total + n)
    return sums


def _stalled(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.crawls:
        if one.state == "running" and one.pending > 0:
            yield (("crawl", one.name),), found.last.now - (one.recent.last or one.started_at)


def _errors(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    no_failure = ("ok", "robots", "denied", "login", "again", "http-4xx")
    sums = _shares(found.growth(window), "requests", lambda outcome: outcome not in no_failure)
    bad, total = (sum(one[j] for one in sums.values()) for j in (0, 1))
    yield (), bad / total if total >= MIN_REQUESTS else 0.0


def _blocked(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    for domain, (bad, total) in _shares(found.growth(window), "domain", "blocked".__eq__).items():
        yield (("domain", domain),), bad / total if total >= MIN_REQUESTS else 0.0


def _grown(found: SnapshotHistory, window: float, crawl: CrawlNow, name: str) -> int:
    """Returns how much a count of a crawl grew within the window. A crawl that was started again begins at 0."""
    then = found.before(window)
    known = next((one for one in then.crawls if one.name == crawl.name), None)
    if known is None or known.started_at != crawl.started_at:
        return crawl.count(name) if crawl.started_at >= then.now else 0
    return crawl.count(name) - known.count(name)


def _dead(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    grown = found.growth(window)
    rest = sum(n for name, n in grown.items() if name.startswith("dead|"))
    requests = sum(n for name, n in grown.items() if name.startswith("requests|"))
    for crawl in found.last.crawls:
        dead = _grown(found, window, crawl, "letter")
        ended = dead + _grown(found, window, crawl, "pages")
        yield (("crawl", crawl.name),), float(dead) if dead > DEAD_SHARE * ended else 0.0
        rest -= dead if dead > DEAD_OF_ONE_CRAWL else 0
    yield (("crawl", SEVERAL),), float(rest) if rest > DEAD_SHARE * requests else 0.0


def _dead_details(found: SnapshotHistory, labels: Labels) -> Details:
    """Returns the most frequent reason and site of the recent dead letters of a crawl, or of all crawls."""
    name = dict(labels)["crawl"]
    reasons, sites, crawls = Counter[str](), Counter[str](), Counter[str]()
    for crawl in found.last.crawls:
        for site, reason, n in crawl.dead if name in (crawl.name, SEVERAL) else ():
            reasons[reason] += n
            sites[site] += n
            crawls[crawl.name] += n
    if not reasons:
        return Details()
    most = tuple((what, one.most_common(1)[0][0]) for what, one in (("site", sites), ("reason", reasons)))
    lists = [reasons, sites] if name != SEVERAL else [reasons, sites, crawls]
    return Details(most, f" ({'; '.join(map(_most_frequent, lists))})")


def _most_frequent(counts: Counter[str]) -> str:
    shown = [f"{name} {n}" for name, n in counts.most_common(MAX_SHOWN)]
    return ", ".join([*shown, f"{len(counts) - MAX_SHOWN} more"] if len(counts) > MAX_SHOWN else shown)


def _breakers(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    for name, n in found.growth(window).items():
        if name.startswith("breaker|"):
            yield (("state", name.partition("|")[2]),), float(n)


def _drift(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.crawls:
        for site, quality in one.sites.items() if one.state in UNDER_WAY else ():
            for what, fall in quality.drift.items():
                yield (("crawl", one.name), ("site", site), ("what", what)), fall


def _rejected(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    grown = found.growth(window)
    for name, n in grown.items():
        what, _, rest = name.partition("|")
        if what == "items" and rest.endswith("|i"):
            kind = rest.removesuffix("|i")
            yield (("kind", kind),), grown.get(f"items|{kind}|b", 0) / n if n >= MIN_REQUESTS else 0.0


def _unread(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    grown = found.growth(window)
    pages = sum(n for name, n in grown.items() if name.startswith("lane|"))
    yield (), grown.get("err:parse", 0) / pages if pages >= MIN_REQUESTS else 0.0


def _credits(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    most = found.last.credits_daily
    for name, spent in found.last.credits.items() if most else ():
        yield (("unlocker", name),), spent / (most or 1)


def _memory(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.servers:
        yield (("server", one.name),), one.memory / one.most if one.most else 0.0


def _full(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.servers:
        yield (("server", one.name),), float(one.is_full)


def _behind(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.servers:
        yield (("server", one.name),), one.behind


def _went_back(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    grown = found.growth(window)
    # totals only grow, so a smaller one shows an older store, even if no worker was there to notice
    older = any(n < 0 for name, n in grown.items() if name.startswith("requests|"))
    yield (), float(max(grown.get("went_back", 0), older))


def _evicted(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    for name, n in found.growth(window).items():
        if name.startswith("evicted|"):
            yield (("server", name.partition("|")[2]),), float(n)


def _broker(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    yield (), float(found.last.broker_error != "")


def _gone(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.workers:
        yield (("worker", one.name),), float(one.state == "gone")


def _clock(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.workers:
        yield (("worker", one.name),), 0.0 if one.state == "gone" else abs(one.clock_off)


def _worker_memory(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.workers:
        known = one.memory_limit and one.state != "gone"
        yield (("worker", one.name),), one.memory / one.memory_limit if known else 0.0


def _waiting(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.lanes:
        yield (("lane", one.lane), ("region", one.region)), one.oldest


def _schedule_details(found: SnapshotHistory, labels: Labels) -> Details:
    name = dict(labels)["schedule"]
    trouble = next((one.trouble for one in found.last.schedules if one.name == name), "")
    return Details(text=f"; {trouble}" if trouble else "")


def _schedules(found: SnapshotHistory, window: float) -> Iterator[tuple[Labels, float]]:
    grown = found.growth(window)
    for one in found.last.schedules:
        bad = sum(grown.get(f"schedule|{one.name}|{what}", 0) for what in ("missed", "failed"))
        yield (("schedule", one.name),), float(bad)


def _sink(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    for one in found.last.crawls:
        yield (("crawl", one.name),), float(one.waits_for_output)


def _proxies(found: SnapshotHistory, _: float) -> Iterator[tuple[Labels, float]]:
    counts: dict[str, list[int]] = {}
    for (provider, state), n in found.last.proxies.items():
        if state in ("up", "quarantined"):
            counts.setdefault(provider, [0, 0])[state == "quarantined"] += n
    for provider, (up, out) in counts.items():
        yield (("provider", provider),), out / (up + out) if up + out else 0.0


_REQUESTS = "gossamer_requests_total"
_GIVEN_UP = "gossamer_crawl_given_up"
_FAILED = f'{_REQUESTS}{{outcome!~"ok|robots|denied|login|again|http-4xx"}}'
RULES: tuple[Rule, ...] = (
    Rule(
        name="GossamerStalled",
        text="crawl {crawl} has had no page for {value} s, and pages are pending",
        expr="gossamer_crawl_last_page_age_seconds > {fire} and on (crawl) gossamer_crawl_pending > 0 "
        'and on (crawl) gossamer_crawl_state{state="running"}',
        read=_stalled,
        fire=600,
        clear=60,
        severity="page",
    ),
    Rule(
        name="GossamerErrorsHigh",
        text="{value} of the requests fail",
        expr=f"sum(rate({_FAILED}[{{window}}])) / sum(rate({_REQUESTS}[{{window}}])) > {{fire}} "
        f"and sum(increase({_REQUESTS}[{{window}}])) >= {MIN_REQUESTS}",
        read=_errors,
        fire=0.1,
        clear=0.05,
        for_s=300,
        window_s=600,
        severity="page",
    ),
    Rule(
        name="GossamerDomainBlocked",
        text="{value} of the requests to {domain} are blocked",
        expr='sum by (domain) (rate(gossamer_domain_requests_total{result="blocked"}[{window}])) '
        "/ sum by (domain) (rate(gossamer_domain_requests_total[{window}])) > {fire} "
        f"and sum by (domain) (increase(gossamer_domain_requests_total[{{window}}])) >= {MIN_REQUESTS}",
        read=_blocked,
        fire=0.3,
        clear=0.2,
        for_s=300,
    ),
    Rule(
        name="GossamerDeadLettersGrow",
        text="{value} requests of crawl {crawl} were given up in a short time{details}",
        expr=f"sum by (crawl) (delta({_GIVEN_UP}[{{window}}])) > {{fire}} and sum by (crawl) "
        f"(delta({_GIVEN_UP}[{{window}}])) > {DEAD_SHARE} * (sum by (crawl) (delta({_GIVEN_UP}[{{window}}])) "
        "+ sum by (crawl) (delta(gossamer_crawl_pages[{window}])))",
        read=_dead,
        details=_dead_details,
        fire=20,
        clear=5,
        for_s=60,
    ),
    Rule(
        name="GossamerHostsFail",
        text="{value} times a circuit breaker of a host opened ({state})",
        expr="sum by (state) (increase(gossamer_breaker_openings_total[{window}])) > {fire}",
        read=_breakers,
        fire=2,
        clear=0,
    ),
    Rule(
        name="GossamerCoverageDrops",
        text="{what} of site {site} in crawl {crawl} is {value} below its last good runs",
        expr="gossamer_site_drift_ratio > {fire}",
        read=_drift,
        fire=0.2,
        clear=0.1,
        for_s=60,
    ),
    Rule(
        name="GossamerItemsRejected",
        text="{value} of the items of kind {kind} are invalid",
        expr='sum by (kind) (rate(gossamer_items_total{valid="false"}[{window}])) '
        "/ sum by (kind) (rate(gossamer_items_total[{window}])) > {fire} "
        f"and sum by (kind) (increase(gossamer_items_total[{{window}}])) >= {MIN_REQUESTS}",
        read=_rejected,
        fire=0.1,
        clear=0.05,
    ),
    Rule(
        name="GossamerPagesUnread",
        text="{value} of the pages cannot be read by their site's functions",
        expr='sum(rate(gossamer_page_errors_total{reason="parse"}[{window}])) / sum(rate(gossamer_pages_total[{window}])) '
        f"> {{fire}} and sum(increase(gossamer_pages_total[{{window}}])) >= {MIN_REQUESTS}",
        read=_unread,
        fire=0.1,
        clear=0.05,
    ),
    Rule(
        name="GossamerBudgetSpent",
        text="{value} of today's credits of {unlocker} are spent",
        expr="gossamer_unlocker_credits_today / on () group_left gossamer_unlocker_credits_daily_max > {fire}",
        read=_credits,
        fire=0.9,
        clear=0.9,
    ),
    Rule(
        name="GossamerStoreMemoryHigh",
        text="server {server} of the store uses {value} of its memory",
        expr="gossamer_store_memory_bytes / (gossamer_store_memory_max_bytes > 0) > {fire}",
        read=_memory,
        fire=0.9,
        clear=0.8,
        for_s=60,
        severity="page",
    ),
    Rule(
        name="GossamerStoreFull",
        text="server {server} of the store takes no writes, because its memory or its disk is full: free some",
        expr="gossamer_store_full > {fire}",
        read=_full,
        fire=0.5,
        clear=0.5,
        severity="page",
    ),
    Rule(
        name="GossamerStoreBehind",
        text="a replica of server {server} of the store is {value} s behind; a failover now would lose these writes",
        expr="gossamer_store_replica_behind_seconds > {fire}",
        read=_behind,
        fire=60,
        clear=30,
        for_s=30,
    ),
    Rule(
        name="GossamerStoreWentBack",
        text="the store went back to an earlier state, as {value} workers noticed; what it lost is fetched again",
        expr="increase(gossamer_store_went_back_total[{window}]) > {fire} or "
        "sum(resets(gossamer_requests_total[{window}])) > {fire}",
        read=_went_back,
    ),
    Rule(
        name="GossamerStoreEvicts",
        text="server {server} of the store dropped {value} keys: set maxmemory-policy noeviction",
        expr="increase(gossamer_store_evicted_keys_total[{window}]) > {fire}",
        read=_evicted,
        severity="page",
    ),
    Rule(
        name="GossamerBrokerDown",
        text="the broker takes no messages, so free workers get no work: restart it, or name another broker",
        expr="gossamer_broker_up == 0",
        read=_broker,
        fire=0.5,
        clear=0.5,
        for_s=30,
        severity="page",
    ),
    Rule(
        name="GossamerWorkerGone",
        text="worker {worker} sends no heartbeat",
        expr="gossamer_worker_up == 0",
        read=_gone,
        fire=0.5,
        clear=0.5,
        for_s=60,
    ),
    Rule(
        name="GossamerClockWrong",
        text="the clock of the machine of worker {worker} differs by {value} s from the store's clock",
        expr="abs(gossamer_worker_clock_offset_seconds) > {fire}",
        read=_clock,
        fire=5,
        clear=5,
        for_s=60,
    ),
    Rule(
        name="GossamerWorkerMemoryHigh",
        text="worker {worker} uses {value} of the memory that its processes may use, so it claims fewer URLs",
        expr="gossamer_worker_memory_bytes / (gossamer_worker_memory_limit_bytes > 0) > {fire}",
        read=_worker_memory,
        fire=0.9,
        clear=0.8,
        for_s=300,
    ),
    Rule(
        name="GossamerHostsWait",
        text="hosts have been ready for {value} s, and no worker of lane {lane} takes them",
        expr="gossamer_lane_oldest_ready_seconds > {fire}",
        read=_waiting,
        fire=300,
        clear=60,
        for_s=60,
    ),
    Rule(
        name="GossamerScheduleMissed",
        text="{value} runs of schedule {schedule} were missed or failed{details}",
        expr='sum by (schedule) (increase(gossamer_schedule_runs_total{result=~"missed|failed"}[{window}])) > {fire}',
        read=_schedules,
        details=_schedule_details,
        window_s=3600,
    ),
    Rule(
        name="GossamerOutputAway",
        text="an output of crawl {crawl} does not answer; its rows wait in the workers",
        expr="gossamer_crawl_waits_for_output > {fire}",
        read=_sink,
        fire=0.5,
        clear=0.5,
        for_s=60,
        severity="page",
    ),
    Rule(
        name="GossamerProxiesLow",
        text="{value} of the proxies of {provider} are quarantined",
        expr='sum by (provider) (gossamer_proxies{state="quarantined"}) '
        '/ sum by (provider) (gossamer_proxies{state=~"up|quarantined"}) > {fire}',
        read=_proxies,
        fire=0.7,
        clear=0.5,
        for_s=300,
    ),
    Rule(
        name="GossamerStoreDown",
        text="the store, or the exporter of its metrics, does not answer",
        expr="(gossamer_up == 0 unless gossamer_store_refuses == 1) or absent(gossamer_up)",
        read=lambda _, __: iter(()),
        severity="page",
        for_s=30,
    ),
    Rule(
        name="GossamerStoreRefuses",
        text="the store answers, but refuses the user of gossamer or one of its calls: check its password and rights",
        expr="gossamer_store_refuses > {fire}",
        read=lambda _, __: iter(()),
        severity="page",
        for_s=30,
    ),
)
"""All rules. The rules in STORE_RULES yield no readings, because no snapshot can be taken while the store does
not answer or refuses calls."""
STORE_RULES = {"unreachable": "GossamerStoreDown", "refuses": "GossamerStoreRefuses"}
"""Maps each kind of trouble with the store (`store.store_errors.store_trouble`) to the rule that reports it. A
full store is read from snapshots, because it answers reads."""
SHARES = (
    "ErrorsHigh",
    "DomainBlocked",
    "CoverageDrops",
    "ItemsRejected",
    "PagesUnread",
    "BudgetSpent",
    "StoreMemoryHigh",
    "WorkerMemoryHigh",
    "ProxiesLow",
)


def text_of(rule: Rule, labels: Labels, value: float, details: str) -> str:
    """Returns a rule's text with the labels, the value and the details of a reading."""
    share = rule.name.removeprefix("Gossamer") in SHARES
    shown = f"{value:.0%}" if share else f"{value:.0f}"
    found = rule.text.replace("{value}", shown)
    for name, text in labels:
        found = found.replace(f"{{{name}}}", text)
    return found.replace("{details}", details)


class AlertSettings(NamedTuple):
    """The contents of a file of rules. Times are in seconds."""

    rules: tuple[Rule, ...] = RULES
    interval: float = 15.0
    group_wait: float = 60.0
    repeat: float = 4 * 3600.0
    max_per_day: int = 50
    quiet_hours: tuple[int, int] | None = None
    """The daily period in which only alerts of the severity `page` are sent. The two numbers are the start
    and the end of the period, in minutes since midnight."""
    zone: str = "UTC"

    @property
    def longest(self) -> float:
        """The longest window that any rule uses."""
        return max(rule.window_s for rule in self.rules)


_TIMES = ("interval", "group_wait", "repeat")
_RULE_KEYS = ("fire", "clear", "for", "window", "severity", "enabled")
_NAMES = {rule.name: rule for rule in RULES}


def read_alert_settings(path: str | None) -> AlertSettings:
    """Reads a file of rules (docs/alerts.md). Raises ConfigError. If an entry is invalid, the message
    contains its line."""
    if path is None:
        return AlertSettings()
    try:
        text = Path(path).read_text()
        told = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"alert_rules {path}: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:  # the message contains the line and the column
        where = "" if "line" in str(error) else f"line {len(text.splitlines())}: "
        raise ConfigError(f"alert_rules {path}: {where}{error}") from None
    try:
        return _settings(told)
    except _Fault as fault:
        raise ConfigError(f"alert_rules {path}: {_place(text, fault.key)}{fault}") from None


class _Fault(ValueError):
    def __init__(self, key: str, what: str) -> None:
        super().__init__(what)
        self.key = key


def _place(text: str, key: str) -> str:
    for number, line in enumerate(text.splitlines(), 1):
        if (at := line.find(key)) >= 0:
            return f"line {number}, column {at + 1}: "
    return ""


def _settings(told: dict[str, Any]) -> AlertSettings:
    known = (*_TIMES, "max_per_day", "quiet_hours", "zone", "rules")
    for key in told:
        if key not in known:
            raise _Fault(key, f"there is no {key}{nearest(key, known)}")
    own = {name: _rule(name, changes) for name, changes in dict(told.get("rules", {})).items()}
    found = AlertSettings(tuple(own.get(rule.name, rule) for rule in RULES))
    for key in _TIMES:
        if key in told:
            found = found._replace(**{key: _time(key, told[key])})  # type: ignore[arg-type]
    if "max_per_day" in told:
        if not isinstance(told["max_per_day"], int) or told["max_per_day"] < 1:
            raise _Fault("max_per_day", "max_per_day is a whole number from 1")
        found = found._replace(max_per_day=told["max_per_day"])
    if "zone" in told:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            ZoneInfo(str(told["zone"]))
        except (ZoneInfoNotFoundError, ValueError):
            raise _Fault("zone", f"there is no time zone {told['zone']!r}") from None
        found = found._replace(zone=str(told["zone"]))
    if "quiet_hours" in told:
        found = found._replace(quiet_hours=_hours(told["quiet_hours"]))
    return found


def _rule(name: str, changes: Any) -> Rule:
    if name not in _NAMES:
        raise _Fault(name, f"there is no rule {name}{nearest(name, _NAMES)}")
    rule = _NAMES[name]
    fields: dict[str, Any] = {}
    for key, value in dict(changes).items():
        if key not in _RULE_KEYS:
            raise _Fault(key, f"a rule has no {key}{nearest(key, _RULE_KEYS)}")
        if key in ("for", "window"):
            fields[f"{key}_s"] = _time(key, value)
        elif key == "severity" and value not in ("page", "warn"):
            raise _Fault(key, "severity is page or warn")
        elif key == "enabled" and not isinstance(value, bool):
            raise _Fault(key, "enabled is true or false")
        elif key in ("fire", "clear") and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise _Fault(key, f"{key} is a number")
        else:
            fields[key] = value
    made = msgspec.structs.replace(rule, **fields)
    if made.clear > made.fire:
        if "clear" in fields:
            raise _Fault("clear", f"clear ({made.clear:g}) is above fire ({made.fire:g})")
        made = msgspec.structs.replace(made, clear=made.fire)
    return made


def _time(key: str, value: Any) -> float:
    try:
        return seconds(value)
    except ValueError as error:
        raise _Fault(key, f"{key}: {error}") from None


def _hours(value: Any) -> tuple[int, int]:
    parts = str(value).split("-")
    try:
        (first, last) = [
            int(hour) * 60 + int(minute) for hour, _, minute in (one.strip().partition(":") for one in parts)
        ]
    except ValueError:
        raise _Fault("quiet_hours", 'quiet_hours is written "22:00-07:00"') from None
    if not (0 <= first < 1440 and 0 <= last < 1440):
        raise _Fault("quiet_hours", "an hour is 00:00 to 23:59")
    return first, last
