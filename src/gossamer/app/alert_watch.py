"""Watches a store and sends notifications of alerts. A watch runs in the process of a crawl, in the
scheduler, and in the exporter of metrics. If several watches run, only the elected leader evaluates the
rules."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec

from gossamer.config.settings import Settings
from gossamer.errors import DeliveryError, GossamerError, StoreError
from gossamer.observability.alert_delivery import Receiver, receivers_of
from gossamer.observability.alert_rules import RULES, AlertSettings, SnapshotHistory, read_alert_settings
from gossamer.observability.alert_states import Alert, AlertStates, evaluate, is_muted, store_down
from gossamer.observability.logs import log_event
from gossamer.observability.snapshot import Observer
from gossamer.state.slots import Slots
from gossamer.store.store import Store

FIRST_RETRY_S, MAX_RETRY_S = 5.0, 600.0
"""Seconds before the first retry of a delivery, and the maximum number of seconds between two retries. Each
pause is twice as long as the previous pause, up to the maximum."""
_STORE_DOWN = next(rule for rule in RULES if rule.name == "GossamerStoreDown")


class AlertWatch:
    """Evaluates the alert rules and sends notifications of alerts whose state changed."""

    def __init__(self, settings: Settings, store: Store) -> None:
        """Raises ConfigError if the setting `alerts` or the file of rules is not valid."""
        self.rules: AlertSettings = read_alert_settings(settings.alert_rules)
        self._receivers: list[Receiver] = receivers_of(settings.alerts, settings.allow_private)
        self._store, self._observer = store, Observer(store, settings.credits_daily)
        self._states, self._history = AlertStates(store), SnapshotHistory(self.rules.longest)
        self._known: dict[str, Alert] = {}
        self._down: Alert | None = None
        self._retry: dict[str, tuple[float, float]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sent_today: Counter[tuple[int, str]] = Counter()

    async def run(self) -> None:
        """Watches until it is cancelled."""
        slots = Slots(self._store)
        while True:
            with contextlib.suppress(StoreError):
                async with slots.lead("alerts") as mine:
                    while mine:
                        await self.look()
                        await asyncio.sleep(self.rules.interval)
            await self._note_store(True)
            await asyncio.sleep(min(self.rules.interval, 2.0))

    async def look(self) -> None:
        """Evaluates all rules once, and begins the deliveries that are due. Raises StoreError."""
        found = await self._observer.look()
        await self._note_store(False)
        names = [one.name for one in self._receivers]
        self._history.add(found)
        self._known = await self._states.load()
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
        await self._states.save(changed)
        for key, alert in changed.items():
            if alert is None:
                self._known.pop(key, None)
            else:
                self._known[key] = alert

    def _log(self, before: Alert | None, after: Alert | None) -> None:
        if after is not None and after.state != "pending" and (before is None or before.state != after.state):
            event = "alert_firing" if after.state == "firing" else "alert_resolved"
            log_event(event, alert=after.rule, text=after.text, severity=after.severity, **dict(after.labels))

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

    async def _note_store(self, down: bool) -> None:
        """Sends the alert that the store is down. The store is down, so this alert is kept only in memory."""
        rule = next((one for one in self.rules.rules if one.name == _STORE_DOWN.name), _STORE_DOWN)
        names, before = [one.name for one in self._receivers], self._down
        if not rule.enabled or (before is None and not down):
            return
        after = store_down(rule, before, names, time.time(), down)
        self._down = after if after is None or after.state != "resolved" or before is None else None
        if after is None or before is None or after.state == before.state or after.state == "pending":
            return
        self._log(before, after)
        for receiver in self._receivers:
            with contextlib.suppress(DeliveryError):
                await receiver.send([after], 0)


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
