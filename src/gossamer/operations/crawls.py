"""Operations on crawls: list, show, steer, add URLs, priorities, shares."""

from __future__ import annotations

import asyncio
import re

import msgspec

from gossamer.app import accept as accepting
from gossamer.app.crawl_status import crawl_line, crawl_state
from gossamer.app.job import Job
from gossamer.app.live_changes import Changes, change_live
from gossamer.app.outcome import exit_code_of
from gossamer.app.steering import change_priority, steer
from gossamer.app.stored_setup import load_setup
from gossamer.app.targets import target_kind
from gossamer.app.url_adding import REFUSING, AddOptions, add_urls, check_options
from gossamer.errors import ConfigError, CrawlEnded, CrawlFailed, InUse, InvalidField, UsageError
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import ENDED
from gossamer.frontier.summary import summary
from gossamer.model.exit_codes import exit_meaning
from gossamer.model.summary import Summary
from gossamer.operations import inputs, results
from gossamer.operations.confirmation import (
    MAX_UNCONFIRMED,
    check_confirmation,
    confirmation,
    needs_confirmation,
)
from gossamer.operations.context import OperationContext, authority
from gossamer.operations.cursors import cursor_after, position_of
from gossamer.operations.guarded_targets import check_target
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.url.patterns import compile_


async def crawl_list(context: OperationContext, given: inputs.ListCrawls) -> results.CrawlPage:
    """Lists crawls by name, each with its counts and current rates."""
    after = position_of(given, str, "")
    names = [name for name in await context.names() if name > after]
    found: list[results.CrawlEntry] = []
    for number, name in enumerate(names):
        if given.state is not None and (await context.crawls.state(name))[0] != given.state:
            continue
        line = await crawl_line(context.statistics, context.settings, name)
        found.append(msgspec.convert(line.plain(), results.CrawlEntry))
        if len(found) == given.limit and number + 1 < len(names):
            return results.CrawlPage(items=found, next=cursor_after(given, name))
    return results.CrawlPage(items=found, next=None)


async def crawl_show(context: OperationContext, given: inputs.ShowCrawl) -> results.CrawlStatus:
    """Shows the state of a crawl: counts, rates, slowest hosts, and why it is idle. With `wait`, answers when the
    crawl has ended, or when the time is over."""
    await context.need(given.crawl)
    await wait_for_end(context, given.crawl, given.wait)
    return await status_of(context, given.crawl)


async def crawl_outcome(context: OperationContext, given: inputs.ShowCrawl) -> results.CrawlOutcome:
    """Shows how a crawl ended: the exit code that `gossamer crawl` returns, with the counts. With `wait`, answers when
    the crawl has ended, or when the time is over."""
    record = await context.need(given.crawl)
    await wait_for_end(context, given.crawl, given.wait)
    end = await summary(context.store, given.crawl)
    fields = {name: getattr(end, name) for name in results.COUNTS_OF_OUTCOME}
    if end.state not in ENDED and is_running(record, context.settings.data):
        return results.CrawlOutcome(**fields, exit_code=None, meaning=None, error=None)
    if end.state not in ENDED:
        code, said = (
            CrawlFailed.exit_code,
            f"the process of the crawl died: start {record.name} again to continue it",
        )
        return results.CrawlOutcome(**fields, exit_code=code, meaning=exit_meaning(code), error=said)
    try:
        job = (await load_setup(context.store, record, context.settings)).job
    except UsageError:  # the crawl was started by an earlier version
        job = Job(targets=[], settings=context.settings)
    whole = msgspec.structs.replace(job, targets=record.spec.targets)
    try:
        code, error = await asyncio.to_thread(exit_code_of, whole, end)
    except (
        ConfigError,
        UsageError,
    ):  # this machine cannot load the site files, so it does not know their gates
        code, error = exit_code_of(job, end)
    return results.CrawlOutcome(
        **fields, exit_code=code, meaning=exit_meaning(code), error=None if error is None else str(error)
    )


async def status_of(context: OperationContext, crawl: str) -> results.CrawlStatus:
    """Returns the state of a crawl."""
    state = await crawl_state(context.statistics, context.settings, crawl)
    return msgspec.convert(state.plain(), results.CrawlStatus)


async def wait_for_end(context: OperationContext, crawl: str, seconds: float) -> None:
    """Waits until a crawl has ended, at most `seconds`. All requests that wait share one reader of the store."""
    if (
        seconds > 0
        and context.until_ended is not None
        and (await context.crawls.state(crawl))[0] not in ENDED
    ):
        await context.until_ended(crawl, seconds)


async def _steered(context: OperationContext, verb: str, crawl: str) -> results.CrawlHandle:
    await context.need(crawl)
    state, said = await steer(context.store, context.settings, verb, crawl)
    return results.CrawlHandle(crawl=crawl, state=state, said=said)


async def crawl_pause(context: OperationContext, given: inputs.OneCrawl) -> results.CrawlHandle:
    """Pauses a crawl. No new pages are fetched, and the queue and all results are kept."""
    return await _steered(context, "pause", given.crawl)


async def crawl_resume(context: OperationContext, given: inputs.OneCrawl) -> results.CrawlHandle:
    """Continues a paused crawl. To continue a crawl that has ended, start it again with the same name."""
    return await _steered(context, "resume", given.crawl)


async def crawl_finish(context: OperationContext, given: inputs.OneCrawl) -> results.CrawlHandle:
    """Retries nothing more. URLs that wait for a retry become dead letters, and the others are still fetched."""
    return await _steered(context, "finish", given.crawl)


async def crawl_stop(context: OperationContext, given: inputs.OneCrawl) -> results.CrawlHandle:
    """Ends a crawl gracefully and keeps its queue."""
    return await _steered(context, "stop", given.crawl)


async def crawl_cancel(context: OperationContext, given: inputs.OneCrawl) -> results.CrawlHandle:
    """Ends a crawl and drops its queue. Fetched pages are kept."""
    return await _steered(context, "cancel", given.crawl)


async def crawl_accept(context: OperationContext, given: inputs.OneCrawl) -> Summary:
    """Confirms that a run which is not like the last good runs is right."""
    await context.need(given.crawl)
    return await accepting.accept(context.settings, given.crawl)


async def crawl_add(context: OperationContext, given: inputs.AddUrls) -> results.AddedUrls:
    """Adds URLs to a crawl that is running, paused or ended."""
    record = await context.need(given.crawl)
    if record.state in REFUSING:
        raise InUse(
            f"crawl {record.name} is {record.state}, so its queue is dropped: start it anew with fresh"
        )
    for number, text in enumerate(given.urls):
        check_target(text, context.settings, f"/urls/{number}")
    targets = [target_kind(text) for text in given.urls]
    options = AddOptions(
        priority=given.priority,
        id=given.id,
        use=given.use,
        carry=given.carry,
        key=given.key,
        again=given.again,
        if_older=given.if_older,
        as_seeds=given.as_seeds,
    )
    check_options(options, targets)
    try:
        result = await add_urls(context.store, context.settings, given.crawl, targets, options)
    except CrawlEnded as error:
        raise InUse(str(error)) from error
    result.state = result.state or (await context.crawls.state(given.crawl))[0]
    return msgspec.convert(msgspec.to_builtins(result), results.AddedUrls)


async def crawl_limits(context: OperationContext, given: inputs.ChangeLimits) -> results.CrawlLimits:
    """Changes the limits and exclusions of a running crawl, which its workers follow within seconds. Limits hold until the
    run ends, exclusions as long as the crawl exists."""
    await context.need(given.crawl)
    changes = Changes(given.limit, given.size_limit, given.time_limit, given.exclude, given.readmit)
    try:
        now = await change_live(context.store, context.settings, given.crawl, changes)
    except UsageError as error:
        option = str(error).partition(" ")[0].rstrip(":").removeprefix("--")
        raise InvalidField(str(error).partition(" ")[2], f"/{option}") from None
    shown = {name: getattr(now, name) for name in ("limit", "size_limit", "time_limit")}
    return results.CrawlLimits(crawl=given.crawl, exclude=list(now.exclude), **shown)


async def crawl_priority(context: OperationContext, given: inputs.ChangePriority) -> results.Reprioritized:
    """Changes the priority of waiting URLs."""
    await context.need(given.crawl)
    try:
        match = compile_(given.match) if given.match is not None else None
    except re.error as error:
        raise InvalidField(f"{given.match!r} is not a regular expression: {error}", "/match") from None
    hosts = [None if given.host is None else authority(given.host)]

    async def change(dry_run: bool) -> int:
        return await change_priority(
            context.store, context.settings, given.crawl, given.priority, hosts, match, dry_run
        )

    if given.confirm is not None:
        check_confirmation(context, "crawl_priority", given)
    elif not given.dry_run and await change(True) > MAX_UNCONFIRMED:
        raise needs_confirmation("URLs")
    return results.Reprioritized(
        crawl=given.crawl,
        priority=given.priority,
        urls=await change(given.dry_run),
        dry_run=given.dry_run,
        confirm=confirmation(context, "crawl_priority", given) if given.dry_run else None,
    )


async def crawl_weight(context: OperationContext, given: inputs.ShareFleet) -> results.FleetShare:
    """Changes a crawl's share of the fleet, or puts it before other crawls."""
    await context.need(given.crawl)
    fleet = FleetCrawls(context.store)
    if given.weight is not None:
        await fleet.set_weight(given.crawl, given.weight)
    if given.precedence is not None:
        await fleet.set_precedence(given.crawl, given.precedence)
    record = await context.need(given.crawl)
    return results.FleetShare(crawl=record.name, weight=record.weight, precedence=record.precedence)


async def crawl_hosts(context: OperationContext, given: inputs.ListCrawlHosts) -> results.CrawlHostList:
    """Lists the hosts of a crawl with their queues and delays."""
    await context.need(given.crawl)
    lines = await context.statistics.hosts(given.crawl, given.limit, given.sort)
    fields = results.CrawlHost.__struct_fields__
    return results.CrawlHostList(
        items=[results.CrawlHost(**{name: getattr(line, name) for name in fields}) for line in lines]
    )
