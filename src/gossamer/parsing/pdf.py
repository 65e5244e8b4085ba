"""Extracts the text of a PDF with the library PDFium. PDFium runs in a separate process because any PDF may
be malicious."""

from __future__ import annotations

import importlib.util
import struct

from gossamer.config.optional_deps import install_command
from gossamer.parsing.isolated_process import IsolatedProcess

MAX_PAGES, MAX_SECONDS, MAX_CHARS, MAX_BYTES = 2000, 20.0, 5_000_000, 64 << 20
"""Limits for one document. MAX_PAGES is the number of pages that are read, MAX_SECONDS is the time, and
MAX_CHARS is the number of characters of text. A file larger than MAX_BYTES is not read."""
_REQUEST = struct.Struct("<QIdI")
_PROCESS = IsolatedProcess("pdf_process")


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
    """Returns the text of a PDF, with an empty line between pages. Returns '' if the bytes are not a PDF, or
    if there are more than 64 MiB. Also returns '' if the PDF is encrypted or has only images.

    PDFium reads the document in a process with at most 1 GiB of memory. If reading takes longer than
    `seconds`, or if the process crashes, the pages read so far are returned. The text has at most 5,000,000
    characters. Raises RuntimeError if PDFium is not installed (`pip install 'gossamer[pdf]'`). May be called
    from any thread.

    >>> text(b"no PDF")
    ''
    """
    if not is_pdf(body) or len(body) > MAX_BYTES:
        return ""
    if not available():
        raise RuntimeError(f"the text of a PDF needs pypdfium2: {install_command('pdf')}")
    parts, _ = _PROCESS.parts(_REQUEST.pack(len(body), pages, seconds, MAX_CHARS) + body, seconds)
    return "\n\n".join(part.decode("utf-8", "replace") for part in parts if part)
