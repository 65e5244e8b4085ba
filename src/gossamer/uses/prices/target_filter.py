"""Selects price targets by shop, tag or product for tables and reports."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from gossamer.uses.prices.database import Database
from gossamer.uses.prices.product_groups import read_group


class TargetFilter(NamedTuple):
    """A filter for price targets. An empty field matches every target."""

    shop: str = ""
    tag: str = ""
    product: str = ""
    """A product id from the target list, or the key of any target of the product."""

    def condition(self, database: Database) -> tuple[str, list[str]]:
        """Returns SQL conditions on the table alias `price_targets t`, and the values of their placeholders.
        The text of each condition begins with AND."""
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
        """Whether the filter matches at least one listed target."""
        where, values = self.condition(database)
        return bool(database.rows(f"SELECT 1 FROM price_targets t WHERE t.listed = 1{where} LIMIT 1", values))

    @property
    def is_narrow(self) -> bool:
        """Whether the filter restricts the tag or the product."""
        return bool(self.tag or self.product)


ALL = TargetFilter()
