"""Attempts as rows of an output (`--attempts`). Each row is a line of the attempts log. In a table, each line
occurs only once, because its key is unique."""

from __future__ import annotations

from typing import Any

import msgspec
import xxhash

from gossamer.model.visit import LINK, Attempt, Row
from gossamer.sinks.columns import Columns, struct_columns

_KEY = ("ts", "url", "attempt", "outcome", "worker", "rung", "proxy")
_encode = msgspec.json.Encoder().encode
TABLE, SKIPPED = "attempt", "skipped"
RECORDS = ("page", TABLE, SKIPPED, LINK)
"""The kinds of rows that are not items: page records, attempts and links. The stores keep no history of page
records, attempts and links."""


def files(form: str) -> bool:
    """Returns whether an output in this format has a separate file for each kind of row."""
    return form in ("jsonl", "csv", "parquet", "stdout")


def kind(form: str) -> str:
    """Returns the kind of attempt rows. For a database, the kind is the name of the table. For a file, the
    kind is "", because the file contains only attempts."""
    return "" if files(form) else TABLE


def attempt_columns(form: str) -> Columns:
    """Returns the columns of an `--attempts` output in this format."""
    return {kind(form): struct_columns(Attempt)}


def attempt_row(data: dict[str, Any], form: str) -> Row:
    """Converts a line of the log to a row. The key is a hash of the line, so a repeated line gets the same
    key."""
    key = xxhash.xxh3_64_hexdigest(_encode([data.get(name) for name in _KEY]))
    return Row(kind(form), key, data)
