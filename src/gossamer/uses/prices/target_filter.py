"""Chooses targets by their shop, tag or product, for tables and reports."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from gossamer.uses.prices.database import Database
from gossamer.uses.prices.product_groups import read_group


class TargetFilter(NamedTuple):
    """A filter for targets. An empty value matches all."""

    shop: str = ""
    tag: str = ""
    product: str = ""
    """A product id in the list, or the key of a matched target."""

    def condition(self, database: Database) -> tuple[str, list[str]]:
        """Returns SQL conditions on `price_targets t`, each beginning with AND, and their values."""
        where, values = "", []
        if self.shop:
            where, values = " AND t.shop = ?", [self.shop]
        if self.tag:
            where += " AND t.tags LIKE ?"
            values.append(f"%{msgspec.json.encode(self.tag).decode()}%")
        if self.product:
            keys = read_group(database, self.product)
            where += f" AND t.key IN ({', '.join('?' * max(1, len(keys)))})"
            values += keys or [self.product]
        return where, values

    def any_target(self, database: Database) -> bool:
        """Whether the filter matches any listed target."""
        where, values = self.condition(database)
        return bool(database.rows(f"SELECT 1 FROM price_targets t WHERE t.listed = 1{where} LIMIT 1", values))

    @property
    def is_narrow(self) -> bool:
        """Whether the filter uses more than the shop."""
        return bool(self.tag or self.product)


ALL = TargetFilter()
