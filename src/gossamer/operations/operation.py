"""One row of the table of operations."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

from gossamer.operations import inputs


class Operation(Struct, frozen=True, kw_only=True):
    """One operation."""

    name: str
    method: Literal["GET", "POST", "PUT"]
    path: str
    """The path of the route. The other fields of the input are in the query (GET) or in the body."""
    code: str
    """The function, as `module:function` of this package, or of another package: `web.schedules:schedule_list`.
    The client does not import it."""
    input: type[inputs.Input]
    result: type
    scope: Literal["read", "run", "admin"] = "read"
    reach: Literal["crawl", "crawls", "named", "store", "none"] = "crawl"
    """What the operation concerns: the crawl in its path, all crawls that the caller sees, histories and runs that
    the caller sees (their names begin with the prefix of the token), the whole store (the token then needs to have
    no prefix), or no crawl."""
    command: str
    """The command that does the same, or '' if there is none."""
    method_of_client: str
    listed: str = ""
    """The field of the input that the method of the client takes as `*args`, or ''."""
    example: dict[str, Any] = {}
    status: int = 200
    media: str = "application/json"
    """The media type of the answer. The result of an operation with another type is a text."""
    streams: bool = False
    """Whether the rows are also available as NDJSON, CSV and Parquet."""
    tagged: str = ""
    """The name of the operation whose entity tag `If-Match` is compared with, or ''."""
    needs_tag: bool = False

    @property
    def changes(self) -> bool:
        """Whether the operation changes anything."""
        return self.method != "GET"

    @property
    def call(self) -> Callable[..., Awaitable[Any]]:
        """The function of the operation."""
        module, _, name = self.code.partition(":")
        path = module if "." in module else f"operations.{module}"
        found: Callable[..., Awaitable[Any]] = getattr(importlib.import_module(f"gossamer.{path}"), name)
        return found

    @property
    def about(self) -> str:
        """The description of the operation, which is the docstring of its function."""
        return " ".join((inspect.getdoc(self.call) or "").split())

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields of the input that are in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))
