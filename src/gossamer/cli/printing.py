"""Prints the output of the commands: tables for people, JSON for programs, and messages on stderr. Output
works even if a standard stream is closed or full, or if its encoding lacks characters. Control characters
from crawled pages never reach a terminal.
"""

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


def prepare_streams() -> None:
    """Prepares the standard streams so that printing never fails. Characters that the terminal cannot show
    are escaped. Errors while writing to stderr are ignored, so that they never abort a crawl."""
    open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    from gossamer.config.redaction import MaskedStderr  # imported late, so that `gossamer version` is quick

    if not isinstance(sys.stderr, MaskedStderr):
        sys.stderr = cast(TextIO, MaskedStderr(sys.stderr))


def open_closed_streams() -> None:
    """Connects each closed standard stream to the null device, because the next file that the process opens
    would otherwise get the descriptor of the closed stream."""
    for number, (name, mode) in enumerate(zip(("stdin", "stdout", "stderr"), MODES, strict=True)):
        try:
            os.fstat(number)
        except OSError:
            open_null_device(number, mode)
            setattr(
                sys,
                name,
                os.fdopen(number, "r" if mode == os.O_RDONLY else "w", encoding="utf-8", closefd=False),
            )


def open_null_device(number: int, mode: int = os.O_WRONLY) -> None:
    """Opens the null device under the file descriptor `number`."""
    found = os.open(os.devnull, mode)
    if found != number:
        os.dup2(found, number)
        os.close(found)
    os.set_inheritable(number, True)


def check_texts(words: list[str]) -> list[str]:
    """Returns the words of a command unchanged. Raises UsageError if a word cannot be encoded, or if the path
    of the current folder cannot be encoded. A text that cannot be encoded cannot be stored."""
    here = ""
    with contextlib.suppress(OSError):  # the folder may have been deleted; code that needs it reports that
        here = os.getcwd()
    for word in (*words, here):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"{word[:200]!r} is not text in the encoding of this machine: use another name, "
                "or set LC_ALL=C.UTF-8"
            ) from None
    return words


_BAD = dict.fromkeys((*range(32), *range(127, 160), 8206, 8207, *range(8234, 8239), *range(8294, 8298)), "�")


def clean_line(value: object) -> str:
    """Formats a value as one line of text without secrets and control characters. None becomes a dash."""
    return "-" if value is None else conceal(str(value)).translate(_BAD)


_hushed = [False]


def hush_remarks(quiet: bool) -> None:
    """Turns off the messages of `remark` if `quiet` is true. A command calls this function if its option
    `--quiet` has no other effect."""
    _hushed[0] = quiet


def are_remarks_hushed() -> bool:
    """Returns whether the messages of `remark` are turned off."""
    return _hushed[0]


def discard_stdout() -> None:
    """Redirects stdout to the null device after the reader of stdout has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def remark(line: str, quiet: bool = False) -> None:
    """Prints a message for the user on stderr."""
    if not (quiet or _hushed[0]):
        print(f"gossamer: {clean_line(line)}", file=sys.stderr)


printed = [False]
"""Whether a JSON value was printed on stdout."""


def _plain(value: Any) -> Any:
    """Converts a struct to a dict. Returns other values unchanged."""
    import msgspec

    return msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value


def print_action(line: str, as_json: bool, quiet: bool = False, **facts: object) -> None:
    """Reports a completed action. Prints the text `line` on stderr. If `as_json` is set, prints a JSON object
    with `facts` and the text on stdout instead."""
    if as_json:
        put_json({**facts, "said": line})
    else:
        remark(line, quiet)


def put_json(value: Any) -> None:
    """Prints a value as one line of JSON on stdout. Decimals become numbers. The line is ASCII if stdout is
    not UTF-8."""
    import json

    from gossamer.config.redaction import conceal_values
    from gossamer.sinks.jsonl import text

    printed[0] = True
    line = text(conceal_values(_plain(value)))
    plain = "utf" in (sys.stdout.encoding or "utf").lower()
    sys.stdout.write((line if plain else json.dumps(json.loads(line))) + "\n")
    sys.stdout.flush()


def put_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[str] = (),
    long: Sequence[str] = (),
    least: Sequence[str] = (),
    file: TextIO | None = None,
) -> None:
    """Prints a table to stdout, or to `file`. On a terminal, the table is fitted to the width. The other
    options are described at `tables.FittedTable`."""
    from gossamer.cli.tables import FittedTable
    from gossamer.cli.terminal import has_colours, painter, shows, table_width

    file = file or sys.stdout
    wide = {place for place, head in enumerate(heads) if head in long}
    cells = [
        [
            "\n".join(map(clean_line, str(cell).splitlines())) if place in wide else clean_line(cell)
            for place, cell in enumerate(row)
        ]
        for row in rows
    ]
    table = FittedTable(heads, cells, right=right, long=long, least=least)
    columns = table_width(file)
    left_out = table.fit(columns) if columns is not None else []
    mark = "…" if shows(file, "…") else "..."
    file.write("".join(f"{line}\n" for line in table.lines(painter(has_colours(file)), mark)))
    if left_out:
        file.flush()
        remark(f"this terminal is too narrow for: {', '.join(filter(None, left_out))}; --json shows them")


def put_rows(
    heads: Sequence[str],
    rows: Sequence[Sequence[Any]],
    as_csv: bool,
    as_json: bool,
    right: Sequence[str] = (),
    least: Sequence[str] = (),
    long: Sequence[str] = (),
) -> None:
    """Prints rows as a table, as CSV, or as one JSON object per row."""
    if as_csv:
        import csv

        from gossamer.sinks.csv import guarded_field

        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(heads)
        out.writerows([guarded_field(one) if isinstance(one, str) else one for one in row] for row in rows)
    elif as_json:
        for row in rows:
            put_json(dict(zip(heads, row, strict=True)))
    else:
        put_table(heads, [[str(cell) for cell in row] for row in rows], right=right, least=least, long=long)


def is_plain_stderr() -> bool:
    """Returns whether lines on stderr cannot be redrawn, because stderr is not a terminal or is a dumb
    terminal."""
    from gossamer.cli.terminal import is_dumb

    return is_dumb(sys.stderr)
