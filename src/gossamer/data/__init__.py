"""Reads word lists: words and phrases of many languages that are used to interpret pages. People who do not
program can edit the files (docs/word-lists.md).

A file begins with comments that state its source and date. Below each `[section]`, every line is one entry.
In a list of patterns, each entry is one alternative of a regular expression.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
_HEAD = re.compile(r"\[([a-z_]+)\](?:  .*)?")
"""Matches a line with the name of a section in square brackets. Two spaces and a description may follow the
closing bracket."""


@cache
def sections(name: str) -> dict[str, list[str]]:
    """Returns the entries of each section of a word list. `name`: the file's name without `.txt`.

    >>> sections("currencies")["codes"][0].split()[:3]
    ['AED', 'AFN', 'ALL']
    """
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in (FOLDER / f"{name}.txt").read_text("utf-8").split("\n"):
        if head := _HEAD.fullmatch(line):
            entries = found.setdefault(head[1], [])
        elif line and not line.startswith("# "):
            entries.append(line)
    return found


def alternatives(name: str, section: str) -> str:
    """Returns the entries of a section as alternatives of a regular expression.

    >>> alternatives("notice_words", "denied")
    'denied|forbidden|permission|not (?:authori[sz]ed|allowed)|blocked|403\\\\b'
    """
    return "|".join(sections(name)[section])
