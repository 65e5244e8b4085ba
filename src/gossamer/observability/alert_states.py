"""Computes and stores the state of each alert: pending, firing or resolved. All processes that evaluate
alerts share these states in the store, so that a restart neither repeats nor forgets a notification."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import msgspec

from gossamer.observability.alert_rules import (
    AlertSettings,
    Details,
    Labels,
    Rule,
    SnapshotHistory,
    text_of,
)
from gossamer.store import keys
from gossamer.store.store import Store

STALE_S = 86_400.0
"""Seconds for which a resolved alert is remembered."""


class Alert(msgspec.Struct, kw_only=True):
    """One alert: a rule and the labels of one of its readings. Times are in seconds since the epoch, by the
    store's clock."""

    rule: str
    labels: Labels
    severity: str
    state: str
    """The state of the alert: `pending`, `firing` or `resolved`. An alert is `pending` until its reading has
    been bad for long enough to fire."""
    since: float
    """The time when the reading became bad. In a resolved alert, `since` is the time when the alert was
    resolved."""
    value: float
    text: str
    details: Labels = ()
    """Labels that are not a part of the alert's name, because they may change: for example the site with the most
    dead letters."""
    unsent: list[str] = []
    """The receivers that have not been notified of the alert's state yet."""
    knows: list[str] = []
    """The receivers that were notified when the alert fired."""
    sent: float = 0.0
    """The time of the alert's last notification."""

    @property
    def key(self) -> str:
        """The alert's name in the store: `RULE{label=value,...}`."""
        return alert_key(self.rule, self.labels)


def alert_key(rule: str, labels: Labels) -> str:
    """Returns the name of an alert.

    >>> alert_key("GossamerWorkerGone", (("worker", "w1"),))
    'GossamerWorkerGone{worker=w1}'
    """
    return rule + (f"{{{','.join(f'{name}={value}' for name, value in labels)}}}" if labels else "")


def evaluate(
    settings: AlertSettings,
    known: dict[str, Alert],
    history: SnapshotHistory,
    receivers: list[str],
    now: float,
) -> dict[str, Alert | None]:
    """Evaluates all readings of the last snapshot. Returns a mapping from the names of changed alerts to the
    alerts. The value is None if the alert is deleted."""
    changed: dict[str, Alert | None] = {}
    seen: set[str] = set()
    for rule in settings.rules:
        if not rule.enabled:
            continue
        for labels, value in rule.read(history, rule.window_s):
            key = alert_key(rule.name, labels)
            seen.add(key)
            details = partial(rule.details, history, labels)
            after = _next(rule, labels, value, known.get(key), receivers, now, details)
            if after is not known.get(key):
                changed[key] = after
    for key, alert in known.items():
        if key in seen:
            continue
        if alert.state == "pending":
            changed[key] = None
        elif alert.state == "firing":  # the crawl, worker or host of the alert no longer exists
            changed[key] = _resolved(alert, receivers, now)
        elif now - alert.since > STALE_S:
            changed[key] = None
    return changed


def store_alert(rule: Rule, known: Alert | None, receivers: list[str], now: float, bad: bool) -> Alert | None:
    """Returns the alert about a store that does not answer or refuses calls. The alert cannot be derived from
    snapshots, because no snapshot can be read meanwhile. `now` is this machine's time."""
    return _next(rule, (), float(bad), known, receivers, now, Details)


def _next(
    rule: Rule,
    labels: Labels,
    value: float,
    known: Alert | None,
    receivers: list[str],
    now: float,
    details: Callable[[], Details],
) -> Alert | None:
    """Returns the alert with its new state after a reading. If nothing changed, returns the same object.
    `details`: returns the details of the reading."""
    going = known is not None and known.state in ("pending", "firing")
    bad = value > (rule.clear if known is not None and known.state == "firing" else rule.fire)
    if not bad:
        if known is None or known.state == "resolved":
            return known
        return None if known.state == "pending" else _resolved(known, receivers, now)
    if not going or known is None:
        state = "firing" if rule.for_s <= 0 else "pending"
        about = details()
        return Alert(
            rule=rule.name,
            labels=labels,
            severity=rule.severity,
            state=state,
            since=now,
            value=value,
            text=text_of(rule, labels, value, about.text),
            details=about.labels,
            unsent=list(receivers) if state == "firing" else [],
            knows=known.knows if known is not None else [],
        )
    if known.state == "pending" and now - known.since >= rule.for_s:
        about = details()
        return msgspec.structs.replace(
            known,
            state="firing",
            value=value,
            text=text_of(rule, labels, value, about.text),
            details=about.labels,
            unsent=list(receivers),
        )
    return known


def _resolved(alert: Alert, receivers: list[str], now: float) -> Alert:
    """Returns the resolved alert. Only receivers that were notified when the alert fired are notified of the
    resolved alert."""
    told = [one for one in receivers if one in alert.knows]
    return msgspec.structs.replace(alert, state="resolved", since=now, unsent=told)


class AlertStates:
    """Reads and writes the alerts and mutes in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self) -> dict[str, Alert]:
        """Returns all alerts by name. Skips alerts that this version cannot read."""
        found = await self._do(self._store.client.hgetall(keys.ALERTS))
        alerts = {}
        for name, raw in found.items():
            try:
                alerts[name.decode("utf-8", "replace")] = msgspec.json.decode(raw, type=Alert)
            except msgspec.MsgspecError:
                continue
        return alerts

    async def save(self, changed: dict[str, Alert | None]) -> None:
        """Writes alerts. If a name has the value None, deletes the alert with this name."""
        pipe = self._store.client.pipeline(transaction=False)
        for name, alert in changed.items():
            if alert is None:
                pipe.hdel(keys.ALERTS, name)
            else:
                pipe.hset(keys.ALERTS, name, msgspec.json.encode(alert))
        if changed:
            await self._store.guard(pipe.execute())

    async def mutes(self, now: float) -> dict[str, float]:
        """Returns the patterns that are muted, and the time at which each mute ends."""
        found = await self._do(self._store.client.hgetall(keys.MUTES))
        return {name.decode(): float(until) for name, until in found.items() if float(until) > now}

    async def mute(self, pattern: str, until: float | None) -> bool:
        """Mutes the alerts whose name matches a pattern (`GossamerWorker*`). If `until` is None, ends the
        mute. Returns whether a mute was set or ended."""
        if until is None:
            return bool(await self._do(self._store.client.hdel(keys.MUTES, pattern)))
        await self._do(self._store.client.hset(keys.MUTES, pattern, repr(until)))
        return True

    async def now(self) -> float:
        """Returns the store's time in seconds since the epoch."""
        whole, micro = await self._do(self._store.client.time())
        return int(whole) + int(micro) / 1e6

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Any, call))


def is_muted(alert: Alert, mutes: dict[str, float]) -> bool:
    """Returns whether a pattern matches the alert's rule or its whole name."""
    return any(
        fnmatch.fnmatchcase(alert.rule, pattern) or fnmatch.fnmatchcase(alert.key, pattern)
        for pattern in mutes
    )
