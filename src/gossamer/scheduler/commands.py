"""Runs the command of a schedule as a child process, and records its exit code and its output.

Only one process at a time works on a run, because it holds a lease in the store. While the lease is renewed, the
process writes heartbeats to the standard input of the child (`cli.command_process`). The child ends if no
heartbeat arrives, so the command also ends if its scheduler is killed, is frozen, or loses the store. The next
scheduler then starts the same command again, which continues its work.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gossamer.config.redaction import mask, register_in
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.model.exit_codes import GATE_CODES, exit_meaning
from gossamer.scheduler.runs import CHECK_INTERVAL_S, RunOutcome, pause_before_retry
from gossamer.state.schedules import ScheduledRun, Schedules
from gossamer.state.slots import Slots, TaskLead
from gossamer.store.store import Store

if TYPE_CHECKING:
    from gossamer.state.schedules import ScheduledTask

BEAT_INTERVAL_S = 1.0
"""Seconds between two heartbeats to a child."""
BEAT_TIMEOUT_S = 12.0
"""A child ends gracefully if it gets no heartbeat for this many seconds."""
STOP_TIMEOUT_S = 8.0
"""Seconds that a command gets to stop gracefully. After this time, the command is killed."""
RENEWED_S = 3.0
"""A child gets heartbeats only if the lease was renewed in the last RENEWED_S seconds."""
TAKE_OVER_S = 22.0
"""Seconds that a scheduler waits before it continues the command of another scheduler, whose child has ended by then.
A child ends RENEWED_S, BEAT_TIMEOUT_S and the 12 s of a graceful stop after the last renewal of the lease, and the
lease itself lasts for 6 s."""
MAX_REASON_BYTES = 4096
"""Number of bytes at the end of a command's output in which its last line is looked for."""
LOGS = "schedules"
"""The folder of the outputs, in the data folder."""
CHILD = ("-P", "-m", "gossamer.cli.command_process")
"""The arguments of Python that run a command as a child of this module. The next argument is the file in which the
child leaves its exit code, or ''. The words of the command follow."""


class CommandRunner:
    """Runs commands. `most`: the maximum number of commands at once."""

    def __init__(self, store: Store, settings: Settings, stop: asyncio.Event, most: int) -> None:
        self._store, self._settings, self._stop, self.most = store, settings, stop, most

    def log_of(self, name: str, run: ScheduledRun) -> str:
        """Returns the place of a run's output. With a shared store, the place begins with this machine's name."""
        path = str(self._path(name, run))
        return path if self._settings.store is None else f"{platform.node()}:{path}"

    def _path(self, name: str, run: ScheduledRun) -> Path:
        moment = datetime.fromtimestamp(run.due, UTC).strftime("%Y%m%dT%H%M" + "%S" * run.by_hand)
        return Path(self._settings.data).absolute() / LOGS / name / f"{moment}.log"

    @asynccontextmanager
    async def lease(self, name: str, run: ScheduledRun) -> AsyncIterator[TaskLead | None]:
        """A context manager that waits until no other process works on the run. Yields None if the run has
        ended meanwhile, or if the scheduler is stopping."""
        while not self._stop.is_set():
            async with Slots(self._store).lead(f"schedule:{name}:{run.field}") as lease:
                if lease:
                    still = await Schedules(self._store).open(name)
                    yield lease if any(one.field == run.field for one in still) else None
                    return
            await pause_before_retry(self._stop, CHECK_INTERVAL_S)
        yield None

    async def let_other_end(self, now: Callable[[], float]) -> None:
        """Waits until the child of another scheduler has ended. `now`: returns the store's time."""
        until = now() + TAKE_OVER_S
        while now() < until and not self._stop.is_set():
            await pause_before_retry(self._stop, CHECK_INTERVAL_S)

    async def command(
        self, name: str, run: ScheduledRun, lease: TaskLead, *, again: bool = False, foreground: bool = False
    ) -> RunOutcome | None:
        """Runs the command of a run to its end. Returns None if the command was stopped, because the scheduler is
        stopping or the lease is lost. The next scheduler then starts the command again.

        `again`: whether another scheduler may have started the command. If that child has ended meanwhile and has
        left its exit code, the command is not started again. `foreground`: whether the output goes to this process's
        own streams instead of the log."""
        assert run.task is not None
        words = self.words_of(run.task)
        for word in words:
            register_in(word)
        folder = existing(run.task.folder)
        end = self._path(name, run).with_suffix(".exit")
        if foreground:
            code = await self._child(words, folder, None, lease, "")
            return None if code is None else outcome_of(code, "")
        if again and (code := left_code(end)) is not None:
            return outcome_of(code, last_line(end.with_suffix(".log").read_bytes()[-MAX_REASON_BYTES:]))
        with self._opened(name, run, words) as log:
            end.unlink(missing_ok=True)
            begin = log.tell()
            code = await self._child(words, folder, log.fileno(), lease, str(end))
            log.seek(max(begin, log.seek(0, os.SEEK_END) - MAX_REASON_BYTES))
            return None if code is None else outcome_of(code, last_line(log.read()))

    def words_of(self, task: ScheduledTask) -> list[str]:
        """Returns the words of a command. `clean` works on the scheduler's own data folder and store, unless it
        names others."""
        words = list(task.command or ())
        if words[:1] != ["clean"]:
            return words
        given = {word.partition("=")[0] for word in words}
        if self._settings.store is not None and "--store" not in given:
            words += ["--store", self._settings.store]
        return words if "--data" in given else [*words, "--data", os.path.abspath(self._settings.data)]

    def _opened(self, name: str, run: ScheduledRun, words: Sequence[str]) -> IO[bytes]:
        """Opens the log file of a run. Raises ConfigError."""
        path = self._path(name, run)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            log = path.open("ab+")
        except OSError as error:
            raise ConfigError(f"the output cannot be written to {path}: {error.strerror}") from None
        began = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        log.write(f"{began} {mask(shlex.join(['gossamer', *words]))}\n".encode())
        log.flush()
        return log

    async def _child(
        self, words: Sequence[str], folder: str, output: int | None, lease: TaskLead, end: str
    ) -> int | None:
        """Runs a child and returns its exit code, or None if it was stopped. `output`: the file descriptor of
        its output, or None if the child uses the streams of this process. `end`: the file in which the child
        leaves its exit code, or ''."""
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, *CHILD, end, *words),
            cwd=folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        ended = asyncio.ensure_future(child.wait())
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            while not ended.done() and not stop.done() and lease:
                if time.monotonic() - lease.renewed < RENEWED_S:
                    await _beat(child)
                await asyncio.wait((ended, stop), timeout=BEAT_INTERVAL_S, return_when="FIRST_COMPLETED")
            if ended.done():
                return ended.result()
            child.terminate()
            await asyncio.wait((ended,), timeout=STOP_TIMEOUT_S)
            return 0 if ended.done() and ended.result() == 0 else None
        finally:
            stop.cancel()
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
                await child.wait()
            await asyncio.gather(ended, stop, return_exceptions=True)


def left_code(path: Path) -> int | None:
    """Returns the exit code that a child has left in a file, or None."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def existing(folder: str) -> str:
    """Returns the folder of a command. Raises ConfigError if this machine does not have the folder."""
    if not os.path.isdir(folder):
        raise ConfigError(
            f"there is no folder {folder} on {platform.node()}: a scheduled command runs in the folder in which it "
            "was added. Run the scheduler on a machine that has the folder, or add the schedule again"
        )
    return folder


async def _beat(child: asyncio.subprocess.Process) -> None:
    assert child.stdin is not None
    with contextlib.suppress(ConnectionError):  # the child has just ended
        child.stdin.write(b".")
        await child.stdin.drain()


def outcome_of(code: int, said: str) -> RunOutcome:
    """Returns the outcome of a command. `said`: the last line of its output.

    >>> outcome_of(31, "the field price is missing").state
    'gate'
    """
    if code == 0:
        return RunOutcome("finished", exit_code=0)
    state = "gate" if code in GATE_CODES else "failed"
    return RunOutcome(state, said or exit_meaning(code), exit_code=code)


def last_line(output: bytes) -> str:
    """Returns the line of an output that explains a failure: the last line of a message, or else the last line.

    >>> last_line(b"3 pages\\ngossamer: no such file\\n{}\\n")
    'no such file'
    """
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    found = next((line for line in reversed(lines) if line.startswith("gossamer: ")), "")
    return mask((found.removeprefix("gossamer: ") or (lines[-1] if lines else ""))[:400])
