"""`gossamer worker`: runs a worker of the fleet. The worker is a Celery worker with gossamer's settings."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Data, LogFormat, LogLevel, Option, Setting, StoreUrl, read_settings
from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings


def worker(
    lane: Annotated[
        list[str] | None,
        Option("--lane", metavar="LANE", help="A lane that it serves (default http); repeatable."),
    ] = None,
    processes: Annotated[
        str, Option("--processes", metavar="N", help="Processes, or auto: one per core (default).")
    ] = "auto",
    name: Annotated[
        str | None,
        Option("-n", "--name", metavar="NAME", help="Its name, such as w1 or w1@%h (default: generated)."),
    ] = None,
    region: Annotated[
        str | None,
        Option(
            "--region", metavar="REGION", help="Where it is; it also serves hosts that require this region."
        ),
    ] = None,
    sites: Annotated[
        str | None, Option("--sites", metavar="DIR", help="Folder of its site files (default: here).")
    ] = None,
    broker: Annotated[
        list[str] | None,
        Option("--broker", metavar="URL", help="Celery's broker (default: the store); repeatable."),
    ] = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    store: StoreUrl = None,
    data: Data = None,
    setting: Setting = None,
) -> int:
    """Run the crawls that were submitted to the fleet, until stopped (SIGTERM, Ctrl-C, `gossamer workers
    stop`)."""
    from gossamer.config.settings import GivenSetting, load

    try:
        import celery  # noqa: F401 - checks that it is installed
    except ImportError:
        raise ConfigError(f"a worker needs Celery: {install_command('fleet')}") from None
    given = [("sites", sites), ("broker", broker), ("region", region)]
    given += [("log_level", log_level), ("log_format", log_format)]
    more = [GivenSetting(f"--{what}", what, value) for what, value in given if value]
    settings = read_settings(data, store, setting, more)
    if settings.store is None:
        raise ConfigError("a worker needs the fleet's store: --store valkey://HOST, or GOSSAMER_STORE")
    if not Path(settings.sites).is_dir():
        raise ConfigError(
            f"--sites {settings.sites}: this folder does not exist: name the folder with the site files"
        )
    if processes != "auto" and not (processes.isdigit() and 1 <= int(processes) <= 256):
        raise UsageError(f"--processes {processes}: a number from 1 to 256, or auto")
    lanes = [_lane(one) for one in lane or ["http"]]
    for pair in (
        *(setting or ()),
        *(f"{what}={_text(value)}" for what, value in (*given, ("store", store), ("data", data)) if value),
    ):
        what, _, text = pair.partition("=")
        os.environ[f"GOSSAMER_{what.strip().upper().replace('-', '_')}"] = text
    load()  # raises an error if these settings are invalid when read from the environment
    return _run(settings, lanes, os.cpu_count() or 1 if processes == "auto" else int(processes), name)


def _lane(name: str) -> str:
    from gossamer.config import value_parsers

    try:
        return value_parsers.lane(name)
    except ValueError as error:
        raise UsageError(f"--lane {name}: {error}") from None


def _text(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


async def _reached(settings: Settings) -> None:
    """Raises StoreError or ConfigError if the store cannot be used."""
    from gossamer.cli.options import open_existing_store

    async with open_existing_store(settings):
        pass


def _run(settings: Settings, lanes: list[str], processes: int, name: str | None) -> int:
    from gossamer.cli.printing import remark
    from gossamer.fleet import brokers
    from gossamer.fleet.app import app, bearing, exit_code
    from gossamer.observability.logs import start_logs

    start_logs(settings.log_format or "text", settings.log_level)
    host = platform.node()
    wanted = (name or f"{lanes[0]}@%h").replace("%h", host).replace("%n", host.partition(".")[0])
    wanted = wanted if "@" in wanted else f"{wanted}@{host}"
    asyncio.run(_reached(settings))  # check the store before the broker, because both may be the same server
    brokers.check_brokers(settings.broker or (settings.store or "",), lanes)
    free, bearing.token = asyncio.run(bearing.bear(settings, wanted, fixed=False))
    if free != wanted:
        remark(f"the name {wanted} is taken: this worker is called {free}")
    # Celery warns about running as root and about future changes to Celery's defaults
    warnings.filterwarnings("ignore", module="celery")
    pool = ["-P", "prefork", "-c", str(processes)]
    quiet = ["--without-gossip", "--without-mingle", "-l", settings.log_level]
    try:
        app.worker_main(["--quiet", "worker", "-Q", ",".join(lanes), "-n", free, *pool, *quiet])
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code:
            return ended.code
    finally:
        sys.stdout.flush()
    return exit_code()
