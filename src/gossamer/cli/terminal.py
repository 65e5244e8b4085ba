"""Determines the width of a terminal and whether the terminal displays colors. Shortens texts to a width.

Only the 16 standard ANSI colors are used, except white, black, yellow and the bright colors, so that text is
readable on dark and on light backgrounds.
"""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Callable
from typing import TextIO

SGR = {"bold": 1, "dim": 2, "red": 31, "green": 32, "magenta": 35, "cyan": 36}
"""The styles, with their numbers in the escape sequence."""
DEFAULT_WIDTH, DEFAULT_ROWS = 80, 24


def is_dumb(stream: TextIO) -> bool:
    """Returns whether lines on the stream cannot be redrawn, because the stream is not a terminal or is a
    dumb terminal."""
    return not stream.isatty() or os.environ.get("TERM") == "dumb"


def has_colours(stream: TextIO) -> bool:
    """Returns whether text on this stream is colored. NO_COLOR (also set by `--no-color`) takes precedence
    over FORCE_COLOR. If neither variable is set, text is colored on a terminal that supports escape
    sequences."""
    if os.environ.get("NO_COLOR"):
        return False
    if (forced := os.environ.get("FORCE_COLOR")) is not None:
        return forced not in ("", "0", "false")
    return not is_dumb(stream)


def painter(colours: bool) -> Callable[[str, str], str]:
    """Returns a function that adds one or several styles (`bold red`) to a text. If `colours` is false, the
    returned function leaves the text unchanged.

    >>> painter(True)("ok", "bold green")
    '\\x1b[1;32mok\\x1b[0m'
    """

    def paint(text: str, style: str) -> str:
        if not (colours and text and style):
            return text
        return f"\x1b[{';'.join(str(SGR[name]) for name in style.split())}m{text}\x1b[0m"

    return paint


def table_width(stream: TextIO) -> int | None:
    """Returns the number of columns of the terminal, or None if the stream is not a terminal. The environment
    variable COLUMNS overrides this number."""
    if not stream.isatty():
        return None
    with contextlib.suppress(ValueError):
        if (given := int(os.environ.get("COLUMNS", ""))) > 0:
            return given
    return columns_now(stream)


def columns_now(stream: TextIO) -> int:
    """Returns the current number of columns of a terminal, or 80 if the number is unknown."""
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    return DEFAULT_WIDTH


def rows_now(stream: TextIO) -> int:
    """Returns the current number of rows of a terminal, or 24 if the number is unknown."""
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).lines or DEFAULT_ROWS
    return DEFAULT_ROWS


def shows(stream: TextIO, characters: str) -> bool:
    """Returns whether the stream's encoding can represent the given characters."""
    try:
        characters.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def text_width(text: str) -> int:
    """Returns the number of columns that a text occupies on a terminal.

    >>> text_width("abc"), text_width("日本")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut_end(text: str, width: int, mark: str = "…") -> str:
    """Shortens a text to at most `width` columns by removing the end of the text.

    >>> cut_end("a long text", 6), cut_end("short", 6)
    ('a lon…', 'short')
    """
    if text_width(text) <= width:
        return text
    return _head(text, width - len(mark)) + mark if width > len(mark) else _head(text, width)


def cut_middle(text: str, width: int, mark: str = "…") -> str:
    """Shortens a text to at most `width` columns by removing the middle of the text. The start and the end of
    a URL remain visible.

    >>> cut_middle("https://shop.example/a/long/way/to/page.html", 30)
    'https://shop.ex…y/to/page.html'
    """
    if text_width(text) <= width:
        return text
    if width < 8:
        return cut_end(text, width, mark)
    room = width - len(mark)
    behind = room // 2
    tail = _head(text[::-1], behind)[::-1]
    return _head(text, room - text_width(tail)) + mark + tail


def _head(text: str, width: int) -> str:
    if text.isascii():
        return text[: max(0, width)]
    taken = 0
    for place, character in enumerate(text):
        taken += _character_width(character)
        if taken > width:
            return text[:place]
    return text
