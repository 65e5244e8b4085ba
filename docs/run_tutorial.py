"""Runs the tutorial and updates the output of its commands: `python docs/run_tutorial.py`.

The program types every `$` line of the page's `console` blocks in an empty folder, on a terminal of 130
columns, and writes the output below the line. A `python` block that begins with `# NAME.py` becomes a file of
that name. A line `^C` below a command presses Ctrl-C as soon as the command's output file contains a row.
`--check` changes nothing. With `--check`, the program fails if the output differs in anything except numbers,
widths and names with hex digits. `--port N` serves the bookshop at port N (0: any free port).
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
SHOP = ROOT / "examples" / "bookshop" / "serve.py"
COLUMNS, ROWS = 130, 50
COMMAND_TIMEOUT_S = 120
DOCUMENTED = "127.0.0.1:8000"
FENCE = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|([\r\n])|([^\x1b\r\n]+)|\x1b.?")


def screen(stream: str) -> list[str]:
    """Returns the final lines of the terminal. Follows cursor up, erase and carriage return."""
    lines, row, column = [""], 0, 0
    for parameter, letter, move, text in (match.groups() for match in CONTROL.finditer(stream)):
        if letter == "A":
            row = max(0, row - int(parameter or 1))
        elif letter == "K":
            lines[row] = "" if parameter == "2" else lines[row][:column]
        elif letter == "J":
            lines[row:] = [lines[row][:column]]
        elif letter == "G":
            column = int(parameter or 1) - 1
        elif move == "\r":
            column = 0
        elif move == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif text:
            old = lines[row].ljust(column)
            lines[row] = old[:column] + text + old[column + len(text) :]
            column += len(text)
    return [line.rstrip() for line in "\n".join(lines).rstrip().split("\n")]


def comparable(text: str) -> str:
    """Returns the text without parts that may differ between runs.

    These parts are numbers, units of time, widths, and names with hex digits.
    """
    text = re.sub(r"-[0-9a-f]{6}\b|\b[0-9a-f]{16,}\b", "-HEX", text)
    text = re.sub(r"\d+([.:]\d+)*( ?(ms|s|min|h)\b)?", "0", text)
    return re.sub(r"[-─]{3,}", "---", re.sub(r"[ \t]+", " ", text))


class Shell:
    """Runs commands in a folder as a reader would type them. `close` ends the bookshop."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.shop: subprocess.Popen[str] | None = None
        programs = folder / "programs"
        programs.mkdir()
        for name, words in (("gossamer", "-m gossamer"), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
            program.chmod(0o755)
        self.home = folder / "work"
        self.home.mkdir()
        self.env = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT / "src"),
            "HOME": str(folder),
            "TERM": "xterm",
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }

    def close(self) -> None:
        if self.shop is not None:
            self.shop.terminate()
            self.shop.communicate()
            self.shop = None

    def open_shop(self, words: list[str]) -> list[str]:
        """Starts the bookshop in the background at the port of this shell."""
        self.close()
        command = [sys.executable, str(SHOP), "--port", str(self.port), *words]
        self.shop = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.shop.stdout is not None
        line = self.shop.stdout.readline()
        self.port = int(re.search(r":(\d+)/", line)[1])  # type: ignore[index]
        return [line.rstrip().replace(f"127.0.0.1:{self.port}", DOCUMENTED)]

    def real(self, text: str) -> str:
        """Returns the text with the current address of the bookshop."""
        return text.replace(DOCUMENTED, f"127.0.0.1:{self.port}")

    def run(self, command: str, interrupt: bool) -> list[str]:
        """Returns the lines that the command leaves on the terminal."""
        words = shlex.split(command)
        if words[0] == "python" and words[1].endswith("serve.py"):
            return self.open_shop(words[2:])
        has_row = lambda: interrupt and rows_of(self.home / words[words.index("-o") + 1])  # noqa: E731
        shown = screen(on_terminal(self.real(command), self.home, self.env, has_row))
        text = "\n".join(shown).replace(f"127.0.0.1:{self.port}", DOCUMENTED)
        text = text.replace(f"127.0.0.1-{self.port}", DOCUMENTED.replace(":", "-"))
        return text.replace(str(self.home), "~").split("\n")


def rows_of(file: Path) -> bool:
    """Returns whether the output file contains a complete row."""
    return file.exists() and b"\n" in file.read_bytes()


def on_terminal(command: str, folder: Path, env: dict[str, str], interrupt: Callable[[], bool]) -> str:
    """Returns the output of the command on a terminal. Sends SIGINT once `interrupt()` is true."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        words = ["/bin/sh", "-c", f"stty cols {COLUMNS} rows {ROWS}; {command}"]
        os.execve("/bin/sh", words, env)  # noqa: S606 - the tutorial's own lines
    said, is_interrupted, end = b"", False, time.monotonic() + COMMAND_TIMEOUT_S
    with contextlib.suppress(OSError):  # Linux reports EIO when the last process closes the terminal
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.05)[0]:
                piece = os.read(terminal, 65536)
                if not piece:
                    break
                said += piece
            if not is_interrupted and interrupt():
                os.write(terminal, b"\x03")
                is_interrupted = True
        else:
            os.kill(child, signal.SIGKILL)
            raise TimeoutError(f"{command}: still running after {COMMAND_TIMEOUT_S} s")
    os.close(terminal)
    os.waitpid(child, 0)
    return said.decode(errors="replace")


def console(block: str, shell: Shell) -> Iterator[str]:
    """Yields the lines of the block with the current output of each command."""
    for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE)[1:]:
        first, _, old = part.partition("\n")
        yield first
        interrupt = old.startswith("^C")
        shown = [line for line in shell.run(first.removeprefix("$ "), interrupt) if line != "^C"]
        if interrupt:
            yield "^C"
            shown = [line.replace("^C", "", 1) for line in shown]
        yield from (shown if shown != [""] else [])


def written_anew(text: str, port: int) -> str:
    """Returns the page with the current output of its commands."""
    with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
        shell = Shell(Path(folder), port)

        def renewed(match: re.Match[str]) -> str:
            language, block = match.groups()
            if language == "console":
                return "```console\n" + "\n".join(console(block, shell)) + "\n```"
            name = re.match(r"# (\w+\.py)\b", block)
            if name:
                (shell.home / name[1]).write_text(shell.real(block))
            return match[0]

        try:
            return FENCE.sub(renewed, text)
        finally:
            shell.close()


def main() -> int:
    """Writes the page, or checks it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    old = PAGE.read_text()
    new = written_anew(old, options.port)
    if not options.check:
        PAGE.write_text(new)
        return 0
    before, after = ([comparable(line) for line in text.splitlines()] for text in (old, new))
    diff = list(difflib.unified_diff(before, after, "docs/tutorial.md", "what is printed now", lineterm=""))
    print(*diff, sep="\n")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
