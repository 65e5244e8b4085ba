"""What `gossamer doctor` finds."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing looked at. `level`: ok, warn (it works, somehow), bad."""

    what: str
    level: str
    found: str
    advice: str = ""
    code: int = 4
    """Exit code when it is bad."""
