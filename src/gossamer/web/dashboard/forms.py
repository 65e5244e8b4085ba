"""Forms for the inputs of operations: their fields from the input's struct, and the input from a sent form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from gossamer.operations.inputs import Input
from gossamer.operations.operation import Operation
from gossamer.operations.problems import RequestProblem
from gossamer.web.request_input import read_fields

HIDDEN = frozenset({"confirm", "cursor", "dry_run", "wait"})
MAX_FIELDS = 200


class FormField(NamedTuple):
    """A field of a form. `kind`: text, number, choice, yes or lines."""

    name: str
    kind: str
    help: str
    required: bool
    choices: tuple[str, ...] = ()
    value: Any = ""
    hint: str = ""
    """The default."""

    @property
    def label(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")


def form_fields(operation: Operation, given: Mapping[str, Any] | None = None) -> list[FormField]:
    """Returns the fields of an operation's form, without those in its path. `given`: the values to show.

    >>> from gossamer.operations.table import BY_NAME
    >>> [(one.name, one.kind) for one in form_fields(BY_NAME["dead_list"])]
    [('host', 'text'), ('reason', 'choice'), ('since', 'text'), ('limit', 'number')]
    """
    schema = msgspec.json.schema(operation.input)
    about = schema["$defs"][operation.input.__name__]
    found = []
    for name, one in about["properties"].items():
        if name not in HIDDEN and name not in operation.in_path:
            kind, choices = _kind(one)
            value = (given or {}).get(name, "")
            text = one.get("description") or next(
                (part["description"] for part in one.get("anyOf", ()) if "description" in part), ""
            )
            hint = str(one.get("default") or "") if kind in ("text", "number") else ""
            found.append(FormField(name, kind, text, name in about.get("required", ()), choices, value, hint))
    return found


def _kind(schema: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    parts = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    one = parts[0] if len(parts) == 1 else {}
    if "enum" in one:
        return "choice", tuple(str(value) for value in one["enum"] if value is not None)
    kinds = {"boolean": "yes", "integer": "number", "number": "number", "array": "lines"}
    return kinds.get(str(one.get("type")), "text"), ()


def read_form(body: bytes) -> dict[str, list[str]]:
    """Returns the fields of a sent form. Raises RequestProblem."""
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=MAX_FIELDS
        )
    except ValueError as error:
        raise RequestProblem("invalid-request", f"the form cannot be read: {error}") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def read_operation(operation: Operation, path: dict[str, str], given: Mapping[str, Iterable[str]]) -> Input:
    """Returns the input of an operation from the texts of a form or a query. Empty texts are left out. Raises
    RequestProblem, with the pointer of each wrong field."""
    lists = {field.name for field in form_fields(operation) if field.kind == "lines"}
    values: dict[str, Any] = {}
    for name, texts in given.items():
        lines = [line.strip() for text in texts for line in (text.splitlines() if name in lists else [text])]
        if lines := [line for line in lines if line]:
            values[name] = lines if name in lists else lines[-1]
    found: Input = read_fields(operation.input, dict(path), values, strict=False)
    return found


def plain(given: Input) -> dict[str, Any]:
    """Returns the fields of an input that differ from their defaults."""
    return {
        field.name: value
        for field in msgspec.structs.fields(given)
        if (value := getattr(given, field.name)) not in (field.default, None, [])
    }
