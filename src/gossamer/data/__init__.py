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


_LETTER = re.compile(r"[^\W\d_](?![?*+{])")
_NESTED = re.compile(r"\\.|\[\^?\]?[^\]]*\]|\((?:\\.|[^()\\])*\)")


def grouped(name: str, section: str) -> str:
    """Returns the same alternatives as `alternatives`, grouped by their first letter. A search tries one group at a
    position instead of all alternatives. The order of the alternatives changes, so a pattern of this kind tells whether
    a text matches, but not always what matches.

    >>> grouped("notice_words", "denied")
    'd(?:enied)|f(?:orbidden)|p(?:ermission)|n(?:ot (?:authori[sz]ed|allowed))|b(?:locked)|403\\\\b'
    """
    groups: dict[str, list[str]] = {}
    others = []
    for entry in sections(name)[section]:
        bare = entry
        while (inner := _NESTED.sub("", bare)) != bare:
            bare = inner
        if _LETTER.match(entry) and "|" not in bare:
            groups.setdefault(entry[0], []).append(entry[1:])
        else:
            others.append(entry)
    return "|".join([*(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items()), *others])


def alternatives(name: str, section: str) -> str:
    """Returns the entries of a section as alternatives of a regular expression.

    >>> alternatives("notice_words", "denied")
    'denied|forbidden|permission|not (?:authori[sz]ed|allowed)|blocked|403\\\\b'
    """
    return "|".join(sections(name)[section])
