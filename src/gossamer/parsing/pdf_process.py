"""The program of the process that `pdf` starts. The program runs PDFium with limited memory, without access
to files, and with a time limit for each document. The program imports no other module of gossamer."""

from __future__ import annotations

import codecs
import contextlib
import os
import resource
import signal
import struct
import sys
from typing import Any

MAX_MEMORY_BYTES = 1 << 30
"""Maximum address space of the process in bytes."""
_ASK, _SIZE = struct.Struct("<QIdI"), struct.Struct("<I")


def main() -> None:
    """Reads documents until the standard input ends."""
    import pypdfium2

    codecs.lookup("utf-16-le")  # load this codec now, because no file can be opened after the next lines
    bounds = {
        resource.RLIMIT_AS: MAX_MEMORY_BYTES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 3,
    }
    for what, most in bounds.items():  # only three open files: the standard streams
        with contextlib.suppress(ValueError, OSError):  # macOS has no memory limit
            resource.setrlimit(what, (most, most))
    source = os.fdopen(0, "rb", buffering=1 << 20)
    while head := source.read(_ASK.size):
        size, pages, seconds, signs = _ASK.unpack(head)
        body = source.read(size)
        signal.setitimer(signal.ITIMER_REAL, seconds)  # SIGALRM kills the process even if PDFium hangs
        try:
            _document(pypdfium2, body, pages, signs)
        except (pypdfium2.PdfiumError, MemoryError, ValueError, OverflowError):
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        _put(_SIZE.pack(0))


def _document(library: Any, body: bytes, pages: int, signs: int) -> None:
    document = library.PdfDocument(body)
    try:
        for number in range(min(len(document), pages)):
            try:
                page = document[number]
            except library.PdfiumError:
                continue
            held = page.get_textpage()
            said = held.get_text_range(0, min(held.count_chars(), signs)) if held.count_chars() else ""
            held.close()
            page.close()
            signs -= len(said)
            text = (
                "\n".join(" ".join(line.split()) for line in said.splitlines())
                .strip()
                .encode("utf-8", "replace")
            )
            _put(_SIZE.pack(len(text) + 1) + text)
            if signs <= 0:
                return
    finally:
        document.close()


def _put(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
