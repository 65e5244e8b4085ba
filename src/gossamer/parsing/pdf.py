"""The text of a PDF, by PDFium in a process of its own: a PDF is hostile until it is read."""

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

from gossamer.config.optional_deps import install

PAGES, SECONDS, SIGNS, BYTES = 2000, 20.0, 5_000_000, 64 << 20
"""Of a document: pages that are read, seconds that it may take, characters of text; bytes beyond which it is
not looked at."""
TURNS = 200
"""Documents after which the process is replaced."""
_ASK, _SIZE = struct.Struct("<QIdI"), struct.Struct("<I")


def available() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("pypdfium2") is not None


def is_pdf(body: bytes) -> bool:
    """Whether bytes begin as a PDF does: some have a little before it.

    >>> is_pdf(b"%PDF-1.7"), is_pdf(b"<p>%PDF")
    (True, False)
    """
    return b"%PDF-" in body[:1024]


def text(body: bytes, pages: int = PAGES, seconds: float = SECONDS) -> str:
    """The text of a PDF, pages apart by an empty line; '' for what is none, is encrypted, or has no text but
    pictures.

    Read by PDFium (`pip install 'gossamer[pdf]'`, else RuntimeError) in a process with 1 GiB of memory at
    most; of one that takes longer than `seconds`, or ends that process, the pages before. No more than
    5,000,000 characters. May be called from any thread.

    >>> text(b"no PDF")
    ''
    """
    if not is_pdf(body) or len(body) > BYTES:
        return ""
    if not available():
        raise RuntimeError(f"the text of a PDF needs pypdfium2: {install('pdf')}")
    with _LOCK:
        parts = _own().read(body, pages, seconds)
    return "\n\n".join(part for part in parts if part)


class PdfProcess:
    """The process that reads: one document after another comes by its standard input, pages go out by its
    standard output."""

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
        """The pages of a document, as far as they came; what came wrong ends the process."""
        self.turns += 1
        found: list[str] = []
        ends = time.monotonic() + seconds + 5.0  # it ends itself before
        try:
            put = cast(IO[bytes], self._process.stdin)
            put.write(_ASK.pack(len(body), pages, seconds, SIGNS) + body)
            put.flush()
            while size := _SIZE.unpack(self._exactly(_SIZE.size, ends))[0]:
                found.append(self._exactly(size - 1, ends).decode("utf-8", "replace"))
        except (OSError, EOFError):
            self.end()
        return found

    @property
    def alive(self) -> bool:
        """Whether it is ours, and may be asked."""
        return self.pid == os.getpid() and self._process.poll() is None and self.turns < TURNS

    def end(self) -> None:
        """Kill it."""
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
    """The process of this one; it is begun with the first PDF. (A fork has none of its own.)"""
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
