"""The operation that searches the texts of stored pages."""

from __future__ import annotations

import msgspec

from gossamer.errors import UnknownName
from gossamer.operations import inputs_of_uses as inputs
from gossamer.operations import results_of_uses as results
from gossamer.operations.command_runs import command_answer
from gossamer.operations.context import OperationContext


async def find(context: OperationContext, given: inputs.Find) -> results.FoundPages:
    """Searches the texts of the pages that crawls kept, best first. The index of each crawl is updated first, in a
    process of its own."""
    names = [(await context.need(name)).name for name in given.crawl]
    if not names and context.caller.prefix:
        names = await context.names()
        if not names:
            raise UnknownName("there is no crawl yet")
    words = ["find", "--json", f"--limit={given.limit}", f"--page={given.page}"]
    words += [f"--crawl={name}" for name in names] + ["--by-date"] * given.by_date
    found = await command_answer(context, [*words, "--", given.query])
    return msgspec.convert(found, results.FoundPages)
