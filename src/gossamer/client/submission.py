"""Functions that submit a crawl to a fleet, wait for the end of a crawl, or stop a crawl. The Python API uses
this module."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.client.background import Background
from gossamer.client.options import job_of, paths, read_given_settings
from gossamer.client.targets import Target, read_targets
from gossamer.errors import GossamerError, UsageError
from gossamer.sites.script_targets import script_targets

if TYPE_CHECKING:
    from gossamer.model.summary import Summary

END_TIMEOUT_S = 60.0
"""Seconds for which `stop_submitted` waits until the workers have finalized a crawl."""
CHECK_INTERVAL_S = 0.2


async def submit_to_fleet(
    targets: Sequence[Target],
    outputs: Any,
    options: dict[str, Any],
    *,
    wait: bool,
    say: Callable[[str], None],
) -> Summary:
    """Submits a crawl and returns the crawl's summary. `wait`: whether to wait until the crawl has ended.
    `say`: a function that receives messages for the user. Raises GossamerError. With `wait`, also raises
    GossamerError if the crawl was not successful, for example because no page was fetched."""
    from gossamer.app.job import JobOutput
    from gossamer.app.outcome import error_of
    from gossamer.app.submit import read_summary, submit, wait_for_end

    names, made = read_targets(targets)
    if made.sites:
        raise UsageError(
            "submit: the workers of a fleet cannot load a Site that a script made: give its file, or "
            "module:PACKAGE.MODULE"
        )
    with script_targets(made):
        job = job_of(names, options)
        job = msgspec.structs.replace(
            job, outputs=[*(JobOutput(one) for one in paths(outputs)), *job.outputs]
        )
        crawl = await submit(job, say)
        if not wait:
            return await read_summary(job.settings, crawl)
        summary = await wait_for_end(job.settings, crawl, say=say)
    if (error := error_of(job, summary)) is not None:
        raise error
    return summary


def stop_submitted(crawl: str, **options: Any) -> bool:
    """Stops a crawl on the fleet gracefully, and waits until the workers have finalized the crawl. The queue
    of the crawl is kept. Returns whether the crawl was running. `options`: the options `store` and `setting`.
    Raises GossamerError."""
    background = Background(lambda _stop: _stop_submitted(crawl, options))
    background.start()
    return background.wait()


async def _stop_submitted(crawl: str, options: dict[str, Any]) -> bool:
    from gossamer.app.open_store import open_store
    from gossamer.frontier.crawls import UNDER_WAY, Crawls
    from gossamer.state.fleet_crawls import FleetCrawls
    from gossamer.state.workers import WorkerRecords

    given = {name: value for name, value in options.items() if value is not None}
    store, _ = await open_store(read_given_settings(given))
    try:
        crawls, deadline = Crawls(store), time.monotonic() + END_TIMEOUT_S
        if (record := await crawls.get(crawl)) is None or record.state not in UNDER_WAY:
            return False
        while (record := await crawls.get(crawl)) is not None and record.state in UNDER_WAY:
            if record.state in ("running", "paused"):
                await FleetCrawls(store).turn(
                    crawl, record.state, "stopping", "by the command that submitted it"
                )
            elif not await WorkerRecords(store).at_work():
                await crawls.set(crawl, "stopped", "no worker of the fleet is at work")
            elif time.monotonic() > deadline:
                raise GossamerError(
                    f"crawl {crawl} does not end on the fleet: see gossamer status {crawl}, and run the same command "
                    "again"
                )
            await asyncio.sleep(CHECK_INTERVAL_S)
        return True
    finally:
        await store.close()
