"""Standard input, output and error, whatever state the command was started with: closed, full, or with an
encoding of few characters. Prints tables for users and JSON for programs. No control character of a
crawled page reaches a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO, cast

from gossamer.config.redaction import conceal
from gossamer.errors import UsageError

MODES = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)


def steady() -> None:
    """Makes the three streams usable. Any text can be printed to a terminal of any encoding, and an error on
    stderr never ends a crawl."""
    opened()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    from gossamer.config.redaction import (
        MaskedStderr,
    )  # imported only here, so that `gossamer version` is quick

    if not isinstance(sys.stderr, MaskedStderr):
        sys.stderr = cast(TextIO, MaskedStderr(sys.stderr))


def opened() -> None:
    """Replaces closed streams by the null device. Otherwise the next opened file would get the stream's
    descriptor."""
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
    """Opens the null device as this file descriptor."""
    found = os.open(os.devnull, mode)
    if found != number:
        os.dup2(found, number)
        os.close(found)
    os.set_inheritable(number, True)


def texts(words: list[str]) -> list[str]:
    """Returns the words of a command unchanged. Raises UsageError if one is not valid text, because it could
    not be stored in a record."""
    here = ""
    with contextlib.suppress(OSError):  # the current folder may be gone; whoever needs it reports that
        here = os.getcwd()
    for word in (*words, here):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"{word[:200]!r} is no text in the encoding of this machine: name it otherwise, or set LC_ALL=C.UTF-8"
            ) from None
    return words


_BAD = dict.fromkeys((*range(32), *range(127, 160), 8206, 8207, *range(8234, 8239), *range(8294, 8298)), "�")


def clean(value: object) -> str:
    """Returns one line of text without control characters. None becomes a dash."""
    return "-" if value is None else conceal(str(value)).translate(_BAD)


_hushed = [False]


def hush(quiet: bool) -> None:
    """Turns off remarks for a command whose `--quiet` does nothing else."""
    _hushed[0] = quiet


def remark(line: str, quiet: bool = False) -> None:
    """Prints a remark for the user on stderr."""
    if not (quiet or _hushed[0]):
        print(f"gossamer: {clean(line)}", file=sys.stderr)


printed = [False]
"""Whether an object was printed on stdout."""


def _plain(value: Any) -> Any:
    """Returns a value with all structs converted to plain types."""
    import msgspec

    return msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value


def tell(line: str, as_json: bool, quiet: bool = False, **facts: object) -> None:
    """Reports what was done: a remark on stderr, or an object with the facts and the remark on stdout."""
    if as_json:
        put_json({**facts, "said": line})
    else:
        remark(line, quiet)


def put_json(value: Any) -> None:
    """Prints one line of JSON on stdout, with decimals as numbers. If stdout is not UTF-8, the line contains
    only ASCII."""
    import json

    from gossamer.config.redaction import concealed
    from gossamer.sinks.jsonl import text

    printed[0] = True
    line = text(concealed(_plain(value)))
    plain = "utf" in (sys.stdout.encoding or "utf").lower()
    sys.stdout.write((line if plain else json.dumps(json.loads(line))) + "\n")
    sys.stdout.flush()


def put_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[str] = (),
    long: Sequence[str] = (),
) -> None:
    """Prints a table on stdout. `right`: columns of numbers. `long`: columns whose cells get lines of their
    own."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, show_header=bool(heads), header_style="bold")
    wide = {place for place, head in enumerate(heads) if head in long}
    lines = [
        [
            "\n".join(map(clean, str(cell).splitlines())) if place in wide else clean(cell)
            for place, cell in enumerate(row)
        ]
        for row in rows
    ]
    for head in heads or [""] * (len(lines[0]) if lines else 0):
        grid.add_column(head, justify="right" if head in right else "left", no_wrap=True)
    for line in lines:
        grid.add_row(*[Text(cell) for cell in line])
    out = console()
    with out.capture() as drawn:
        out.print(grid)
    sys.stdout.write("".join(line.rstrip() + "\n" for line in drawn.get().splitlines()))


def console(stderr: bool = False) -> Any:
    """Returns a rich console. For stdout it is as wide as the lines need."""
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    width = None if stderr else 10_000  # a terminal wraps long table lines better than rich does
    colours: Any = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=file, highlight=False, markup=False, emoji=False, width=width, color_system=colours)


def dumb() -> bool:
    """Returns whether stderr is not a terminal that can redraw lines."""
    return not sys.stderr.isatty() or os.environ.get("TERM") == "dumb"


def duration(seconds: float | None) -> str:
    """Returns seconds as readable text.

    >>> duration(3700), duration(0.25), duration(None)
    ('1h 1m', '0.25s', '-')
    """
    if seconds is None:
        return "-"
    if seconds < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + "s"
    whole = int(seconds)
    for unit, size, small, per in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size}{unit} {whole % size // per}{small}"
    return f"{whole}s"


def amount(size: float) -> str:
    """Returns bytes as readable text.

    >>> amount(1536), amount(10)
    ('1.5 KiB', '10 B')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{size:.0f} B"
        size /= 1024
    return f"{size:.1f} TiB"


def named(counts: dict[str, int]) -> str:
    """Returns counts such as `robots 3, depth 1`, the largest first."""
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda pair: -pair[1])) or "-"
