"""What a command that changes a host prints."""

from __future__ import annotations

from typing import Any


def say(facts: dict[str, Any], said: str, as_json: bool) -> int:
    """What was done to a host, for programs or for people; the exit code."""
    from gossamer.cli.printing import put_json

    if as_json:
        put_json({**facts, "said": said})
    else:
        print(f"{facts['host']}: {said}")
    return 0
