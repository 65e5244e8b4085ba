"""Delivers notifications of alerts: to a webhook (Standard Webhooks), to Slack or a compatible service, by
mail, and to a command. Every address is checked by the egress guard."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import smtplib
import subprocess
import time
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from gossamer import url as urls
from gossamer.config.redaction import mask, register_in
from gossamer.config.settings import Settings
from gossamer.egress.addresses import networks
from gossamer.egress.guarded_post import (
    TIMEOUT_S,
    GuardedPost,
    checked,
    signing_key,
    webhook_headers,
)
from gossamer.egress.resolver import is_localhost
from gossamer.errors import ConfigError, DeliveryError
from gossamer.observability.alert_rules import read_alert_settings
from gossamer.observability.alert_states import Alert
from gossamer.observability.logs import safe_text

RUNBOOKS = "https://gossamer.readthedocs.io/operations/#"


class Receiver(Protocol):
    """One receiver of notifications. `name` is the receiver's address without secrets."""

    name: str

    async def send(self, alerts: Sequence[Alert], suppressed: int) -> None:
        """Sends a notification. `suppressed`: the number of notifications that were not sent today. Raises
        DeliveryError."""


_MAIL_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")


def check_alerts(settings: Settings) -> None:
    """Raises ConfigError if a receiver in the setting `alerts` or the file `alert_rules` is not valid. Does not
    look for the programs of receivers, because another machine may send the alerts."""
    read_alert_settings(settings.alert_rules)
    for text in settings.alerts:
        _receiver(text, settings.allow_private)


def receivers_of(texts: Sequence[str], allow_private: Sequence[str] = ()) -> list[Receiver]:
    """Returns the receivers of the setting `alerts`. Raises ConfigError, which contains the invalid entry."""
    found = [_receiver(text, allow_private) for text in texts]
    for receiver in found:
        if isinstance(receiver, CommandReceiver):
            receiver.check_program()
    return found


def _receiver(text: str, allow: Sequence[str]) -> Receiver:
    register_in(text)
    scheme = text.partition(":")[0].lower()
    if scheme in ("http", "https"):
        return WebhookReceiver(text, allow)
    if scheme in ("slack+http", "slack+https"):
        return SlackReceiver(text.removeprefix("slack+"), allow)
    if scheme == "mailto":
        return MailReceiver(text, allow)
    if scheme == "command" and text.removeprefix("command:").split():
        return CommandReceiver(text.removeprefix("command:").split())
    raise ConfigError(
        f"alerts {mask(text)}: write https://HOST/PATH, slack+https://..., mailto:ADDRESS?smtp=smtp://HOST, "
        "or command:PROGRAM ARGUMENTS"
    )


def _server(url: str, text: str, ports: Mapping[str, int], allow: Sequence[str]) -> tuple[str, str, int]:
    """Returns the scheme, the host and the port of the server at `url`. `ports` contains the default port of
    each scheme. Raises ConfigError, which contains the receiver `text`, if `url` is invalid, or if its host
    name is private and `allow` does not contain the address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        why = "the port is not a number up to 65535" if "ort" in str(error) else str(error)
        raise ConfigError(f"alerts {mask(text)}: {why}") from None
    host = parts.hostname or ""
    if not host or urls.parse(f"http://{f'[{host}]' if ':' in host else host}/") is None:
        raise ConfigError(f"alerts {mask(text)}: there is no valid host in it")
    loopback = [ip_address("127.0.0.1"), ip_address("::1")]
    if is_localhost(host.rstrip(".")) and not any(
        one in network for network in networks(allow) for one in loopback
    ):
        raise ConfigError(
            f"alerts {mask(text)}: {host} is a private name: write 127.0.0.1, or set allow_private to 127.0.0.0/8"
        )
    return parts.scheme, host, port or ports[parts.scheme]


def payload(alerts: Sequence[Alert], suppressed: int = 0) -> dict[str, Any]:
    """Returns the JSON value that is sent to a webhook or a command (docs/alerts.md)."""
    return {
        "version": 1,
        "status": "firing" if any(one.state == "firing" for one in alerts) else "resolved",
        "alerts": [
            {
                "alert": one.rule,
                "status": one.state,
                "severity": one.severity,
                "labels": dict((*one.labels, *one.details)),
                "value": one.value,
                "text": safe_text(one.text),
                "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(one.since)),
                **({"runbook": f"{RUNBOOKS}{one.rule.lower()}"} if one.rule.startswith("Gossamer") else {}),
            }
            for one in alerts
        ],
        "suppressed": suppressed,
    }


def lines(alerts: Sequence[Alert], suppressed: int = 0) -> list[str]:
    """Returns a notification as readable text, with one line for each alert."""
    found = [safe_text(f"{one.state.upper()} {one.severity}: {one.text} ({one.key})") for one in alerts]
    return [
        *found,
        *([f"{suppressed} notifications were left out today (max_per_day)"] if suppressed else []),
    ]


def _post(url: str, allow: Sequence[str]) -> GuardedPost:
    """Returns what posts to a receiver. The user typed its address, so it may be private."""
    scheme, host, port = _server(url, url, {"http": 80, "https": 443}, allow)
    return GuardedPost(url, host, port, f"{scheme}://{host}:{port}", allow, is_typed=True)


class WebhookReceiver:
    """A webhook. The webhook's URL may contain the parameter `secret`. The requests are then signed with this
    secret as defined by Standard Webhooks, and are sent to the URL without the parameter."""

    def __init__(self, url: str, allow: Sequence[str]) -> None:
        base, _, query = url.partition("?")
        secret = parse_qs(query).get("secret", [""])[0]
        rest = "&".join(part for part in query.split("&") if part and not part.startswith("secret="))
        try:
            self._key = signing_key(secret)
        except ValueError:
            raise ConfigError(f"alerts {mask(url)}: a secret after whsec_ is base64") from None
        self._post = _post(f"{base}?{rest}" if rest else base, allow)
        self.name = self._post.name

    async def send(self, alerts: Sequence[Alert], suppressed: int) -> None:
        """See `Receiver`."""
        body = msgspec.json.encode(payload(alerts, suppressed))
        await self._post(body, webhook_headers(self._key, f"msg_{secrets.token_hex(12)}", body))


class SlackReceiver:
    """An incoming webhook of Slack, Mattermost, or another service that takes `{"text": ...}`."""

    def __init__(self, url: str, allow: Sequence[str]) -> None:
        self._post = _post(url, allow)
        self.name = f"slack+{self._post.name}"

    async def send(self, alerts: Sequence[Alert], suppressed: int) -> None:
        """See `Receiver`."""
        text = (
            "\n".join(lines(alerts, suppressed))
            .replace("&", "&amp;")
            .replace("<", "&lt;")
            .replace(">", "&gt;")
        )
        await self._post(msgspec.json.encode({"text": text}))


class MailReceiver:
    """Mail through an SMTP server: `mailto:ADDRESS?smtp=smtp://USER:PASSWORD@HOST:PORT&from=ADDRESS`. `smtps`
    uses TLS from the start. `smtp` uses STARTTLS if the server supports it."""

    def __init__(self, url: str, allow: Sequence[str]) -> None:
        address, _, query = url.removeprefix("mailto:").partition("?")
        given = parse_qs(query)
        smtp = given.get("smtp", [""])[0]
        self._to = [one.strip() for one in unquote(address).split(",") if one.strip()]
        wrong = [one for one in self._to if not _MAIL_ADDRESS.fullmatch(one)]
        if wrong or not self._to or not smtp.startswith(("smtp://", "smtps://")):
            raise ConfigError(f"alerts {mask(url)}: write mailto:ADDRESS?smtp=smtp://USER:PASSWORD@HOST:587")
        self._from = given.get("from", self._to)[0]
        scheme, self._host, self._port = _server(smtp, url, {"smtp": 25, "smtps": 465}, allow)
        self._tls, server = scheme == "smtps", urlsplit(smtp)
        self._user, self._password = unquote(server.username or ""), unquote(server.password or "")
        self._allow = tuple(allow)
        self.name = f"mailto:{','.join(self._to)}"

    async def send(self, alerts: Sequence[Alert], suppressed: int) -> None:
        """See `Receiver`."""
        (address, *_) = await checked(self._host, self._port, self._allow, self.name)
        told = lines(alerts, suppressed)
        message = EmailMessage()
        message["From"], message["To"] = self._from, ", ".join(self._to)
        message["Subject"] = f"gossamer: {told[0]}"[:200] + (
            f" (and {len(told) - 1} more)" if told[1:] else ""
        )
        message.set_content("\n".join(told) + f"\n\n{RUNBOOKS.removesuffix('#')}\n")
        try:
            await asyncio.to_thread(self._send, address, message)
        except (OSError, smtplib.SMTPException) as error:
            raise DeliveryError(f"{self.name}: {mask(str(error))}") from None

    def _send(self, address: str, message: EmailMessage) -> None:
        kind = smtplib.SMTP_SSL if self._tls else smtplib.SMTP
        with kind(timeout=TIMEOUT_S) as server:
            setattr(server, "_host", self._host)  # noqa: B010 - the name in the certificate; the address is checked
            server.connect(address, self._port)
            if not self._tls and server.has_extn("starttls"):
                server.starttls()
            if self._user:
                server.login(self._user, self._password)
            server.send_message(message)


class CommandReceiver:
    """A program that gets the notification as JSON on its standard input."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self.name = f"command:{words[0]}"

    def check_program(self) -> None:
        """Raises ConfigError if this machine has no such program."""
        if shutil.which(self._words[0]) is None:
            raise ConfigError(
                f"alerts {self.name}: there is no program {self._words[0]} that can be run here"
            )

    async def send(self, alerts: Sequence[Alert], suppressed: int) -> None:
        """See `Receiver`."""
        try:
            done = await asyncio.to_thread(
                subprocess.run,
                self._words,
                input=msgspec.json.encode(payload(alerts, suppressed)),
                capture_output=True,
                timeout=3 * TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeliveryError(f"{self.name}: {error}") from None
        if done.returncode:
            said = done.stderr[-200:].decode("utf-8", "replace").strip()
            raise DeliveryError(f"{self.name} ends with {done.returncode}: {mask(said)}")
