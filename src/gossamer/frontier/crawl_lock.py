"""Whether a crawl has a process that runs it: the door's pid on this machine, and the lock it holds on its
folder; what it writes there."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from gossamer.config.data_files import make_folder, open_file
from gossamer.errors import InUse, UsageError, of_data
from gossamer.frontier.crawls import ENDED, UNDER_WAY, Crawls, Record
from gossamer.store import keys
from gossamer.store.embedded import alive
from gossamer.store.store import Store


def living(record: Record, data: str | Path) -> bool:
    """False when it ended, or when its process is gone; a door on another machine is believed to live.
    `data`: the data folder, where the crawl does not say which it has."""
    if record.state in ENDED:
        return False
    pid, host = record.door.get("pid"), record.door.get("host")
    if record.fleet:
        return True  # whichever workers there are, or will be
    if host != platform.node():
        return host is not None
    if not isinstance(pid, int) or not alive(pid):
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


async def runs(store: Store, crawl: str, folder: str, files: list[str]) -> None:
    """Say that this process runs a crawl, where its folder is and which files it writes: absolute paths."""
    door = {"pid": os.getpid(), "host": platform.node(), "folder": folder, "files": files}
    await store.guard(store.client.hset(keys.record(crawl), "door", json.dumps(door)))


async def writing(store: Store, files: Collection[str]) -> list[str]:
    """The crawls under way, by what the store says, that write one of these files of this machine."""
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
def held(folder: Path, crawl: str, files: Sequence[str] = ()) -> Iterator[None]:
    """Hold the lock of a crawl that writes these files; InUse naming the process that has it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_folder(folder)
        lock = open_file(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
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
                f"crawl {crawl} is being run by process {pid}: see `gossamer status {crawl}`, or give another --name"
            ) from None
        except OSError as error:
            raise of_data(folder.parent, error) from error
        yield
    finally:
        os.close(lock)


def spared(data: Path, path: str) -> None:
    """Raises UsageError where a crawl of this data folder is writing a file: for who writes without being a
    crawl."""
    for lock in data.glob("*/lock"):
        pid, files = _said(lock)
        if os.path.realpath(path) in files and _held(lock):
            raise UsageError(being_written(path, lock.parent.name, pid))


def being_written(path: str, crawl: str, pid: object) -> str:
    """What is said of a file that a crawl is writing."""
    return (
        f"{path} is being written by the crawl {crawl}, process {pid}: wait for its end, end it with `gossamer stop {crawl}`, "
        "or give another file"
    )


def _said(lock: Path) -> tuple[str, list[str]]:
    """The process that has, or had, a lock, and the files that it writes."""
    try:
        pid, _, files = lock.read_text().partition("\n")
        return pid or "?", json.loads(files or "[]")
    except (OSError, ValueError):
        return "?", []
