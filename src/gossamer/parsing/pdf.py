"""Extracts the text of a PDF with the library PDFium. PDFium runs in a separate process because any PDF may
be malicious."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import select
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, cast

from gossamer.config.optional_deps import install_command

MAX_PAGES, MAX_SECONDS, MAX_CHARS, MAX_BYTES = 2000, 20.0, 5_000_000, 64 << 20
"""Limits for one document: pages that are read, seconds of reading, characters of text, and bytes of the
file. Larger files are not read."""
DOCUMENTS_PER_PROCESS = 200
"""Number of documents after which the process is replaced."""
_ASK, _SIZE = struct.Struct("<QIdI"), struct.Struct("<I")


def available() -> bool:
    """Whether the library pypdfium2 is installed."""
    return importlib.util.find_spec("pypdfium2") is not None


def is_pdf(body: bytes) -> bool:
    """Whether bytes begin like a PDF. Some PDFs have a few other bytes first.

    >>> is_pdf(b"%PDF-1.7"), is_pdf(b"<p>%PDF")
    (True, False)
    """
    return b"%PDF-" in body[:1024]


def text(body: bytes, pages: int = MAX_PAGES, seconds: float = MAX_SECONDS) -> str:
    """Returns the text of a PDF, with an empty line between pages. Returns '' if the bytes are not a PDF or
    more than 64 MiB, and if the PDF is encrypted or has only images.

    PDFium reads the document in a process with at most 1 GiB of memory. If reading takes longer than
    `seconds` or crashes that process, the pages read so far are returned. The text has at most 5,000,000
    characters. Raises RuntimeError if PDFium is not installed (`pip install 'gossamer[pdf]'`). May be called
    from any thread.

    >>> text(b"no PDF")
    ''
    """
    if not is_pdf(body) or len(body) > MAX_BYTES:
        return ""
    if not available():
        raise RuntimeError(f"the text of a PDF needs pypdfium2: {install_command('pdf')}")
    with _LOCK:
        parts = _own().read(body, pages, seconds)
    return "\n\n".join(part for part in parts if part)


class PdfProcess:
    """The process that reads PDFs. Documents are written to its standard input one after another, and their
    pages are read from its standard output."""

    def __init__(self) -> None:
        words = [sys.executable, "-I", str(Path(__file__).with_name("pdf_process.py"))]
        self.pid, self.turns = os.getpid(), 0
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )

    def read(self, body: bytes, pages: int, seconds: float) -> list[str]:
        """Returns the pages of a document that were read. If an error occurs, the process is killed and the
        pages before the error are returned."""
        self.turns += 1
        found: list[str] = []
        ends = time.monotonic() + seconds + 5.0  # the process ends itself before this time
        try:
            put = cast(IO[bytes], self._process.stdin)
            put.write(_ASK.pack(len(body), pages, seconds, MAX_CHARS) + body)
            put.flush()
            while size := _SIZE.unpack(self._exactly(_SIZE.size, ends))[0]:
                found.append(self._exactly(size - 1, ends).decode("utf-8", "replace"))
        except (OSError, EOFError):
            self.end()
        return found

    @property
    def alive(self) -> bool:
        """Whether this process started the PDF process, and the PDF process can read another document."""
        return self.pid == os.getpid() and self._process.poll() is None and self.turns < DOCUMENTS_PER_PROCESS

    def end(self) -> None:
        """Kills the process."""
        if self.pid == os.getpid():
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                cast(IO[bytes], pipe).close()

    def _exactly(self, size: int, ends: float) -> bytes:
        out, parts, left = cast(IO[bytes], self._process.stdout).fileno(), [], size
        while left:
            if not select.select([out], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise EOFError
            part = os.read(out, min(left, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


_LOCK = threading.Lock()
_CHILDREN: list[PdfProcess] = []


def _own() -> PdfProcess:
    """Returns the process that reads PDFs. Starts it for the first PDF. A forked process starts a process of
    its own."""
    if _CHILDREN and not _CHILDREN[0].alive:
        _close()
    if not _CHILDREN:
        atexit.unregister(_close)
        atexit.register(_close)
        _CHILDREN.append(PdfProcess())
    return _CHILDREN[0]


def _close() -> None:
    while _CHILDREN:
        _CHILDREN.pop().end()
