"""Tests of data folders and outputs that were moved, copied, restored, emptied or changed: the result is
exact, or the crawl is refused with a message that names the remedy."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from e2e import failpoint
from e2e.kill_crawl import answers, fire, read_csv
from e2e.runs import begin, command, job, rows
from gossamer.app.job import Job, JobOutput
from web import Web, preset, serve

HOSTS, PAGES = 4, 50
ENDINGS = ("jsonl", "csv", "parquet", "warc.gz", "sqlite")


@pytest.fixture
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=HOSTS, pages=PAGES, latency=0.005)) as one:
        yield one


def here(web: Web, *endings: str) -> Job:
    """Create a job whose paths are relative to the current folder."""
    one = job(web.plan.seeds(), Path(), per_host=4)
    one.outputs = [JobOutput(f"out.{ending}") for ending in endings or ("jsonl",)]
    return one


def stands(marker: Path, door: subprocess.Popen[str]) -> None:
    """Wait until the crawl stops at its failpoint."""
    deadline = time.monotonic() + 60
    while not marker.exists():
        assert door.poll() is None, door.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def killed(one: Job, folder: Path, place: str = "written", after: int = 3) -> None:
    """Run a crawl in a folder until it stops at a failpoint of a commit, then kill the command and the
    store."""
    marker = (folder / "marker").absolute()
    marker.unlink(missing_ok=True)
    door = begin(command(one), failpoint.code(place, after, marker), cwd=folder)
    stands(marker, door)
    fire("all", door, folder / one.settings.data)
    door.communicate()


def goes_on(one: Job, folder: Path, *words: str, code: int = 0) -> str:
    """Run the crawl to its end, and return its stdout and stderr."""
    door = begin(command(one, *words), cwd=folder)
    out, err = door.communicate(timeout=120)
    assert door.returncode == code, (out, err)
    return out + err


def repaired(folder: Path, *words: str, code: int = 0) -> str:
    door = begin(["doctor", "--repair", "--data", "data", *words], cwd=folder)
    out, err = door.communicate(timeout=120)
    assert door.returncode == code, (out, err)
    return out + err


def twice_or_missing(folder: Path, *endings: str) -> list[str]:
    """Return the pages that the outputs contain more than once, and the outputs with a wrong number of
    pages."""
    wrong = []
    for ending in endings or ("jsonl",):
        found = Counter(urls_of(folder / f"out.{ending}"))
        wrong += [f"{ending}: {n} times {url}" for url, n in found.items() if n > 1]
        if len(found) != HOSTS * PAGES:
            wrong.append(f"{ending}: {len(found)} pages")
    return wrong


def urls_of(path: Path) -> list[str]:
    if path.name.endswith("jsonl"):
        return [row["requested_url"] for row in rows(path)]
    if path.name.endswith("csv"):
        return [row["requested_url"] for row in read_csv(path)]
    if path.name.endswith("warc.gz"):
        return [str(url) for url in answers(path) if not str(url).endswith("/robots.txt")]
    from gossamer.app.query.sources import rows_of

    return [row["requested_url"] for row in rows_of(str(path))]


@pytest.mark.parametrize("place", ["written", "settled"])
def test_a_folder_with_all_in_it_is_renamed_after_a_kill(tmp_path: Path, web: Web, place: str) -> None:
    (tmp_path / "old").mkdir()
    one = here(web, *ENDINGS)
    killed(one, tmp_path / "old", place)
    (tmp_path / "old").rename(tmp_path / "new")
    goes_on(one, tmp_path / "new")
    assert twice_or_missing(tmp_path / "new", *ENDINGS) == []


def test_one_of_two_outputs_is_moved(tmp_path: Path, web: Web) -> None:
    one = here(web, "jsonl", "csv")
    killed(one, tmp_path)
    (tmp_path / "away").mkdir()
    (tmp_path / "out.csv").rename(tmp_path / "away" / "out.csv")
    one.outputs[1] = JobOutput("away/out.csv")
    goes_on(one, tmp_path)
    assert twice_or_missing(tmp_path) == twice_or_missing(tmp_path / "away", "csv") == []


def test_a_moved_data_folder_goes_on(tmp_path: Path, web: Web) -> None:
    one = here(web, *ENDINGS)
    killed(one, tmp_path)
    (tmp_path / "data").rename(tmp_path / "other")
    one.settings = msgspec.structs.replace(one.settings, data="other")
    goes_on(one, tmp_path)
    assert twice_or_missing(tmp_path, *ENDINGS) == []


@pytest.mark.parametrize("attributes", [True, False])
def test_a_copy_of_all_goes_on_elsewhere(tmp_path: Path, web: Web, attributes: bool) -> None:
    (tmp_path / "old").mkdir()
    one = here(web, *ENDINGS)
    killed(one, tmp_path / "old")
    copy(tmp_path / "old", tmp_path / "new", attributes)
    goes_on(one, tmp_path / "new")
    assert twice_or_missing(tmp_path / "new", *ENDINGS) == []
    goes_on(one, tmp_path / "old")
    assert twice_or_missing(tmp_path / "old", *ENDINGS) == []


def copy(old: Path, new: Path, attributes: bool = False) -> None:
    subprocess.run(["cp", "-a" if attributes else "-r", str(old), str(new)], check=True)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "warc.gz"])
def test_a_copy_whose_output_is_older_than_its_store_is_refused(
    tmp_path: Path, web: Web, ending: str
) -> None:
    """The uncommitted rows of the copied output may have more bytes than the rows that the second run
    commits in their place. Such a copy is refused too. After the repair, the crawl is exact."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    one = here(web, ending)
    killed(one, tmp_path / "old", after=2)
    copy(tmp_path / "old" / f"out.{ending}", tmp_path / "new" / f"out.{ending}")
    killed(one, tmp_path / "old", after=3)
    copy(tmp_path / "old" / "data", tmp_path / "new" / "data")
    assert "doctor --repair" in goes_on(one, tmp_path / "new", code=20)
    repaired(tmp_path / "new")
    goes_on(one, tmp_path / "new")
    assert twice_or_missing(tmp_path / "new", ending) == []


@pytest.mark.parametrize("ending", ["jsonl", "csv", "warc.gz"])
def test_a_copy_whose_store_is_older_than_its_output_is_refused_or_exact(
    tmp_path: Path, web: Web, ending: str
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    one = here(web, ending)
    killed(one, tmp_path / "old", after=2)
    copy(tmp_path / "old" / "data", tmp_path / "new" / "data")
    killed(one, tmp_path / "old", after=3)
    copy(tmp_path / "old" / f"out.{ending}", tmp_path / "new" / f"out.{ending}")
    before = (tmp_path / "new" / f"out.{ending}").read_bytes()
    said = goes_on(one, tmp_path / "new", code=20)
    assert "doctor --repair" in said
    assert (tmp_path / "new" / f"out.{ending}").read_bytes() == before


@pytest.mark.parametrize("when", ["killed", "stopped"])
@pytest.mark.parametrize("what", ["a line\n", "no line"])
def test_what_another_program_appends_is_kept(tmp_path: Path, web: Web, what: str, when: str) -> None:
    one = here(web)
    killed(one, tmp_path, "settled" if when == "killed" else "written")
    if when == "stopped":
        goes_on(one, tmp_path, "--limit", "100")
    with open(tmp_path / "out.jsonl", "a") as file:
        file.write(what)
    before = (tmp_path / "out.jsonl").read_bytes()
    said = goes_on(one, tmp_path, code=20)
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert len(said.splitlines()) <= 2
    (tmp_path / "out.jsonl").write_bytes(before[: -len(what)])
    goes_on(one, tmp_path)
    assert twice_or_missing(tmp_path) == []


def test_what_another_program_appends_while_it_runs_is_kept(tmp_path: Path, web: Web) -> None:
    one, marker = here(web), tmp_path / "marker"
    door = begin(command(one), failpoint.code("settled", 3, marker), cwd=tmp_path)
    stands(marker, door)
    with open(tmp_path / "out.jsonl", "a") as file:
        file.write('{"foreign": 1}\n')
    marker.unlink()
    fire("all", door, tmp_path / "data")
    door.communicate()
    goes_on(one, tmp_path, code=20)
    assert '{"foreign": 1}\n' in (tmp_path / "out.jsonl").read_text()


def emptied_log(folder: Path) -> None:
    for file in (folder / "data/store/appendonlydir").glob("*.aof"):
        file.write_bytes(b"")


def no_manifest(folder: Path) -> None:
    (folder / "data/store/appendonlydir/appendonly.aof.manifest").unlink()


def no_store(folder: Path) -> None:
    shutil.rmtree(folder / "data/store")


def no_data(folder: Path) -> None:
    shutil.rmtree(folder / "data")


@pytest.mark.parametrize("harm", [emptied_log, no_manifest, no_store])
@pytest.mark.parametrize("moved", [False, True])
def test_a_store_that_forgot_is_noticed_and_repaired(
    tmp_path: Path, web: Web, harm: Callable[[Path], None], moved: bool
) -> None:
    (tmp_path / "old").mkdir()
    one, folder = here(web, "jsonl", "csv"), tmp_path / "old"
    killed(one, folder)
    harm(folder)
    if moved:
        folder = folder.rename(tmp_path / "new")
    before = (folder / "out.jsonl").read_bytes()
    said = goes_on(one, folder, code=8 if harm is no_manifest else 20)
    assert "gossamer doctor --repair" in said
    assert (folder / "out.jsonl").read_bytes() == before
    repaired(folder, "--dry-run")
    assert (folder / "out.jsonl").read_bytes() == before
    repaired(folder)
    goes_on(one, folder)
    assert twice_or_missing(folder, "jsonl", "csv") == []


def test_a_data_folder_that_was_removed_is_noticed(tmp_path: Path, web: Web) -> None:
    one = here(web)
    killed(one, tmp_path)
    no_data(tmp_path)
    before = (tmp_path / "out.jsonl").read_bytes()
    if "user.gossamer" in os.listxattr(tmp_path / "out.jsonl"):
        goes_on(one, tmp_path, code=20)
        assert (tmp_path / "out.jsonl").read_bytes() == before
    goes_on(one, tmp_path, "--fresh")
    assert len(urls_of(tmp_path / "out.jsonl")) > HOSTS * PAGES


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_data_folder_removed_after_a_stop_is_noticed(tmp_path: Path, web: Web, ending: str) -> None:
    one = here(web, ending)
    goes_on(one, tmp_path, "--limit", "60")
    no_data(tmp_path)
    if "user.gossamer" not in os.listxattr(tmp_path / f"out.{ending}"):
        pytest.skip("no extended attributes here")
    before = urls_of(tmp_path / f"out.{ending}")
    assert "-O" in goes_on(one, tmp_path, code=20)
    assert urls_of(tmp_path / f"out.{ending}") == before


def test_a_finished_crawl_begins_again_and_appends(tmp_path: Path, web: Web) -> None:
    one = here(web)
    goes_on(one, tmp_path)
    goes_on(one, tmp_path, "--fresh")
    no_data(tmp_path)
    goes_on(one, tmp_path)
    assert len(urls_of(tmp_path / "out.jsonl")) == 3 * HOSTS * PAGES


@pytest.mark.parametrize("lacking", ["jsonl", "csv"])
def test_a_row_that_one_of_two_outputs_lacks_is_written_again(tmp_path: Path, web: Web, lacking: str) -> None:
    one = here(web, "jsonl", "csv")
    killed(one, tmp_path, "settled")
    path = tmp_path / f"out.{lacking}"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4] + lines[5:]))
    goes_on(one, tmp_path, code=20)
    repaired(tmp_path)
    goes_on(one, tmp_path)
    assert twice_or_missing(tmp_path, "jsonl", "csv") == []
    assert len(list(tmp_path.glob("out.*.removed-*"))) == 1


def test_outputs_without_their_logs_go_on(tmp_path: Path, web: Web) -> None:
    one = here(web, *ENDINGS)
    killed(one, tmp_path)
    for file in [*tmp_path.glob("data/c/appends*"), *tmp_path.glob("*/_gossamer.json")]:
        file.unlink()
    goes_on(one, tmp_path)
    assert twice_or_missing(tmp_path, *ENDINGS) == []


def test_a_row_that_somebody_changed_is_noticed(tmp_path: Path, web: Web) -> None:
    one = here(web)
    killed(one, tmp_path, "settled")
    path = tmp_path / "out.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-2], lines[-2].replace('"status":200', '"status":201'), lines[-1]]))
    goes_on(one, tmp_path, code=20)
