"""Operations on audits of sites. A site's audits are the file HOST.db in the folder `audits` of the data folder."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path

import msgspec

from gossamer.config.data_files import make_folder
from gossamer.config.value_texts import format_time
from gossamer.errors import UnknownName, UsageError
from gossamer.operations import inputs, inputs_of_uses, results, results_of_uses
from gossamer.operations.command_runs import start_run
from gossamer.operations.context import OperationContext
from gossamer.operations.cursors import cursor_after, position_of
from gossamer.operations.guarded_targets import check_target
from gossamer.uses.audit.database import AuditDatabase, host_of
from gossamer.uses.audit.model import AuditSummary
from gossamer.uses.audit.records import read_records
from gossamer.uses.audit.registry import CHECKS
from gossamer.uses.audit.run import start_url, stored_summary
from gossamer.web.use_tables import (
    Rows,
    check_seen,
    data_folder,
    database_names,
    database_of,
    need_name,
    options_of,
    table_page,
)


def _folder(context: OperationContext) -> Path:
    return Path(context.settings.data) / "audits"


def audit_path(context: OperationContext, name: str) -> str:
    """Returns the path of the audits of a site. Raises UnknownName."""
    return database_of(context, name, "audits", "audit", _folder(context))


def audit_summary(path: str) -> AuditSummary:
    """Returns the summary of the last complete audit. Raises UnknownName if there is none."""
    try:
        return stored_summary(path)
    except UsageError as error:
        raise UnknownName(str(error)) from None


async def audit_list(context: OperationContext, given: inputs_of_uses.ListPages) -> results_of_uses.AuditPage:
    """Lists the audited sites by name, each with the counts of its last complete audit."""
    after = position_of(given, str, "")
    names = [
        name
        for name in await asyncio.to_thread(database_names, context, "audits", _folder(context))
        if name > after
    ]
    found = [await asyncio.to_thread(_entry, context, name) for name in names[: given.limit]]
    following = cursor_after(given, found[-1].audit) if len(names) > given.limit else None
    return results_of_uses.AuditPage(items=found, next=following)


def _entry(context: OperationContext, name: str) -> results_of_uses.AuditEntry:
    with AuditDatabase(_folder(context) / f"{name}.db") as database:
        records = database.audits()
    last = next((one for one in reversed(records) if one.ended is not None), None)
    entry = results_of_uses.AuditEntry(audit=name, audits=len(records))
    if last is not None:
        told = msgspec.convert(last.summary, AuditSummary)
        entry.url, entry.ended_at = told.url, format_time(last.ended or 0.0)
        entry.errors, entry.warnings, entry.notices = told.errors, told.warnings, told.notices
    return entry


async def audit_show(
    context: OperationContext, given: inputs_of_uses.OneAudit
) -> results_of_uses.AuditReport:
    """Shows the last complete audit of a site: counts, and the result of each check."""
    found = msgspec.to_builtins(await asyncio.to_thread(audit_summary, audit_path(context, given.audit)))
    return msgspec.convert(
        {**found, "audit": given.audit, "number": found["audit"]}, results_of_uses.AuditReport
    )


async def audit_findings(
    context: OperationContext, given: inputs_of_uses.ListAuditFindings
) -> results.RowPage:
    """Lists the findings of the last complete audit of a site."""
    path = audit_path(context, given.audit)
    need_name(given.check, (one.id for one in CHECKS), "check")

    def read(most: int) -> Rows:
        summary = audit_summary(path)
        with AuditDatabase(path) as database:
            chosen = (
                {**row, "time": format_time(row["time"].timestamp())}
                for _, row in read_records(database, summary, "audit_finding")
                if given.check in (None, row["check"])
                and given.severity in (None, row["severity"])
                and (row["new"] or not given.new)
            )
            return list(islice(chosen, most))

    return await table_page(given, read)


async def audit_checks(context: OperationContext, given: inputs.NoInput) -> results.RowPage:
    """Lists all checks of an audit: what they find, and how to mend it."""
    rows = [
        {
            "id": one.id,
            "group": one.group,
            "severity": one.severity.value,
            "title": one.title,
            "things": one.thing,
            "fix": one.fix,
        }
        for one in CHECKS
    ]
    return results.RowPage(items=rows, next=None)


async def audit_run(
    context: OperationContext, given: inputs_of_uses.StartAudit
) -> results_of_uses.CommandRun:
    """Starts an audit: crawls a site, and reports what is broken in it. The next audit shows which findings are new and
    which are fixed. An interrupted audit continues."""
    return await start_run(context, "audit", await audit_run_words(context, given), given.wait)


async def audit_run_words(context: OperationContext, given: inputs_of_uses.StartAudit) -> list[str]:
    """Returns the words of the command behind `audit_run`. Raises InvalidField."""
    check_target(given.url, context.settings, "/url")
    name = given.audit or host_of(start_url(given.url)).replace(":", "-")
    check_seen(context, name, "/audit")
    data = data_folder(context)
    words = ["audit", *context.words, f"--data={data}", f"--database={data / 'audits' / name}.db"]
    if given.crawl is not None:
        words.append(f"--crawl={(await context.need(given.crawl)).name}")
    if given.as_host is not None:
        words.append(f"--as={given.as_host}")
    words += options_of(
        given, *("limit", "depth", "external", "include", "exclude", "delay", "if_older", "fresh")
    )
    await asyncio.to_thread(make_folder, data / "audits")  # the command checks the place of its output first
    words += [f"--output={data / 'audits' / name}.html", "--json", "--quiet", "--", given.url]
    return words
