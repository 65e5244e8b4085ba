"""Attempts as rows of an output: the log's lines, each once by its key where the output is a table."""

from __future__ import annotations

from typing import Any

import msgspec
import xxhash

from gossamer.model.visit import LINK, Attempt, Row
from gossamer.sinks.columns import Columns, struct_columns

_KEY = ("ts", "url", "attempt", "outcome", "worker", "rung", "proxy")
_encode = msgspec.json.Encoder().encode
TABLE = "attempt"
RECORDS = ("page", TABLE, LINK)
"""Kinds of rows that are no items: nothing is kept of what they were before."""


def files(form: str) -> bool:
    """Whether rows of one kind have files of their own."""
    return form in ("jsonl", "csv", "parquet", "stdout")


def kind(form: str) -> str:
    """Their kind: a database's table has a name, a file takes nothing else."""
    return "" if files(form) else TABLE


def attempt_columns(form: str) -> Columns:
    """The columns of an output of attempts in this format."""
    return {kind(form): struct_columns(Attempt)}


def attempt_row(data: dict[str, Any], form: str) -> Row:
    """A line of the log as a row; one that stands there twice is one row."""
    key = xxhash.xxh3_64_hexdigest(_encode([data.get(name) for name in _KEY]))
    return Row(kind(form), key, data)
