"""`gossamer alerts`: lists firing alerts, sends a test notification, mutes alerts, and writes the files for
Prometheus."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import (
    Argument,
    Data,
    Json,
    Option,
    Setting,
    StoreUrl,
    open_existing_store,
    read_settings,
)
from gossamer.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

Pattern = Annotated[
    str, Argument(metavar="RULE", help="A rule, or a pattern of names: 'GossamerWorkerGone{worker=w1*}'.")
]
MaybeRule = Annotated[str | None, Argument(metavar="[RULE]", help="The rule that the test names.")]
Folder = Annotated[str, Argument(metavar="DIR", help="Where the files are written.")]


def listed(
    show_rules: Annotated[bool, Option("--rules", help="All rules with their limits.")] = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """List the firing, pending and resolved alerts, and the muted rules."""
    return asyncio.run(_list(read_settings(data, store, setting), show_rules, as_json))


def send_test(
    rule: MaybeRule = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Send a test notification to each receiver of the setting `alerts`. Exit 9 if a receiver does not accept
    the notification."""
    return _send_test(read_settings(data, store, setting), rule or "GossamerStalled", as_json)


def mute(
    rule: Pattern,
    duration: Annotated[str, Option("--for", metavar="TIME", help="How long (default 1h).")] = "1h",
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Send no notifications of alerts for some time. Afterwards, notifications are sent for the alerts that
    still fire."""
    from gossamer.config.value_parsers import seconds

    try:
        length = seconds(duration)
    except ValueError as error:
        raise UsageError(f"--for {duration}: {error}") from None
    return asyncio.run(_mute(read_settings(data, store, setting), rule, length, as_json))


def unmute(
    rule: Pattern, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """End a mute."""
    return asyncio.run(_mute(read_settings(data, store, setting), rule, None, as_json))


def files(folder: Folder, data: Data = None, setting: Setting = None, as_json: Json = False) -> int:
    """Write alert rules, an example of Alertmanager's settings and dashboards for Prometheus and Grafana."""
    from pathlib import Path

    from gossamer.cli.printing import print_action
    from gossamer.observability.alert_rules import read_alert_settings
    from gossamer.observability.prometheus_files import prometheus_files

    settings = read_settings(data, None, setting)
    written = []
    for name, text in prometheus_files(read_alert_settings(settings.alert_rules)).items():
        path = Path(folder) / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from None
        written.append(str(path))
    print_action(f"written: {', '.join(written)}", as_json, files=written)
    return 0


def _list_rules(settings: Settings, as_json: bool) -> int:
    from gossamer.cli.printing import put_json, put_table
    from gossamer.observability.alert_rules import read_alert_settings

    rules = read_alert_settings(settings.alert_rules).rules
    rows = [
        (
            rule.name,
            rule.severity,
            f"{rule.fire:g}",
            f"{rule.clear:g}",
            rule.for_s,
            rule.window_s,
            rule.enabled,
        )
        for rule in rules
    ]
    heads = ("rule", "severity", "fire", "clear", "for s", "window s", "enabled")
    if as_json:
        put_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        put_table(heads, rows, right=heads[2:6], least=("window s",))
    return 0


async def _list(settings: Settings, show_rules: bool, as_json: bool) -> int:
    from gossamer.app.alert_watch import UNWATCHED, read_alerts
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.config.value_texts import format_time
    from gossamer.observability.alert_rules import read_alert_settings
    from gossamer.observability.alert_states import is_muted

    read_alert_settings(settings.alert_rules)  # raises if the file of rules is not valid
    if show_rules:
        return _list_rules(settings, as_json)
    async with open_existing_store(settings) as store:
        known = await read_alerts(store)
    if as_json:
        put_json(known.plain())
        return 0
    found, mutes = known.alerts, known.mutes
    if found:
        table = [
            (
                one.state + (" (muted)" if is_muted(one, mutes) else ""),
                one.severity,
                one.key,
                format_time(one.since),
                one.text,
                ", ".join(one.unsent),
            )
            for one in found
        ]
        put_table(
            ("state", "severity", "alert", "since", "text", "not sent to"),
            table,
            least=("not sent to", "severity"),
        )
    else:
        remark("no alert fires")
    for pattern, until in sorted(mutes.items()):
        remark(f"{pattern} is muted until {format_time(until)}")
    if not settings.alerts:
        remark("no receiver: the setting `alerts` names webhooks, mail or a command (docs/alerts.md)")
    elif not known.evaluated:
        remark(UNWATCHED)
    return 0


def _send_test(settings: Settings, rule: str, as_json: bool) -> int:
    from gossamer.app import alert_watch
    from gossamer.cli.printing import put_json, put_table
    from gossamer.config.value_parsers import nearest
    from gossamer.observability.alert_rules import RULES

    names = [one.name for one in RULES]
    if rule not in names:
        raise UsageError(f"there is no rule {rule}{nearest(rule, names)}; see gossamer alerts list --rules")
    if not settings.alerts:
        raise ConfigError(
            "no receiver: name one in gossamer.toml, as alerts = ['https://HOST/PATH', 'mailto:ADDRESS?smtp=smtp://HOST']"
        )
    found = asyncio.run(alert_watch.send_test(settings, rule))
    if as_json:
        put_json([{"receiver": name, "error": error or None} for name, error in found])
    else:
        put_table(("receiver", "result"), [(name, error or "sent") for name, error in found])
    return 9 if any(error for _, error in found) else 0


async def _mute(settings: Settings, pattern: str, seconds: float | None, as_json: bool) -> int:
    from gossamer.app.alert_watch import check_pattern, mute_alerts
    from gossamer.cli.printing import print_action
    from gossamer.config.value_texts import format_time

    check_pattern(pattern)
    async with open_existing_store(settings) as store:
        until = await mute_alerts(store, pattern, seconds)
    if until is not None:
        print_action(
            f"{pattern} is muted until {format_time(until)}", as_json, rule=pattern, until=format_time(until)
        )
    else:
        print_action(f"{pattern} is no longer muted", as_json, rule=pattern, until=None)
    return 0
