"""Sends notifications to the receivers of the setting `alerts` (docs/alerts.md). For programs that have their
own alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gossamer.client.background import Background
from gossamer.client.options import read_given_settings
from gossamer.errors import DeliveryError
from gossamer.observability.alert_delivery import receivers_of
from gossamer.observability.alert_states import Alert


class Notification(msgspec.Struct, kw_only=True, frozen=True):
    """One alert that is sent in a notification."""

    rule: str
    text: str
    """The message, in one line."""
    time: float
    """The time of the alert, in seconds since the epoch."""
    severity: str = "warn"
    """The severity: `info`, `warn` or `page`."""
    labels: Mapping[str, str] = {}
    value: float = 0.0


class Receivers:
    """Sends notifications to receivers. `names`: the addresses of the receivers, without secrets."""

    def __init__(self, addresses: Sequence[str], allow_private: Sequence[str] = ()) -> None:
        """`addresses`: addresses of receivers, in the form of the setting `alerts`. `allow_private`: the
        value of the setting with this name. Raises ConfigError, which contains the invalid address."""
        found = receivers_of(addresses, allow_private)
        self._receivers = {receiver.name: receiver for receiver in found}
        self.names = list(self._receivers)

    def send(self, name: str, notifications: Sequence[Notification], suppressed: int = 0) -> str:
        """Sends a notification to one receiver. Returns "", or the reason of a failure. `suppressed`: the
        number of earlier alerts that were not sent."""
        alerts = [
            Alert(
                rule=one.rule,
                labels=tuple(sorted(one.labels.items())),
                severity=one.severity,
                state="firing",
                since=one.time,
                value=one.value,
                text=one.text,
            )
            for one in notifications
        ]
        try:
            work = Background(lambda _stop: self._receivers[name].send(alerts, suppressed))
            work.start()
            work.wait()
        except DeliveryError as error:
            return str(error)
        return ""


def receivers_of_settings(options: Mapping[str, Any], folder: str = ".") -> Receivers:
    """Returns the receivers in the settings. These are read from `gossamer.toml`, the environment, and
    `options`, which are options of `gossamer.run`."""
    settings = read_given_settings(dict(options), folder)
    return Receivers(settings.alerts, settings.allow_private)
