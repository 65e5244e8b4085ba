"""The findings of `gossamer doctor`."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """The result of one check. `level`: ok, warn (it works with limits), bad."""

    what: str
    level: str
    found: str
    advice: str = ""
    code: int = 4
    """The exit code if the level is bad."""
