"""The option `-o` and the output of `gossamer prices alert` and `gossamer ranks alert`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Option

if TYPE_CHECKING:
    from gossamer.uses.alert_outbox import ReportedChanges

NOT_SENT = 9
"""The exit code if a receiver did not accept an alert."""

Outputs = Annotated[
    list[str] | None,
    Option(
        "-o",
        "--output",
        metavar="OUTPUT",
        help="Send events to it: changes.jsonl, kafka://..., https+webhook://...",
    ),
]


def put_reported(told: ReportedChanges, as_json: bool) -> int:
    """Prints the reported changes, and returns the exit code."""
    import msgspec

    from gossamer.cli.printing import put_json, put_table
    from gossamer.config.value_texts import format_number

    if as_json:
        put_json(
            {
                "alerts": [{"id": one.id, **msgspec.to_builtins(one.notification)} for one in told.alerts],
                "sent": told.sent,
                "suppressed": told.suppressed,
                "failures": list(told.failures),
                "events_sent": told.events_sent,
            }
        )
    else:
        rows = [
            (one.notification.rule, one.notification.severity, one.notification.text) for one in told.alerts
        ]
        if rows:
            put_table(("rule", "severity", "alert"), rows, long=("alert",))
        parts = [format_number(len(told.alerts), "new alert"), f"{told.sent:,} sent"]
        if told.suppressed:
            parts.append(f"{told.suppressed:,} left out (max_per_day)")
        if told.events_sent:
            parts.append(f"{format_number(told.events_sent, 'event')} sent to outputs")
        print(", ".join(parts))
    return NOT_SENT if told.failures else 0
