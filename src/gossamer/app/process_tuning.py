"""Configures the interpreter of a gossamer process. A program that only imports gossamer is not affected."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import signal

from gossamer.config.resources import raise_descriptor_limit

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt(3)."""
PR_SET_PDEATHSIG = 1
"""Parameter of prctl(2)."""
KEPT_HEAP_BYTES, MIN_MAPPED_BYTES = 16 << 20, 4 << 20
"""Number of free bytes that malloc keeps at the end of the heap, and the minimum size of a block that malloc
maps separately."""


def settle_in() -> None:
    """Tunes garbage collection and malloc. Call this function after all imports.

    Imported objects never become garbage, and pages create few reference cycles. By default, Python's garbage
    collector scans all young objects after 700 allocations, and parsing a page makes thousands of
    allocations. gossamer sets higher thresholds, which reduce the CPU time of a crawl by a tenth.

    When a page is done, malloc keeps the memory of the page's tree and texts for the next page. If malloc
    returned the memory to the system, each crawled page would cause 30 page faults. Arrow is configured to
    allocate from malloc, too. Arrow's own pool would request new memory from the system each time. The system
    zeroes new memory, and the zeroing takes as long as writing a Parquet file.
    """
    raise_descriptor_limit()
    logging.getLogger("asyncio").addFilter(_broken)
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_TRIM_THRESHOLD, KEPT_HEAP_BYTES)
        mallopt(M_MMAP_THRESHOLD, MIN_MAPPED_BYTES)
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


_handlers: dict[int, int] = {}
"""Maps signal numbers to the memory addresses of Python's own signal handlers. If the kernel has already
reset the handler of a signal, `end_at_next` adds no entry for the signal."""


def end_at_next(*signals: int) -> None:
    """Makes the kernel terminate the process at the second signal. If Python has already handled the first
    signal, the process survives the second signal.

    While a C function such as `re` holds the interpreter, Python's signal handlers cannot run. This function
    installs the handlers again with `sysv_signal`. Whenever the kernel calls a handler that was installed in
    this way, the kernel resets the signal to its default action. A signal handler written in Python must call
    `end_at_next` again each time that the handler runs. This function works only with glibc.
    """
    install = getattr(ctypes.CDLL(None), "sysv_signal", None)
    if install is None:
        return
    install.restype, install.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    for number in signals:
        was = install(number, signal.SIG_IGN.value)
        if was not in (None, signal.SIG_IGN.value):
            _handlers[number] = was
        install(number, _handlers.get(number))


def end_after_parent() -> None:
    """Lets the kernel terminate the process 12 s after its parent has died, even if a C function holds the
    interpreter. Linux only."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "prctl"):
        return
    # the signal's handler is alarm(3), which receives the signal's number (12) as its number of seconds
    libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    libc.signal(signal.SIGUSR2, ctypes.cast(libc.alarm, ctypes.c_void_p))
    libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGUSR2), 0, 0, 0)


def _broken(record: logging.LogRecord) -> bool:
    """Returns whether to keep a log record. Returns False for the record in which uvloop reports a broken TLS
    connection, because the caller already reports the error."""
    return not record.getMessage().startswith("Fatal error on SSL protocol")
