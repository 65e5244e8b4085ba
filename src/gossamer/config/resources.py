"""Measures how many file descriptors and how much memory this process and its machine have left. Linux
provides most of these numbers. Other systems provide fewer numbers."""

from __future__ import annotations

import os
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

MAX_DESCRIPTORS = 65_536
"""The maximum to which the soft limit of open files is raised."""
RESERVED = 24
"""Number of file descriptors that visits must leave free for files, the store, DNS look-ups and child
processes."""
PER_VISIT = 2
"""Number of file descriptors per visit: one for the visit's connection, and one for an idle connection or a
DNS look-up."""
SCARCE_BYTES, SCARCE_SHARE = 48 << 20, 0.03
"""Memory is scarce if less than SCARCE_BYTES of the address space is free, or if less than SCARCE_SHARE of
the machine's memory is free."""
AUTO_VISITS, MAX_AUTO_VISITS = 64, 2048
"""`concurrency = auto` begins with AUTO_VISITS concurrent visits and allows at most MAX_AUTO_VISITS."""
ROOMY_SHARE = 0.15
"""A process makes more visits concurrently only if at least this share of the memory is free."""
CGROUPS = Path("/sys/fs/cgroup")


def raise_descriptor_limit() -> None:
    """Raises the soft limit of open files for this process and its children to the hard limit, at most to
    MAX_DESCRIPTORS."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def open_descriptors() -> tuple[int, int]:
    """Returns the number of open descriptors and the maximum number."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return len(os.listdir(folder)), allowed
    return (allowed, allowed) if descriptors_short() else (0, allowed)


def room_for_visits() -> int:
    """Returns the number of concurrent visits that the free descriptors allow. The minimum is 1."""
    used, allowed = open_descriptors()
    return max(1, (allowed - used - RESERVED) // PER_VISIT)


def visits_at_once(concurrency: int | str) -> tuple[int, int]:
    """Converts a value of the setting `concurrency` to two numbers. The first number is the number of
    concurrent visits with which a process begins. The second number is the maximum number of concurrent
    visits. The limit of open files is not considered."""
    return (AUTO_VISITS, MAX_AUTO_VISITS) if isinstance(concurrency, str) else (concurrency, concurrency)


def descriptors_short() -> bool:
    """Returns whether fewer than 3 more files can be opened now."""
    made = list[int]()
    try:
        made.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(3))
    except OSError:
        return True
    finally:
        for one in made:
            os.close(one)
    return False


def memory_short() -> bool:
    """Whether the address space (ulimit -v), the container's memory or the machine's memory is nearly used
    up."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError, IndexError):
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            if soft - used < SCARCE_BYTES:
                return True
    return free_memory_share() < SCARCE_SHARE


def memory_roomy() -> bool:
    """Whether there is enough free memory for a process to make more visits concurrently."""
    return free_memory_share() >= ROOMY_SHARE


def thread_busy_seconds() -> float:
    """Returns the CPU time of the current thread in seconds. On Linux, the result also includes the time that
    the thread waited for a free CPU."""
    try:
        ran, waited = Path("/proc/thread-self/schedstat").read_text().split()[:2]
        return (int(ran) + int(waited)) / 1e9
    except (OSError, ValueError):
        return time.thread_time()


def resident_memory(pid: int | str = "self") -> int:
    """Returns the resident memory of a process in bytes. Returns 0 if the memory of another process cannot be
    read."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        if pid != "self":
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def free_memory_share() -> float:
    """Compares the free share of the machine's memory with the free share of the container's memory, and
    returns the smaller share. Returns 1.0 if the free memory of the machine is unknown."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        share = int(lines["MemAvailable"].split()[0]) / int(lines["MemTotal"].split()[0])
    except (OSError, ValueError, KeyError, ZeroDivisionError):
        return 1.0
    return min([share, *map(_free_of, _cgroups())])


def _cgroups() -> list[Path]:
    """Returns the control groups that contain this process, from the innermost one to the root."""
    own = CGROUPS
    with suppress(OSError, IndexError):
        (line,) = [
            one for one in Path("/proc/self/cgroup").read_text().splitlines() if one.startswith("0::")
        ][:1] or [""]
        own = CGROUPS / line[3:].lstrip("/")
    return [one for one in (own, *own.parents) if one.is_relative_to(CGROUPS)]


def _free_of(group: Path) -> float:
    try:
        most = (group / "memory.max").read_text().strip()
        if most == "max":
            return 1.0
        cache = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        used = int((group / "memory.current").read_text()) - int(cache.get("inactive_file", 0))
        return 1 - used / int(most)
    except (OSError, ValueError, ZeroDivisionError):
        return 1.0
