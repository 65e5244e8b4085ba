"""What becomes of items between a page function and the sinks: steps, and what is judged of them.

A step is a plain callable `step(item, page)`: `item` is a dict of the item's own fields (`Fields`), which it
may change or replace by what it returns. One that raises keeps the item aside with its reason; `Unwanted`
drops it, counted.

| file | what it has |
| --- | --- |
| `schema` | what a class of items demands of its fields, and what is wrong with one |
| `models` | the same of pydantic models |
| `steps` | `clean`, `validate`, `deduplicate`, `alike`, and the loop that runs a site's steps |
| `gates` | the grammar of `--fail-on` and `gates=` |
| `window` | the last pages of each site, as the gates see them while a crawl runs |
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.items.steps import Fields, Unwanted, alike, clean, deduplicate, validate

__all__ = ["Fields", "Unwanted", "alike", "clean", "deduplicate", "validate"]


def __getattr__(name: str) -> Any:
    """A name is loaded when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("gossamer.items.steps"), name)
