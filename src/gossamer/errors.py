"""The tree of exceptions. Exceptions of other libraries are converted where gossamer calls these libraries.
Each message explains what the user can do.

Expected outcomes of a visit, such as a refused connection or a status 500, are `Failure` and `Verdict`
values, not exceptions.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.model.summary import Summary


class GossamerError(Exception):
    """A problem that the user must know about. The exception has a one-line message and an exit code. A
    command that fails with the exception returns this exit code (docs/commands.md)."""

    exit_code = 1
    summary: Summary | None = None
    """The summary of the crawl at the time of the error, or None if no crawl had begun."""
    problem: dict[str, Any] | None = None
    """The problem details with which `gossamer serve` answered, or None if the error has another origin."""


class UsageError(GossamerError):
    """The arguments of a command or a function are wrong."""

    exit_code = 2


class UnknownOption(UsageError, TypeError):
    """A function of the Python API has no option of this name."""


class UnknownName(UsageError):
    """No crawl, host or worker has this name."""


class UnknownCrawl(UnknownName):
    """No crawl has this name."""


class InvalidField(UsageError):
    """A field of a request is invalid. `pointer`: the JSON pointer of the field, for example `/limit`."""

    def __init__(self, line: str, pointer: str = "") -> None:
        super().__init__(line)
        self.pointer = pointer


class PrivateAddress(InvalidField):
    """A caller of `gossamer serve` named an address that is not public."""


class RequestConflict(UsageError):
    """A request to `gossamer serve` does not fit the present state: another request changed the object, or the
    same idempotency key was used for another request."""


class ConfigError(GossamerError):
    """A setting, a site file or a data folder cannot be used in its present state."""

    exit_code = 4


class UnknownParameter(ConfigError, TypeError):
    """`Site(...)` has no parameter of this name."""


class InUse(ConfigError):
    """Another process already runs this crawl."""


class AccessRefused(ConfigError):
    """`gossamer serve` does not accept the token, or the token does not permit the operation."""


class StoreError(GossamerError):
    """The store cannot be reached, or the connection to it was lost and not restored."""

    exit_code = 8


class ServiceAway(StoreError):
    """`gossamer serve` cannot be reached, or does not answer in time."""


class StoreChanged(StoreError):
    """The store was emptied or replaced by another store during the run. Everything that the process has
    cached about the store is invalid."""


class CrawlEnded(GossamerError):
    """Another process ended or restarted the crawl while this process was adding URLs to it."""

    def __init__(self, line: str, exit_code: int) -> None:
        super().__init__(line)
        self.exit_code = exit_code


class StoreDamaged(StoreError):
    """The files of an embedded store are damaged. If a server started with the damaged files, some keys would
    be missing."""


class Away(StoreError):
    """The store currently does not answer or does not accept writes. The store may recover without any
    action."""


class RightsMissing(StoreError):
    """The user of the store lacks a right: the store's user may not run a command or access a key."""


class StoreFull(StoreError):
    """The store has no memory left. The store rejects writes but still answers reads."""


class ColdError(GossamerError):
    """The cold store of a crawl cannot be reached or rejects rows. The crawl cannot fetch the URLs in the
    cold store until the cold store is available again."""

    exit_code = 8


class CrawlFailed(GossamerError):
    """No page was fetched successfully, or an unlocker fails repeatedly. Trying again later may help."""

    exit_code = 9


class CrawlStopped(GossamerError):
    """A crawl was stopped while visits were still in flight. The next run of the crawl repeats the unfinished
    visits."""

    exit_code = 11


class NothingFound(GossamerError):
    """A crawl found no page or no item, and the reason is certain: robots.txt disallows everything, no page
    could be parsed, or every item was rejected."""

    exit_code = 5


class FetchFailed(CrawlFailed):
    """A call of the function `fetch` received no page. `reason`: the failure reason, which is one of the
    words that records contain (`robots`, `dns`, `timeout`, ...)."""

    reason = ""
    status: int | None = None
    """The HTTP status of the response that was no page, for example 503, or None if no response arrived."""
    page: Any = None
    """The response that was no page (a `gossamer.Page` with its body), or None if no response arrived."""


class NoCredit(GossamerError):
    """An unlocker account has no credit left. The user must add credit and run the same command again."""

    exit_code = 9


class BrowserFailed(GossamerError):
    """The browser of the browser rung does not start."""

    exit_code = 10


class DiskFull(GossamerError):
    """An output or the store cannot grow because the disk is full. The user must free space and run the same
    command again."""

    exit_code = 16


class ResourceError(GossamerError):
    """This process has too little of a resource of its machine, such as descriptors, memory, threads or
    ports. The process cannot load pages, not even one at a time. The user must raise the limit and run the
    same command again."""

    exit_code = 9


class SinkError(GossamerError):
    """An output cannot be written, or another program changed it."""

    exit_code = 20


class SinkAway(SinkError):
    """A database or another remote sink currently does not answer or does not accept rows. The sink may
    recover without any action."""


class DeliveryError(GossamerError):
    """A receiver of alerts or of webhooks did not accept a message. `status`: the status of its answer, or 0."""

    exit_code = 9

    def __init__(self, line: str = "", status: int = 0) -> None:
        super().__init__(line)
        self.status = status


class NoProxyLeft(GossamerError):
    """None of the configured proxies works. No request is sent, because a crawl with proxies never connects
    directly."""

    exit_code = 21


class GateNotMet(GossamerError):
    """A quality gate (`--fail-on`) is not met."""

    exit_code = 30


class UnlikeGoodRuns(GossamerError):
    """The run is not like the last good runs of the crawl (docs/guard.md). Nothing was concluded from it."""

    exit_code = 31


OWN_LIMITS = {
    errno.EMFILE: "open files (ulimit -n)",
    errno.ENFILE: "open files of the whole machine (fs.file-max)",
    errno.ENOMEM: "memory",
    errno.ENOBUFS: "memory for sockets",
    errno.EAGAIN: "processes and threads (ulimit -u)",
    errno.EADDRNOTAVAIL: "local ports (net.ipv4.ip_local_port_range)",
}
"""Maps error numbers to the resources that this process or machine has run out of. Error messages contain the
names of these resources."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers that mean a full disk, an exceeded quota, or a file of maximum size."""


_NOT_LOADED = re.compile("failed to map segment|cannot allocate memory", re.IGNORECASE)
"""Matches the dynamic linker's message when there is not enough memory to load a shared library."""


def own_limit(error: BaseException | None) -> str:
    """Returns the name of the resource that this process or machine ran out of, or '' if the error has
    another cause. Checks the error and up to four exceptions in its chain of causes."""
    for _ in range(5):
        if isinstance(error, MemoryError):
            return OWN_LIMITS[errno.ENOMEM]
        if isinstance(error, ImportError) and _NOT_LOADED.search(str(error)):
            return OWN_LIMITS[errno.ENOMEM]
        if isinstance(error, OSError) and error.errno in OWN_LIMITS:
            return OWN_LIMITS[error.errno]
        if isinstance(error, RuntimeError) and str(error).startswith("can't start new thread"):
            return OWN_LIMITS[errno.EAGAIN]
        if error is None:
            break
        error = error.__cause__ or error.__context__
    return ""


def short_of(what: str) -> ResourceError:
    """Returns the error for a process that cannot continue because it lacks a resource of its machine."""
    return ResourceError(
        f"short of {what}, even for one page at a time: raise the limit, then run the same "
        "command again; nothing is lost"
    )


def of_data(folder: object, error: OSError, option: str = "--data") -> GossamerError:
    """Converts an OSError to an error for the user. The OSError occurred in the data folder, or in a folder
    that another command-line `option` names."""
    if short := own_limit(error):
        return short_of(short)
    if error.errno in FULL:
        return DiskFull(f"{option} {folder}: no space left: free some, then run the same command again")
    return ConfigError(f"{option} {folder}: {error.strerror}: choose a folder that can be written")


class Stale(Exception):
    """Another worker has taken over the leases of some claims. No claim was settled. `tokens` are the tokens
    of the lost claims."""

    def __init__(self, tokens: list[int]) -> None:
        super().__init__(f"{len(tokens)} claims are no longer ours")
        self.tokens = tokens


class Moved(SinkError):
    """The committed length of a file differs from the length that this process expected. No claim was
    settled. `file` is the path, `length` the committed length in bytes."""

    def __init__(self, file: str, length: int) -> None:
        super().__init__(
            f"{file} is committed to {length} bytes, by a process that does not see our locks: "
            "run all processes of a crawl where they share its data folder"
        )
        self.file, self.length = file, length
