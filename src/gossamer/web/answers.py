"""Encodes answers: JSON, entity tags, problem details, and streams of rows."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.responses import Response

from gossamer.config.redaction import conceal_values, mask
from gossamer.operations.problems import RequestProblem
from gossamer.sinks import jsonl
from gossamer.sinks.csv import guarded_field

NDJSON, CSV, PARQUET = "application/x-ndjson", "text/csv", "application/vnd.apache.parquet"
Rows = AsyncIterator[list[dict[str, Any]]]
STEERED_FIELDS = {
    "crawl_show": ("state", "reason", "started_at", "weight", "precedence"),
    "host_show": ("fixed_delay", "at_once"),
}
"""The fields that the first half of an entity tag covers, by operation."""
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
DOCUMENT_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
    ),
}


def encode(value: Any) -> bytes:
    """Encodes a result as JSON, without secrets."""
    return jsonl.encode([conceal_values(msgspec.to_builtins(value, builtin_types=()))])[:-1]


def json_answer(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Returns an answer with a JSON body."""
    return Response(body, status, {**HEADERS, **(headers or {})}, "application/json")


def problem_answer(problem: RequestProblem, request_id: str) -> Response:
    """Returns the answer that reports a problem."""
    kind = problem.kind
    fields = [{"pointer": pointer, "detail": mask(text)} for pointer, text in problem.fields]
    value = {
        "type": f"/problems/{kind.slug}",
        "title": kind.title,
        "status": kind.status,
        "detail": mask(" ".join(problem.detail.split()))[:2000],
        "request_id": request_id,
        "errors": fields,
    }
    body = jsonl.encode([value])[:-1]
    return Response(body, kind.status, {**HEADERS, **problem.headers}, "application/problem+json")


def steered_half(operation: str, value: Any) -> str:
    """Returns the half of an entity tag that covers what users change."""
    fields = [getattr(value, name) for name in STEERED_FIELDS[operation]]
    return hashlib.sha256(msgspec.json.encode(fields)).hexdigest()[:12]


def entity_tag(operation: str, value: Any, body: bytes) -> str:
    """Returns the entity tag of an object."""
    return f'"{steered_half(operation, value)}.{hashlib.sha256(body).hexdigest()[:12]}"'


def tag_matches(given: str, half: str) -> bool:
    """Returns whether the header If-Match names the present version."""
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")]
    return "*" in tags or any(tag.partition(".")[0] == half for tag in tags)


def format_of(accept: str) -> str:
    """Returns the media type in which rows are streamed, or '' for a page of JSON."""
    given = [one.partition(";")[0].strip().lower() for one in accept.split(",")]
    return next((one for one in given if one in (NDJSON, CSV, PARQUET)), "")


async def ndjson(rows: Rows) -> AsyncIterator[bytes]:
    """Yields rows as lines of JSON."""
    async for batch in rows:
        yield jsonl.encode(list(batch))


async def names_of(rows: Rows) -> list[str]:
    """Returns the names of all fields, in the order of their first appearance."""
    names: dict[str, None] = {}
    async for batch in rows:
        for row in batch:
            names.update(dict.fromkeys(row))
    return list(names)


async def csv_lines(names: list[str], rows: Rows) -> AsyncIterator[bytes]:
    """Yields rows as CSV. A text that a spreadsheet would take for a formula begins with an apostrophe."""
    yield _csv([[guarded_field(name) for name in names]])
    async for batch in rows:
        yield _csv([[guarded_field(row.get(name)) for name in names] for row in batch])


def _csv(rows: list[list[Any]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode("utf-8", "replace")
