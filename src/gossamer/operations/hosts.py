"""Operations on hosts and workers, which all crawls of a store share."""

from __future__ import annotations

import msgspec

from gossamer import __version__
from gossamer.app.host_state import host_state
from gossamer.app.worker_list import worker_list as read_workers
from gossamer.frontier.operator import FOREVER_S, OperatorCommands
from gossamer.operations import inputs, results
from gossamer.operations.context import OperationContext, authority, need_host
from gossamer.state.workers import WorkerRecords


async def host_show(context: OperationContext, given: inputs.OneHost) -> results.HostStatus:
    """Shows a host: robots.txt, pace, circuit breaker, rungs, blocks, and its queue in each crawl."""
    state = await host_state(context.store, context.settings, authority(given.host))
    return msgspec.convert(state.plain(), results.HostStatus)


async def host_pause(context: OperationContext, given: inputs.PauseHost) -> results.HostChange:
    """Pauses requests to a host in all crawls. Requests that have already begun are completed."""
    host = await need_host(context, given.host)
    await OperatorCommands(context.store).pause(host, given.seconds or FOREVER_S)
    return results.HostChange(host=host, paused=True, seconds=given.seconds)


async def host_resume(context: OperationContext, given: inputs.OneHost) -> results.HostChange:
    """Ends the pause of a host."""
    host = await need_host(context, given.host)
    await OperatorCommands(context.store).resume(host)
    return results.HostChange(host=host, paused=False)


async def host_rate(context: OperationContext, given: inputs.PaceHost) -> results.HostChange:
    """Sets a fixed delay for a host in all crawls. The delay is never shorter than the host's Crawl-delay."""
    host, commands = await need_host(context, given.host), OperatorCommands(context.store)
    if given.per_host is not None:
        await commands.at_once(host, given.per_host or None)
    await commands.rate(host, given.delay)
    view = await context.statistics.host(host)
    return results.HostChange(host=host, delay=view.fixed_delay, per_host=view.at_once)


async def worker_list(context: OperationContext, given: inputs.NoInput) -> results.FleetWorkers:
    """Lists the workers of the fleet: where they run, what they serve, and the crawls on which they do not work."""
    return results.FleetWorkers(items=(await read_workers(context.store)).plain())


async def worker_drain(context: OperationContext, given: inputs.OneWorker) -> results.Ordered:
    """Lets a worker finish its claims and start nothing new."""
    return await _order(context, given.worker, "drain")


async def worker_stop(context: OperationContext, given: inputs.OneWorker) -> results.Ordered:
    """Stops a worker gracefully. It returns its unfinished URLs."""
    return await _order(context, given.worker, "stop")


async def _order(context: OperationContext, name: str, what: str) -> results.Ordered:
    told = await WorkerRecords(context.store).order(name, what)
    return results.Ordered(order=what, workers=told)


async def version(context: OperationContext, given: inputs.NoInput) -> results.Version:
    """Returns the version of gossamer, and what the caller may do."""
    caller = context.caller
    return results.Version(
        version=__version__,
        scope=caller.scope,
        prefix=caller.prefix,
        crawls_at_once=context.crawls_at_once,
    )
