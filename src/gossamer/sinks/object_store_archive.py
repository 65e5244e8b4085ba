"""Writes whole responses to an object store. Parts are first written to a local staging folder, as exact
files (`crash_safe_file`). Each part is uploaded when it is closed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.errors import SinkAway
from gossamer.model.visit import Row
from gossamer.sinks import cdxj
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.object_files import Objects, objects_of
from gossamer.sinks.object_store import ObjectFolder
from gossamer.sinks.uploader import AWAY_AFTER_S, MAX_WAITING_BYTES, Uploader
from gossamer.sinks.warc import Warc

MAX_PART_BYTES = 32 << 20
"""The maximum size of a WARC part in bytes. For plain objects, MAX_PART_BYTES limits the approximate total
size of the objects that one part file lists."""
MAX_LINES_BYTES = 1 << 20
"""The maximum size in bytes of a part file that lists plain objects. If the caller sets a maximum part size
other than MAX_PART_BYTES, MAX_LINES_BYTES changes in proportion."""


class UploadLimits(NamedTuple):
    """`waiting`: the maximum number of bytes that may wait for upload. `patience`: the number of seconds
    without upload progress after which a waiting call raises SinkAway."""

    waiting: int = MAX_WAITING_BYTES
    patience: float = AWAY_AFTER_S


UPLOAD_LIMITS = UploadLimits()


class ObjectStoreArchive:
    """The FileSink for `s3://...` and other object stores.

    `staging`: the local folder for files that are not uploaded yet. `plain`: whether responses are written as
    plain objects instead of as WARC. `most`: the maximum size of a part in bytes.
    """

    def __init__(
        self,
        url: str,
        staging: str,
        *,
        plain: bool = False,
        overwrite: bool = False,
        owner: str = "",
        most: int = MAX_PART_BYTES,
        upload: UploadLimits = UPLOAD_LIMITS,
        log: AppendLog | None = None,
    ) -> None:
        self._away = ObjectFolder(url)
        self.folder = f"{os.path.abspath(staging)}/{re.sub(r'[^A-Za-z0-9._-]', '_', url.partition('?')[0])}"
        stem = re.sub(r"[^A-Za-z0-9._-]", "", owner.replace("@", "-")) or "pages"
        self._sink: Objects | Warc
        if plain:
            lines = max(1, most * MAX_LINES_BYTES // MAX_PART_BYTES)
            self._sink = Objects(
                self.folder,
                name=f"{stem}.jsonl",
                overwrite=overwrite,
                owner=owner,
                most=lines,
                ended=self._closed,
                log=log,
            )
        else:
            path = f"{self.folder}/{stem}{cdxj.ENDING}"
            self._sink = Warc(path, overwrite=overwrite, owner=owner, most=most, ended=self._closed, log=log)
        self._sender = Uploader(
            self._away, self.folder, self._files, most=upload.waiting, patience=upload.patience
        )
        self.target, self.drop = self._sink.target, self._sink.drop
        self.find, self.adopt = self._sink.find, self._sink.adopt

    def prepare(self) -> int:
        """See `interfaces.FileSink`. Also checks that the store is writable. Raises SinkAway if the call
        should be repeated later."""
        try:
            self._away.check()
        except OSError as error:
            raise SinkAway(f"{self._away.url} does not take pages: {error}") from error
        os.makedirs(self.folder, exist_ok=True)
        return self._sink.prepare()

    def pack(self, rows: Sequence[Row]) -> None:
        """See `interfaces.Packs`."""
        if isinstance(self._sink, Warc):
            self._sink.pack(rows)

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`. Blocks until at most `waiting` bytes wait for upload. Also raises
        SinkAway."""
        os.makedirs(self.folder, exist_ok=True)
        self._sender.wake()
        self._sender.room()
        return self._sink.append(committed, rows)

    def close(self, committed: int) -> None:
        """Closes the last part and uploads all parts. Raises SinkAway if the upload is impossible now. In
        this case, the call can be repeated, even by a later run."""
        self._sink.close(committed)
        self._sender.finish()

    def _closed(self, start: int, committed: int) -> None:
        if committed > start:
            self._sender.ready(self._sink.parts.name(start))

    def _files(self, name: str) -> list[tuple[str, str]]:
        """Returns the files of a part as (local path, name in the store). If a file refers to other files,
        the other files come first."""
        path = f"{self.folder}/{name}"
        if isinstance(self._sink, Warc):
            return [(path, name), (cdxj.index_path(path), os.path.basename(cdxj.index_path(path)))]
        if not os.path.exists(path):
            return []
        places = [f"objects/{one[:2]}/{one}" for one in objects_of(path)]
        return [*((f"{self.folder}/{place}", place) for place in places), (path, name)]
