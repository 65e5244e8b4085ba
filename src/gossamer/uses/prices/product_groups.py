"""Groups the targets that offer the same product. Targets offer the same product if they have the same
product id in the target list, or if they were matched (`price_matches`). The name of a group is its first
product id, or its first key if the group has no product id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable

from gossamer.uses.prices.database import Database


class Groups:
    """A union-find structure: each key is in one set, and two sets can be merged."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, key: str) -> str:
        """Returns the representative of the set that contains `key`."""
        root = key
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while (parent := self._parents.get(key, key)) != root:
            self._parents[key], key = root, parent
        return root

    def join(self, one: str, other: str) -> None:
        """Merges the set that contains `one` with the set that contains `other`."""
        one, other = self.find(one), self.find(other)
        if one != other:
            self._parents[max(one, other)] = min(one, other)


def read_group(database: Database, product: str) -> list[str]:
    """Returns the listed targets of a product. `product`: a product id, or the key of any of its targets."""
    rows = database.rows("SELECT key FROM price_targets WHERE product = ? AND listed = 1", [product])
    waiting = [key for (key,) in rows] if product else []
    if not waiting:
        waiting = [key for (key,) in database.rows("SELECT key FROM price_targets WHERE key = ?", [product])]
    if not database.rows("SELECT 1 FROM price_matches WHERE decision = 'same' LIMIT 1"):
        return sorted(waiting) if len(waiting) > 1 or rows else _siblings(database, waiting)
    found = set(waiting)
    while waiting:
        key = waiting.pop()
        near = database.rows(
            "SELECT other FROM price_matches WHERE one = ? AND decision = 'same' UNION "
            "SELECT one FROM price_matches WHERE other = ? AND decision = 'same'",
            [key, key],
        )
        for other in (*(name for (name,) in near), *_siblings(database, [key])):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return [
        key
        for key, listed in database.rows_in(
            "SELECT key, listed FROM price_targets WHERE key IN (?) ORDER BY key", found, size=20
        )
        if listed
    ]


def _siblings(database: Database, keys: Iterable[str]) -> list[str]:
    """Returns the listed targets that have the same product ids as the given targets, and the given targets
    themselves."""
    found = list(keys)
    for key in list(found):
        found += [
            other
            for (other,) in database.rows(
                "SELECT key FROM price_targets WHERE product <> '' AND listed = 1 AND product = "
                "(SELECT product FROM price_targets WHERE key = ?) AND key <> ?",
                [key, key],
            )
        ]
    return sorted(found)


def list_groups(
    database: Database, *, shop: str = "", keys: Container[str] | None = None, limit: int
) -> list[str]:
    """Returns the names of the groups that have several listed targets, largest first. `shop`: only groups
    with a target of this shop. `keys`: only groups that contain at least one of these targets."""
    pairs = database.rows("SELECT one, other FROM price_matches WHERE decision = 'same'")
    if not pairs and keys is None:
        only = "AND product IN (SELECT product FROM price_targets WHERE shop = ?) " if shop else ""
        rows = database.rows(
            f"SELECT product FROM price_targets WHERE product <> '' {only}GROUP BY product HAVING count(*) > 1 "
            "ORDER BY count(*) DESC, product LIMIT ?",
            [*([shop] if shop else []), limit],
        )
        return [product for (product,) in rows]
    several = [
        (-len(group), name)
        for name, group in _read_members(database, pairs).items()
        if (not shop or any(at == shop for _, at in group))
        and (keys is None or any(key in keys for key, _ in group))
    ]
    return [name for _, name in sorted(several)[:limit]]


def read_groups(database: Database) -> dict[str, str]:
    """Maps the key of each listed target that has a group with several listed targets to the group's name."""
    pairs = database.rows("SELECT one, other FROM price_matches WHERE decision = 'same'")
    return {key: name for name, group in _read_members(database, pairs).items() for key, _ in group}


def _read_members(database: Database, pairs: Iterable[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Maps the name of each group with several listed targets to its targets. Each target is a pair of a key
    and a shop."""
    targets = database.rows("SELECT key, product, shop FROM price_targets WHERE listed = 1")
    groups = group_targets([(key, product) for key, product, _ in targets], pairs)
    members: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for target in targets:
        members[groups.find(target[0])].append(target)
    return {
        min((product for _, product, _ in group if product), default=min(group)[0]): [
            (key, shop) for key, _, shop in group
        ]
        for group in members.values()
        if len(group) > 1
    }


def group_targets(targets: Iterable[tuple[str, str]], pairs: Iterable[tuple[str, str]]) -> Groups:
    """Returns the groups of targets, after joining matched pairs. `targets`: pairs of a key and a product
    id."""
    groups = Groups()
    first: dict[str, str] = {}
    for key, product in targets:
        if product:
            groups.join(key, first.setdefault(product, key))
    for one, other in pairs:
        groups.join(one, other)
    return groups
