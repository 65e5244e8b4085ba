"""Links of pages as rows of an output: which page names which address."""

from __future__ import annotations

from gossamer.model.visit import LINK, LINKS, Edge
from gossamer.sinks.attempts import files
from gossamer.sinks.columns import Columns, struct_columns


def kind(form: str) -> str:
    """Their kind: a database's table has a name, a file takes nothing else."""
    return LINKS if files(form) else LINK


def graph_columns(form: str) -> Columns:
    """The columns of an output of links in this format."""
    return {kind(form): struct_columns(Edge)}
