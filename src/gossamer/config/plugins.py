"""Finds steps and sinks of other packages, by the name of an entry point or as `MODULE:NAME`."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def names(group: str) -> list[str]:
    """Returns the sorted names of the installed entry points of a group."""
    from importlib.metadata import entry_points  # takes 20 ms

    return sorted({one.name for one in entry_points(group=group)})


def load(group: str, name: str) -> Any:
    """Loads and returns the object that `name` refers to. `name` is the name of an entry point of the group,
    or has the form `MODULE:NAME`. Raises ValueError."""
    from importlib.metadata import entry_points

    module, colon, attribute = name.partition(":")
    if not colon:
        found = next(iter(entry_points(group=group, name=name)), None)
        if found is None:
            known = ", ".join(names(group)) or "none"
            raise ValueError(f"{name!r} is not installed; installed are: {known}; or write MODULE:NAME")
        module, attribute = found.module, found.attr
    try:
        value: Any = import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{name!r} cannot be loaded: {error}") from None
    return value
