"""What a process of our own does to its interpreter; a program that only imports gossamer is left alone."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os

from gossamer.resources import raise_descriptor_limit

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3)."""
KEPT, OWN = 16 << 20, 4 << 20
"""Free bytes at the end of the heap that are kept, and the size from which a block is mapped by itself."""


def settle_in() -> None:
    """Call when everything is imported: what is there now is no garbage, and pages make little that reference counts miss.

    Python's collector looks through all young objects after 700 new ones; a page makes thousands, hardly any in cycles. With
    these bounds a crawl spends a tenth less CPU. The memory of a page's tree and texts is kept for the next page: given back
    to the system after each and taken again, it costs 30 page faults a page. Arrow takes its memory from there, too: its own pool
    would be fresh, and to clear that costs as much as to make a Parquet file in it.
    """
    raise_descriptor_limit()
    logging.getLogger("asyncio").addFilter(_broken)
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)
    with contextlib.suppress(OSError, AttributeError):  # it is glibc's
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, OWN)
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _broken(record: logging.LogRecord) -> bool:
    """Whether a record is of use: a TLS connection that broke has a caller, who says so in a line; uvloop adds a traceback."""
    return not record.getMessage().startswith("Fatal error on SSL protocol")
