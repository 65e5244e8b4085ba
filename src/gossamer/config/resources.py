"""What this process and its machine have left of their own: descriptors and memory. Linux tells most of it,
other systems less."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

MAX_DESCRIPTORS = 65_536
"""Up to which the soft limit is raised."""
RESERVED = 24
"""Descriptors that visits leave to files, the store, look-ups and children."""
PER_VISIT = 2
"""Descriptors of a visit: its connection, and one that is kept or looked up meanwhile."""
SCARCE_BYTES, SCARCE_SHARE = 48 << 20, 0.03
"""Address space, and share of the memory, under which no more is taken on."""
CGROUPS = Path("/sys/fs/cgroup")


def raise_descriptor_limit() -> None:
    """Allow this process and its children as many open files as the hard limit does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def descriptors() -> tuple[int, int]:
    """How many are open, and how many may be."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return len(os.listdir(folder)), allowed
    return (allowed, allowed) if descriptors_short() else (0, allowed)


def room_for_visits() -> int:
    """How many visits at once the descriptors allow; at least 1."""
    used, allowed = descriptors()
    return max(1, (allowed - used - RESERVED) // PER_VISIT)


def descriptors_short(n: int = 3) -> bool:
    """Whether no `n` more files can be opened now."""
    made = list[int]()
    try:
        made.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(n))
    except OSError:
        return True
    finally:
        for one in made:
            os.close(one)
    return False


def memory_short() -> bool:
    """Whether the address space (ulimit -v), the container's memory or the machine's is all but used up."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError, IndexError):
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            if soft - used < SCARCE_BYTES:
                return True
    return free() < SCARCE_SHARE


def memory(pid: int | str = "self") -> int:
    """Resident bytes of a process."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        if pid != "self":
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def free() -> float:
    """The share of the machine's memory, or of the container's, that is free; 1.0 where nobody can tell."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        share = int(lines["MemAvailable"].split()[0]) / int(lines["MemTotal"].split()[0])
    except (OSError, ValueError, KeyError, ZeroDivisionError):
        return 1.0
    return min([share, *map(_free_of, _cgroups())])


def _cgroups() -> list[Path]:
    """The control groups that this process is in, from its own up to the root."""
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
