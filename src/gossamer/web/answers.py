"""Encodes answers: JSON, entity tags and problem details."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from starlette.responses import Response

from gossamer.config.redaction import conceal_values, mask
from gossamer.operations.problems import RequestProblem
from gossamer.operations.row_streams import CSV, NDJSON, PARQUET
from gossamer.sinks import jsonl

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
