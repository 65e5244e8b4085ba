"""The shapes in which shelves meet. A seam is one method; `assemble` joins real parts by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from gossamer.errors import Moved, Stale
from gossamer.model.browser_profile import Guise
from gossamer.model.minhash import GroupQuery, Placed
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.visit import Adds, Attempt, Claim, Claimed, Commit, KnownLine, Row, Settle


class WaitsForStore(Protocol):
    """How the store's outages are waited for (`frontier.patience`)."""

    @property
    def patient(self) -> bool: ...
    @property
    def away(self) -> bool: ...
    @property
    def outages(self) -> int: ...
    def note(self, error: BaseException) -> None: ...


class AllBucketCalls(Protocol):
    """One crawl's frontier in all buckets at once (`frontier.everywhere`)."""

    async def due(self, buckets: Sequence[int] | None = None) -> dict[int, float]: ...
    async def claim(self, asks: Sequence[tuple[int, int]]) -> list[Claimed]: ...
    async def sweep(self) -> None: ...
    async def left(self) -> tuple[int, int]: ...
    async def renew(
        self, held: Mapping[int, Sequence[int]], *, dead: bool = False
    ) -> list[tuple[int, int]]: ...
    async def landed(self, settles: Mapping[int, Sequence[Settle]]) -> None: ...


class FrontierVerbs(Protocol):
    """One crawl's frontier, as the road sees it: the verbs of `frontier.verbs`."""

    @property
    def everywhere(self) -> AllBucketCalls: ...
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
    async def all_lengths(self) -> dict[str, int]: ...
    async def renamed(self, was: str, file: str, length: int) -> None: ...


class DuplicateIndex(Protocol):
    """The index of what says the same, or nearly, in one crawl (`frontier.alike`)."""

    async def place(self, asked: Sequence[GroupQuery]) -> list[Placed]: ...


class ClaimLedger(Protocol):
    """What this process holds, for whoever comes after its death (`frontier.ledger`)."""

    def note(self, claims: Sequence[Claim], held: Iterable[tuple[int, int]]) -> None: ...
    def keep(self, held: Iterable[tuple[int, int]]) -> None: ...
    def of_dead(self) -> AbstractContextManager[dict[int, list[int]]]: ...


class Collector(Protocol):
    """One way to get a page. Expected failures are values; an exception is a surprise and settles nothing."""

    name: str

    async def collect(
        self, request: Request, headers: dict[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Fetch one URL as whom the guise says, no redirect followed, within the collector's bounds on size
        and time."""

    async def close(self) -> None:
        """Let connections go."""


Given = Callable[[Request], Mapping[str, str]]
"""The headers of a request that people gave."""


class FileSink(Protocol):
    """A plain file whose rows are exact: the store keeps its committed length together with the settled
    claims.

    All calls happen under the crawl's output lock, in a thread of their own; several processes may share the
    file.
    """

    def target(self) -> str:
        """Absolute path of the output: the name under which the store keeps its committed length."""

    def prepare(self) -> int:
        """Make the file ready for a new crawl; its first committed length, to be stored before the first
        `append`.

        Called when the store knows no length for `target()`. Raises UsageError, SinkError, DiskFull.
        """

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """Cut the file to `committed` bytes, append the rows, fdatasync; the new length in bytes.

        Raises SinkError when the file is shorter than `committed` or somebody else changed it, DiskFull when
        it cannot grow. Without rows it only cuts: do so once when a crawl resumes.
        """

    def close(self, committed: int) -> None:
        """End the output at `committed` bytes (closes the last Parquet part); once a process, under the lock."""


@runtime_checkable
class Movable(FileSink, Protocol):
    """A FileSink that knows its output again at another path."""

    def find(self, lengths: Mapping[str, int]) -> str | None:
        """Which output of `lengths` (path, committed length) is now at `target()`, else None. Raises
        SinkError for an older copy."""

    def adopt(self, was: str) -> None:
        """Take what is there as the output that was at `was`."""


@runtime_checkable
class Ships(FileSink, Protocol):
    """A FileSink whose committed rows travel on to a store that only appends."""

    def ship(self, committed: int) -> None:
        """Send on what is committed and not sent. Raises SinkAway."""

    def full(self, committed: int) -> bool:
        """Whether so much waits to be sent that no more is to come."""

    def drop(self) -> None:
        """Let the connection go; nothing else is touched."""


@runtime_checkable
class Packs(FileSink, Protocol):
    """A FileSink whose rows take long to make."""

    def pack(self, rows: Sequence[Row]) -> None:
        """Make what can be made of them before `append`: called on the worker's loop, as the thread would let
        go of the interpreter for each of them."""


class FileOutput(Protocol):
    """A file output: it routes rows to its exact files, one for all kinds or one a kind."""

    def route(self, rows: Sequence[Row]) -> list[tuple[FileSink, Sequence[Row]]]:
        """The rows by file, in their order."""

    def sinks(self) -> Sequence[FileSink]:
        """All its files."""


class Log(Protocol):
    """A log of the visits, of attempts or of what is known since: at least once, never exact."""

    def write(self, lines: Sequence[Attempt] | Sequence[KnownLine]) -> None: ...

    def close(self) -> None: ...


class TableSink(Protocol):
    """A database that upserts rows by (kind, key): writing a row twice is the same as writing it once."""

    def target(self) -> str:
        """The output's name; the store keeps under it that it was prepared."""

    def prepare(self) -> int:
        """Make the tables ready for a new crawl; always 0. Raises UsageError, SinkError, DiskFull; SinkAway,
        then it is called again."""

    def upsert(self, rows: Sequence[Row]) -> None:
        """Make the rows durable, best in one transaction. Raises SinkAway, then it is called again with the
        same rows."""

    def close(self) -> None:
        """Let the connection go."""


@runtime_checkable
class HistorySink(TableSink, Protocol):
    """A database that keeps one row an item and what it was before (`sinks.history`)."""

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """These pages (url, when: RFC 3339) answered that they are gone: mark their items as deleted."""

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """How many of a site's items a whole run did not see, and how many the store has that are not gone."""

    def fates(self, sites: Sequence[str], since: str) -> tuple[int, int, int]:
        """How many items of these sites are new, changed, and gone since a moment (RFC 3339)."""

    def unseen(self, site: str, run: str, at: str) -> int:
        """A whole run of a site ended: mark those of its items as deleted that the run did not see
        (`Row.run`); how many."""
