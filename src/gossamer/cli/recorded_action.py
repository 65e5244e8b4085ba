"""Records the commands that change something in the log of actions (`gossamer actions`)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gossamer.store.store import Store

CHANGING = frozenset(
    {
        *(
            "pause",
            "resume",
            "stop",
            "finish",
            "cancel",
            "accept",
            "add",
            "priority",
            "limits",
            "weight",
            "changed",
        ),
        *("dead requeue", "dead drop", "dead undo", "skipped requeue"),
        *("host pause", "host resume", "host rate", "host rung", "rate", "workers drain", "workers stop"),
        *("alerts mute", "alerts unmute", "schedule add", "schedule pause", "schedule resume"),
        *("schedule remove", "schedule run", "webhooks add", "webhooks remove", "webhooks resend"),
    }
)
"""Commands of operations that change something."""
LEFT_OUT = frozenset({"data", "store", "setting", "as_json", "quiet"})


@contextlib.asynccontextmanager
async def recorded_action(store: Store) -> AsyncIterator[None]:
    """Records the running command with its outcome, if it changes something."""
    context = click.get_current_context(silent=True)
    name = context.command_path.partition(" ")[2] if context is not None else ""
    if context is None or name not in CHANGING or context.params.get("dry_run"):
        yield
        return
    from gossamer.errors import GossamerError

    try:
        yield
    except GossamerError as error:
        await record_action(store, name, context.params, str(error))
        raise
    await record_action(store, name, context.params, "")


async def record_action(store: Store, name: str, params: dict[str, Any], problem: str = "") -> None:
    """Records a command that this user gave."""
    import getpass
    import platform

    from gossamer.errors import StoreError
    from gossamer.state.action_log import DONE, ActionLog, action_of

    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container without an entry for the user
        user = "?"
    given = {
        key: value for key, value in params.items() if key not in LEFT_OUT and value not in (None, False)
    }
    action = action_of(
        who=f"{user}@{platform.node()}",
        by="command",
        operation=name,
        given=given,
        outcome="failed" if problem else DONE,
        detail=problem,
    )
    with contextlib.suppress(StoreError):  # the command itself has reported the outage
        await ActionLog(store).add(action)
