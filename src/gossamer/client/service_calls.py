"""Makes the methods of `gossamer.Client` from the table of operations. An operation decides the parameters of its method,
and what the method returns."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

import msgspec

from gossamer.client.service_connection import ServiceConnection
from gossamer.operations.operation import Operation
from gossamer.operations.results import RowPage
from gossamer.operations.table import BY_NAME
from gossamer.sinks import jsonl

BATCH_ROWS = 500
PAGE_ENTRIES, PAGE_ROWS = 200, 1000
"""Entries of a page. The server reads a table anew for each page of rows, so these pages are large."""


class ServiceCalls:
    """Calls operations over a connection."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def _call(self, operation: Operation, given: dict[str, Any]) -> Any:
        """Calls an operation. Returns what its method returns (`returned`)."""
        kind, about = returned(operation)
        if kind == "rows":
            return self._rows(operation, given)
        if kind == "pages":
            return self._pages(operation, given)
        headers: dict[str, str] = {}
        if operation.needs_tag:  # so that a change by somebody else in between is noticed
            shown = BY_NAME[operation.tagged]
            tag, _ = self._connection.call_tagged(shown, {name: given[name] for name in shown.in_path})
            headers = {"If-Match": tag}
        _, body = self._connection.call_tagged(operation, given, headers)
        if kind == "text":
            return body.decode()
        result: Any = msgspec.json.decode(body, type=operation.result)
        return getattr(result, about) if kind == "field" else result

    def _pages(self, operation: Operation, given: dict[str, Any]) -> Iterator[Any]:
        size = PAGE_ROWS if operation.result is RowPage else PAGE_ENTRIES
        cursor: str | None = None
        while True:
            asked = {**given, "limit": size, "cursor": cursor}
            _, body = self._connection.call_tagged(operation, asked)
            found: Any = msgspec.json.decode(body, type=operation.result)
            yield from found.items
            if (cursor := found.next) is None:
                return

    def _rows(self, operation: Operation, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for line in self._connection.lines(operation.name, given):
            if line:
                yield jsonl.decode(line)


def returned(operation: Operation) -> tuple[str, str]:
    """Returns what the method of an operation returns: `rows` of a stream, the entries of all `pages`, a `text`, one
    `field` of the result (with its name), or the whole `result`."""
    if operation.streams:
        return "rows", ""
    fields = {field.name: field for field in msgspec.structs.fields(operation.input)}
    if "cursor" in fields:
        return "pages", ""
    if operation.media != "application/json":
        return "text", ""
    names = [field.name for field in msgspec.structs.fields(operation.result)]
    only = [name for name in names if name not in ("next", "note")]
    if len(only) == 1 and typing.get_origin(typing.get_type_hints(operation.result)[only[0]]) in (list, dict):
        return "field", only[0]
    return "result", ""


def parameters(operation: Operation) -> list[inspect.Parameter]:
    """Returns the parameters of the method of an operation, without `self`. What the operation needs comes first, and the
    rest is given by name. The annotation of a parameter is the type of its field."""
    pages = returned(operation)[0] in ("rows", "pages")
    needed, listed, named = list[inspect.Parameter](), list[inspect.Parameter](), list[inspect.Parameter]()
    for field in msgspec.structs.fields(operation.input):
        if pages and field.name in ("limit", "cursor"):
            continue
        if field.name == operation.listed:
            listed.append(
                inspect.Parameter(field.name, inspect.Parameter.VAR_POSITIONAL, annotation=field.type)
            )
        elif field.required:
            anywhere = inspect.Parameter.POSITIONAL_OR_KEYWORD
            needed.append(inspect.Parameter(field.name, anywhere, annotation=field.type))
        else:
            default = field.default
            if default is msgspec.NODEFAULT:  # a list or a dictionary
                default = () if field.default_factory is list else {}
            by_name = inspect.Parameter.KEYWORD_ONLY
            named.append(inspect.Parameter(field.name, by_name, default=default, annotation=field.type))
    return [*needed, *listed, *named]


def method_of(operation: Operation) -> Callable[..., Any]:
    """Returns the method of `Client` that calls an operation."""
    signature = inspect.Signature(parameters(operation))

    def method(self: ServiceCalls, /, *args: Any, **options: Any) -> Any:
        try:
            bound = signature.bind(*args, **options)
        except TypeError as error:
            raise TypeError(f"{operation.method_of_client}(): {error}") from None
        bound.apply_defaults()
        given = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in bound.arguments.items()
        }
        return self._call(operation, given)

    return _named(method, operation, signature)


def async_method_of(operation: Operation) -> Callable[..., Any]:
    """Returns the method of `AsyncClient` that calls an operation. Calls run in a thread."""
    call, signature = method_of(operation), inspect.Signature(parameters(operation))

    async def awaited(self: Any, /, *args: Any, **options: Any) -> Any:
        return await asyncio.to_thread(call, self._client, *args, **options)

    async def iterated(self: Any, /, *args: Any, **options: Any) -> AsyncIterator[Any]:
        async for one in from_thread(call(self._client, *args, **options), BATCH_ROWS):
            yield one

    is_iterated = returned(operation)[0] in ("rows", "pages")
    return _named(iterated if is_iterated else awaited, operation, signature)


async def from_thread(found: Iterator[Any], size: int) -> AsyncIterator[Any]:
    """Yields what an iterator yields. Threads read up to `size` elements at a time."""
    while batch := await asyncio.to_thread(lambda: list(islice(found, size))):
        for one in batch:
            yield one


def _named(method: Any, operation: Operation, signature: inspect.Signature) -> Callable[..., Any]:
    method.__name__ = operation.method_of_client
    same = f", like the command `gossamer {operation.command}`" if operation.command else ""
    method.__doc__ = f"Calls the operation `{operation.name}` ({operation.method} {operation.path}){same}."
    mine = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = signature.replace(parameters=[mine, *signature.parameters.values()])
    found: Callable[..., Any] = method
    return found
