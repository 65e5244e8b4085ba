"""Prints the result of a command that changes a host."""

from __future__ import annotations

from typing import Any


def print_change(facts: dict[str, Any], said: str, as_json: bool) -> int:
    """Prints a change to a host, as JSON or as a line of text. Returns exit code 0."""
    from gossamer.cli.printing import put_json

    if as_json:
        put_json({**facts, "said": said})
    else:
        print(f"{facts['host']}: {said}")
    return 0
