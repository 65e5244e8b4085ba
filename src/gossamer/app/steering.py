"""Pauses, resumes, finishes, stops and cancels crawls, and changes the priority of their pending URLs. The
command line and the operations of the API call these functions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.app.open_store import cold_settings
from gossamer.config.settings import Settings
from gossamer.config.shown_command import shown_command
from gossamer.errors import GossamerError
from gossamer.frontier.cold import Spiller
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import BOUNDS, ENDED, Crawls, Record, Spec, drop_queue
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.producer_positions import has_active_producer
from gossamer.frontier.stats import CrawlStatistics
from gossamer.sites import load_all
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.state.workers import WorkerRecords
from gossamer.store.store import Store
from gossamer.url.patterns import Searcher

END_TIMEOUT_S = 15.0
"""The maximum number of seconds for which `stop` and `cancel` wait until the crawl's process has finalized
the crawl."""
QUEUE = {"cancelled": "its queue is dropped", "finished": "nothing was left in its queue"}


class Steered(NamedTuple):
    """The result of steering a crawl: the crawl's state afterwards, and a message for the user."""

    state: str
    said: str


async def steer(store: Store, settings: Settings, verb: str, name: str) -> Steered:
    """Pauses, resumes, finishes, stops or cancels a crawl. `verb`: one of the keys of `ACTS`. Raises UsageError
    if the crawl does not exist."""
    crawls = Crawls(store)
    record = await crawls.need(name)
    lives = is_running(record, settings.data)
    if lives and record.fleet and verb in ("stop", "cancel"):
        lives = await _served(crawls, record)
    said, _ = await ACTS[verb](crawls, record, lives)
    if verb == "cancel" and (cold := cold_settings(settings, name)[0]) is not None:
        await cold.drop()
        await cold.close()
    return Steered((await crawls.state(name))[0], said)


async def change_priority(
    store: Store,
    settings: Settings,
    crawl: str,
    to: int,
    hosts: Sequence[str | None],
    match: Searcher | None,
    dry_run: bool,
) -> int:
    """Changes the priority of a crawl's waiting URLs: those of `hosts` (None means all hosts) that `match`
    matches. Returns their number. `dry_run`: whether only to count them."""
    record = await Crawls(store).need(crawl)
    cold, hot = cold_settings(settings, record.name)
    spiller = Spiller(store, record.name, cold, hot) if cold is not None else None
    commands = OperatorCommands(store, spiller)
    moved = [
        await commands.priority(record.name, to, host=host, match=match, dry_run=dry_run) for host in hosts
    ]
    if cold is not None:
        await cold.close()
    return sum(moved)


async def toggle_pause(crawls: Crawls, name: str, settings: Settings) -> str:
    """Pauses a running crawl, or continues a paused crawl. Returns a message that describes the change."""
    record = await crawls.need(name)
    act = _resume if record.state == "paused" else _pause
    said, _ = await act(crawls, record, is_running(record, settings.data))
    return f"{name}: {said}"


async def _served(crawls: Crawls, record: Record) -> bool:
    """Returns whether a worker is running that will finalize the crawl. Workers that are draining or stopping
    finish their claims and take no new claims. If all remaining workers are draining or stopping, waits at
    most 15 s until their claims are finished."""
    worker_records, statistics = WorkerRecords(crawls.store), CrawlStatistics(crawls.store)
    for _ in range(int(END_TIMEOUT_S * 10)):
        if await worker_records.at_work():
            return True
        if not await worker_records.living() or not await statistics.in_flight(record.name):
            return False
        await asyncio.sleep(0.1)
    return False


async def _pause(crawls: Crawls, record: Record, lives: bool) -> tuple[str, int]:
    if not lives:
        return f"nothing to pause, it is {_now(record)}", 0
    if record.state == "paused":
        return "it is paused already", 0
    if record.state == "running" and await _turned(crawls, record, "paused", "by gossamer pause"):
        return f"paused; continue with: gossamer resume {record.name}", 0
    return f"it is {(await crawls.need(record.name)).state}: too late to pause", 0


async def _resume(crawls: Crawls, record: Record, lives: bool) -> tuple[str, int]:
    if lives and record.state == "paused" and await _turned(crawls, record, "running"):
        return "it goes on", 0
    if lives:
        return f"it is {(await crawls.state(record.name))[0]} already", 0
    if record.state in ("finished", "cancelled"):
        return f"it is {record.state}; start over with: {continue_command(record)} --fresh", 0
    if record.state == "paused":
        await crawls.set(record.name, "stopped", "its process died while it was paused")
    if record.fleet:
        return f"it is {record.state}; continue with: {continue_command(record)}", 0
    return f"no process runs it; continue with: {continue_command(record)}", 0


async def _finish(crawls: Crawls, record: Record, lives: bool) -> tuple[str, int]:
    if lives and record.state in ("running", "paused"):
        await crawls.finish(record.name)
        return f"it retries nothing more; the URLs that fail are in: gossamer dead list {record.name}", 0
    if record.state in ("finished", "cancelled"):
        return f"nothing to finish, it is {record.state}", 0
    return f"it is {_now(record)}; finish it with: {continue_command(record)} --retries none", 0


async def _stop(crawls: Crawls, record: Record, lives: bool) -> tuple[str, int]:
    if lives:
        if record.state in ("running", "paused") and not await _turned(
            crawls, record, "stopping", "by gossamer stop"
        ):
            return await _stop(crawls, await crawls.need(record.name), lives)
        return await _ended(crawls, record) or await _stop(crawls, await crawls.need(record.name), False)
    if record.state in ("running", "paused", "stopping"):
        died = "no worker of the fleet is at work" if record.fleet else "its process had died"
        await crawls.set(record.name, "stopped", died)
        return f"stopped; {died}. Continue with: {continue_command(record)}", 0
    return f"nothing to stop, it is {_now(record)}", 0


async def _cancel(crawls: Crawls, record: Record, lives: bool) -> tuple[str, int]:
    if lives and await _turned(crawls, record, "cancelling", "by gossamer cancel"):
        return await _ended(crawls, record) or await _cancel(crawls, await crawls.need(record.name), False)
    if lives:  # another process changed the state, so the crawl may have ended
        now = await crawls.need(record.name)
        return await _cancel(crawls, now, now.state not in ENDED)
    if record.state in ("finished", "cancelled"):
        return f"nothing to cancel, it is {record.state}", 0
    await crawls.set(record.name, "cancelled", "by gossamer cancel")
    while await has_active_producer(crawls.store, record.name):  # noqa: ASYNC110 - a `submit` that adds URLs sees the state and stops
        await asyncio.sleep(0.2)
    dropped = await drop_queue(crawls.store, record.name)
    return f"cancelled; {dropped} pending URLs are dropped, fetched pages stay", 0


async def _turned(crawls: Crawls, record: Record, state: str, reason: str = "") -> bool:
    """Changes the state of a crawl, unless another process has changed the state first. If another process
    has just ended the crawl, the crawl keeps its end state. Returns whether the state was changed."""
    return await FleetCrawls(crawls.store).turn(record.name, record.state, state, reason)


async def _ended(crawls: Crawls, record: Record) -> tuple[str, int] | None:
    """Waits until the crawl's process or the fleet has finalized the crawl. Returns the message and the exit
    code. Returns None if no worker is left to finalize the crawl."""
    for n in range(int(END_TIMEOUT_S * 10)):
        state, _reason = await crawls.state(record.name)
        if state in ENDED:
            return f"{state}; {QUEUE.get(state, 'its queue is kept')}", 0
        if record.fleet and n % 10 == 9 and not await _served(crawls, record):
            return None
        await asyncio.sleep(0.1)
    whom = "the fleet's workers" if record.fleet else f"its process {record.door.get('pid')}"
    return f"asked {whom} to end it; it has not ended within {END_TIMEOUT_S:.0f} s", 0


def _now(record: Record) -> str:
    return record.state if record.state not in ("running", "paused") else "stopped (its process died)"


def continue_command(record: Record) -> str:
    """Returns the command that continues a crawl. The command contains the crawl's outputs and the options
    that must not change, such as the scope. The command contains no options for rates and limits."""
    usual, spec = Spec([]), record.spec
    words = [*spec.targets, "--name", record.name]
    for bound in BOUNDS:
        value = getattr(spec, bound)
        if value == getattr(usual, bound) or (bound == "user_agent" and value.startswith("gossamer/")):
            continue
        if bound == "drop":
            words += ["-s", f"drop_parameters={','.join(value)}"]
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{bound.replace('_', '-')}", str(one)]
    for output in _outputs(record):
        words += ["-o", output]
    return shown_command("submit" if record.fleet else "crawl", words)


def _outputs(record: Record) -> list[str]:
    """Returns the outputs from the command line, without the outputs from site files."""
    try:
        sites = load_all(record.spec.targets) if record.sites else []
    except GossamerError:
        return []
    own = {output for site in sites for output in site.site.sinks}
    return [output for output in record.outputs if output not in own]


ACTS = {"pause": _pause, "resume": _resume, "finish": _finish, "stop": _stop, "cancel": _cancel}
"""Maps each verb to its function. Each function returns the message and the exit code."""
