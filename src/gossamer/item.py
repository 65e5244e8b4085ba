"""An item: one fact found on a page, typed, with a stable key."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, dataclass_transform

import msgspec


@dataclass_transform(kw_only_default=True)
class _ItemMeta(msgspec.StructMeta):
    """Reads `key=` of the class line; makes the fields keyword-only, so that adding one breaks no caller."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, key: str | None = None, **config: Any
    ) -> Any:
        config.setdefault("kw_only", True)
        cls = super().__new__(mcls, name, bases, namespace, **config)
        inherited = getattr(cls, "__item_key__", None)
        fields = cls.__struct_fields__
        if key is not None and key not in fields:
            raise TypeError(f"{name}: key {key!r} is no field of it; its fields are {', '.join(fields)}")
        type.__setattr__(cls, "__item_key__", key or inherited)
        return cls


class Item(msgspec.Struct, metaclass=_ItemMeta):
    """Base of a site's items: `class Book(Item, key="upc")`. Fields are annotations; `Decimal` is written as a number.

    Without a key, or where its key is None, the item's key is a hash of its fields.
    """


def kind(item: Item) -> str:
    """The item's kind: its class name in lower case."""
    return type(item).__name__.lower()


def plain(item: Item) -> dict[str, Any]:
    """The item's own fields as JSON-ready values (Decimal stays Decimal and is written as a number)."""
    values: dict[str, Any] = {}
    for name in item.__struct_fields__:
        value = getattr(item, name)
        values[name] = value if isinstance(value, Decimal) else msgspec.to_builtins(value, builtin_types=(Decimal,))
    return values
