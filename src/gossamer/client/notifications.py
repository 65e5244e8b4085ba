"""Sends notifications to the receivers in the setting `alerts` (docs/alerts.md). Programs that create their
own alerts use this module."""

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
    """An alert. One message to a receiver can contain several alerts."""

    rule: str
    text: str
    """The text of the notification, in one line."""
    time: float
    """The time of the alert, in seconds since the epoch."""
    severity: str = "warn"
    """The severity: `info`, `warn` or `page`."""
    labels: Mapping[str, str] = {}
    value: float = 0.0


class Receivers:
    """Sends notifications to receivers. `names`: the addresses of the receivers, without secrets."""

    def __init__(self, addresses: Sequence[str], allow_private: Sequence[str] = ()) -> None:
        """`addresses`: the addresses of the receivers, in the same format as in the setting `alerts`.
        `allow_private`: the value of the setting `allow_private`. Raises ConfigError for an invalid address.
        The error message contains the invalid address."""
        found = receivers_of(addresses, allow_private)
        self._receivers = {receiver.name: receiver for receiver in found}
        self.names = list(self._receivers)

    def send(self, name: str, notifications: Sequence[Notification], suppressed: int = 0) -> str:
        """Sends alerts to one receiver. Returns '' if the alerts were sent, or the reason for the failure.
        `suppressed`: the number of earlier alerts that were withheld from the receiver."""
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
    """Returns the receivers in the setting `alerts`. The settings are read from `gossamer.toml`, from the
    environment, and from `options`. `options`: options of `gossamer.run`."""
    settings = read_given_settings(dict(options), folder)
    return Receivers(settings.alerts, settings.allow_private)
