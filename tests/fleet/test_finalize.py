"""The end of a fleet's crawl: URLs that are added at the last moment, and a part of the outputs that is damaged."""

from __future__ import annotations

from pathlib import Path

from cli.test_control_commands import Desk, desk, fill
from gossamer.app import job_payload
from gossamer.app.job import Job, JobOutput, Setup
from gossamer.config.settings import Settings
from gossamer.fleet.finalize import CrawlEnding
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier
from gossamer.state.fleet_crawls import FleetCrawl, FleetCrawls
from gossamer.store.store import Store

__all__ = ["desk"]


def test_a_crawl_with_new_urls_is_not_ended_as_finished(desk: Desk) -> None:
    async def unused(task: FleetCrawl, segment: str) -> Setup:
        raise AssertionError("nothing is to be closed")

    async def late(store: Store) -> tuple[str, int]:
        await fill(store, "one")
        tasks = FleetCrawls(store)
        await tasks.submit("one", b"{}")
        await tasks.turn("one", "running", "ending", ends_as="finished")
        (task,) = await tasks.tasks()
        await CrawlEnding(store).look(task, unused)
        (now,) = await tasks.tasks()
        # with a new revision, workers forget that they found the crawl finished
        assert now.revision > task.revision
        return now.state, (await Crawls(store).need("one")).ended_at is None

    assert desk.do(late) == ("running", True)


def test_a_damaged_part_of_an_output_is_the_reason_of_the_end(desk: Desk, tmp_path: Path) -> None:
    """The file has fewer bytes than were committed."""
    segment = job_payload.segment_name("process", "one")
    spec = job_payload.part_of_output(f"{tmp_path}/", segment)
    part = tmp_path / f"part-{segment}.jsonl"
    part.write_text("{}\n")
    (tmp_path / "one").mkdir()

    async def setup_of(task: FleetCrawl, segment: str) -> Setup:
        job = Job(targets=[], settings=Settings(data=str(tmp_path)), outputs=[JobOutput(spec)])
        return Setup(
            job=job, crawl="one", spec=Spec([]), store=desk.url, seeds=[], allowed=[], segment=segment
        )

    async def ended(store: Store) -> tuple[str, str]:
        tasks = FleetCrawls(store)
        await Crawls(store).begin("one", Spec([]), [])
        await tasks.submit("one", b"{}")
        await Frontier(store, "one").base(str(part), 100)
        await tasks.turn("one", "running", "ending", ends_as="finished")
        (task,) = await tasks.tasks()
        await CrawlEnding(store).look(task, setup_of)
        return await Crawls(store).state("one")

    state, reason = desk.do(ended)
    assert state == "finished"
    assert reason.startswith(
        f"part {segment} of its outputs is damaged: {part} has 3 bytes where 100 were written"
    )
