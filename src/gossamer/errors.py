"""The one error tree. Foreign exceptions are mapped at the boundary; a message says what to do.

Expected outcomes of a visit (a refused connection, a 500) are not errors: they are `Failure` and `Verdict`
values.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.model.summary import Summary


class GossamerError(Exception):
    """A problem a person must know of: one clear line, and the exit code of the command (docs/commands.md)."""

    exit_code = 1
    summary: Summary | None = None
    """How far the crawl had come that it ended, where it had begun."""


class UsageError(GossamerError):
    """The words of a command are off."""

    exit_code = 2


class ConfigError(GossamerError):
    """A setting, a site file or a data folder cannot be used as it is."""

    exit_code = 4


class InUse(ConfigError):
    """Another process runs this crawl."""


class StoreError(GossamerError):
    """The store cannot be reached, or it went away and did not come back."""

    exit_code = 8


class StoreChanged(StoreError):
    """The store was emptied, or replaced by another one, while it was worked with: what is known of it does
    not hold any more."""


class CrawlEnded(GossamerError):
    """A crawl was ended by somebody else while its lists were being added."""

    def __init__(self, line: str, exit_code: int) -> None:
        super().__init__(line)
        self.exit_code = exit_code


class StoreDamaged(StoreError):
    """The files of an embedded store are damaged: it would begin with fewer keys than it had."""


class Away(StoreError):
    """The store does not answer now, or cannot take writes now: it may come back by itself."""


class StoreFull(StoreError):
    """The store has no memory left: it takes no writes, and answers what only reads."""


class ColdError(GossamerError):
    """The cold store of a crawl cannot be reached, or takes no rows: what waits there waits."""

    exit_code = 8


class CrawlFailed(GossamerError):
    """No page succeeded, or an unlocker fails again and again; trying again later could help."""

    exit_code = 9


class NoCredit(GossamerError):
    """An unlocker has nothing left to pay with: fill the account, then run the same command again."""

    exit_code = 9


class BrowserFailed(GossamerError):
    """The browser of the browser rung does not start."""

    exit_code = 10


class DiskFull(GossamerError):
    """An output or the store cannot grow: free some space, then run the same command again."""

    exit_code = 16


class ResourceError(GossamerError):
    """This process lacks something of its own machine (descriptors, memory, threads, ports) and cannot even
    do one thing at a time: raise the limit, then run the same command again."""

    exit_code = 9


class SinkError(GossamerError):
    """An output cannot be written, or somebody else changed it."""

    exit_code = 20


class SinkAway(SinkError):
    """A store of rows does not answer now, or cannot take rows now: it may come back by itself."""


class NoProxyLeft(GossamerError):
    """A crawl that has proxies has none that works: nothing is sent without one."""

    exit_code = 21


class GateNotMet(GossamerError):
    """The quality gate of `--fail-on` is not met."""

    exit_code = 30


OWN_LIMITS = {
    errno.EMFILE: "open files (ulimit -n)",
    errno.ENFILE: "open files of the whole machine (fs.file-max)",
    errno.ENOMEM: "memory",
    errno.ENOBUFS: "memory for sockets",
    errno.EAGAIN: "processes and threads (ulimit -u)",
    errno.EADDRNOTAVAIL: "local ports (net.ipv4.ip_local_port_range)",
}
"""The error numbers of what this machine or process has too little of, in words."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The error numbers of a disk that is full, or of a file that may not grow."""


_NOT_LOADED = re.compile("failed to map segment|cannot allocate memory", re.IGNORECASE)
"""What the dynamic linker writes if there is not enough memory for a shared library."""


def own_limit(error: BaseException | None) -> str:
    """What of its own the process ran short of, in words; '' when the error means something else."""
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
    """The error of a process that cannot go on for want of something of its own."""
    return ResourceError(
        f"short of {what}, even for one page at a time: raise the limit, then run the same command again; nothing is lost"
    )


def of_data(folder: object, error: OSError, option: str = "--data") -> GossamerError:
    """What an OSError in the data folder, or in that of another option, means to a person."""
    if short := own_limit(error):
        return short_of(short)
    if error.errno in FULL:
        return DiskFull(f"{option} {folder}: no space left: free some, then run the same command again")
    return ConfigError(f"{option} {folder}: {error.strerror}: choose a folder that can be written")


class Stale(Exception):
    """These claims are no longer ours; nothing was settled."""

    def __init__(self, tokens: list[int]) -> None:
        super().__init__(f"{len(tokens)} claims are no longer ours")
        self.tokens = tokens


class Moved(SinkError):
    """The committed length of a file is not what we thought; nothing was settled."""

    def __init__(self, file: str, length: int) -> None:
        super().__init__(
            f"{file} is committed to {length} bytes, by a process that does not see our locks: "
            "run all processes of a crawl where they share its data folder"
        )
        self.file, self.length = file, length
