"""Checks that a crawl's parts can be built and its files can be written, before the crawl drops or overwrites
anything."""

from __future__ import annotations

import importlib.util
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Job, JobOutput, Setup
from gossamer.app.network_setup import Network
from gossamer.app.quality_gate_setup import gates
from gossamer.app.sink_setup import make_outputs
from gossamer.config.optional_deps import install_command
from gossamer.config.redaction import mask
from gossamer.errors import SinkError, UsageError
from gossamer.frontier.crawl_lock import being_written, is_running, running_writers
from gossamer.frontier.crawls import Crawls
from gossamer.sinks.output_spec import WHOLE, parse
from gossamer.sites import host_rules
from gossamer.store.store import Store

HERE = ("jsonl", "json", "csv", "sqlite", "parquet", "xlsx", *WHOLE)
"""Formats that are written to files or folders on this machine, unless the path is a URL."""


EXTRAS = {
    "parquet": ("pyarrow", "parquet"),
    "xlsx": ("xlsxwriter", "excel"),
    "postgresql": ("psycopg", "postgres"),
    "mongodb": ("pymongo", "mongodb"),
    "kafka": ("aiokafka", "kafka"),
    "cassandra": ("cassandra", "cassandra"),
}
"""Maps formats to the package that they need, and to the extra that contains the package."""


def usable_outputs(job: Job, warn: Callable[[str], None]) -> list[JobOutput]:
    """Returns the job's outputs without those whose extra is not installed. Calls `warn` for each of the
    latter. If no output is left, returns all of them, so that the crawl is refused."""
    usable, refused = [], []
    for output in job.outputs:
        package, extra = EXTRAS.get(parse(output.spec).format, ("", ""))
        if package and importlib.util.find_spec(package) is None:
            refused.append(
                f"{mask(output.spec)} is left out, because it needs {package}: {install_command(extra)}"
            )
        else:
            usable.append(output)
    if not usable:
        return job.outputs
    for line in refused:
        warn(f"{line}; the same command then fills it with the rows of this crawl")
    return usable


async def rehearse(setup: Setup, store: Store) -> None:
    """Finds errors that would abort the crawl after it has dropped its earlier state. Raises UsageError,
    ConfigError or SinkError. Changes nothing."""
    for path, parts in output_paths(setup.job):
        check_output(path, parts)
        refuse_inputs_as_outputs(path, setup.job.targets)
    await refuse_shared_outputs(setup, store)
    if setup.job.settings.alerts:
        from gossamer.observability.alert_delivery import receivers_of

        receivers_of(setup.job.settings.alerts, setup.job.settings.allow_private)
    if setup.job.fresh:
        await check_parts(setup, store)


async def check_parts(setup: Setup, store: Store) -> None:
    """Builds the crawl's network access, log-ins, gates and outputs, and closes them again. Raises
    ConfigError or UsageError if a part cannot be built."""
    sites = Enqueuer(setup, store).sites
    network = Network(setup, sites, store)
    try:
        if host_rules.has_accounts(sites):
            from gossamer.app.login_setup import LoginSetup

            LoginSetup(setup, sites, store, network.collectors, network.proxies)
        gates(setup.job.gates, sites)
        make_outputs(setup, sites, store=store.identity)
    finally:
        await network.close()


def output_paths(job: Job) -> Iterator[tuple[str, bool]]:
    """Yields pairs of an output's path and a boolean, which is true if the output is a folder."""
    for spec in output_values(job):
        path, form = parse(spec)
        if form in HERE and "://" not in path:
            yield (
                os.path.abspath(path),
                form in ("parquet", "objects") or (form == "warc" and not path.lower().endswith(".warc.gz")),
            )


def output_files(job: Job) -> list[str]:
    """Returns the absolute paths of all files and folders of parts that the job writes."""
    found = (parse(spec) for spec in output_values(job))
    return sorted({os.path.realpath(path) for path, form in found if form in HERE and "://" not in path})


async def refuse_shared_outputs(setup: Setup, store: Store) -> None:
    """Raises UsageError if another crawl of this store is writing one of the job's files, because each crawl
    would truncate rows of the other."""
    wanted = _whole(setup.job)
    for name in await running_writers(store, wanted) if wanted else ():
        record = await Crawls(store).get(name)
        if name != setup.crawl and record is not None and is_running(record, setup.job.settings.data):
            path = next(path for real, path in wanted.items() if real in record.door["files"])
            raise UsageError(being_written(path, name, record.door.get("pid")))


def _whole(job: Job) -> dict[str, str]:
    """Maps the absolute path of each exclusive output to the path as given. No other crawl may write to an
    exclusive output at the same time. Several crawls may write to the same SQLite file, unless this crawl
    overwrites the file."""
    emptied = {parse(output.spec).path for output in job.outputs if output.overwrite}
    found = [path for path, form in map(parse, output_values(job)) if form != "sqlite" or path in emptied]
    return {os.path.realpath(path): path for path in found}


def output_values(job: Job) -> list[str]:
    """Returns the values of `-o` and of the other options that name an output."""
    return [*(output.spec for output in job.outputs), *filter(None, [job.pages, job.attempts, job.graph])]


def refuse_inputs_as_outputs(path: str, targets: Sequence[str]) -> None:
    """Raises UsageError if the output file is also an input of the crawl, for example a list or a site
    file."""
    for target in filter(os.path.exists, targets) if os.path.isfile(path) else ():
        inside = path.endswith(".py") and Path(path).resolve().is_relative_to(Path(target).resolve())
        if inside or os.path.samefile(path, target):
            raise UsageError(f"-o {path} is an input of this crawl: name another file")


def check_output(path: str, parts: bool) -> None:
    """Raises an error if an output certainly cannot be written."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: the folder {folder} does not exist; create it first")
    there = path
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        there, mode = folder, 0
    except OSError as error:
        raise SinkError(f"cannot write {path}: {error.strerror}") from error
    if mode and parts and not stat.S_ISDIR(mode):
        raise UsageError(f"{path} is a file, but gossamer writes a folder of parts here: use another name")
    if mode and not parts and not stat.S_ISREG(mode):
        raise UsageError(f"{path} is not a regular file: name a file, or use - for standard output")
    if not os.access(there, os.W_OK):
        raise SinkError(f"cannot write {path}: Permission denied")
