"""Extracts the commands and the output from a page of docs/, and reduces two outputs to their comparable
parts."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType

from support.scripts import script

DOCUMENTED = "127.0.0.1:8000"
"""The address of the bookshop that the pages of docs/ use."""


def commands_of(console: str) -> list[tuple[str, str]]:
    """Return each `$ gossamer` command of a console block, without the program's name, and its output."""
    return re.findall(r"^\$ gossamer (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)


def comparable(text: str) -> str:
    """Return the text without numbers and widths, which differ between runs."""
    return str(_tutorial().comparable(text))


def comparable_without_times(text: str) -> str:
    """Return the text without numbers, widths and times."""
    return re.sub(r"[\dTZ:-]{6,}", "0", comparable(text))


@cache
def _tutorial() -> ModuleType:
    return script("docs/run_tutorial.py")
