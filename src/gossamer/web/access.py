"""Decides who calls: every request passes `CallerCheck.caller` before anything else is read of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable

from starlette.requests import Request

from gossamer.operations.context import Caller
from gossamer.operations.problems import RequestProblem
from gossamer.web.tokens import TokenFile

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
MAX_FAILURES = 100
FAILURES_WINDOW_S = 60.0
MAX_ADDRESSES = 10_000


class CallerCheck:
    """The check of requests. Without tokens, only programs of this machine may call."""

    def __init__(self, tokens: TokenFile | None, names: Iterable[str] = ()) -> None:
        """`names`: further names of this server in the header Host, if there are no tokens."""
        self._tokens, self._names = tokens, {*LOCAL_NAMES, *names}
        self._failures: dict[str, deque[float]] = {}

    @property
    def has_tokens(self) -> bool:
        """Whether callers need a token."""
        return self._tokens is not None

    def caller(self, request: Request) -> Caller:
        """Returns the caller of the API. Raises RequestProblem."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self.caller_of(request, token if scheme.lower() == "bearer" else "")

    def caller_of(self, request: Request, token: str) -> Caller:
        """Returns the caller who sent a token. Raises RequestProblem."""
        if self._tokens is None:
            self._refuse_web_pages(request)
            return Caller()
        caller = self._tokens.caller(token.strip()) if token.strip() else None
        if caller is None:
            if token:
                self._refuse_guessing(request.client.host if request.client is not None else "")
            raise RequestProblem(
                "unauthorized",
                "send Authorization: Bearer TOKEN with a token that is valid now",
                headers={"WWW-Authenticate": 'Bearer realm="gossamer"'},
            )
        return caller

    def _refuse_web_pages(self, request: Request) -> None:
        """Refuses requests that a web page made in a browser of this machine: those to another name that leads here,
        and those from another origin."""
        host = request.headers.get("host", "")
        name = host if host.startswith("[") and host.endswith("]") else host.rpartition(":")[0] or host
        if name not in self._names:
            raise RequestProblem("wrong-host", f"this server is not {name!r}: without tokens, call 127.0.0.1")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise RequestProblem("forbidden", "without tokens, web pages of other origins may not call")

    def _refuse_guessing(self, address: str) -> None:
        """Counts a wrong token. Raises RequestProblem if too many came from this address. Valid tokens are accepted
        meanwhile, because others may share the address."""
        if len(self._failures) >= MAX_ADDRESSES:
            self._failures.clear()
        now, failed = time.monotonic(), self._failures.setdefault(address, deque(maxlen=MAX_FAILURES))
        while failed and failed[0] < now - FAILURES_WINDOW_S:
            failed.popleft()
        if len(failed) >= MAX_FAILURES:
            wait = round(failed[0] + FAILURES_WINDOW_S - now) + 1
            raise RequestProblem(
                "too-many", "too many wrong tokens came from this address", headers={"Retry-After": str(wait)}
            )
        failed.append(now)
