"""Links of pages as rows of an output (`--graph`): one row per link from a page to a URL."""

from __future__ import annotations

from gossamer.model.visit import LINK, LINKS, Edge
from gossamer.sinks.attempts import files
from gossamer.sinks.columns import Columns, struct_columns


def kind(form: str) -> str:
    """Returns the kind of link rows. For a database, the kind is the name of the table. For a file, the kind
    is LINKS, because the file contains only links."""
    return LINKS if files(form) else LINK


def graph_columns(form: str) -> Columns:
    """Returns the columns of a `--graph` output in this format."""
    return {kind(form): struct_columns(Edge)}
