"""Closed parts go to a store of objects, in a thread beside the crawl; what is sent is removed here.

A part that is ready has a file `NAME.ready`; when it is there, `NAME.sent` stands for it. So a process that
dies leaves nothing unclear: the next one sends what is ready, once more where it was under way. One process
of a crawl sends at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Sequence

from gossamer.config.data_files import open_file
from gossamer.errors import SinkAway, SinkError
from gossamer.sinks.exact import failure, sync_folder
from gossamer.sinks.object_store import ObjectFolder
from gossamer.sinks.rotating import READY, SENT

MOST_WAITING = 512 << 20
"""Bytes of parts that wait; beyond that rows wait, too."""
PATIENCE = 3.0
"""Seconds without any progress after which a store counts as away: who waits for it then asks again
(`road.waiting`)."""
AGAIN = 1.0

Files = Callable[[str], Sequence[tuple[str, str]]]
"""A part's name -> its files: where each is, and its name over there."""


class Sender:
    """Sends the ready parts of a folder. `most`: bytes that may wait."""

    def __init__(
        self,
        away: ObjectFolder,
        folder: str,
        files: Files,
        *,
        most: int = MOST_WAITING,
        patience: float = PATIENCE,
    ) -> None:
        self._away, self._folder, self._files, self._most, self._patience = (
            away,
            folder,
            files,
            most,
            patience,
        )
        self._thread: threading.Thread | None = None
        self._news, self._ended = threading.Event(), threading.Event()
        self._problem: str = ""
        self._lasting: SinkError | None = None

    def ready(self, name: str) -> None:
        """A part is closed: it may go."""
        try:
            size = sum(os.stat(path).st_size for path, _ in self._files(name) if os.path.exists(path))
            with open(f"{self._folder}/{name}{READY}", "w", opener=open_file) as marker:
                marker.write(str(size))
            sync_folder(self._folder)
        except OSError as error:
            raise failure(self._folder, error) from error
        self.wake()

    def wake(self) -> None:
        """Look for what is ready. Raises SinkError when the store refuses what we send."""
        if self._lasting is not None:
            raise self._lasting
        if self._waiting() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
            self._thread.start()
        self._news.set()

    def room(self) -> None:
        """Wait until less than `most` bytes wait. Raises SinkAway when the store takes nothing."""
        if self._weight() > self._most:
            self._until(lambda: self._weight() <= self._most)

    def finish(self) -> None:
        """Wait until all is sent. Raises SinkAway when the store takes nothing: a later call sends it, or the
        next run."""
        self._until(lambda: not self._waiting())

    def _until(self, done: Callable[[], bool]) -> None:
        left, waits = self._weight(), time.monotonic() + self._patience
        while not done():
            self.wake()
            time.sleep(0.02)
            if (now := self._weight()) != left:  # it goes on
                left, waits = now, time.monotonic() + self._patience
            elif time.monotonic() > waits:
                raise SinkAway(
                    f"{self._away.url} takes nothing ({self._problem or 'no answer'}): what was fetched waits in {self._folder}"
                )

    def _run(self) -> None:
        """The thread: send until nothing is ready."""
        lock = open_file(f"{self._folder}/.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            while names := self._waiting():
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    for name in names:
                        self._send(name)
                except SinkError as error:
                    self._lasting = error
                    return
                except OSError as error:
                    self._problem = str(error)
                    self._news.clear()
                    self._news.wait(AGAIN)
                finally:
                    with contextlib.suppress(OSError):
                        fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            os.close(lock)

    def _send(self, name: str) -> None:
        here = f"{self._folder}/{name}"
        if not os.path.exists(here + READY):  # another process did
            return
        files = [(path, there) for path, there in self._files(name) if os.path.exists(path)]
        for path, there in files:
            self._away.send(path, there)
        with open(here + SENT, "wb", opener=open_file):
            pass
        sync_folder(self._folder)
        for path in [path for path, _ in files] + [here + READY]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self._problem = ""

    def _waiting(self) -> list[str]:
        try:
            found = [name.removesuffix(READY) for name in os.listdir(self._folder) if name.endswith(READY)]
        except FileNotFoundError:
            return []
        return sorted(found)

    def _weight(self) -> int:
        total = 0
        for name in self._waiting():
            with contextlib.suppress(OSError, ValueError), open(f"{self._folder}/{name}{READY}") as marker:
                total += int(marker.read())
        return total
