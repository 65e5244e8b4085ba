"""The protocols through which components use each other. `app.crawl_worker` connects the real implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from gossamer.errors import Moved, Stale
from gossamer.model.browser_profile import Guise
from gossamer.model.minhash import GroupQuery, Placed
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.visit import (
    Adds,
    Attempt,
    Claim,
    Claimed,
    ClaimOrder,
    Commit,
    DueBucket,
    KnownLine,
    Row,
    Settle,
    SkippedUrl,
)


class WaitsForStore(Protocol):
    """Protocol of a function that waits until an outage of the store is over (`store.reconnect`)."""

    @property
    def patient(self) -> bool: ...
    @property
    def away(self) -> bool: ...
    @property
    def outages(self) -> int: ...
    def note(self, error: BaseException) -> None: ...


class AllBucketCalls(Protocol):
    """One crawl's frontier over all buckets (`frontier.multi_bucket`)."""

    @property
    def store_changes(self) -> int: ...
    async def due(self, buckets: Sequence[int] | None = None) -> dict[int, DueBucket]: ...
    async def claim(
        self,
        asks: Sequence[tuple[int, int]],
        orders: Mapping[int, ClaimOrder] = ...,
        uncommitted: Mapping[int, Sequence[Settle]] = ...,
    ) -> list[Claimed]: ...
    async def end_waits(self, k: int) -> list[Claimed]: ...
    async def requeue_expired(self) -> None: ...
    async def left(self) -> tuple[int, int]: ...
    async def renew(
        self, held: Mapping[int, Sequence[int]], *, dead: bool = False
    ) -> list[tuple[int, int]]: ...
    async def free_slots(self, settles: Mapping[int, Sequence[Settle]]) -> None: ...
    async def lacks(self, settled: Mapping[int, int]) -> bool: ...
    async def count_loss(self) -> None: ...


class FrontierVerbs(Protocol):
    """The methods of one crawl's frontier that a worker uses (`frontier.frontier_client`)."""

    @property
    def all_buckets(self) -> AllBucketCalls: ...
    @property
    def patience(self) -> WaitsForStore: ...
    async def check_same(self) -> None: ...
    async def together(self, buckets: Sequence[int]) -> list[list[int]]: ...
    async def add(self, adds: Adds) -> tuple[int, int, int]: ...
    async def settle_all(
        self, commits: Sequence[Commit]
    ) -> Sequence[tuple[int, int, int] | Stale | Moved]: ...
    async def robots(
        self, claim: Claim, *, version: int, holds: int, crawl_delay: int, settle: Settle, rules: bytes = b""
    ) -> bool: ...
    async def rules(self, bucket: int, host: str, scheme: str) -> bytes | None: ...
    async def nearest(self, bucket: int, fingerprint: int) -> int | None: ...
    async def lengths(self, files: Sequence[str]) -> list[int | None]: ...
    async def base(self, file: str, length: int) -> None: ...
    async def fill(self, file: str, offset: int, length: int | None = None) -> None: ...
    async def filling(self) -> dict[str, int]: ...
    async def filled(self, files: Sequence[str]) -> None: ...

    async def no_length(self, file: str) -> None: ...
    async def count(self, changes: dict[str, int], bucket: int = 0) -> None: ...
    async def all_lengths(self) -> dict[str, int]: ...
    async def renamed(self, was: str, file: str, length: int) -> None: ...


class DuplicateIndex(Protocol):
    """The index of equal and nearly equal pages of one crawl (`state.near_duplicate_index`)."""

    async def place(self, asked: Sequence[GroupQuery]) -> list[Placed]: ...


class ClaimLedger(Protocol):
    """A record of the claims that this process holds. If the process dies, another process requeues the
    recorded claims (`frontier.held_claims`)."""

    def note(self, claims: Sequence[Claim], held: Iterable[tuple[int, int]]) -> None: ...
    def keep(self, held: Iterable[tuple[int, int]]) -> None: ...
    def of_dead(self) -> AbstractContextManager[dict[int, list[int]]]: ...


class Collector(Protocol):
    """One way to fetch a page. Expected failures are returned as values. An exception means an unexpected
    error, after which the claim is not settled."""

    name: str

    async def collect(
        self, request: Request, headers: dict[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Fetches one URL with the identity in `guise`, within the collector's limits of size and time. Does
        not follow redirects."""

    async def close(self) -> None:
        """Closes the connections."""


Given = Callable[[Request], Mapping[str, str]]
"""The type of a function that returns the user's configured headers for a request."""


class FileSink(Protocol):
    """An output to a plain file. The file contains each row exactly once, because the store commits the
    file's length in the same step in which it settles the claims. All calls are made under the crawl's output
    lock, in one thread. Several processes may share the file."""

    def target(self) -> str:
        """Returns the absolute path of the output, under which the store keeps its committed length."""

    def prepare(self) -> int:
        """Prepares the file for a new crawl. Returns the file's first committed length, which must be stored
        before the first `append`. The worker calls this method if the store contains no committed length for
        `target()`. Raises UsageError, SinkError, DiskFull."""

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """Truncates the file to `committed` bytes, appends the rows, calls fdatasync, and returns the new
        length in bytes. Raises SinkError if the file is shorter than `committed` or was changed by another
        program. Raises DiskFull if the file cannot grow. If `rows` is empty, the method only truncates the
        file. `rows` is empty in only one call, which is made when a crawl resumes."""

    def close(self, committed: int) -> None:
        """Completes the output, for example by closing the last Parquet part. `committed` is the committed
        length in bytes. The worker calls this method once per process, under the output lock."""


@runtime_checkable
class Movable(FileSink, Protocol):
    """A FileSink that recognizes its output after it was moved."""

    def find(self, lengths: Mapping[str, int]) -> str | None:
        """Returns the former path of an output that was moved to `target()`. Returns None if the output was
        not moved. `lengths` maps the last known path of each output of the crawl to the output's committed
        length. Raises SinkError if the output is an outdated copy of an output of the crawl."""

    def adopt(self, was: str) -> None:
        """Continues to write an output that was moved from the path `was` to `target()`."""


@runtime_checkable
class Drops(Protocol):
    """A FileSink that keeps files or connections open."""

    def drop(self) -> None:
        """Closes files and connections and changes nothing else."""


@runtime_checkable
class Ships(FileSink, Protocol):
    """A FileSink that forwards its committed rows to an append-only store."""

    def ship(self, committed: int) -> None:
        """Sends rows that are committed and not yet sent. Raises SinkAway."""

    def full(self, committed: int) -> bool:
        """Returns whether too many rows are waiting to be sent. No more rows should be appended while this
        method returns True."""

    def drop(self) -> None:
        """Closes the connection and changes nothing else."""


@runtime_checkable
class Packs(FileSink, Protocol):
    """A FileSink whose rows are costly to encode."""

    def pack(self, rows: Sequence[Row]) -> None:
        """Encodes the rows before `append` is called. This method runs in the worker's event loop, because
        encoding would be slower in a thread. A thread would release the interpreter lock for each row."""


class FileOutput(Protocol):
    """A file output, which routes rows to one file for all kinds or to one file per kind."""

    def route(self, rows: Sequence[Row]) -> list[tuple[FileSink, Sequence[Row]]]:
        """Returns the rows grouped by file. The rows of a file keep their order."""

    def sinks(self) -> Sequence[FileSink]:
        """Returns the open files of the output."""

    is_split: bool
    """Whether each kind of rows has a file of its own."""

    def reopen(self, lengths: Mapping[str, int]) -> None:
        """Opens those of the files in `lengths` that belong to the output, also if they were moved to its folder
        since. An earlier process of the crawl wrote them, and this process does not know their kinds. `lengths`
        maps the last known paths of the crawl's outputs to their committed lengths."""


class Log(Protocol):
    """A log: the attempts, the known pages, or the skipped URLs. Rows are written at least once."""

    def write(self, lines: Sequence[Attempt] | Sequence[KnownLine] | Sequence[SkippedUrl]) -> None: ...

    def close(self) -> None: ...


class TableSink(Protocol):
    """A database that upserts rows by (kind, key), so that writing a row twice has the same effect as
    once."""

    def target(self) -> str:
        """Returns the name under which the store records that this output was prepared."""

    def prepare(self) -> int:
        """Prepares the tables for a new crawl. Always returns 0. Raises UsageError, SinkError or DiskFull.
        After SinkAway, this method is called again."""

    def upsert(self, rows: Sequence[Row]) -> None:
        """Makes the rows durable, preferably in one transaction. Raises SinkAway. After SinkAway, this method
        is called again with the same rows."""

    def close(self) -> None:
        """Closes the connection."""


@runtime_checkable
class HistorySink(TableSink, Protocol):
    """A database that keeps one row per item with its history (`sinks.history`)."""

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """Marks the items of some pages as deleted, because the pages are gone. Each element of `pages`
        contains a page's URL and a time (RFC 3339)."""

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """Returns two numbers for a site: the number of stored items that a complete run did not see, and the
        number of all stored items that are not marked as gone."""

    def deleted(self, sites: Sequence[str], since: str) -> int:
        """Returns how many items of the given sites were marked as gone since a time (RFC 3339)."""

    def unseen(self, site: str, run: str, at: str) -> int:
        """Marks the items of a site as deleted if a complete run did not see them (`Row.run`). Returns their
        number."""
