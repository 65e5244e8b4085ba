"""The store for the files that items refer to (`--files`), in a folder or an object store. Each file is named
by the hash of its content, `ab/SHA256`, so equal files are stored once.

A file is durable before the row that names it is written. If the process is killed between these two steps, a
file without a row remains, which does no harm.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from typing import BinaryIO

from gossamer.errors import SinkAway, UsageError
from gossamer.sinks.crash_safe_file import sink_error, sync, sync_folder
from gossamer.sinks.object_store import ObjectFolder
from gossamer.sinks.sink_url import AWAY

OFF = "off"
"""The value of `--files` that disables downloads of files."""
CHUNK_BYTES = 1 << 20


def parse_file_store(spec: str) -> str:
    """Parses the value of `--files`. The path of a folder becomes absolute; a URL or `off` stays unchanged.
    Raises UsageError."""
    scheme, colon, rest = spec.partition("://")
    if colon and (scheme.lower() not in AWAY or not rest.strip("/") or rest.startswith("/")):
        raise UsageError(
            f"--files {spec}: write a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, "
            f"hdfs://HOST:PORT/FOLDER, or {OFF}"
        )
    return f"{scheme.lower()}://{rest}" if colon else spec if spec == OFF else os.path.abspath(spec)


class AssetFolder:
    """A folder or an object store for files. Several threads call its methods at once."""

    def __init__(self, where: str) -> None:
        """`where` is a result of `parse_file_store`. Raises UsageError, ConfigError."""
        self._away = ObjectFolder(where) if "://" in where else None
        self._folder = where
        self._known: set[str] = set()

    def prepare(self) -> None:
        """Checks that files can be stored. Raises SinkError or DiskFull. Raises SinkAway if the check should
        be repeated later."""
        if self._away is not None:
            try:
                self._away.check()
            except OSError as error:
                raise SinkAway(f"{self._away.url}: {error}") from error
            return
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as error:
            raise sink_error(self._folder, error) from error

    def keep(self, file: BinaryIO, size: int, name: str) -> str:
        """Stores a file of `size` bytes unless it is already stored, and returns its path within the folder
        or object store. `name` is the SHA-256 hash of the file's content. Raises SinkError or DiskFull.
        Raises SinkAway if the call should be repeated later."""
        path = f"{name[:2]}/{name}"
        if name not in self._known:
            try:
                if self._away is not None:
                    self._away.put(path, file, size)
                else:
                    self._put(path, file, size)
            except OSError as error:
                if self._away is not None:
                    raise SinkAway(f"{self._away.url}: {error}") from error
                raise sink_error(self._folder, error) from error
            if len(self._known) >= 100_000:
                self._known.clear()
            self._known.add(name)
        return path

    def _put(self, path: str, file: BinaryIO, size: int) -> None:
        """Writes the file under a temporary name and renames it."""
        target, folder = f"{self._folder}/{path}", f"{self._folder}/{path[:2]}"
        with contextlib.suppress(FileNotFoundError):
            if os.stat(target).st_size == size:
                return
        fresh = not os.path.isdir(folder)
        os.makedirs(folder, exist_ok=True)
        aside = f"{folder}/.{secrets.token_hex(6)}"
        file.seek(0)
        try:
            with open(aside, "xb") as into:
                shutil.copyfileobj(file, into, CHUNK_BYTES)
                into.flush()
                sync(into.fileno())
            os.rename(aside, target)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
        sync_folder(folder)
        if fresh:
            sync_folder(self._folder)
