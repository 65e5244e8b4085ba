"""Prints the result of a command that changes a host."""

from __future__ import annotations

from typing import Any


def say(facts: dict[str, Any], said: str, as_json: bool) -> int:
    """Prints what was changed, as text or as JSON. Returns the exit code."""
    from gossamer.cli.printing import put_json

    if as_json:
        put_json({**facts, "said": said})
    else:
        print(f"{facts['host']}: {said}")
    return 0
