"""Lists who changed what."""

from __future__ import annotations

import re
import time

from gossamer.app.actions import read_actions
from gossamer.operations import inputs, results
from gossamer.operations.context import OperationContext
from gossamer.operations.cursors import cursor_after, position_of
from gossamer.operations.problems import RequestProblem
from gossamer.operations.rows import moment_of
from gossamer.state.action_log import Action

_NUMBER = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")


async def action_list(context: OperationContext, given: inputs.ListActions) -> results.ActionPage:
    """Lists who changed what and with which outcome, newest first: by commands, the API and the dashboard. Secrets are
    hidden. The last 10,000 actions are kept."""
    before = position_of(given, str, "")
    if before and not _NUMBER.fullmatch(before):
        raise RequestProblem("wrong-cursor", "the cursor is none of this list: begin without a cursor")
    found: list[Action] = []
    last = ""
    async for number, one in read_actions(
        context.store,
        limit=given.limit + 1,
        crawl=given.crawl,
        who=given.who,
        operation=given.operation,
        age=None if given.since is None else time.time() - moment_of(given.since),
        before=before,
        sees=context.caller.sees,
    ):
        if len(found) == given.limit:
            return results.ActionPage(items=found, next=cursor_after(given, last))
        found.append(one)
        last = number
    return results.ActionPage(items=found, next=None)
