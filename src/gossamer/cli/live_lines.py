"""Repaints a few lines at the bottom of a terminal in place, while other output scrolls above them."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Sequence
from typing import Any, TextIO, cast

from gossamer.cli.terminal import columns_now, rows_now, text_width

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
"""The escape sequences before and after output that the terminal should show in one step. Terminals that do
not support synchronized output ignore these escape sequences."""
CLEAR_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"
_STYLE = re.compile(r"\x1b\[[\d;]*m")


class LiveLines:
    """Lines on the terminal of `file`. From the first `show` to `close`, other output of this process appears
    above these lines. The cursor stays visible below the lines, so a killed process leaves a usable
    terminal."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._widths: list[int] = []
        """The widths, in columns, of the lines that the terminal currently shows."""
        self._lines: Sequence[str] = ()
        self._partial = ""
        self._streams: tuple[TextIO, TextIO] | None = None

    @property
    def width(self) -> int:
        """Returns the number of columns that a line may have. The last column stays empty, because terminals
        would wrap the line there."""
        return columns_now(self._file) - 1

    def show(self, lines: Sequence[str]) -> None:
        """Replaces the lines."""
        with self._lock:
            self._redirect()
            self._paint(lines[: rows_now(self._file) - 1])

    def write_above(self, file: TextIO, text: str) -> None:
        """Writes text to the terminal, above the live lines. An incomplete last line is written once it is
        complete."""
        with self._lock:
            whole, newline, rest = (self._partial + text).rpartition("\n")
            self._partial = rest
            if not newline:
                return
            shown = self._lines
            self._write(self._up() + CLEAR_BELOW)
            self._widths = []
            file.write(whole + newline)
            file.flush()
            self._paint(shown)

    def close(self) -> None:
        """Removes the lines and restores the standard streams."""
        with self._lock:
            if self._streams is None:
                return
            self._write(self._up() + CLEAR_BELOW)
            self._widths, self._lines = [], ()
            sys.stdout, sys.stderr = self._streams
            self._streams = None
            if self._partial:
                sys.stderr.write(self._partial + "\n")
                self._partial = ""

    def _paint(self, lines: Sequence[str]) -> None:
        painted = "".join(f"{line}{CLEAR_LINE}\n" for line in lines)
        self._write(f"{BEGIN}{self._up()}{painted}{CLEAR_BELOW}{END}")
        self._lines, self._widths = lines, [text_width(_STYLE.sub("", line)) for line in lines]

    def _up(self) -> str:
        """Returns the escape sequence that moves the cursor to the first line. If the terminal has become
        narrower, each line may occupy several rows."""
        columns = columns_now(self._file)
        rows = sum(max(1, -(-width // columns)) for width in self._widths)
        return f"\x1b[{min(rows, rows_now(self._file))}A\r" if rows else "\r"

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)
            self._file.flush()

    def _redirect(self) -> None:
        if self._streams is None:
            self._streams = sys.stdout, sys.stderr
            sys.stderr = cast(TextIO, _Above(self, sys.stderr))
            if sys.stdout.isatty():
                sys.stdout = cast(TextIO, _Above(self, sys.stdout))


class _Above:
    """Replaces a standard stream while live lines are shown. The stream's output appears above the live
    lines."""

    def __init__(self, lines: LiveLines, file: TextIO) -> None:
        self._lines, self._file = lines, file

    def write(self, text: str) -> int:
        """Writes the text to the terminal, above the live lines."""
        self._lines.write_above(self._file, text)
        return len(text)

    def writelines(self, texts: Sequence[str]) -> None:
        """Writes the texts to the terminal, above the live lines."""
        self.write("".join(texts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
