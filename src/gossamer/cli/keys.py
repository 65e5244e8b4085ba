"""Reads the keys that a user presses while a command shows a live view."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pressed_keys() -> Iterator[asyncio.Queue[str]]:
    """A context manager that yields a queue of the pressed keys. If stdin is not a terminal, the queue stays
    empty. Ctrl-C works as usual."""
    keys: asyncio.Queue[str] = asyncio.Queue()
    if not sys.stdin.isatty():
        yield keys
        return
    fd, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)

    def read() -> None:
        text = os.read(fd, 64).decode(errors="replace")
        if not text:  # the terminal was closed
            loop.remove_reader(fd)
        for key in text:
            keys.put_nowait(key)

    loop.add_reader(fd, read)
    try:
        yield keys
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
