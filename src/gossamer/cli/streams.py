"""Standard input, output and error as the verbs need them, however the command was started: closed, full, or
of an encoding that knows few letters."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO, cast

from gossamer.errors import UsageError

MODES = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)


def steady() -> None:
    """Make the three usable. What a page says goes to a terminal of any encoding; what is told on stderr
    never ends a crawl."""
    opened()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    from gossamer.config.redaction import MaskedStderr  # not sooner: `gossamer version` is quick

    if not isinstance(sys.stderr, MaskedStderr):
        sys.stderr = cast(TextIO, MaskedStderr(sys.stderr))


def opened() -> None:
    """One that is closed reads as empty and takes all: else the next file that is opened would stand in its
    place."""
    for number, (name, mode) in enumerate(zip(("stdin", "stdout", "stderr"), MODES, strict=True)):
        try:
            os.fstat(number)
        except OSError:
            put(number, mode)
            setattr(
                sys,
                name,
                os.fdopen(number, "r" if mode == os.O_RDONLY else "w", encoding="utf-8", closefd=False),
            )


def put(number: int, mode: int = os.O_WRONLY) -> None:
    """The null device as this file descriptor."""
    found = os.open(os.devnull, mode)
    if found != number:
        os.dup2(found, number)
        os.close(found)
    os.set_inheritable(number, True)


def texts(words: list[str]) -> list[str]:
    """The words of a command as they are. Raises UsageError where one is no text: it could stand in no
    record."""
    here = ""
    with contextlib.suppress(OSError):  # it may be gone; who needs it says so
        here = os.getcwd()
    for word in (*words, here):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"{word[:200]!r} is no text in the encoding of this machine: name it otherwise, or set LC_ALL=C.UTF-8"
            ) from None
    return words
