"""Serves an application below a path, for a reverse proxy that serves other things beside it. The application itself
knows nothing of the path: its links begin at `/`, and are changed in the answers."""

from __future__ import annotations

import re
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.errors import UsageError

_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_LINK = re.compile(rb'(?<= )(href|action|src)="/(?!/)')
"""A link of a page. What crawls found cannot look like one, because it is escaped."""
_COOKIE_PATH = re.compile(rb"(?i)(?<=path=)/(?=;|$)")


def parse_prefix(text: str) -> str:
    """Returns the path without a slash at its end. Raises UsageError.

    >>> parse_prefix("/crawler/"), parse_prefix("/")
    ('/crawler', '')
    """
    found = text.rstrip("/")
    if found and not _PREFIX.fullmatch(found):
        raise UsageError(f"--prefix {text}: write a path such as /crawler")
    return found


class PathPrefix:
    """An application below the path `prefix`. The proxy may remove the path from the addresses of its requests, or
    not."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix, self._bytes = app, prefix, prefix.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        path = scope.get("path", "")
        if path == self._prefix or path.startswith(f"{self._prefix}/"):
            raw = scope.get("raw_path") or b""
            scope = {
                **scope,
                "path": path[len(self._prefix) :] or "/",
                "raw_path": raw[len(self._bytes) :] or b"/",
            }
        # the links of a compressed page cannot be changed; the proxy may compress it
        headers = [one for one in scope.get("headers", ()) if one[0] != b"accept-encoding"]
        await self._app({**scope, "headers": headers}, receive, _Answer(self._bytes, send).send)


class _Answer:
    """Changes the links of one answer. A page is held until it is complete; other answers are passed on at once."""

    def __init__(self, prefix: bytes, send: Send) -> None:
        self._prefix, self._send = prefix, send
        self._start: dict[str, Any] | None = None
        self._page: list[bytes] = []

    async def send(self, message: Message) -> None:
        """Takes a message of the application."""
        if message["type"] == "http.response.start":
            headers = [(name, self._header(name.lower(), value)) for name, value in message["headers"]]
            message = {**message, "headers": headers}
            if any(
                name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers
            ):
                self._start = dict(message)
                return
        elif self._start is not None:
            self._page.append(message.get("body", b""))
            if message.get("more_body"):
                return
            await self._send_page(self._start)
            return
        await self._send(message)

    async def _send_page(self, start: dict[str, Any]) -> None:
        body = _LINK.sub(rb'\1="' + self._prefix + b"/", b"".join(self._page))
        body = body.replace(b"<body", b'<body data-base="' + self._prefix + b'"', 1)
        length = str(len(body)).encode()
        start["headers"] = [
            (name, length if name.lower() == b"content-length" else value) for name, value in start["headers"]
        ]
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})

    def _header(self, name: bytes, value: bytes) -> bytes:
        if name == b"location" and value.startswith(b"/") and not value.startswith(b"//"):
            return self._prefix + value
        if name == b"link":
            return value.replace(b"</", b"<" + self._prefix + b"/")
        if name == b"set-cookie":
            return _COOKIE_PATH.sub(self._prefix, value)
        return value
