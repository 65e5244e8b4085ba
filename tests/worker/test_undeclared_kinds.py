"""Files of kinds that no site file declares. A process that resumes a crawl cuts and closes them, although it
writes no row of these kinds."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.open_outputs import FilteredFiles, is_stored_row
from gossamer.sinks.output_spec import OpenedOutput, open_output
from gossamer.store.store import Store
from gossamer.worker.outputs import Outputs
from sinks.rows_and_commits import loose


def opened(store: Store, folder: Path, ending: str) -> Outputs:
    """Returns the outputs of a new process of the crawl, which knows no kind."""
    log = AppendLog(folder / "appends.jsonl", "c@1")
    file = open_output(f"{folder}/out.{ending}", {}, folder=str(folder), owner="c@1", log=log)
    assert isinstance(file, OpenedOutput)
    frontier = Frontier(store, "c", Policy())
    return Outputs(frontier, lock=folder / "lock", files=[FilteredFiles(file, is_stored_row)], tables=[])


def rows_of(path: Path) -> int:
    """Returns the number of rows that a reader of a file or folder finds."""
    if path.suffix == ".csv":
        return len(path.read_text().splitlines()) - 1
    rows: int = pyarrow.parquet.read_table(path).num_rows
    return rows


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
async def test_a_file_of_an_undeclared_kind_is_cut_and_closed_without_a_row(
    store: Store, tmp_path: Path, ending: str, moved: bool
) -> None:
    """A process is killed after it wrote two batches and committed the first. Then the folder may be moved."""
    await store.open(1, "test")
    (folder := tmp_path / "old").mkdir()
    killed, frontier = opened(store, folder, ending), Frontier(store, "c", Policy())
    await killed.open()
    async with killed.exact([loose(1, title="a")]) as append:
        assert append is not None
        ((path, _, length),) = await append([loose(1, title="a")])
        killed.moved([(path, 0, length)])
        await frontier.no_length(path)
        await frontier.base(path, length)
        await append([loose(2, title="b")])
    killed.release()
    if moved:
        folder = folder.rename(tmp_path / "new")
    resumed = opened(store, folder, ending)
    await resumed.open()
    await resumed.finish()
    resumed.release()
    assert rows_of(folder / Path(path).name) == 1
