"""Reads the input of an operation from a request: path, query and body, within limits."""

from __future__ import annotations

import asyncio
import hashlib
import re
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from gossamer.config.value_parsers import nearest
from gossamer.operations.inputs import Input
from gossamer.operations.operation import Operation
from gossamer.operations.problems import RequestProblem

MAX_BODY_BYTES = 1 << 20
BODY_TIMEOUT_S = 10.0
MAX_HEADERS = 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PLACE = re.compile(r"(.*?)(?: - at `\$(.*)`)?\Z", re.DOTALL)


def check_headers(request: Request) -> None:
    """Raises RequestProblem if the request has too many headers."""
    if len(request.headers) > MAX_HEADERS:
        raise RequestProblem("too-many-headers", f"a request has at most {MAX_HEADERS} headers")


async def read_body(request: Request) -> bytes:
    """Returns the body. Raises RequestProblem if it is too large or too slow."""
    too_large = RequestProblem("too-large", f"a body has at most {MAX_BODY_BYTES} bytes")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise RequestProblem(
            "slow-request",
            f"the body did not arrive within {BODY_TIMEOUT_S:.0f} s",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise RequestProblem("slow-request", "the connection ended before the body") from None
    return b"".join(parts)


def read_input(operation: Operation, request: Request, body: bytes) -> Input:
    """Returns the input of an operation. Raises RequestProblem with the pointer of each wrong field."""
    found: Input = read_fields(
        operation.input,
        dict(request.path_params),
        _query(operation, request) if operation.method == "GET" else _body(operation, request, body),
        strict=operation.method != "GET",
    )
    return found


def read_fields(kind: type[Input], path: dict[str, Any], given: dict[str, Any], *, strict: bool) -> Any:
    """Converts fields to an input. `strict`: whether numbers must not be written as texts."""
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    _refuse_unknown(given, known - path.keys())
    for name, value in path.items():
        if _CONTROL.search(value):
            raise RequestProblem(
                "invalid-request", f"{name} contains a control character", ((f"/{name}", value),)
            )
    try:
        found = msgspec.convert({**given, **path}, kind, strict=strict)
        if not strict:  # msgspec takes the text `null` for None
            for name, value in given.items():
                if isinstance(value, str) and value.lower() == "null" and getattr(found, name) is None:
                    raise RequestProblem(
                        "invalid-request", f"{name} is left out, not null", ((f"/{name}", value),)
                    )
        return found
    except msgspec.ValidationError as error:
        said = _PLACE.fullmatch(str(error))
        assert said is not None
        pointer = re.sub(r"\.|\[(\d+|\.\.\.)\]", lambda found: f"/{found[1] or ''}", said[2] or "")
        raise RequestProblem("invalid-request", said[1], ((pointer, said[1]),)) from None


def _refuse_unknown(given: dict[str, Any], known: set[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        fields = tuple(
            (f"/{_escaped(name)}", f"there is no field {name[:100]!r}{nearest(name, known)}")
            for name in unknown
        )
        allowed = ", ".join(sorted(known)) or "none"
        raise RequestProblem("invalid-request", f"{fields[0][1]}; the fields are: {allowed}", fields)


def _escaped(name: str) -> str:
    return name[:100].replace("~", "~0").replace("/", "~1")


def _query(operation: Operation, request: Request) -> dict[str, Any]:
    """Returns the fields of the query. A field that may be repeated is a list."""
    found: dict[str, Any] = {}
    several = {
        field.name
        for field in msgspec.structs.fields(operation.input)
        if field.default_factory is not msgspec.NODEFAULT
    }
    for name, value in request.query_params.multi_items():
        if _CONTROL.search(value) or _CONTROL.search(name):
            raise RequestProblem(
                "invalid-request", f"{name!r} contains a control character", ((f"/{name}", name),)
            )
        if name in several:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise RequestProblem(
                "invalid-request", f"{name} is given twice", ((f"/{name}", "is given twice"),)
            )
        else:
            found[name] = value
    return found


def _body(operation: Operation, request: Request, body: bytes) -> dict[str, Any]:
    """Returns the fields of the body. An empty body has no fields."""
    if request.query_params:
        name = next(iter(request.query_params))
        raise RequestProblem(
            "invalid-request", f"the fields of {operation.name} are in the body, not in the query: {name}"
        )
    return read_object(request, body)


def read_object(request: Request, body: bytes) -> dict[str, Any]:
    """Returns the fields of a body. An empty body has no fields. Raises RequestProblem."""
    if not body:
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestProblem("not-json-type", "send the body with Content-Type: application/json")
    try:
        found = msgspec.json.decode(body)
        body.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RequestProblem("not-json", f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise RequestProblem(
            "invalid-request", "the body must be a JSON object", (("", "must be an object"),)
        )
    plain: dict[str, Any] = _whole_numbers(found)
    return plain


def _whole_numbers(value: Any) -> Any:
    """Converts floats without a fraction to integers, because JSON does not distinguish `2.0` from `2`."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: _whole_numbers(part) for name, part in value.items()}
    return [_whole_numbers(part) for part in value] if isinstance(value, list) else value


def digest(request: Request, body: bytes) -> str:
    """Returns a hash of the request, which tells requests with the same idempotency key apart."""
    tag = request.headers.get("if-match")
    head = f"{request.method} {request.url.path}?{request.url.query}\n{tag}\n"
    return hashlib.sha256(head.encode() + body).hexdigest()
