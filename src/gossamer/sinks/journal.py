"""A journal on disk that contains each row exactly once. The committed rows of the journal are sent to an
append-only store. The store is Kafka, a webhook or a Valkey list.

As with any exact file (`crash_safe_file`), the claims of rows are settled once the rows are synced to the
journal. Committed rows are sent in order. Each batch is a range `start..end` of journal positions. A Shipper
ensures that a batch counts only once, even if the batch is sent twice. For Kafka, the transaction of the
batch also stores the position. For a Valkey list, the script that appends the rows also stores the position.
A webhook stores no position. If a batch is sent again, the webhook receives the same bytes under the same ID.
An outage of the store does not stop the crawl at once. Up to MAX_WAITING_BYTES bytes can wait on the disk.
Above this limit, no more rows are accepted. Positions never decrease, even if the frontier loses the writes
of its last second. After such a loss, some rows may be sent twice, but none is lost.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from gossamer.config.data_files import open_file
from gossamer.errors import SinkError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.crash_safe_file import sink_error, sync, sync_folder, write_at
from gossamer.sinks.jsonl import encode
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.shipper import JournalRow, Shipper
from gossamer.sinks.sink_url import SinkUrl

MAX_WAITING_BYTES = 64 << 20
"""The maximum number of bytes of the journal that have not been sent yet."""
MAX_BATCH_BYTES = 1 << 20
"""The maximum number of bytes in one batch. A row that exceeds the maximum size of a batch is sent in a batch
of its own."""
MAX_FILE_BYTES = 16 << 20
"""Gossamer begins a new journal file when the current journal file has at least MAX_FILE_BYTES bytes and all
its rows have been sent."""
_FILE = re.compile(r"(\d{15})\.jsonl")


_lines = msgspec.json.Decoder(JournalRow)


class Journal:
    """The `Ships` sink (`model.interfaces`) of one store. `log`: the log of the crawl's appends to files."""

    def __init__(self, folder: str, shipper: Shipper, log: AppendLog | None = None) -> None:
        self._folder, self._shipper = os.path.abspath(folder), shipper
        self._open = False
        self._log, self._compared = log, False
        self.refused: list[Row] = getattr(shipper, "refused", [])
        """The rows that the store refused. The code that reads the rows also removes them."""

    def target(self) -> str:
        """Returns the journal's folder."""
        return self._folder

    def prepare(self) -> int:
        """Connects to the store and begins an empty journal. Returns 0."""
        self._position()
        self._shipper.begin()
        with self._mapped():
            shutil.rmtree(self._folder, ignore_errors=True)
            os.makedirs(self._folder)
            self._begin(0)
        self._open = True
        return 0

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`. Connects to the store first, because the store may already contain more
        rows than the journal's folder records."""
        self._reach()
        with self._mapped():
            sent, end = self._sent()
            start, size = self._file()
            at = max(committed, sent, end, start)
            self._compare(start, size, at, sent)
            if at > start + size or (committed == sent and at - start >= MAX_FILE_BYTES):
                start = self._begin(at)
            data = encode([[row.kind, row.key, _host(row), row.data] for row in rows]) if rows else b""
            fd = open_file(self._name(start), os.O_RDWR)
            try:
                os.ftruncate(fd, at - start)
                if self._log is not None and data:
                    self._log.log_append(self._name(start), at - start, data)
                write_at(fd, at - start, data)
                sync(fd)
            finally:
                os.close(fd)
        return at + len(data) if rows or at > committed else committed

    def _compare(self, start: int, size: int, at: int, sent: int) -> None:
        """Raises SinkError if the file that begins at `start` lacks bytes before `at` that were not sent, or, once
        per process, if its bytes before `at` are not those that the crawl wrote last."""
        if sent >= at:
            return
        same: bool | None = at <= start + size
        if same and not self._compared and self._log is not None:
            with open(self._name(start), "rb") as file:
                same = self._log.ends(file.fileno(), self._name(start), at - start)
        self._compared = True
        if same is False:
            raise SinkError(
                f"{self._folder} is older than its crawl and lacks rows that were not sent yet: put the newest "
                "folder back, or start over with --fresh"
            )

    def ship(self, committed: int) -> None:
        """See `interfaces.Ships`."""
        self._reach()
        sent, end = self._sent()
        while sent < committed or end > sent:
            data, at = self._read(sent, end if end > sent else committed, whole=end > sent)
            if not data:
                break
            end = at + len(data)
            if not self._shipper.knows:
                self._note(at, end)
            try:
                sent = self._shipper.send(at, end, [_lines.decode(line) for line in data.split(b"\n")[:-1]])
            except BaseException:
                self.drop()
                raise
            self._note(sent)
            end = 0

    def full(self, committed: int) -> bool:
        """See `interfaces.Ships`."""
        return committed - self._sent()[0] >= MAX_WAITING_BYTES

    def close(self, committed: int) -> None:
        """Sends the remaining rows. Raises SinkAway if sending is impossible now. A later run sends them."""
        if not os.path.isdir(self._folder):
            if committed:
                raise SinkError(f"{self._folder} is gone: put it back, or start over with --fresh")
            return
        self.ship(committed)
        self.drop()

    def drop(self) -> None:
        """See `interfaces.Ships`."""
        self._shipper.drop()
        self._open = False

    def _reach(self) -> None:
        if not self._open:
            position = self._position()
            if position > self._sent()[0]:
                self._note(position)
            self._open = True

    def _position(self) -> int:
        try:
            return self._shipper.open()
        except BaseException:
            self._shipper.drop()
            raise

    def _read(self, start: int, end: int, *, whole: bool) -> tuple[bytes, int]:
        """Returns bytes of the journal, and the position at which these bytes begin. Reading begins at the
        position `start`.

        The returned position is later than `start` if the file that contained `start` was removed. If `whole`
        is true, returns everything up to `end`. Otherwise, returns complete lines with a total size of at
        most MAX_BATCH_BYTES bytes. Returns at least one line, even if this line exceeds the limit.
        """
        first, _ = self._file()
        start = max(start, first)
        with self._mapped(), open(self._name(first), "rb") as file:
            file.seek(start - first)
            if whole:
                return file.read(end - start), start
            data = file.read(min(MAX_BATCH_BYTES, end - start))
            if len(data) == MAX_BATCH_BYTES and data[-1:] != b"\n":
                cut = data.rfind(b"\n") + 1
                data = data[:cut] if cut else (data + file.readline())[: end - start]
            return data, start

    def _file(self) -> tuple[int, int]:
        """Returns the start position and the size of the current file."""
        with self._mapped():
            starts = [int(found[1]) for name in os.listdir(self._folder) if (found := _FILE.fullmatch(name))]
            if not starts:
                raise SinkError(
                    f"{self._folder} has no journal file any more: put the folder back, or start "
                    "anew with --fresh"
                )
            return max(starts), os.path.getsize(self._name(max(starts)))

    def _begin(self, at: int) -> int:
        """Begins a new journal file at the position `at`. Removes the earlier files, because all rows of
        these files were sent. Returns the position."""
        os.close(open_file(self._name(at), os.O_CREAT | os.O_WRONLY))
        self._note(at)
        for name in os.listdir(self._folder):
            if (found := _FILE.fullmatch(name)) and int(found[1]) < at:
                os.unlink(f"{self._folder}/{name}")
        sync_folder(self._folder)
        return at

    def _name(self, start: int) -> str:
        return f"{self._folder}/{start:015d}.jsonl"

    def _sent(self) -> tuple[int, int]:
        """Returns two positions in the journal. All rows before the first position have been sent. If the
        transfer of a batch was interrupted, the second position is the end of this batch. Otherwise, the
        second position is 0."""
        try:
            sent, end = json.loads(Path(self._folder, "sent").read_bytes())
            return int(sent), int(end)
        except FileNotFoundError:
            return 0, 0
        except (OSError, ValueError) as error:
            raise SinkError(f"{self._folder}/sent cannot be read: {error}") from error

    def _note(self, sent: int, end: int = 0) -> None:
        with self._mapped():
            new = f"{self._folder}/sent.new"
            fd = open_file(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            try:
                os.write(fd, json.dumps([sent, end]).encode())
                sync(fd)
            finally:
                os.close(fd)
            os.replace(new, f"{self._folder}/sent")

    def _mapped(self) -> _Mapped:
        return _Mapped(self._folder)


class _Mapped:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise sink_error(self._folder, error) from error


def open_journal(
    place: SinkUrl, refuse: Refuse, *, owner: str, folder: str, overwrite: bool = False, log: AppendLog | None
) -> Journal:
    """Returns the journal of a store. The journal is in the folder that `?journal=` names, or else in the
    crawl's folder. `log`: the log of the crawl's appends to files, or None outside of a crawl. Raises
    ConfigError if a client library is not installed. Raises UsageError if the store cannot be emptied."""
    if overwrite and place.kind != "valkey":
        what = "the messages of a topic" if place.kind == "kafka" else "rows that a receiver has"
        raise UsageError(f"-O {place.where}: {what} cannot be removed: write them with -o")
    at = place.given.get("journal") or f"{folder}/outbox/{_short(place.where)}"
    called = _short(f"{owner} {os.path.abspath(at)} {place.where}")
    if place.kind != "valkey":
        return Journal(at, _shipper(place, called, refuse), log)
    from gossamer.sinks.valkey import Earlier, ValkeyLists

    earlier: Earlier = (
        "replace" if overwrite else "keep" if log is None else "replace-own" if log.fresh else "report"
    )
    return Journal(at, ValkeyLists(place, called, refuse, owner=owner, earlier=earlier), log)


def _shipper(place: SinkUrl, called: str, refuse: Refuse) -> Shipper:
    if place.kind == "kafka":
        from gossamer.sinks.kafka import KafkaTopic

        return KafkaTopic(place, called, refuse)
    from gossamer.sinks.webhook import Webhook

    return Webhook(place, called, refuse)


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _host(row: Row) -> str:
    url = row.data.get("_url") if isinstance(row.data, dict) else row.data.url
    try:
        return urlsplit(str(url)).hostname or ""
    except ValueError:
        return ""
