"""Processes items between the page function and the sinks: steps, validation, and quality gates.

A step is a plain callable `step(item, page)`. `item` is a dict of the item's fields (`Fields`). The step
changes this dict or returns another one. If a step raises `Unwanted`, the item is dropped and counted. If a
step raises any other exception, the item is rejected with the reason.

| file | contents |
| --- | --- |
| `validation` | validation of items by the annotations of their class |
| `pydantic_models` | validation of items that are pydantic models |
| `steps` | `clean`, `validate`, `deduplicate`, `alike`, and the loop that runs a site's steps |
| `quality_gates` | the grammar of `--fail-on` and `gates=`, and the window of last pages for running crawls |
| `assets` | the marks `File`, `Image` and `Ref` of fields that refer to files or other items, and their rows |
| `item_times` | the time zone of datetimes in outputs |
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.items.steps import Fields, Unwanted, alike, clean, deduplicate, validate

__all__ = ["Fields", "Unwanted", "alike", "clean", "deduplicate", "validate"]


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("gossamer.items.steps"), name)
