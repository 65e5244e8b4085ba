"""Operations on schedules, which all callers of a store share."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.errors import InvalidField
from gossamer.operations import inputs, results_of_uses
from gossamer.operations import inputs_of_uses as given_inputs
from gossamer.operations.command_runs import command_answer, start_run
from gossamer.operations.context import OperationContext
from gossamer.operations.guarded_targets import check_target
from gossamer.scheduler.schedule_rows import change_schedule, run_rows, schedule_rows
from gossamer.state.schedules import Schedules
from gossamer.web.audit_operations import audit_run_words
from gossamer.web.keyword_operations import keyword_run_words
from gossamer.web.price_operations import price_run_words
from gossamer.web.rank_operations import rank_run_words
from gossamer.web.use_tables import options_of


async def schedule_list(context: OperationContext, given: inputs.NoInput) -> results_of_uses.ScheduleList:
    """Lists all schedules: the next due time, the last run and its result."""
    rows, leader = await schedule_rows(context.store)
    return results_of_uses.ScheduleList(items=rows, scheduler=leader)


async def schedule_runs(
    context: OperationContext, given: given_inputs.ListScheduleRuns
) -> results_of_uses.ScheduleRuns:
    """Lists the last runs of a schedule, latest first: when, how they ended, and why."""
    return results_of_uses.ScheduleRuns(items=await run_rows(context.store, given.schedule, given.limit))


async def schedule_add(
    context: OperationContext, given: given_inputs.AddSchedule
) -> results_of_uses.ScheduleChange:
    """Adds a crawl or a run of a use by the clock, or changes the schedule of this name. A `gossamer scheduler` starts
    it."""
    uses = [name for name in ("prices", "ranks", "keywords", "audit") if getattr(given, name) is not None]
    begun = await _begun(context, given, uses)
    # the options of the server's crawls stand in the command of a use itself
    words = ["schedule", "add", *(() if uses else context.words), "--json", "--quiet"]
    words += options_of(
        given,
        *("tz", "jitter", "spread", "missed", "overlap", "scope", "include", "exclude", "depth", "limit"),
        *("time_limit", "delay", "rate", "sitemaps", "text", "links", "refresh"),
    )
    found = await command_answer(context, [*words, "--", given.schedule, given.cron, *begun])
    return results_of_uses.ScheduleChange(schedule=found["schedule"], did=found["did"], next=found["next"])


async def _begun(
    context: OperationContext, given: given_inputs.AddSchedule, uses: Sequence[str]
) -> list[str]:
    """Returns the targets or the command of a schedule. `uses`: the uses that are given. Raises InvalidField."""
    if len(uses) + bool(given.targets or given.sites) > 1:
        raise InvalidField(
            f"a schedule starts one thing: either targets and sites, or {uses[0]}", f"/{uses[0]}"
        )
    if not uses and not given.targets and not given.sites:
        text = "no target: give targets (URLs), sites (names of site files), prices, ranks, keywords or audit"
        raise InvalidField(text, "/targets")
    try:
        if given.prices is not None:
            return price_run_words(context, given.prices)
        if given.ranks is not None:
            return rank_run_words(context, given.ranks)
        if given.keywords is not None:
            return keyword_run_words(context, given.keywords)
        if given.audit is not None:
            return await audit_run_words(context, given.audit)
    except InvalidField as error:
        raise InvalidField(str(error), f"/{uses[0]}{error.pointer}") from None
    for number, text in enumerate(given.targets):
        check_target(text, context.settings, f"/targets/{number}")
    files = [context.site_file(name, f"/sites/{number}") for number, name in enumerate(given.sites)]
    return [*given.targets, *files]


async def schedule_pause(
    context: OperationContext, given: given_inputs.OneSchedule
) -> results_of_uses.ScheduleChange:
    """Pauses a schedule until it is resumed. Its running crawls are not stopped."""
    await change_schedule(context.store, given.schedule, "pause")
    return results_of_uses.ScheduleChange(schedule=given.schedule, did="paused")


async def schedule_resume(
    context: OperationContext, given: given_inputs.OneSchedule
) -> results_of_uses.ScheduleChange:
    """Resumes a paused schedule. Runs that were due during the pause are skipped."""
    await change_schedule(context.store, given.schedule, "resume")
    return results_of_uses.ScheduleChange(schedule=given.schedule, did="resumed")


async def schedule_remove(
    context: OperationContext, given: given_inputs.OneSchedule
) -> results_of_uses.ScheduleChange:
    """Removes a schedule. Its running crawls are not stopped."""
    await change_schedule(context.store, given.schedule, "drop")
    return results_of_uses.ScheduleChange(schedule=given.schedule, did="removed")


async def schedule_run(
    context: OperationContext, given: given_inputs.RunSchedule
) -> results_of_uses.CommandRun:
    """Runs a schedule now, as a process of its own. With a shared store, the fleet crawls."""
    await Schedules(context.store).need(given.schedule)
    words = ["schedule", "run", "--json", "--quiet", "--", given.schedule]
    return await start_run(context, "schedule", words, given.wait)
