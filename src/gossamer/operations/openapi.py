"""Makes the OpenAPI 3.1 document from the table of operations."""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer import __version__
from gossamer.operations.inputs import ListEvents
from gossamer.operations.operation import Operation
from gossamer.operations.problems import PROBLEMS
from gossamer.operations.results import CrawlEvent
from gossamer.operations.table import OPERATIONS

TEMPLATE = "#/components/schemas/{name}"
FORMATS: dict[str, dict[str, str]] = {
    "application/x-ndjson": {"type": "string"},
    "text/csv": {"type": "string"},
    "application/vnd.apache.parquet": {"type": "string", "format": "binary"},
}
"""The media types in which all rows can be streamed, each with its schema."""


class FieldProblem(msgspec.Struct):
    """A field that is invalid. `pointer`: a JSON pointer into the input of the operation."""

    pointer: str
    detail: str


class ProblemDetails(msgspec.Struct):
    """RequestProblem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[FieldProblem] = []


def document() -> dict[str, Any]:
    """Returns the OpenAPI document."""
    types = [type_ for one in OPERATIONS for type_ in (one.input, one.result)] + [
        ProblemDetails,
        CrawlEvent,
        ListEvents,
    ]
    schemas, components = msgspec.json.schema_components(dict.fromkeys(types), ref_template=TEMPLATE)
    named = dict(zip(dict.fromkeys(types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(
            one, components[one.input.__name__], named
        )
    paths["/v1/events"] = {"get": _events(components["ListEvents"])}
    for one in OPERATIONS:
        components.pop(one.input.__name__, None)
    components.pop("ListEvents", None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gossamer",
            "version": __version__,
            "description": "Start, steer and read crawls. The documentation is docs/api.md.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": _problem_responses(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation, given: dict[str, Any], named: dict[type, Any]) -> dict[str, Any]:
    fields = {name: schema for name, schema in given["properties"].items() if name not in one.in_path}
    needed = set(given.get("required", ()))
    parameters = [_parameter(name, given["properties"][name], "path", True) for name in one.in_path]
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.about.partition(". ")[0].rstrip("."),
        "description": f"{one.about} Needs the scope `{one.scope}`.",
        "x-scope": one.scope,
    }
    if one.method == "GET":
        parameters += [_parameter(name, schema, "query", name in needed) for name, schema in fields.items()]
    else:
        parameters.append(_parameter("Idempotency-Key", _KEY, "header", False))
        body = {**given, "properties": fields, "required": sorted(needed - set(one.in_path))}
        if not body["required"]:
            del body["required"]
        example = {name: value for name, value in one.example.items() if name in fields}
        found["requestBody"] = {
            "required": bool(needed - set(one.in_path)),
            "content": {"application/json": {"schema": body, "example": example}},
        }
    if one.changes and one.tagged:
        parameters.append(_parameter("If-Match", _TAG, "header", one.needs_tag))
    if parameters:
        found["parameters"] = [_with_example(one, parameter) for parameter in parameters]
    content: dict[str, Any] = {one.media.partition(";")[0]: {"schema": named[one.result]}}
    if one.streams:
        content |= {form: {"schema": schema} for form, schema in FORMATS.items()}
    answer: dict[str, Any] = {"description": "The result", "content": content}
    if one.name == "crawl_start":
        answer["links"] = {
            name: {"operationId": name, "parameters": {"crawl": "$response.body#/crawl"}}
            for name in (
                "crawl_show",
                "crawl_pause",
                "crawl_resume",
                "crawl_stop",
                "crawl_cancel",
                "item_list",
            )
        }
    found["responses"] = {str(one.status): answer} | _problems()
    return found


def _events(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": "events",
        "summary": "Sends the changes of crawls as server-sent events",
        "description": "The data of each event is a `CrawlEvent`. `Last-Event-ID` continues after an event. Needs the scope `read`.",
        "x-scope": "read",
        "parameters": [
            *(_parameter(name, schema, "query", False) for name, schema in given["properties"].items()),
            _parameter(
                "Last-Event-ID", {"type": "string", "pattern": "^[0-9]{1,20}-[0-9]{1,20}$"}, "header", False
            ),
        ],
        "responses": {
            "200": {
                "description": "A stream of events",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        }
        | _problems(),
    }


_KEY = {
    "type": "string",
    "pattern": "^[!-~]{1,200}$",
    "description": "The same request with the same key runs once in 24 hours.",
}
_TAG = {
    "type": "string",
    "description": "The entity tag of the object, or `*`.",
    "pattern": '^(\\*|"[0-9a-f.]{25}")$',
}


def _parameter(name: str, schema: dict[str, Any], place: str, is_needed: bool) -> dict[str, Any]:
    if place == "query" and "anyOf" in schema:  # a parameter is left out, never null
        (schema,) = [one for one in schema["anyOf"] if one.get("type") != "null"]
    found: dict[str, Any] = {"name": name, "in": place, "required": is_needed, "schema": schema}
    if about := schema.get("description"):
        found["description"] = about
    return found


def _with_example(one: Operation, parameter: dict[str, Any]) -> dict[str, Any]:
    name = parameter["name"]
    if name in one.example:
        return {**parameter, "example": one.example[name]}
    return {**parameter, "example": "*"} if name == "If-Match" else parameter


def _problems() -> dict[str, Any]:
    """Returns references to the responses that report problems."""
    statuses = dict.fromkeys(str(one.status) for one in PROBLEMS)
    return {status: {"$ref": f"#/components/responses/{status}"} for status in statuses}


def _problem_responses() -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": TEMPLATE.format(name="ProblemDetails")}}}
    titles: dict[int, list[str]] = {}
    for one in PROBLEMS:
        titles.setdefault(one.status, []).append(f"{one.slug}: {one.title}")
    return {
        str(status): {"description": "; ".join(texts), "content": content} for status, texts in titles.items()
    }


def main() -> None:
    """Prints the document, as docs/openapi.json contains it."""
    print(msgspec.json.format(msgspec.json.encode(document()), indent=1).decode())


if __name__ == "__main__":
    main()
