"""The database of the rank history: a SQLite file, or PostgreSQL."""

from __future__ import annotations

from gossamer.uses.prices.database import Database
from gossamer.uses.ranks.schema import INDEXES, TABLES, VERSION


class RankDatabase(Database):
    """A connection with the tables of the rank history. See `uses.prices.database.Database`."""

    tables, indexes, version, kind = TABLES, INDEXES, VERSION, "rank"
