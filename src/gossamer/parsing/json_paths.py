"""Paths into JSON: `data.items[0].name`, `items[*].id`, `items[-1]["odd.name"]`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_STEP = re.compile(r"""\.?(?:\[(?:(-?\d{1,9}|\*)|"([^"]*)"|'([^']*)')\]|([^.\[\]"'\s][^.\[\]"']*))""")

EVERY = None
"""The step `[*]`."""


def pick(value: Any, path: str) -> Any:
    """What lies at a path in a value made of dicts and lists; None where there is nothing, a list for `[*]`.

    Raises ValueError for what is no path.

    >>> pick({"items": [{"id": 1}, {"id": 2}]}, "items[*].id"), pick({"a": [1, 2]}, "a[-1]"), pick({"a": 1}, "b.c")
    ([1, 2], 2, None)
    """
    return _walk(value, _steps(path), 0)


def _walk(value: Any, steps: tuple[str | int | None, ...], at: int) -> Any:
    for place in range(at, len(steps)):
        step = steps[place]
        if step is EVERY:
            return [_walk(one, steps, place + 1) for one in value] if isinstance(value, list) else None
        if isinstance(value, list):
            number = int(step) if isinstance(step, int) or step.lstrip("-").isdecimal() else len(value)
            value = value[number] if -len(value) <= number < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return None
    return value


@lru_cache(maxsize=500)
def _steps(path: str) -> tuple[str | int | None, ...]:
    """The steps of a path: names, places in a list, EVERY."""
    text = path.strip().removeprefix("$")
    steps: list[str | int | None] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(
                f"{path!r} is no path into JSON: write it as data.items[0].name, items[*].id or a['b.c']"
            )
        index, *names = match.groups()
        steps.append(
            next(name for name in names if name is not None)
            if index is None
            else EVERY
            if index == "*"
            else int(index)
        )
        at = match.end()
    return tuple(steps)
