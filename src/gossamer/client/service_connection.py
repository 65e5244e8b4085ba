"""Sends requests to `gossamer serve`, repeats them if that is safe, and raises its problems as errors."""

from __future__ import annotations

import http.client
import os
import random
import ssl
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from gossamer import __version__
from gossamer.config.redaction import register
from gossamer.errors import ConfigError, GossamerError, InvalidField, ServiceAway, UsageError
from gossamer.operations.operation import Operation
from gossamer.operations.problems import BY_SLUG
from gossamer.operations.table import BY_NAME

READ_BYTES = 1 << 16
FORMATS = {
    ".jsonl": "application/x-ndjson",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
}
FIRST_WAIT_S, MAX_WAIT_S = 0.2, 10.0
_PASSING = (408, 429, 503)
"""Statuses of problems that pass without an action."""
_TROUBLE = (OSError, http.client.HTTPException)


class ServiceConnection:
    """The address of one `serve`. Each request has a connection of its own, so threads may share this object."""

    def __init__(self, url: str, token: str | None, timeout: float, ca_file: str | None) -> None:
        """Raises UsageError if `url` is not the address of a server."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{url!r} is not the address of gossamer serve, such as http://127.0.0.1:8321; with the address of "
                "a store, call gossamer.crawl, run or submit"
            )
        if token is not None:
            register(token)
        if ca_file is not None and parts.scheme == "http":
            raise ConfigError("ca_file is for an https address")
        self._secure = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        self._host, self._port = parts.hostname, parts.port
        self._path, self._token, self._timeout = parts.path.rstrip("/"), token, timeout
        self.url = url

    def call_tagged(
        self, operation: Operation, given: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> tuple[str, bytes]:
        """Calls an operation. Returns the entity tag and the body of the answer. A change is sent with an idempotency key,
        so a repeated request changes nothing twice. Raises GossamerError."""
        sent = dict(headers or {})
        if operation.changes:
            sent["Idempotency-Key"] = f'"{uuid.uuid4().hex}"'
        deadline = time.monotonic() + self._timeout + float(given.get("wait") or 0)
        wait = FIRST_WAIT_S
        while True:
            try:
                response = self._send(operation, given, sent, max(0.1, deadline - time.monotonic()))
                try:
                    return response.headers.get("ETag", ""), response.read()
                finally:
                    response.close()
            except GossamerError as error:
                problem = error.problem or {}
                passes = problem.get("status") in _PASSING or isinstance(error, ServiceAway)
                pause = max(float(problem.get("retry_after", 0)), wait * random.uniform(0.5, 1.0))
                if not passes or time.monotonic() + pause > deadline:
                    raise
            except _TROUBLE as error:
                pause = wait * random.uniform(0.5, 1.0)
                if time.monotonic() + pause > deadline:
                    why = str(error) or type(error).__name__
                    raise ServiceAway(f"{self.url} does not answer: {why}") from error
            time.sleep(pause)
            wait = min(2 * wait, MAX_WAIT_S)

    def lines(self, name: str, given: Mapping[str, Any]) -> Iterator[bytes]:
        """Calls an operation that streams rows. Yields each line. Raises ServiceAway if the stream breaks off."""
        operation = BY_NAME[name]
        response = self._send(operation, given, {"Accept": "application/x-ndjson"}, self._timeout)
        yield from self._split(response)

    def save(self, name: str, given: Mapping[str, Any], file: str | os.PathLike[str]) -> int:
        """Writes the rows that an operation streams to a file, which appears when it is complete. Returns its size in
        bytes. Raises UsageError for an unknown ending, and ServiceAway if the stream breaks off."""
        path = Path(file)
        if path.suffix not in FORMATS:
            raise UsageError(f"{path}: the endings are {', '.join(FORMATS)}")
        response = self._send(BY_NAME[name], given, {"Accept": FORMATS[path.suffix]}, self._timeout)
        part = path.with_name(f"{path.name}.part")
        try:
            with part.open("wb") as out:
                for piece in self._pieces(response):
                    out.write(piece)
                size = out.tell()
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return size

    def events(self, given: Mapping[str, Any], after: str, silence: float) -> Iterator[bytes]:
        """Yields the lines of the stream of events. `silence`: the number of seconds after which a silent connection
        counts as lost."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": after} if after else {})
        query = urlencode({name: value for name, value in given.items() if value is not None})
        yield from self._split(self._request("GET", f"/v1/events?{query}", None, headers, silence))

    def _split(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        rest = b""
        for part in self._pieces(response):
            *lines, rest = (rest + part).split(b"\n")
            yield from lines
        if rest:
            yield rest

    def _pieces(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yields the body of an answer. Raises ServiceAway if it breaks off."""
        try:
            while part := response.read1(READ_BYTES):
                yield part
        except _TROUBLE as error:
            raise ServiceAway(
                f"{self.url}: the answer broke off: {str(error) or type(error).__name__}"
            ) from error
        finally:
            response.close()

    def _send(
        self, operation: Operation, given: Mapping[str, Any], headers: Mapping[str, str], timeout: float
    ) -> http.client.HTTPResponse:
        fields = {name: value for name, value in given.items() if value is not None}
        path = operation.path.format(**{name: _in_path(fields.pop(name)) for name in operation.in_path})
        body, sent = None, dict(headers)
        if operation.method != "GET":
            body, sent["Content-Type"] = msgspec.json.encode(fields), "application/json"
        elif fields:
            plain = {name: _text(value) for name, value in fields.items()}
            path += f"?{urlencode(plain, doseq=True)}"
        return self._request(operation.method, path, body, sent, timeout)

    def _request(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> http.client.HTTPResponse:
        """Sends one request. Returns the answer if it is a success, and otherwise raises the error of its problem."""
        sent = {"User-Agent": f"gossamer/{__version__}", "Connection": "close", **headers}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        if self._secure is not None:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout, context=self._secure
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        try:
            connection.request(method, self._path + path, body, sent)
            response = connection.getresponse()
            if response.status < 400:
                return response
            with response:
                raise _error_of(response)
        except BaseException:
            connection.close()
            raise


def _error_of(response: http.client.HTTPResponse) -> GossamerError:
    """Returns the error that a problem stands for."""
    raw = response.read(READ_BYTES)
    try:
        found = msgspec.json.decode(raw, type=dict[str, Any])
        slug = str(found["type"]).rpartition("/")[2]
    except (msgspec.MsgspecError, KeyError):
        found, slug = {"detail": raw[:200].decode("utf-8", "replace")}, ""
    if (again := response.headers.get("Retry-After", "")).isdecimal():
        found["retry_after"] = int(again)
    kind = BY_SLUG[slug].error if slug in BY_SLUG else ServiceAway if response.status >= 502 else UsageError
    found.setdefault("status", response.status)
    line = str(found.get("detail") or f"status {response.status}")
    error = kind(line)
    if isinstance(error, InvalidField) and found.get("errors"):
        error.pointer = str(found["errors"][0].get("pointer", ""))
    error.problem = found
    return error


def _in_path(value: Any) -> str:
    from urllib.parse import quote

    return quote(str(value), safe="")


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return value
