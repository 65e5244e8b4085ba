"""The lock of a crawl shows whether a process runs the crawl, and which output files this process writes.

The process holds a lock on a file in the crawl's folder. In addition, the crawl's record in the store
contains the pid and the host of the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from gossamer.config.data_files import make_private, open_file
from gossamer.errors import InUse, UsageError, of_data
from gossamer.frontier.crawls import ENDED, UNDER_WAY, Crawls, Record
from gossamer.store import keys
from gossamer.store.embedded import is_alive
from gossamer.store.store import Store


def is_running(record: Record, data: str | Path) -> bool:
    """Returns whether the crawl still has a process that runs it.

    Returns False if the crawl has ended or its process has died. A process on another machine counts as
    alive, because it cannot be checked. `data`: the data folder, which is used if the crawl's record does not
    contain its folder.
    """
    if record.state in ENDED:
        return False
    pid, host = record.door.get("pid"), record.door.get("host")
    if record.fleet:
        return True  # any worker of the fleet may run the crawl
    if host != platform.node():
        return host is not None
    if not isinstance(pid, int) or not is_alive(pid):
        return False
    lock = Path(record.door.get("folder") or Path(data) / record.name) / "lock"
    return not lock.exists() or _held(lock)


def _held(lock: Path) -> bool:
    try:
        with open(lock, "rb", opener=open_file) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return True
    return False


async def record_process(store: Store, crawl: str, folder: str, files: list[str]) -> None:
    """Records in the store that this process runs a crawl, and the crawl's folder and output files as
    absolute paths."""
    door = {"pid": os.getpid(), "host": platform.node(), "folder": folder, "files": files}
    await store.guard(store.client.hset(keys.record(crawl), "door", json.dumps(door)))


async def running_writers(store: Store, files: Collection[str]) -> list[str]:
    """Returns the names of running crawls. According to the store, each of these crawls writes at least one
    of the given files on this machine."""
    names, pipe = await Crawls(store).names(), store.client.pipeline(transaction=False)
    for name in names:
        pipe.hmget(keys.record(name), ["state", "door"])
    found = []
    for name, (state, raw) in zip(names, await store.guard(pipe.execute()), strict=True):
        door = json.loads(raw or b"{}") if (state or b"").decode() in UNDER_WAY else {}
        if door.get("host") == platform.node() and not set(files).isdisjoint(door.get("files", ())):
            found.append(name)
    return found


@contextlib.contextmanager
def hold_lock(folder: Path, crawl: str, files: Sequence[str] = ()) -> Iterator[None]:
    """A context manager that holds the lock of a crawl. `files`: the files that the crawl writes. If another
    process holds the lock, raises InUse with the pid of that process."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_private(folder)
        lock = open_file(folder / "lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise of_data(folder.parent, error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n{json.dumps(files)}".encode())
        except BlockingIOError:
            pid, _ = _said(folder / "lock")
            raise InUse(
                f"crawl {crawl} is being run by process {pid}: see `gossamer status {crawl}`, or "
                "give another --name"
            ) from None
        except OSError as error:
            raise of_data(folder.parent, error) from error
        yield
    finally:
        os.close(lock)


def refuse_if_written(data: Path, path: str) -> None:
    """Raises UsageError if a crawl of this data folder is writing the file `path`. Commands that write files
    outside of a crawl call this function first."""
    for lock in data.glob("*/lock"):
        pid, files = _said(lock)
        if os.path.realpath(path) in files and _held(lock):
            raise UsageError(being_written(path, lock.parent.name, pid))


def being_written(path: str, crawl: str, pid: object) -> str:
    """Returns the message for a file that a crawl is writing."""
    return (
        f"{path} is being written by the crawl {crawl}, process {pid}: wait for its end, end it "
        f"with `gossamer stop {crawl}`, "
        "or give another file"
    )


def _said(lock: Path) -> tuple[str, list[str]]:
    """Returns the pid of the process that holds or last held a lock, and the files that this process
    writes."""
    try:
        pid, _, files = lock.read_text().partition("\n")
        return pid or "?", json.loads(files or "[]")
    except (OSError, ValueError):
        return "?", []
