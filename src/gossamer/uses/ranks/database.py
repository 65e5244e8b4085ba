"""The database of the rank history, which is a SQLite file or a PostgreSQL database."""

from __future__ import annotations

from gossamer.uses.prices.database import Database
from gossamer.uses.ranks.schema import INDEXES, TABLES, VERSION


class RankDatabase(Database):
    """A connection to the database of the rank history. The base class `uses.prices.database.Database`
    describes the methods."""

    tables, indexes, version, kind = TABLES, INDEXES, VERSION, "rank"
