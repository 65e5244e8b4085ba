"""Writes whole responses as plain files. `objects/ab/SHA256` contains a response body as it was received.

`part-N.jsonl` contains one line per response, with the URL of the response and the name of the object that
contains the body. An object is durable before the line that refers to it is committed. If the process is
killed in between, an object without a line may remain, which does no harm. A line has the fields `url`, `at`
(seconds since the epoch), `status`, `head` (as received, latin-1), `object`, `size`, `cut`, `address`,
`asked`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from gossamer.model.visit import Raw, Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.crash_safe_file import sink_error, sync, sync_folder
from gossamer.sinks.multipart_file import PartFiles

ENDING = ".jsonl"
MAX_PART_BYTES = 64 << 20
"""The size in bytes at which a part file is closed. The objects that the part file lists do not count towards
this size."""
_encode = msgspec.json.Encoder().encode_lines


class Objects:
    """The FileSink for plain objects. `most` and `ended` have the same meaning as in `warc.Warc`."""

    def __init__(
        self,
        path: str,
        *,
        overwrite: bool = False,
        owner: str = "",
        most: int = MAX_PART_BYTES,
        ended: Callable[[int, int], None] | None = None,
        name: str = "",
        log: AppendLog | None = None,
    ) -> None:
        """`name`: the file name of the first part; '' means `part-000000000000000.jsonl`."""
        folder = not name
        self.parts = PartFiles(
            f"{path}/{name}" if name else path,
            ENDING,
            folder=folder,
            overwrite=overwrite,
            owner=owner,
            ends=b"\n",
            log=log,
        )
        self.find, self.adopt, self.drop = self.parts.find, self.parts.adopt, self.parts.drop
        self._most, self._ended = most, ended

    def target(self) -> str:
        """Returns the absolute path of the folder."""
        return self.parts.path

    def prepare(self) -> int:
        """See `interfaces.FileSink`. Existing objects stay."""
        return self.parts.prepare()

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        start = self.parts.settle(committed)
        raws = [row.data for row in rows if isinstance(row.data, Raw)]
        if not raws:
            if start < committed or not committed:
                self.parts.file(start).append(committed - start, b"")
            return committed
        if committed - start >= self._most:
            self._end(start, committed)
            start = committed
        lines = self._write(raws)
        return start + self.parts.file(start).append(committed - start, _encode(lines))

    def close(self, committed: int) -> None:
        """Closes the last part at `committed` bytes."""
        start = self.parts.settle(committed)
        if start < committed or not committed:
            self._end(start, committed)

    def _write(self, raws: Sequence[Raw]) -> list[dict[str, Any]]:
        """Writes the bodies durably to their files, and returns the lines that refer to these files."""
        lines, touched = [], set[str]()
        try:
            for raw in raws:
                body = raw.exchange.body
                name = sha256(body).hexdigest()
                folder = f"{self.parts.place}/objects/{name[:2]}"
                if not os.path.exists(f"{folder}/{name}"):
                    touched |= self._put(folder, name, body)
                lines.append(
                    {
                        "url": raw.url,
                        "at": raw.at,
                        "status": raw.status,
                        "head": raw.exchange.head.decode("latin-1"),
                        "object": name,
                        "size": len(body),
                        "cut": raw.cut,
                        "address": raw.address,
                        "asked": raw.asked,
                    }
                )
            for folder in touched:
                sync_folder(folder)
        except OSError as error:
            raise sink_error(self.parts.place, error) from error
        return lines

    def _put(self, folder: str, name: str, body: bytes) -> set[str]:
        """Writes an object under a temporary name and renames it. Returns the folders that must be synced."""
        touched = {folder}
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            touched |= {os.path.dirname(folder), self.parts.place}
        aside = f"{folder}/.{secrets.token_hex(6)}"
        try:
            with open(aside, "wb") as file:
                file.write(body)
                file.flush()
                sync(file.fileno())
            os.rename(aside, f"{folder}/{name}")
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
        return touched

    def _end(self, start: int, committed: int) -> None:
        self.parts.end(start, committed)
        if self._ended is not None:
            self._ended(start, committed)


def objects_of(path: str) -> list[str]:
    """Returns the names of all objects that are listed in a part file, without duplicates."""
    with open(path, "rb") as file:
        return list(dict.fromkeys(msgspec.json.decode(line)["object"] for line in file))
