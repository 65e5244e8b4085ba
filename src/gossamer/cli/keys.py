"""Reads the keys that a user presses while a command shows a live view."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


def reads_keys() -> bool:
    """Returns whether stdin is a terminal, and this process is not a background job of its shell. A background
    job that changes the terminal's mode would be stopped."""
    if not sys.stdin.isatty():
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # the terminal belongs to no shell that could stop this process
        return True


@contextmanager
def pressed_keys() -> Iterator[asyncio.Queue[str]]:
    """A context manager that yields a queue of the pressed keys. If `reads_keys` is false, the queue stays empty.
    Ctrl-C works as usual."""
    keys: asyncio.Queue[str] = asyncio.Queue()
    if not reads_keys():
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
