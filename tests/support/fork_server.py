"""Starts Python processes of this checkout in a few milliseconds, by forking a process that has already
imported gossamer.

`Popen` and `run` are those of `subprocess`. They fork if the command is `[sys.executable, "-c" or "-m", ...]`
with an ordinary environment. Any other command starts as usual. The forked process has its own pid, streams,
folder, environment and session, and receives signals like any other process. Two things differ. The command
line and the environment in /proc are those of the fork server. Modules that it would import are already in
`sys.modules`, and their patterns are compiled. A test that looks at either uses `subprocess`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
SRC = TESTS.parent / "src"
IMPORTED = [
    "gossamer.cli.commands",
    "gossamer.cli.crawl",
    "gossamer.cli.steering",
    "gossamer.cli.worker",
    "gossamer.app.runner",
    "gossamer.app.worker_processes",
    "celery.bin.celery",
    "celery.apps.worker",
    "celery.app.amqp",
    "celery.concurrency.prefork",
    "kombu.transport.redis",
    "web.__main__",
    "gossamer.cli.foreground_crawl",
    "gossamer.cli.status",
    "gossamer.cli.progress",
    "gossamer.cli.summaries",
    "gossamer.app.found_problems",
    "gossamer.app.outcome",
    "gossamer.blocks.challenges",
    "gossamer.blocks.phrases",
    "gossamer.blocks.notice_words",
    "gossamer.parsing.rendering_need",
    "gossamer.collectors.archive.collector",
    "gossamer.model.run_guard",
    "gossamer.sinks.sqlite",
    "turbohtml.extract",
    "uvloop",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.fixups.django",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.strategy",
    "billiard.popen_fork",
    "celery.events.dispatcher",
    "celery.events.receiver",
    "gossamer.fleet.message_checks",
    "gossamer.fleet.slice_process",
    "gossamer.fleet.worker_keeper",
    "gossamer.fleet.revisit_decider",
    "kombu.transport.pyamqp",
    "gossamer.app.login_setup",
    "gossamer.app.revisit_loop",
    "gossamer.app.page_table_storage",
    "gossamer.proxies.proxy_rotation",
    "gossamer.cli.freshness",
    "zstandard",
    "playwright.async_api",
    "gossamer.collectors.browser.document",
]
"""The modules that the fork server imports, with all that they import: those of the commands, those that an
ordinary crawl imports while it runs, and those of a worker of a fleet."""
SPECIAL = ("LD_", "PYTHON", "GLIBC_", "MALLOC_", "FAKETIME", "TZ")
"""Prefixes of environment variables that act when an interpreter starts."""
UTF8 = ("", "C", "POSIX", "C.UTF-8", "C.utf8", "en_US.UTF-8")
"""The locales in which the interpreter uses UTF-8 like the fork server."""


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """A `subprocess.Popen` that forks where it can."""

    _status: int | None = None

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *more: Any) -> None:
        close_fds, pass_fds, cwd, env, _, _, shell = more[:7]
        pipes = more[7:13]  # for each of the three streams the child's descriptor and ours, or -1
        user, umask, start_new_session, process_group = more[14:17], *more[17:20]
        env = dict(os.environ if env is None else env)
        words = None if isinstance(args, str | bytes) else [os.fsdecode(word) for word in args]
        if (
            words is None
            or words[0] != sys.executable
            or words[1] not in ("-c", "-m")
            or any((executable, preexec_fn, shell, not close_fds, *user, umask != -1, process_group != -1))
            or not _ordinary(env)
            or _network() != _NETWORK  # the fork server is on the machine of the tests
        ):
            super()._execute_child(args, executable, preexec_fn, *more)  # type: ignore[misc]
            return
        request = {
            "words": words[1:],
            "cwd": os.path.join(os.getcwd(), os.fsdecode(cwd or "")),
            "env": env,
            "session": start_new_session,
            "fds": list(pass_fds),
        }
        ours, theirs = os.pipe()
        streams = [number if fd == -1 else fd for number, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        try:
            _server().request(request, [theirs, *streams, *pass_fds])
        finally:
            os.close(theirs)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
            self._child_created = True
        pid = int.from_bytes(_exactly(ours, 4), "little", signed=True)
        if pid <= 0:
            os.close(ours)
            self._child_created = False
            raise OSError(-pid, os.strerror(-pid), request["cwd"])
        self._status, self.pid = ours, pid

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._status is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        status = _exactly(self._status, 4)
        os.close(self._status)
        return self.pid, int.from_bytes(status, "little") if len(status) == 4 else signal.SIGKILL

    def _internal_poll(self, *given: Any, **named: Any) -> int | None:
        if self._status is None:
            return super()._internal_poll(*given, **named)  # type: ignore[misc, no-any-return]
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode


def run(*words: Any, **given: Any) -> subprocess.CompletedProcess[Any]:
    """Runs a command like `subprocess.run`."""
    text, timeout, check = given.pop("input", None), given.pop("timeout", None), given.pop("check", False)
    if given.pop("capture_output", False):
        given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if text is not None:
        given["stdin"] = subprocess.PIPE
    with Popen(*words, **given) as process:
        try:
            out, err = process.communicate(text, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _ordinary(env: dict[str, str]) -> bool:
    """Returns whether an interpreter with this environment would behave like the fork server."""
    path = env.get("PYTHONPATH", "").split(os.pathsep)
    if path[0] not in ("", str(SRC), str(TESTS)):
        return False
    if next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "") not in UTF8:
        return False

    def special(variables: Any) -> dict[str, str]:
        return {
            name: value
            for name, value in variables.items()
            if name.startswith(SPECIAL) and name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
        }

    return special(env) == special(os.environ)


def _network() -> str:
    """Returns the network namespace of this thread, or '' where there are none."""
    try:
        return os.readlink("/proc/thread-self/ns/net")
    except OSError:
        return ""


_NETWORK = _network()


class _Server:
    """The client of this process's fork server."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(SRC), str(TESTS), os.environ.get("PYTHONPATH")))),
        }
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "support.fork_server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=env,
            )
        self._socket, self._lock, self.owner = ours, threading.Lock(), os.getpid()

    def request(self, request: dict[str, Any], fds: list[int]) -> None:
        """Asks for a process with these descriptors. The first one receives its pid and its status."""
        body = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._socket, [len(body).to_bytes(4, "little")], fds)
            self._socket.sendall(body)

    def close(self) -> None:
        """Ends the fork server. The processes that it started go on."""
        if self.owner == os.getpid():
            self._process.kill()  # a process that the tests left behind may hold the other socket open
            self._process.wait()
            self._socket.close()


_started: _Server | None = None
_starting = threading.Lock()


def _server() -> _Server:
    global _started
    with _starting:
        if _started is None or _started.owner != os.getpid():
            _started = _Server()
            atexit.register(_started.close)
    return _started


def _exactly(fd: int, size: int) -> bytes:
    """Reads `size` bytes from a pipe, or fewer at its end."""
    found = b""
    while len(found) < size and (some := os.read(fd, size - len(found))):
        found += some
    return found


# What follows runs in the fork server and in the processes that it forks.


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Forks a process for each request. Returns the request in the forked process, and None at the end."""
    import importlib

    for name in IMPORTED:
        with contextlib.suppress(ImportError):  # some extras may be absent
            importlib.import_module(name)
    sys.modules.pop("web.__main__", None)
    _use_what_each_crawl_uses()
    gc.collect()
    gc.freeze()
    wake, wakes = os.pipe()
    os.set_blocking(wakes, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control, wake], [], [])
        if wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
            _reap(running)
        if control not in ready:
            continue
        size, fds, _, _ = socket.recv_fds(control, 4, 64)
        if not size:
            return None
        while len(size) < 4:
            size += control.recv(4 - len(size))
        request: dict[str, Any] = json.loads(_exactly(control.fileno(), int.from_bytes(size, "little")))
        if pid := os.fork():
            running[pid] = fds[0]
            for fd in fds[1:]:
                os.close(fd)
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _take_over(request, fds)
        return request


def _use_what_each_crawl_uses() -> None:
    """Compiles the patterns and reads the lists that each forked crawl would compile and read again, which is
    half of the time of a small one."""
    import mimetypes

    from gossamer.model.lazy_pattern import _LazyPattern
    from gossamer.url import registered_domain

    mimetypes.init()
    registered_domain("a.example")
    modules = [module for name, module in sys.modules.items() if name.startswith("gossamer.")]
    for pattern in [value for module in modules for value in vars(module).values()]:
        if isinstance(pattern, _LazyPattern):
            _ = pattern.pattern  # type: ignore[attr-defined]


def _reap(running: dict[int, int]) -> None:
    """Writes the status of each process that has ended into its pipe."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        pipe = running.pop(pid)
        with contextlib.suppress(OSError):  # nobody waits for it any more
            os.write(pipe, status.to_bytes(4, "little"))
        os.close(pipe)


def _take_over(request: dict[str, Any], fds: list[int]) -> None:
    """Gives the forked process the descriptors, session, folder and environment of its request."""
    try:
        if request["session"]:
            os.setsid()
        os.chdir(request["cwd"])
    except OSError as error:
        os.write(fds[0], (-(error.errno or 1)).to_bytes(4, "little", signed=True))
        os._exit(127)
    wanted = [0, 1, 2, *request["fds"]]
    # first above all wanted numbers, so that no descriptor overwrites another one
    above = max(*wanted, *fds) + 1
    moved = [_duplicate(fd, above) for fd in fds]
    for fd, number in zip(moved[1:], wanted, strict=True):
        os.dup2(fd, number)
    os.write(moved[0], os.getpid().to_bytes(4, "little", signed=True))
    kept = sorted({*wanted})
    for low, high in zip(kept, [*kept[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(low + 1, min(high, 65536))
    os.environ.clear()
    os.environ.update(request["env"])
    with contextlib.suppress(OSError):  # the name that top and ps -o comm show, of up to 15 bytes
        Path("/proc/self/comm").write_text(" ".join(request["words"][1:3]).removeprefix("gossamer "))


def _duplicate(fd: int, least: int) -> int:
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)


def _open_streams() -> None:
    """Opens the standard streams anew, as the interpreter does when it starts."""
    import io

    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))

    def text(fd: int, mode: str, errors: str | None) -> io.TextIOWrapper:
        buffering = 0 if unbuffered and mode == "wb" else -1
        raw = open(fd, mode, buffering, closefd=False)  # noqa: SIM115 - open until the process ends
        lines = fd == 2 or os.isatty(fd)
        return io.TextIOWrapper(raw, "utf-8", errors, line_buffering=lines, write_through=unbuffered)

    plain = sys.stdout.errors
    sys.stdin = sys.__stdin__ = text(0, "rb", plain)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = text(1, "wb", plain)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = text(2, "wb", "backslashreplace")  # type: ignore[misc]


def _run(request: dict[str, Any], base: list[str]) -> None:
    """Runs the code or the module of a request as the main module, and ends the process as an interpreter
    would, but without destroying all modules."""
    import threading
    import traceback

    _open_streams()
    code: object = 0
    try:
        _run_main(request["words"], base)
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        traceback.print_exc()
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        code = 1
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit((code or 0) & 255)


def _run_main(words: list[str], base: list[str]) -> None:
    import runpy
    import types

    how, what, *more = words
    own = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = ["" if how == "-c" else os.getcwd(), *own, *base]
    for name in [name for name in sys.modules if name == "support" or name.startswith("support.")]:
        del sys.modules[name]
    sys.argv = [how, *more]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), main.__dict__)  # noqa: S102 - the code of a test


def main() -> None:
    """Serves until the test process ends."""
    given = {str(SRC), str(TESTS), *os.environ.get("PYTHONPATH", "").split(os.pathsep), "", os.getcwd()}
    base = [entry for entry in sys.path if entry not in given]
    control = socket.socket(fileno=int(sys.argv[1]))
    request = _serve(control)
    if request is not None:
        control.detach()  # the forked process has closed its descriptor
        _run(request, base)


if __name__ == "__main__":
    main()
