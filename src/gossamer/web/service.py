"""The ASGI application: from a request to the answer of an operation. Every request, also to an unknown address,
passes the same checks in the same order: headers, caller, route, scope, input."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from gossamer.config.redaction import mask
from gossamer.config.settings import Settings
from gossamer.errors import GossamerError
from gossamer.operations.context import Caller, OperationContext
from gossamer.operations.inputs import Input, ListEvents
from gossamer.operations.openapi import document
from gossamer.operations.operation import Operation
from gossamer.operations.problems import BY_SLUG, RequestProblem, problem_of
from gossamer.operations.results import AddedWebhook
from gossamer.operations.row_streams import row_stream
from gossamer.operations.table import BY_NAME, OPERATIONS
from gossamer.state.action_log import DONE, ActionLog, action_of
from gossamer.state.kept_answers import KeptAnswers
from gossamer.store.store import Store
from gossamer.web import answers
from gossamer.web.access import CallerCheck
from gossamer.web.dashboard import forms
from gossamer.web.dashboard.site import Dashboard
from gossamer.web.doors.door import Door, RepeatedRequests
from gossamer.web.doors.firecrawl import FirecrawlDoor
from gossamer.web.doors.scrapyd import ScrapydDoor
from gossamer.web.event_hub import EventHub
from gossamer.web.request_input import check_headers, digest, read_body, read_fields, read_input
from gossamer.web.webhook_sender import WebhookSender

EVENTS, OPENAPI, HEALTH, PROBLEM = "/v1/events", "/openapi.json", "/healthz", "/problems/{slug}"
_OF_PROGRAMS = ("/v1/", OPENAPI, "/problems/")
"""The beginnings of the addresses that programs call. All other addresses belong to the dashboard."""
_EVENT_NUMBER = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
MAX_KEPT_BYTES = 1 << 20
"""Longer answers are not kept in the store. Only `scrape` has them, and it changes nothing."""
_KEY = re.compile(r"[!-~]{1,200}")


class KeptAnswer(msgspec.Struct, array_like=True):
    """The answer to a request with an idempotency key."""

    request: str
    status: int
    headers: dict[str, str]
    body: bytes


class Service:
    """One server. It contains no state of crawls, so several may serve one store."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        access: CallerCheck,
        *,
        sites: Path | None = None,
        words: Sequence[str] = (),
        crawls_at_once: int = 8,
    ) -> None:
        """See `OperationContext`."""
        self._store, self._settings, self._access = store, settings, access
        self._sites, self._words, self._crawls_at_once = sites, words, crawls_at_once
        self._kept, self._actions = KeptAnswers(store), ActionLog(store)
        self.hub = EventHub(store, settings)
        self._dashboard = Dashboard(self._run_shown, access, self.hub)
        self.sender = WebhookSender(store, settings, self.hub)
        repeated = RepeatedRequests(self._kept)
        self._doors: tuple[Door, ...] = (
            FirecrawlDoor(access, self._run_of_door, repeated),
            ScrapydDoor(access, self._run_of_door, repeated),
        )
        self._routes: dict[str, tuple[re.Pattern[str], dict[str, Any]]] = {}
        for path in dict.fromkeys([*(one.path for one in OPERATIONS), EVENTS, OPENAPI, PROBLEM]):
            methods: dict[str, Any] = {one.method: one for one in OPERATIONS if one.path == path}
            self._routes[path] = (compile_path(path)[0], methods or {"GET": path})
        self._openapi = answers.encode(document())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request. The message of an unexpected error goes to stderr, not to the caller."""
        if scope["type"] != "http":
            return
        request, number, began = Request(scope, receive), secrets.token_hex(8), [False]

        async def sent(message: Any) -> None:
            began[0] = began[0] or message["type"] == "http.response.start"
            await send(message)

        door = next((one for one in self._doors if one.has(request.url.path)), None)
        report = answers.problem_answer if door is None else door.problem_answer
        try:
            if door is not None:
                check_headers(request)
            answer = await (self._answer(request) if door is None else door.answer(request))
            await answer(scope, receive, sent)
        except RequestProblem as problem:
            await _report(report(problem, number), began[0], scope, receive, send)
        except GossamerError as error:
            await _report(report(problem_of(error), number), began[0], scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the last handler
            text = mask("".join(traceback.format_exception(error)))
            print(f"gossamer: a bug, request {number}: {text}", file=sys.stderr)
            bug = RequestProblem("bug", "please report the lines that serve printed for this request")
            await _report(report(bug, number), began[0], scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.url.path == HEALTH and request.method == "GET":
            return PlainTextResponse("ok\n", headers=answers.HEADERS)
        check_headers(request)
        if not request.url.path.startswith(_OF_PROGRAMS):
            return await self._dashboard.answer(request)
        caller = self._access.caller(request)
        path, found = self._found(request)
        if isinstance(found, Operation):
            return await self._operation(found, request, caller)
        if path == EVENTS:
            return self._events(request, caller)
        if path == OPENAPI:
            return answers.json_answer(self._openapi)
        kind = BY_SLUG.get(request.path_params["slug"])
        if kind is None:
            raise RequestProblem("not-found", "there is no such problem: see docs/api.md")
        return answers.json_answer(answers.encode({"title": kind.title, "status": kind.status}))

    def _found(self, request: Request) -> tuple[str, Any]:
        """Returns the path of the route, and the operation or the path. Raises RequestProblem."""
        for path, (pattern, methods) in self._routes.items():
            found = pattern.match(request.scope["path"])
            if found is None:
                continue
            if request.method not in methods:
                allowed = ", ".join(sorted(methods))
                raise RequestProblem(
                    "method-not-allowed", f"the methods are: {allowed}", headers={"Allow": allowed}
                )
            request.scope["path_params"] = found.groupdict()
            return path, methods[request.method]
        raise RequestProblem("not-found", "there is nothing at this address: see /openapi.json")

    def _check_scope(self, operation: Operation, caller: Caller) -> None:
        """Raises RequestProblem if the caller may not run an operation."""
        if not caller.may(operation.scope):
            raise RequestProblem(
                "forbidden",
                f"{operation.name} needs the scope {operation.scope}, the token has {caller.scope}",
            )
        if caller.prefix and operation.reach == "store":
            raise RequestProblem(
                "forbidden",
                f"{operation.name} concerns all crawls, the token only those of {caller.prefix!r}",
            )

    async def _run_shown(self, operation: Operation, caller: Caller, given: Input, tag: str) -> Any:
        """Runs an operation for the dashboard. `tag`: the entity tag of the shown object, or ''."""
        async with self._recorded(operation, caller, given, "dashboard"):
            self._check_scope(operation, caller)
            context = self._context(caller, "")
            if operation.tagged and tag:
                await self._check_tag(operation, tag, context, given)
            return await operation.call(context, given)

    @contextlib.asynccontextmanager
    async def _recorded(
        self, operation: Operation, caller: Caller, given: Input, by: str
    ) -> AsyncIterator[None]:
        """Records an operation with its outcome in the log of actions, if it changes something."""
        if not operation.changes or getattr(given, "dry_run", False):
            yield
            return
        outcome, detail = "bug", ""
        try:
            yield
            outcome = DONE
        except RequestProblem as problem:
            outcome, detail = problem.kind.slug, problem.detail
            raise
        except GossamerError as error:
            outcome, detail = problem_of(error).kind.slug, str(error)
            raise
        finally:
            await self._record(operation, caller, forms.plain(given), by, outcome, detail)

    async def _record(
        self, operation: Operation, caller: Caller, given: dict[str, Any], by: str, outcome: str, detail: str
    ) -> None:
        """Appends an action to the log."""
        action = action_of(
            who=caller.name or caller.token,
            by=by,
            operation=operation.name,
            given=given,
            token=caller.token,
            outcome=outcome,
            detail=detail,
        )
        try:
            await self._actions.add(action)
        except GossamerError as error:  # the operation itself has reported the outage
            print(f"gossamer: an action is not in the log: {error}", file=sys.stderr)

    async def _run_of_door(
        self, name: str, fields: Mapping[str, Any], caller: Caller, key: str = ""
    ) -> tuple[Any, OperationContext]:
        """Runs an operation for a door (`web.doors.door.Operations`)."""
        operation, context = BY_NAME[name], self._context(caller, key)
        self._check_scope(operation, caller)
        return await operation.call(
            context, read_fields(operation.input, {}, dict(fields), strict=True)
        ), context

    async def _operation(self, operation: Operation, request: Request, caller: Caller) -> Response:
        try:
            self._check_scope(operation, caller)
        except RequestProblem as problem:
            if operation.changes:
                asked = dict(request.path_params)
                await self._record(operation, caller, asked, "api", problem.kind.slug, problem.detail)
            raise
        body = await read_body(request)
        given = read_input(operation, request, body)
        given_key = request.headers.get("idempotency-key")
        if operation.changes and given_key is not None and not _KEY.fullmatch(given_key):
            raise RequestProblem("invalid-request", "an idempotency key has 1 to 200 visible characters")
        key = given_key or ""
        context = self._context(caller, key)
        if not operation.changes or not key:
            return await self._run(operation, request, context, given)
        return await self._once(
            f"{caller.token}\n{key}",
            digest(request, body),
            lambda: self._run(operation, request, context, given),
            has_secret=operation.result is AddedWebhook,
        )

    def _context(self, caller: Caller, key: str) -> OperationContext:
        return OperationContext(
            self._store,
            self._settings,
            caller,
            sites=self._sites,
            words=self._words,
            key=key,
            crawls_at_once=self._crawls_at_once,
            until_ended=self.hub.until_ended,
        )

    async def _run(
        self, operation: Operation, request: Request, context: OperationContext, given: Input
    ) -> Response:
        if operation.changes and operation.tagged:
            await self._check_tag(operation, request.headers.get("if-match"), context, given)
        form = answers.format_of(request.headers.get("accept", "")) if operation.streams else ""
        if form:
            return await _stream(context, given, form)
        async with self._recorded(operation, context.caller, given, "api"):
            result = await operation.call(context, given)
        if operation.media != "application/json":
            headers = answers.DOCUMENT_HEADERS if operation.media.startswith("text/html") else answers.HEADERS
            return Response(mask(result), 200, headers, operation.media)
        body = answers.encode(result)
        headers = {}
        if operation.tagged == operation.name:
            tag = headers["ETag"] = answers.entity_tag(operation.name, result, body)
            if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
                return Response(None, 304, {**answers.HEADERS, "ETag": tag})
        if operation.name == "crawl_start":
            headers["Location"] = f"/v1/crawls/{result.crawl}"
            headers["Retry-After"] = "1"
        if (after := getattr(result, "next", None)) is not None and operation.method == "GET":
            following = request.url.include_query_params(cursor=after)
            headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
        return answers.json_answer(body, operation.status, headers)

    async def _check_tag(
        self, operation: Operation, tag: str | None, context: OperationContext, given: Input
    ) -> None:
        """Raises RequestProblem if the caller has seen another version of the object. `tag`: the header If-Match."""
        if tag is None:
            if operation.needs_tag:
                raise RequestProblem(
                    "no-entity-tag", "send If-Match with the ETag of the object, or * for any version"
                )
            return
        shown = BY_NAME[operation.tagged]
        fields = {name: getattr(given, name) for name in shown.in_path}
        now = await shown.call(context, msgspec.convert(fields, shown.input))
        if not answers.tag_matches(tag, answers.steered_half(shown.name, now)):
            raise RequestProblem("changed-meanwhile", "another request changed it since: read it again")

    async def _once(
        self, owner: str, request: str, run: Callable[[], Awaitable[Response]], *, has_secret: bool
    ) -> Response:
        """Runs a request once. Repeats the answer to an earlier request with the same idempotency key, except a
        secret."""
        key = hashlib.sha256(owner.encode()).hexdigest()
        how, value = await self._kept.take(key, request)
        other = RequestProblem("other-request", "this idempotency key was used for another request")
        if how == "kept":
            kept = msgspec.msgpack.decode(value, type=KeptAnswer)
            if kept.request != request:
                raise other
            return Response(kept.body, kept.status, {**kept.headers, "Idempotency-Replayed": "true"})
        if how == "running":
            if value.decode() != request:
                raise other
            raise RequestProblem(
                "same-request-running", "the first request still runs", headers={"Retry-After": "1"}
            )
        try:
            async with self._kept.renewed(key):
                answer = await run()
        except BaseException:
            await self._kept.release(key)
            raise
        kept_headers = {k: v for k, v in answer.headers.items() if k != "content-length"}
        body = bytes(answer.body)
        if has_secret:
            shown = msgspec.json.decode(body, type=AddedWebhook)
            body = answers.encode(msgspec.structs.replace(shown, secret=None))
        kept = KeptAnswer(request, answer.status_code, kept_headers, body)
        if len(body) <= MAX_KEPT_BYTES:
            await self._kept.keep(key, msgspec.msgpack.encode(kept))
        else:
            await self._kept.release(key)
        return answer

    def _events(self, request: Request, caller: Caller) -> Response:
        given = read_fields(ListEvents, {}, dict(request.query_params), strict=False)
        after = request.headers.get("last-event-id", "")
        if after and not _EVENT_NUMBER.fullmatch(after):
            raise RequestProblem("invalid-request", "Last-Event-ID is not the id of an event")
        return StreamingResponse(
            self.hub.watch(caller, given.crawl, after), 200, answers.HEADERS, "text/event-stream"
        )


async def _stream(context: OperationContext, given: Any, form: str) -> Response:
    """Streams rows. The first batch is read before the answer begins, so that errors are problem details."""
    lines = row_stream(context, msgspec.structs.replace(given, limit=1), form)
    first = await anext(lines, b"")
    return StreamingResponse(_chained(first, lines), 200, answers.HEADERS, form)


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part


async def _report(answer: Response, began: bool, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends a problem. If the answer has begun, the connection is cut off, so that the caller notices."""
    if began:
        raise ConnectionAbortedError("the answer broke off")
    await answer(scope, receive, send)
