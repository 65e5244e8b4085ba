"""The findings of `gossamer doctor`."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """The result of one check of `gossamer doctor`. `level` is ok, warn or bad. The level warn means that the
    checked part works with limitations."""

    what: str
    level: str
    found: str
    advice: str = ""
    code: int = 4
    """The exit code of `gossamer doctor` if the level is bad."""
