"""Watches a store and sends notifications of alerts. A watch runs in the process of a crawl, in the
scheduler, in the workers of a fleet, and in the exporter of metrics. If several watches run, only the elected leader evaluates the
rules."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest
from gossamer.config.value_texts import format_time
from gossamer.errors import DeliveryError, DiskFull, GossamerError, StoreFull, UnknownName
from gossamer.observability.alert_delivery import Receiver, receivers_of
from gossamer.observability.alert_rules import (
    RULES,
    STORE_RULES,
    AlertSettings,
    SnapshotHistory,
    read_alert_settings,
)
from gossamer.observability.alert_states import Alert, AlertStates, evaluate, is_muted, store_alert
from gossamer.observability.logs import log_event
from gossamer.observability.snapshot import Observer
from gossamer.state.slots import Slots
from gossamer.store import keys
from gossamer.store.store import Store
from gossamer.store.store_errors import store_trouble

FIRST_RETRY_S, MAX_RETRY_S = 5.0, 600.0
"""Seconds before the first retry of a delivery, and the maximum number of seconds between two retries. Each
pause is twice as long as the previous pause, up to the maximum."""
CHECK_INTERVAL_S = 1.0
"""The maximum number of seconds between two checks whether the store answers."""


class AlertWatch:
    """Evaluates the alert rules and sends notifications of alerts whose state changed."""

    def __init__(self, settings: Settings, store: Store) -> None:
        """Raises ConfigError if the setting `alerts` or the file of rules is not valid."""
        self.rules: AlertSettings = read_alert_settings(settings.alert_rules)
        self._receivers: list[Receiver] = receivers_of(settings.alerts, settings.allow_private)
        self._store, self._observer = store, Observer(store, settings.credits_daily)
        self._states, self._history = AlertStates(store), SnapshotHistory(self.rules.longest)
        self._known: dict[str, Alert] = {}
        self._unsaved: dict[str, Alert | None] = {}
        """The changes of alerts that a full store has not taken yet."""
        self._leads = False
        """Whether this process led when the store last answered. Only the leader reports on the store."""
        self._failure: GossamerError | None = None
        """The error of the last look at the store, or None if the store answered."""
        self._store_alerts: dict[str, Alert] = {}
        """The alerts about the store, by rule. They are kept in memory, because the store does not answer."""
        self._retry: dict[str, tuple[float, float]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sent_today: Counter[tuple[int, str]] = Counter()

    async def run(self) -> None:
        """Watches until it is cancelled."""
        checks = asyncio.create_task(self._check_store())
        try:
            while True:
                try:
                    await self._lead()
                except GossamerError as error:
                    self._failure = error
                await asyncio.sleep(min(self.rules.interval, 2.0))
        finally:
            checks.cancel()
            await asyncio.gather(checks, return_exceptions=True)

    async def _lead(self) -> None:
        """Evaluates the rules for as long as this process leads. Returns at once if another process leads."""
        try:
            async with Slots(self._store).lead("alerts") as mine:
                self._leads, self._failure = bool(mine), None
                while mine:
                    await self._look_again()
        except StoreFull:
            # a full store cannot elect a leader, so a process goes on without one if no other process leads
            held = await self._store.guard(self._store.client.get(f"{keys.LEAD}alerts"))
            self._leads, self._failure = held is None, None
            if self._leads:
                await self._look_again()

    async def _look_again(self) -> None:
        await self.look()
        self._failure = None
        await asyncio.sleep(self.rules.interval)

    async def look(self) -> None:
        """Evaluates all rules once, and begins the deliveries that are due. Raises StoreError."""
        found = await self._observer.look()
        names = [one.name for one in self._receivers]
        self._history.add(found)
        self._known = await self._states.load()
        await self._save({})
        changed = evaluate(self.rules, self._known, self._history, names, found.now)
        for key, alert in changed.items():
            self._log(self._known.get(key), alert)
        await self._save(changed)
        repeated: dict[str, Alert | None] = {
            key: msgspec.structs.replace(alert, unsent=names)
            for key, alert in self._known.items()
            if alert.state == "firing"
            and not alert.unsent
            and alert.sent
            and found.now - alert.sent > self.rules.repeat
        }
        await self._save(repeated)
        mutes = await self._states.mutes(found.now)
        for receiver in self._receivers:
            self._deliver_due(receiver, mutes, found.now)

    async def finish(self) -> None:
        """Waits for deliveries in progress, at most 15 s."""
        tasks = [task for task in self._tasks.values() if not task.done()]
        if tasks:
            await asyncio.wait(tasks, timeout=15)

    async def _save(self, changed: dict[str, Alert | None]) -> None:
        """Writes changes of alerts. If the store is full, the changes are kept in memory and written later."""
        self._unsaved |= changed
        try:
            await self._states.save(self._unsaved)
        except (StoreFull, DiskFull):
            changed = self._unsaved
        else:
            changed, self._unsaved = self._unsaved, {}
        for key, alert in changed.items():
            if alert is None:
                self._known.pop(key, None)
            else:
                self._known[key] = alert

    def _log(self, before: Alert | None, after: Alert | None) -> None:
        if after is not None and after.state != "pending" and (before is None or before.state != after.state):
            event = "alert_firing" if after.state == "firing" else "alert_resolved"
            log_event(
                event,
                alert=after.rule,
                text=after.text,
                severity=after.severity,
                **dict((*after.labels, *after.details)),
            )

    def _deliver_due(self, receiver: Receiver, mutes: dict[str, float], now: float) -> None:
        """Begins a delivery of the alerts that are due for a receiver. Does nothing in three cases: another
        delivery to the receiver is in progress, the next retry for the receiver is not due yet, or more
        alerts may still join the group."""
        task = self._tasks.get(receiver.name)
        if (task is not None and not task.done()) or time.monotonic() < self._retry.get(
            receiver.name, (0.0, 0.0)
        )[0]:
            return
        due = [
            alert
            for alert in self._known.values()
            if receiver.name in alert.unsent and not is_muted(alert, mutes) and not self._is_quiet(alert, now)
        ]
        if due and (len(due) >= 50 or now - min(_changed(one) for one in due) >= self.rules.group_wait):
            self._tasks[receiver.name] = asyncio.create_task(self._deliver(receiver, due, now))

    def _is_quiet(self, alert: Alert, now: float) -> bool:
        if self.rules.quiet_hours is None or alert.severity == "page":
            return False
        at = datetime.fromtimestamp(now, ZoneInfo(self.rules.zone))
        minute, (first, last) = at.hour * 60 + at.minute, self.rules.quiet_hours
        return first <= minute < last if first <= last else minute >= first or minute < last

    async def _deliver(self, receiver: Receiver, alerts: Sequence[Alert], now: float) -> None:
        day = int(now // 86_400), receiver.name
        self._sent_today[day] += 1
        over = self._sent_today[day] - self.rules.max_per_day
        try:
            if over <= 0:
                await receiver.send(alerts, 0)
            elif over == 1:  # the day's last notification announces that later ones are not sent
                await receiver.send(alerts, 1)
        except DeliveryError as error:
            pause = min(2 * self._retry.get(receiver.name, (0.0, FIRST_RETRY_S / 2))[1], MAX_RETRY_S)
            self._retry[receiver.name] = (time.monotonic() + pause, pause)
            self._sent_today[day] -= 1
            log_event("alert_failed", text=str(error), retry_s=round(pause))
            return
        self._retry.pop(receiver.name, None)
        changed: dict[str, Alert | None] = {}
        for alert in alerts:
            current = self._known.get(alert.key)
            if current is None or current.state != alert.state:
                continue
            left = [name for name in current.unsent if name != receiver.name]
            knows = (
                {*current.knows, receiver.name}
                if alert.state == "firing"
                else {*current.knows} - {receiver.name}
            )
            changed[alert.key] = msgspec.structs.replace(current, unsent=left, knows=sorted(knows), sent=now)
        with contextlib.suppress(GossamerError):
            await self._save(changed)

    async def _check_store(self) -> None:
        """Reports a store that does not answer or refuses calls. Runs beside `run`, whose calls may wait for
        the store for a long time."""
        while True:
            await asyncio.sleep(min(self.rules.interval, CHECK_INTERVAL_S))
            trouble = ""
            if self._store.client.patience.away:
                trouble = "unreachable"
            elif self._failure is not None:
                trouble = store_trouble(self._failure)
            for kind, name in STORE_RULES.items():
                await self._note_store(name, kind == trouble and self._leads)

    async def _note_store(self, name: str, bad: bool) -> None:
        """Evaluates one of the rules about the store, and sends its alert if the alert is due."""
        rule = next(one for one in self.rules.rules if one.name == name)
        names, before = [one.name for one in self._receivers], self._store_alerts.get(name)
        if not rule.enabled or (before is None and not bad):
            return
        after = store_alert(rule, before, names, time.time(), bad)
        if after is None:
            del self._store_alerts[name]
            return
        self._store_alerts[name] = after
        if before is None or after.state != before.state:
            self._log(before, after)
        await asyncio.gather(*(self._send_about_store(one, after) for one in self._receivers))
        if after.state == "resolved" and not after.unsent:
            del self._store_alerts[name]

    async def _send_about_store(self, receiver: Receiver, alert: Alert) -> None:
        until, pause = self._retry.get(receiver.name, (0.0, FIRST_RETRY_S / 2))
        if receiver.name not in alert.unsent or time.monotonic() < until:
            return
        try:
            await receiver.send([alert], 0)
        except DeliveryError as error:
            pause = min(2 * pause, MAX_RETRY_S)
            self._retry[receiver.name] = (time.monotonic() + pause, pause)
            log_event("alert_failed", text=str(error), retry_s=round(pause))
            return
        self._retry.pop(receiver.name, None)
        alert.unsent = [name for name in alert.unsent if name != receiver.name]
        alert.knows = [*alert.knows, receiver.name]


UNWATCHED = "no process evaluates the alert rules at present: start gossamer scheduler, or a worker with the setting alerts"


async def is_watched(store: Store) -> bool:
    """Returns whether a process evaluates the alert rules of the store."""
    return bool(await store.guard(store.client.exists(f"{keys.LEAD}alerts")))


class KnownAlerts(NamedTuple):
    """The alerts of a store, firing ones first. `mutes`: the end of each mute in seconds since the epoch, by
    pattern. `evaluated`: whether a process evaluates the rules."""

    alerts: list[Alert]
    mutes: dict[str, float]
    evaluated: bool

    def plain(self) -> dict[str, Any]:
        """Returns the values as `alerts list --json` prints them."""
        return {
            "alerts": [
                {**msgspec.to_builtins(one), "muted": is_muted(one, self.mutes)} for one in self.alerts
            ],
            "mutes": {pattern: format_time(until) for pattern, until in self.mutes.items()},
            "evaluated": self.evaluated,
        }


async def read_alerts(store: Store) -> KnownAlerts:
    """Returns the alerts and mutes of a store."""
    states = AlertStates(store)
    alerts, mutes = await states.load(), await states.mutes(await states.now())
    found = sorted(
        alerts.values(), key=lambda one: (one.state != "firing", one.state != "pending", -one.since)
    )
    return KnownAlerts(found, mutes, await is_watched(store))


def check_pattern(pattern: str) -> None:
    """Raises UnknownName if no rule matches a pattern such as `GossamerWorkerGone{worker=w1*}`."""
    names = [one.name for one in RULES]
    if not any(fnmatch.fnmatchcase(name, pattern.partition("{")[0]) for name in names):
        raise UnknownName(
            f"no rule is called {pattern}{nearest(pattern, names)}; see gossamer alerts list --rules"
        )


async def mute_alerts(store: Store, pattern: str, seconds: float | None) -> float | None:
    """Mutes alerts for some seconds, or ends a mute if `seconds` is None. Returns the end of the mute in seconds since
    the epoch. Raises UnknownName if there is no such mute to end."""
    states = AlertStates(store)
    until = None if seconds is None else await states.now() + seconds
    if not await states.mute(pattern, until) and until is None:
        raise UnknownName(f"{pattern} is not muted; see gossamer alerts list")
    return until


def _changed(alert: Alert) -> float:
    """Returns the time at which the alert entered its current state. If a firing alert was already sent to a
    receiver, returns the time of the last notification."""
    return alert.sent if alert.state == "firing" and alert.knows else alert.since


async def send_test(settings: Settings, rule: str) -> list[tuple[str, str]]:
    """Sends a test notification to each receiver. Returns each receiver's name with the error, or with '' if
    the test succeeded."""
    found = []
    alert = Alert(
        rule=rule,
        labels=(),
        severity="warn",
        state="firing",
        since=time.time(),
        value=0.0,
        text="this is a test",
    )
    for receiver in receivers_of(settings.alerts, settings.allow_private):
        try:
            await receiver.send([alert], 0)
        except DeliveryError as error:
            found.append((receiver.name, str(error)))
        else:
            found.append((receiver.name, ""))
    return found
