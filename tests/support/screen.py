"""A terminal's screen. It supports the part of VT100 and xterm that gossamer's commands use: colours,
scrolling, scrollback, and lines that are wrapped again when the width changes, as in most terminals. Any
other sequence raises an error."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from support import fork_server

SRC = Path(__file__).resolve().parents[2] / "src"
_ESCAPE = re.compile(r"\x1b\[(\?)?([\d;]*)([A-Za-z])")
IGNORED = {"?2026h", "?2026l", "?25h", "?25l", "?7h", "?7l", "?1049h", "?1049l"}


class Cell(NamedTuple):
    """A character with its style, which consists of the numbers of the SGR sequence."""

    text: str = " "
    style: tuple[int, ...] = ()


class Row:
    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.continues = False
        """Whether the text continues in the next row because it was too long."""

    def text(self) -> str:
        return "".join(cell.text for cell in self.cells).rstrip()


class Screen:
    """The screen of a terminal of the given size, after the text that was fed to it."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.lines = [Row()]
        """The rows of the scrollback and of the screen."""
        self.y, self.x = 0, 0
        self.style: tuple[int, ...] = ()
        self.frames: list[list[str]] = []
        """The text of the screen after each synchronized update."""
        self._rest = ""

    def feed(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = _ESCAPE.match(text, at)
                if found is None:
                    assert re.fullmatch(r"\x1b(\[\??[\d;]*)?", text[at:]), repr(text[at : at + 20])
                    self._rest = text[at:]
                    return
                self._escape(found[1] or "", found[2], found[3])
                at = found.end()
            else:
                self._put(text[at])
                at += 1

    def visible(self) -> list[str]:
        """Returns the text of the rows on the screen, without empty rows at the end."""
        shown = [row.text() for row in self.lines[self._top :]]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def everything(self) -> list[str]:
        """Returns the text of all rows, including the scrollback."""
        return [row.text() for row in self.lines]

    def resize(self, columns: int) -> None:
        """Changes the width and wraps the lines again."""
        logical: list[list[Cell]] = [[]]
        at = (0, 0)
        for number, row in enumerate(self.lines):
            if number == self.y:
                at = (len(logical) - 1, len(logical[-1]) + self.x)
            logical[-1] += row.cells
            if not row.continues:
                logical.append([])
        logical.pop()
        self.columns, self.lines = columns, []
        for number, cells in enumerate(logical):
            if number == at[0]:
                self.y, self.x = len(self.lines) + at[1] // columns, at[1] % columns
            for start in range(0, max(1, len(cells)), columns):
                row = Row()
                row.cells = cells[start : start + columns]
                row.continues = start + columns < len(cells)
                self.lines.append(row)

    @property
    def _top(self) -> int:
        return max(0, len(self.lines) - self.rows)

    def _put(self, character: str) -> None:
        if character == "\r":
            self.x = 0
        elif character == "\n":
            self.y += 1
            while self.y >= len(self.lines):
                self.lines.append(Row())
        else:
            if self.x >= self.columns:
                self.lines[self.y].continues = True
                self.x = 0
                self._put("\n")
            cells = self.lines[self.y].cells
            cells += [Cell()] * (self.x + 1 - len(cells))
            cells[self.x] = Cell(character, self.style)
            self.x += 1

    def _escape(self, private: str, numbers: str, letter: str) -> None:
        if letter == "m":
            given = tuple(int(one or 0) for one in numbers.split(";"))
            self.style = () if given == (0,) else (*self.style, *given)
        elif private:
            assert f"?{numbers}{letter}" in IGNORED, f"?{numbers}{letter}"
            if (numbers, letter) == ("2026", "l"):
                self.frames.append(self.visible())
            if numbers == "1049":
                self.lines, self.y, self.x = [Row()], 0, 0
        elif letter == "A":
            self.y = max(self._top, self.y - int(numbers or 1))
        elif letter == "K":
            del self.lines[self.y].cells[min(self.x, self.columns - 1) :]
            self.lines[self.y].continues = False
        elif letter == "J":
            assert numbers in ("", "0", "2"), numbers
            del self.lines[self.y].cells[self.x :]
            self.lines[self.y].continues = False
            del self.lines[self.y + 1 :]
        elif letter == "H":
            assert not numbers
            self.y, self.x = self._top, 0
        else:
            raise AssertionError(f"unknown sequence {numbers}{letter}")


class TerminalProcess:
    """A gossamer command whose standard streams are a terminal."""

    running: ClassVar[list[subprocess.Popen[bytes]]] = []
    """The processes that are still running, to be killed after a failed test."""

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        *,
        columns: int = 80,
        rows: int = 30,
        env: dict[str, str] | None = None,
    ) -> None:
        self.screen, self.text = Screen(columns, rows), ""
        self._ours, theirs = pty.openpty()
        self._tell_size(theirs)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GOSSAMER_")
            and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
        }
        self.process = fork_server.Popen(
            [sys.executable, "-c", "from gossamer.cli import main; main()", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            start_new_session=True,
            env=kept | {"PYTHONPATH": str(SRC), "TERM": "xterm", "LC_ALL": "C.UTF-8"} | (env or {}),
        )
        os.close(theirs)
        self.running.append(self.process)

    @classmethod
    def kill_all(cls) -> None:
        """Kills the processes that a failed test has left behind."""
        for process in cls.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        cls.running.clear()

    def until(self, holds: Callable[[Screen], bool], seconds: float = 60) -> list[str]:
        """Reads output until `holds` is true of the screen. Returns the rows of the screen."""
        deadline = time.monotonic() + seconds
        while not holds(self.screen):
            assert time.monotonic() < deadline, "\n".join(self.screen.visible())
            assert self._read(0.2), "it ended:\n" + "\n".join(self.screen.everything())
        return self.screen.visible()

    def shows(self, pattern: str, seconds: float = 60) -> list[str]:
        """Reads until a row of the screen contains the pattern. Returns the rows."""
        search = re.compile(pattern).search
        return self.until(lambda screen: any(map(search, screen.visible())), seconds)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, columns: int) -> None:
        """Changes the width, like a user who resizes the window."""
        self.screen.resize(columns)
        self._tell_size(self._ours)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def end(self, number: int | None = None) -> int:
        """Sends a signal, if given, and reads the remaining output. Returns the exit code."""
        if number is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)
        deadline = time.monotonic() + 60
        while self._read(0.2):
            assert time.monotonic() < deadline, "\n".join(self.screen.visible())
        os.close(self._ours)
        return self.process.wait(timeout=30)

    def _tell_size(self, fd: int) -> None:
        size = struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0)
        fcntl.ioctl(fd, termios.TIOCSWINSZ, size)

    def _read(self, seconds: float) -> bool:
        """Feeds the screen with available output. Returns whether more output may come."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return True
        try:
            raw = os.read(self._ours, 65536)
        except OSError:  # the process closed its end
            return False
        text = raw.decode("utf-8", "replace")
        self.text += text
        self.screen.feed(text)
        return bool(raw)
