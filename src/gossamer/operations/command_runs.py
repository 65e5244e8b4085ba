"""Commands that `serve` starts as child processes: runs of prices, ranks, keywords and audits. A run is a folder with
its command, its output and its exit code, so it survives the end of `serve`, and every `serve` on the same data folder
shows it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gossamer import errors
from gossamer.config.data_files import make_private, open_file
from gossamer.config.value_parsers import nearest
from gossamer.config.value_texts import format_time
from gossamer.errors import UnknownName
from gossamer.model.exit_codes import exit_meaning
from gossamer.operations import inputs_of_uses as inputs
from gossamer.operations import results_of_uses as results
from gossamer.operations.context import OperationContext
from gossamer.operations.cursors import cursor_after, position_of
from gossamer.operations.problems import RequestProblem

CHECK_INTERVAL_S = 0.2
ANSWER_TIMEOUT_S = 55.0
"""The maximum number of seconds of a command whose output is the answer to a request."""
MAX_OUTPUT_BYTES = 4 << 20
KEPT_S = 86_400.0
"""The folder of a run is kept for at least as long as answers for idempotency keys, so a repeated request finds the run."""
LOG_TAIL_BYTES = 8192
_ERRORS = {
    2: errors.UsageError,
    4: errors.ConfigError,
    5: errors.CrawlFailed,
    8: errors.StoreError,
    16: errors.DiskFull,
}
_children: list[subprocess.Popen[bytes]] = []
"""The processes that this process started. The list is only used to limit their number."""


class _StartedRun(msgspec.Struct, kw_only=True):
    """The file `run.json` of a run."""

    use: str
    started: float
    pid: int = 0


async def start_run(
    context: OperationContext, use: str, words: Sequence[str], wait: float
) -> results.CommandRun:
    """Starts a command as a run, and returns its state when it has ended or `wait` seconds are over. The same request
    with the same idempotency key starts one run. `words`: the command with its options."""
    mark = f"{context.caller.token}\n{context.key}\n{use}" if context.key else secrets.token_hex(8)
    name = f"{context.caller.prefix}{use}-{hashlib.sha256(mark.encode()).hexdigest()[:12]}"
    folder = _folder(context) / name
    if not await asyncio.to_thread(_was_started, folder):
        _children[:] = running = [one for one in _children if one.poll() is None]
        if len(running) >= context.crawls_at_once:
            raise RequestProblem(
                "too-many",
                f"{len(running)} runs are under way, the most that serve starts at once (--crawls)",
                headers={"Retry-After": "10"},
            )
        child = await asyncio.to_thread(_start, context, folder, use, words)
        if child is not None:
            _children.append(child)
    return await _awaited(context, name, wait)


def _was_started(folder: Path) -> bool:
    """Returns whether a process of the run was started. `serve` may have been killed before it started one."""
    try:
        record = msgspec.json.decode((folder / "run.json").read_bytes(), type=_StartedRun)
    except (OSError, msgspec.MsgspecError):
        return False
    return bool(record.pid) or (folder / "exit").exists() or _is_locked(folder / "lock")


def _start(
    context: OperationContext, folder: Path, use: str, words: Sequence[str]
) -> subprocess.Popen[bytes] | None:
    """Starts the process of a run. Returns None if another `serve` is starting it."""
    make_private(folder.parent)
    _forget_old(folder.parent, context.settings.keep_runs)
    make_private(folder)
    record = _StartedRun(use=use, started=time.time())
    lock = open_file(folder / "lock", os.O_RDWR | os.O_CREAT)
    opened = [lock]
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the child inherits it, and keeps it until its end
        _write(folder, record)
        opened += [open_file(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in ("out", "err")]
        module = "gossamer.cli.recorded_command"
        command = [sys.executable, "-m", module, str(folder / "exit"), str(lock), *words]
        child = subprocess.Popen(
            command,
            env=environment(context),
            stdin=subprocess.DEVNULL,
            stdout=opened[1],
            stderr=opened[2],
            pass_fds=[lock],
            start_new_session=True,
        )
        record.pid = child.pid
        _write(folder, record)
    except BlockingIOError:
        return None
    finally:
        for one in opened:
            os.close(one)
    threading.Thread(target=child.wait, name=f"run {folder.name}", daemon=True).start()
    return child


def _forget_old(runs: Path, kept: int) -> None:
    """Removes the folders of the oldest runs, except the newest `kept` ones, those that still run, and those that are
    younger than KEPT_S."""
    found: list[tuple[float, Path]] = []
    for one in runs.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another serve has just removed it
            found.append((one.stat().st_mtime, one))
    for ended, one in sorted(found, reverse=True)[kept:]:
        if ended < time.time() - KEPT_S and not _is_locked(one / "lock"):
            shutil.rmtree(one, ignore_errors=True)


def _write(folder: Path, record: _StartedRun) -> None:
    new = folder / "run.json.new"
    new.write_bytes(msgspec.json.encode(record))
    new.replace(folder / "run.json")


def environment(context: OperationContext) -> dict[str, str]:
    """Returns the environment of a command: that of `serve`, with its data folder and store."""
    settings = context.settings
    env = {**os.environ, "GOSSAMER_DATA": str(Path(settings.data).absolute())}
    if settings.store is not None:  # not as an option, because other users see the options of a process
        env["GOSSAMER_STORE"] = settings.store
    return env


async def run_list(context: OperationContext, given: inputs.ListRuns) -> results.RunPage:
    """Lists the runs that were started by the API, by name: prices, ranks, keywords, audits and schedules."""
    after = position_of(given, str, "")
    found: list[results.CommandRun] = []
    for name in _names(context):
        if name <= after:
            continue
        if len(found) > given.limit:
            break
        one = await asyncio.to_thread(_read, _folder(context) / name)
        if one is not None and given.use in (None, one.use):
            found.append(one)
    part = found[: given.limit]
    following = cursor_after(given, part[-1].run) if len(found) > given.limit else None
    return results.RunPage(items=part, next=following)


async def run_show(context: OperationContext, given: inputs.ShowRun) -> results.CommandRun:
    """Shows a run: its state, exit code and summary. With `wait`, answers when the run has ended, or when the time is
    over."""
    _need(context, given.run)
    return await _awaited(context, given.run, given.wait)


async def run_stop(context: OperationContext, given: inputs.OneRun) -> results.CommandRun:
    """Stops a run gracefully, like Ctrl-C. The results so far are kept, and the next run continues."""
    folder = _need(context, given.run)
    record = msgspec.json.decode((folder / "run.json").read_bytes(), type=_StartedRun)
    if record.pid and _is_locked(folder / "lock"):  # so the process of this number is the run's
        os.kill(record.pid, signal.SIGTERM)
    return await _awaited(context, given.run, 0.0)


async def _awaited(context: OperationContext, name: str, wait: float) -> results.CommandRun:
    deadline = time.monotonic() + wait
    while True:
        one = await asyncio.to_thread(_read, _folder(context) / name)
        if one is None:
            raise UnknownName(f"no run is named {name!r}")
        left = deadline - time.monotonic()
        if one.state != "running" or left <= 0:
            return one
        await asyncio.sleep(min(CHECK_INTERVAL_S, left))


def _folder(context: OperationContext) -> Path:
    return Path(context.settings.data).absolute() / ".serve" / "runs"


def _names(context: OperationContext) -> list[str]:
    folder = _folder(context)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [name for name in names if context.caller.sees(name)]


def _need(context: OperationContext, name: str) -> Path:
    names = _names(context)
    if name not in names:
        raise UnknownName(f"no run is named {name!r}{nearest(name, names)}")
    return _folder(context) / name


def _read(folder: Path) -> results.CommandRun | None:
    """Returns the state of a run, or None if the folder contains none."""
    try:
        record = msgspec.json.decode((folder / "run.json").read_bytes(), type=_StartedRun)
    except (OSError, msgspec.MsgspecError):
        return None
    started = format_time(record.started)
    if _is_locked(folder / "lock"):
        return results.CommandRun(run=folder.name, use=record.use, state="running", started_at=started)
    try:
        end = folder / "exit"
        code: int | None = int(end.read_text())
        ended: str | None = format_time(end.stat().st_mtime)
    except (OSError, ValueError):
        code, ended = None, None
    return results.CommandRun(
        run=folder.name,
        use=record.use,
        state="failed"
        if code is None
        else "stopped"
        if code in (11, 13)
        else "failed"
        if code
        else "finished",
        started_at=started,
        ended_at=ended,
        exit_code=code,
        meaning="it was killed" if code is None else exit_meaning(code),
        reason=_reason(folder / "err") if code else None,
        summary=_summary(folder / "out"),
    )


def _is_locked(path: Path) -> bool:
    """Returns whether a process holds the lock of a run."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _summary(path: Path) -> dict[str, Any] | None:
    """Returns the object that the command printed, without its lists, which other operations return page by page."""
    try:
        if path.stat().st_size > MAX_OUTPUT_BYTES:
            return None
        found = msgspec.json.decode(path.read_bytes().strip().rpartition(b"\n")[2])
    except (OSError, msgspec.MsgspecError):
        return None
    if not isinstance(found, dict):
        return None
    return {name: value for name, value in found.items() if not isinstance(value, list)}


def _reason(path: Path) -> str | None:
    """Returns the last message of a command."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    return last_message(lines)


def last_message(lines: Sequence[str]) -> str | None:
    """Returns the last message that a command printed on stderr."""
    said = [line.removeprefix("gossamer: ") for line in lines if line.startswith("gossamer: ")]
    return said[-1] if said else None


async def command_answer(context: OperationContext, words: Sequence[str]) -> Any:
    """Runs a command, and returns the object or the objects that it prints with `--json`. Raises the error of its exit
    code."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gossamer",
        *words,
        env=environment(context),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            out, err = await child.communicate()
    except TimeoutError:
        raise errors.CrawlFailed(f"the command took longer than {ANSWER_TIMEOUT_S:.0f} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        said = last_message(err.decode("utf-8", "replace").splitlines())
        error = _ERRORS.get(child.returncode, errors.CrawlFailed)
        raise error(said or f"the command ended with exit code {child.returncode}")
    return msgspec.json.decode(out.strip().rpartition(b"\n")[2])
