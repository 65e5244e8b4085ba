"""`gossamer webhooks` manages who gets the events of `gossamer serve`. The commands are the operations on webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from gossamer.cli.options import (
    Argument,
    Data,
    Json,
    Option,
    Setting,
    StoreUrl,
    open_existing_store,
    opened_store,
    read_settings,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.operations.context import OperationContext

Result = TypeVar("Result")
WebhookId = Annotated[str, Argument(metavar="ID", help="As `gossamer webhooks list` shows it.")]


def add(
    url: Annotated[str, Argument(metavar="URL", help="Where the events are posted to.")],
    events: Annotated[
        list[str] | None,
        Option(
            "--events",
            metavar="TYPE",
            help="crawl.started, crawl.changed, crawl.ended (default: these), crawl.updated (counts, every second), or "
            "items (all events with new items). Repeatable.",
        ),
    ] = None,
    crawls: Annotated[
        str, Option("--crawls", metavar="TEXT", help="Only crawls whose names begin with this.")
    ] = "",
    secret: Annotated[
        str | None,
        Option("--secret", metavar="REFERENCE", help="${env:NAME} or ${file:PATH} (default: a new secret)."),
    ] = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Post the events of crawls to a URL, signed as Standard Webhooks defines. Prints the secret, once. `gossamer
    serve` delivers the events."""
    import sys

    from gossamer.cli.printing import put_json, remark
    from gossamer.config.secret_refs import has_reference, put_in
    from gossamer.operations import inputs
    from gossamer.operations.webhooks import webhook_add

    if secret is not None and not has_reference(secret):
        raise UsageError(
            "--secret: other users see the options of a process: write '${env:NAME}' or '${file:PATH}'"
        )
    try:
        value = None if secret is None else put_in(secret)
    except ValueError as error:
        raise UsageError(f"--secret: {error}") from None
    fields = {"url": url, "events": events or [], "crawls": crawls, "secret": value}
    given = _input(inputs.AddWebhook, fields)
    settings = read_settings(data, store, setting)
    found = _run(settings, lambda context: webhook_add(context, given), is_new=True)
    if as_json:
        put_json(found)
    elif secret is None:
        sys.stdout.write(f"{found.secret}\n")
    remark(f"webhook {found.id} gets {', '.join(found.events)} while gossamer serve runs")
    return 0


def listed(data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False) -> int:
    """List the receivers of events, and how many events wait for each."""
    from msgspec import to_builtins

    from gossamer.cli.printing import put_json, put_table
    from gossamer.operations import inputs
    from gossamer.operations.webhooks import webhook_list

    settings = read_settings(data, store, setting)
    found = _run(settings, lambda context: webhook_list(context, inputs.NoInput())).items
    if as_json:
        put_json(to_builtins(found))
        return 0
    put_table(
        ("id", "url", "events", "crawls", "waiting", "dead", "added"),
        [
            (one.id, one.url, ", ".join(one.events), one.crawls, one.waiting, one.dead, one.created_at)
            for one in found
        ],
        right=("waiting", "dead"),
        least=("added",),
    )
    return 0


def remove(
    webhook: WebhookId,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Remove a receiver of events, with the events that wait for it."""
    from gossamer.cli.printing import print_action
    from gossamer.operations import inputs
    from gossamer.operations.webhooks import webhook_remove

    given = _input(inputs.OneWebhook, {"webhook": webhook})
    _run(read_settings(data, store, setting), lambda context: webhook_remove(context, given))
    print_action(f"webhook {webhook} is removed", as_json, id=webhook)
    return 0


def dead(
    webhook: WebhookId,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """List the events that a receiver did not accept, at most 1,000."""
    from msgspec import to_builtins

    from gossamer.cli.printing import put_json, put_table
    from gossamer.operations import inputs
    from gossamer.operations.webhooks import webhook_dead

    given = _input(inputs.ListDeadDeliveries, {"webhook": webhook, "limit": 1000})
    settings = read_settings(data, store, setting)
    found = _run(settings, lambda context: webhook_dead(context, given)).items
    if as_json:
        put_json(to_builtins(found))
        return 0
    put_table(
        ("event", "type", "crawl", "given up", "attempts", "error"),
        [
            (one.number, one.event["type"], one.event["crawl"], one.given_up_at, one.attempts, one.error)
            for one in found
        ],
        right=("attempts",),
        long=("error",),
    )
    return 0


def resend(
    webhook: WebhookId,
    event: Annotated[
        str | None, Option("--event", metavar="EVENT", help="One event (default: all in the dead list).")
    ] = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Deliver events again that a receiver did not accept. Their ids stay the same."""
    from gossamer.cli.printing import print_action
    from gossamer.operations import inputs
    from gossamer.operations.webhooks import webhook_resend

    given = _input(inputs.ResendDeliveries, {"webhook": webhook, "number": event})
    settings = read_settings(data, store, setting)
    found = _run(settings, lambda context: webhook_resend(context, given))
    print_action(f"{found.events} events are delivered again", as_json, id=webhook, events=found.events)
    return 0


def _input(kind: type[Result], fields: dict[str, Any]) -> Result:
    import msgspec

    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from None


def _run(
    settings: Settings,
    call: Callable[[OperationContext], Coroutine[Any, Any, Result]],
    *,
    is_new: bool = False,
) -> Result:
    """Calls an operation. `is_new`: whether a missing store is made."""
    from gossamer.operations.context import Caller, OperationContext

    async def run() -> Result:
        async with opened_store(settings) if is_new else open_existing_store(settings) as store:
            return await call(OperationContext(store, settings, Caller()))

    return asyncio.run(run())
