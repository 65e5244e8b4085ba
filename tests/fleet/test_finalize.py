"""The end of a fleet's crawl: URLs that are added at the last moment, and a part of the outputs that is damaged."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from cli.test_control_commands import Desk, desk, fill
from gossamer.app import job_payload
from gossamer.app.job import Job, JobOutput, Setup
from gossamer.config.settings import Settings
from gossamer.fleet.finalize import CrawlEnding
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier
from gossamer.sinks.parquet import Parquet
from gossamer.state.fleet_crawls import FleetCrawl, FleetCrawls
from gossamer.store.store import Store
from sinks.rows_and_commits import loose

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


SEGMENT = job_payload.segment_name("process", "one")


def end(desk: Desk, data: Path, output: str, part: str, length: int) -> tuple[str, str]:
    """Ends a crawl whose only process is dead. `part`: the target of its part of `output`. `length`: the
    committed length of the part. Returns the state and the reason."""
    spec = job_payload.part_of_output(output, SEGMENT)

    async def setup_of(task: FleetCrawl, segment: str) -> Setup:
        job = Job(targets=[], settings=Settings(data=str(data)), outputs=[JobOutput(spec)])
        return Setup(
            job=job, crawl="one", spec=Spec([]), store=desk.url, seeds=[], allowed=[], segment=segment
        )

    async def ended(store: Store) -> tuple[str, str]:
        tasks = FleetCrawls(store)
        await Crawls(store).begin("one", Spec([]), [])
        await tasks.submit("one", b"{}")
        await Frontier(store, "one").base(part, length)
        await tasks.turn("one", "running", "ending", ends_as="finished")
        (task,) = await tasks.tasks()
        await CrawlEnding(store).look(task, setup_of)
        return await Crawls(store).state("one")

    return desk.do(ended)


def test_a_damaged_part_of_an_output_is_the_reason_of_the_end(desk: Desk, tmp_path: Path) -> None:
    """The file has fewer bytes than were committed."""
    part = tmp_path / f"part-{SEGMENT}.jsonl"
    part.write_text("{}\n")
    (tmp_path / "one").mkdir()
    state, reason = end(desk, tmp_path, f"{tmp_path}/", str(part), 100)
    assert state == "finished"
    assert reason.startswith(
        f"part {SEGMENT} of its outputs is damaged: {part} has 3 bytes where 100 were written"
    )


def test_a_machine_without_the_folder_of_the_crawl_closes_the_part_of_another_one(
    desk: Desk, tmp_path: Path
) -> None:
    """The dead process wrote its part into a folder that both machines reach."""
    part = tmp_path / f"part-{SEGMENT}.jsonl"
    part.write_text('{"n": 1}\n{"n": 2}\n')
    assert end(desk, tmp_path / "data", f"{tmp_path}/", str(part), 9) == ("finished", "")
    assert part.read_text() == '{"n": 1}\n'


@pytest.mark.parametrize(
    "output",
    [
        "{}/out/",
        "{}/out.parquet",
        "http+webhook://127.0.0.1:9/?secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw&journal={}/out",
    ],
)
def test_a_part_that_this_machine_does_not_reach_is_the_reason_of_the_end(
    desk: Desk, tmp_path: Path, output: str
) -> None:
    """The output is a folder of the other machine alone."""
    ending = {"{}/out/": ".jsonl", "{}/out.parquet": ".parquet"}.get(output, "")
    folder = tmp_path / ("out.parquet" if ending == ".parquet" else "out")
    part = folder / f"part-{SEGMENT}{ending}"
    state, reason = end(desk, tmp_path / "data", output.format(tmp_path), str(part), 100)
    assert state == "finished"
    assert reason.startswith(
        f"part {SEGMENT} of its outputs was written on another machine and cannot be closed on this one: "
        f"{part} is gone"
    )


def test_the_part_of_a_kind_that_no_site_file_declares_is_closed_too(desk: Desk, tmp_path: Path) -> None:
    """The machine that ends the crawl has written no row of this kind, so it knows the kind from the store."""
    part = tmp_path / f"part-{SEGMENT}.item.csv"
    part.write_text("n\n1\n2\n")
    assert end(desk, tmp_path / "data", f"{tmp_path}/:csv", str(part), 4) == ("finished", "")
    assert part.read_text() == "n\n1\n"


def test_the_journal_of_a_kind_that_no_site_file_declares_becomes_a_part(desk: Desk, tmp_path: Path) -> None:
    part = tmp_path / f"part-{SEGMENT}.item.parquet"
    dead = Parquet(str(part), None)
    length = dead.append(dead.prepare(), [loose(n, "item", title="a") for n in range(3)])
    assert end(desk, tmp_path / "data", f"{tmp_path}/:parquet", str(part), length) == ("finished", "")
    assert pyarrow.parquet.read_table(part).num_rows == 3
