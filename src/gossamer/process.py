"""What a process of our own does to its interpreter; a program that only imports gossamer is left alone."""

from __future__ import annotations

import gc


def settle_in() -> None:
    """Call when everything is imported: what is there now is no garbage, and pages make little that reference counts miss.

    Python's collector looks through all young objects after 700 new ones; a page makes thousands, hardly any in cycles. With
    these bounds a crawl spends a tenth less CPU.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)
