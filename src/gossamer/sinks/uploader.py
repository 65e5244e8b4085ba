"""Uploads closed parts to an object store in a background thread, and then removes the local files.

A part that is ready for upload has a marker file `NAME.ready`. After the upload, a marker file `NAME.sent`
replaces the files of the part. If a process is killed, the marker files show the next process which parts are
ready and which are uploaded. The next process uploads every ready part and repeats an interrupted upload.
Only one process of a crawl uploads at a time.
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
from gossamer.sinks.crash_safe_file import sink_error, sync_folder
from gossamer.sinks.multipart_file import READY, SENT
from gossamer.sinks.object_store import ObjectFolder

MAX_WAITING_BYTES = 512 << 20
"""The maximum total size in bytes of the parts that wait for upload. While more than MAX_WAITING_BYTES bytes
wait for upload, the output accepts no new rows."""
AWAY_AFTER_S = 3.0
"""The number of seconds without upload progress after which a store counts as unreachable. `worker.outputs`
repeats a call that failed because the store was unreachable."""
RETRY_INTERVAL_S = 1.0

Files = Callable[[str], Sequence[tuple[str, str]]]
"""A function that returns the files of a part, given the name of the part. The function returns each file as
a tuple of the local path and the file's name in the object store."""


class Uploader:
    """Uploads the ready parts of a folder. `most`: the maximum number of bytes that may wait for upload.
    `patience`: the number of seconds without progress after which a waiting call raises SinkAway."""

    def __init__(
        self,
        away: ObjectFolder,
        folder: str,
        files: Files,
        *,
        most: int = MAX_WAITING_BYTES,
        patience: float = AWAY_AFTER_S,
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
        """Marks a closed part as ready, and starts the upload. Raises SinkError, DiskFull."""
        try:
            size = sum(os.stat(path).st_size for path, _ in self._files(name) if os.path.exists(path))
            with open(f"{self._folder}/{name}{READY}", "w", opener=open_file) as marker:
                marker.write(str(size))
            sync_folder(self._folder)
        except OSError as error:
            raise sink_error(self._folder, error) from error
        self.wake()

    def wake(self) -> None:
        """Starts the upload thread if parts are ready. Raises SinkError if the store has permanently refused
        an upload."""
        if self._lasting is not None:
            raise self._lasting
        if self._waiting() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
            self._thread.start()
        self._news.set()

    def room(self) -> None:
        """Blocks until at most `most` bytes wait for upload. Raises SinkAway if the upload makes no progress
        for `patience` seconds."""
        if self._weight() > self._most:
            self._until(lambda: self._weight() <= self._most)

    def finish(self) -> None:
        """Blocks until everything is uploaded. Raises SinkAway if the upload makes no progress for `patience`
        seconds. After SinkAway, a later call or the next run uploads the rest."""
        self._until(lambda: not self._waiting())

    def _until(self, done: Callable[[], bool]) -> None:
        left, waits = self._weight(), time.monotonic() + self._patience
        while not done():
            self.wake()
            time.sleep(0.02)
            if (now := self._weight()) != left:  # the upload makes progress
                left, waits = now, time.monotonic() + self._patience
            elif time.monotonic() > waits:
                raise SinkAway(
                    f"{self._away.url} accepts no uploads ({self._problem or 'no answer'}): what is not "
                    f"uploaded yet is in {self._folder}"
                )

    def _run(self) -> None:
        """The function that the thread runs: uploads parts until none is ready."""
        lock = open_file(f"{self._folder}/.lock", os.O_RDWR | os.O_CREAT)
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
                    self._news.wait(RETRY_INTERVAL_S)
                finally:
                    with contextlib.suppress(OSError):
                        fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            os.close(lock)

    def _send(self, name: str) -> None:
        here = f"{self._folder}/{name}"
        if not os.path.exists(here + READY):  # another process uploaded the part
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
