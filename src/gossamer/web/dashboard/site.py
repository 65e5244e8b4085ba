"""Answers the requests of a browser: pages, sent forms, log-in, static files, and live events."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import jinja2
import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from gossamer.config.redaction import conceal_values
from gossamer.errors import GossamerError
from gossamer.operations.context import Caller
from gossamer.operations.inputs import Input
from gossamer.operations.operation import Operation
from gossamer.operations.problems import RequestProblem, problem_of
from gossamer.operations.table import BY_NAME
from gossamer.parsing.still_page import POLICY, still_page
from gossamer.uses.charts import share_bar
from gossamer.uses.html_report import STYLE
from gossamer.web.access import CallerCheck
from gossamer.web.dashboard import forms, page_charts, values
from gossamer.web.dashboard.pages import (
    ANSWERS,
    BESIDE,
    CONFIRMED,
    TEMPLATES,
    UNDONE_BY,
    FoundPage,
    Pages,
    filled,
    page_path,
    title_of,
)
from gossamer.web.event_hub import EventHub
from gossamer.web.request_input import read_body

FOLDER = Path(__file__).parent
TOKEN, SAID, UNDO, THEME = "gossamer_token", "gossamer_said", "gossamer_undo", "gossamer_theme"
"""Cookies: the token of the caller, what the last operation said, the operation that undoes it, and `dark` or `light`."""
BODY = "/body"
"""The end of the address of a stored page, behind that of the page that shows it."""
STATIC_AGE_S = 31_536_000
MIN_COMPRESSED_BYTES = 1000
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
}
BODY_HEADERS = {
    **HEADERS,
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'self'; sandbox",
}
"""The headers of a stored page. It has an origin of its own, in which nothing runs or loads."""
Run = Callable[[Operation, Caller, Input, str], Awaitable[Any]]
"""Runs an operation: the operation, the caller, the input, and the entity tag that the caller has seen or ''."""


class Dashboard:
    """The pages of one server. It is a client of the operations."""

    def __init__(self, run: Run, access: CallerCheck, hub: EventHub) -> None:
        self._run, self._access, self._hub, self._pages = run, access, hub, Pages()
        self._static = {path.name: path.read_bytes() for path in (FOLDER / "static").iterdir()}
        self._static["page_style.css"] = STYLE.encode()
        self._jinja = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self._jinja.filters |= {
            "number": values.number,
            "size": values.size,
            "duration": values.duration,
            "moment": values.moment,
            "web_link": values.web_link,
            "text_of": values.text_of,
            "columns": values.columns,
            "path_of": lambda one, name: filled(page_path(one), {one.in_path[-1]: str(name)}),
            "part": lambda text: quote(str(text), safe=":"),
            "pretty": values.pretty,
            "report_body": values.report_body,
            "share_bar": share_bar,
            "activity_charts": page_charts.activity_charts,
            "list_chart": page_charts.list_chart,
        }
        self._jinja.globals |= {
            "static": self._static_path,
            "title_of": title_of,
            "form_fields": forms.form_fields,
        }

    async def answer(self, request: Request) -> Response:
        """Answers a request with a page, also if it fails. Long answers are compressed."""
        answer = await self._answer(request)
        return answer if isinstance(answer, StreamingResponse) else _compressed(answer, request)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith("/static/") and request.method == "GET":
            return self._file(path.removeprefix("/static/"))
        token = request.cookies.get(TOKEN, "")
        try:
            if path == "/login":
                return await self._login(request)
            if request.method not in ("GET", "POST"):
                raise RequestProblem(
                    "method-not-allowed", "the methods are: GET, POST", headers={"Allow": "GET, POST"}
                )
            if request.method == "POST":
                _refuse_other_origin(request)
            if path == "/logout" and request.method == "POST":
                answer: Response = RedirectResponse("/login", 303, HEADERS)
                answer.delete_cookie(TOKEN)
                return answer
            try:
                caller = self._access.caller_of(request, token)
            except RequestProblem as problem:
                if problem.kind.slug != "unauthorized":
                    raise
                here = f"{path}?{request.url.query}" if request.url.query else path
                return RedirectResponse(f"/login?to={quote(here, safe='')}", 303, HEADERS)
        except RequestProblem as problem:
            return self._problem(problem, None, request)
        try:
            return await self._page(request, caller)
        except RequestProblem as problem:
            return self._problem(problem, caller, request)
        except GossamerError as error:
            return self._problem(problem_of(error), caller, request)

    async def _page(self, request: Request, caller: Caller) -> Response:
        path = request.url.path
        if path == "/":
            return RedirectResponse("/crawls", 303, HEADERS)
        if path == "/live":
            crawl = request.query_params.get("crawl")
            last = request.headers.get("last-event-id", "")
            return StreamingResponse(self._hub.watch(caller, crawl, last), 200, HEADERS, "text/event-stream")
        if path.endswith(f"/page{BODY}") and request.method == "GET":
            return await self._stored_page(request, caller)
        found = self._pages.find(path)
        if found is None:
            raise RequestProblem("not-found", "there is no page at this address")
        operation = found.operations.get(request.method) or found.operations.get("POST")
        if operation is None:
            raise RequestProblem("method-not-allowed", "this page has no form")
        if request.method == "POST":
            return await self._sent(found, operation, request, caller)
        query = parse_qs(request.url.query, keep_blank_values=True, max_num_fields=forms.MAX_FIELDS)
        if operation.method != "GET":
            return self._render("form.html", request, caller, found, operation, given={})
        if not query and any(field.required for field in forms.form_fields(operation)):
            return self._render("ask.html", request, caller, found, operation, given={})
        given = forms.read_operation(operation, found.fields, query)
        result = await self._run(operation, caller, given, "")
        shown: Any = conceal_values(msgspec.to_builtins(result, builtin_types=()))
        has_rows = isinstance(shown, dict) and isinstance(shown.get("items"), list)
        return self._render(
            TEMPLATES.get(operation.name, "list.html" if has_rows else "object.html"),
            request,
            caller,
            found,
            operation,
            given=forms.plain(given),
            result=shown,
            beside={name: await self._beside(name, found, caller) for name in BESIDE.get(operation.name, ())},
        )

    async def _beside(self, name: str, found: FoundPage, caller: Caller) -> Any:
        """Returns what another operation shows about the same object."""
        operation = BY_NAME[name]
        given = forms.read_operation(operation, found.fields, {})
        return conceal_values(msgspec.to_builtins(await self._run(operation, caller, given, "")))

    async def _stored_page(self, request: Request, caller: Caller) -> Response:
        """Returns a stored page, for the frame of the page that shows it."""
        found = self._pages.find(request.url.path.removesuffix(BODY))
        if found is None or found.shown is None or found.shown.name != "page_show":
            raise RequestProblem("not-found", "there is no page at this address")
        query = parse_qs(request.url.query, max_num_fields=forms.MAX_FIELDS)
        shown = await self._run(
            found.shown, caller, forms.read_operation(found.shown, found.fields, query), ""
        )
        return Response(still_page(shown.body or ""), 200, BODY_HEADERS, "text/html")

    async def _sent(
        self, found: FoundPage, operation: Operation, request: Request, caller: Caller
    ) -> Response:
        """Runs the operation of a form, or asks whether it shall run."""
        sent = forms.read_form(await read_body(request))
        answered = sent.pop("confirmed", None) is not None
        tag = (sent.pop("tag", None) or [""])[-1]
        given = forms.read_operation(operation, found.fields, sent)
        if operation.name in CONFIRMED and not answered:
            counted = None
            if "dry_run" in operation.input.__struct_fields__:
                counted = await self._run(operation, caller, msgspec.structs.replace(given, dry_run=True), "")
            return self._render(
                "confirm.html",
                request,
                caller,
                found,
                operation,
                given=forms.plain(given),
                result=None if counted is None else msgspec.to_builtins(counted),
            )
        result = await self._run(operation, caller, given, tag)
        shown: Any = conceal_values(msgspec.to_builtins(result, builtin_types=()))
        if template := ANSWERS.get(operation.name):
            return self._render(
                template, request, caller, found, operation, given=forms.plain(given), result=shown
            )
        after = _page_after(operation, found, shown)
        if after == request.url.path and request.url.query:
            after = f"{after}?{request.url.query}"
        answer = RedirectResponse(after, 303, HEADERS)
        said = shown.get("said") or f"{operation.command or operation.name}: done"
        if (number := shown.get("letters", shown.get("added", shown.get("urls")))) is not None:
            said = f"{operation.command}: {number:,}"
        if "left" in shown:
            said = f"{shown['decision']}: {shown['left']:,} left"
        answer.set_cookie(SAID, quote(said[:500]), max_age=60, httponly=True, samesite="strict")
        if operation.name in UNDONE_BY and number:
            undo = UNDONE_BY[operation.name]
            answer.set_cookie(UNDO, undo, max_age=60, httponly=True, samesite="strict")
        return answer

    async def _login(self, request: Request) -> Response:
        """Exchanges a token for a cookie, which only this server's own pages send."""
        to = request.query_params.get("to", "/")
        if not self._access.has_tokens:
            return RedirectResponse("/", 303, HEADERS)
        if request.method == "GET":
            return self._render("login.html", request, None, None, None, to=to)
        _refuse_other_origin(request)
        sent = forms.read_form(await read_body(request))
        token = (sent.get("token") or [""])[-1].strip()
        self._access.caller_of(request, token)
        answer = RedirectResponse(_own_path((sent.get("to") or ["/"])[-1]), 303, HEADERS)
        secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
        answer.set_cookie(TOKEN, token, httponly=True, samesite="strict", secure=secure)
        return answer

    def _problem(self, problem: RequestProblem, caller: Caller | None, request: Request) -> Response:
        found = None if caller is None else self._pages.find(request.url.path)
        answer = self._render("problem.html", request, caller, found, None, problem=problem)
        answer.status_code = problem.kind.status
        answer.headers.update(problem.headers)
        return answer

    def _render(
        self,
        template: str,
        request: Request,
        caller: Caller | None,
        found: FoundPage | None,
        operation: Operation | None,
        **more: Any,
    ) -> Response:
        here = request.url.path
        address = filled(found.path, found.fields) if found is not None else here
        given = more.get("given", {})
        fields = {name: given[name] for name in given if found is None or name not in found.fields}
        context = {
            "here": here,
            "fields": {} if found is None else found.fields,
            "crawl": "" if found is None else found.fields.get("crawl", ""),
            "operation": operation,
            "address": address,
            "sections": ([], []) if caller is None else self._pages.sections(caller, here),
            "of_rows": ("", "", [])
            if found is None or caller is None
            else self._pages.of_rows(found, caller),
            "below": [] if found is None else self._pages.below(found, here),
            "actions": []
            if found is None or caller is None
            else self._pages.actions(found, caller, more.get("result")),
            "caller": caller,
            "theme": theme if (theme := request.cookies.get(THEME)) in ("dark", "light") else "",
            "beside": {},
            "has_tokens": self._access.has_tokens,
            "said": unquote(request.cookies.get(SAID, "")),
            "undo": _undo_path(request, caller, found),
            "command": ""
            if operation is None or found is None
            else values.command_line(operation, found.fields, fields),
            "call": "" if operation is None else values.api_call(operation, address, fields),
            "next_query": _with_cursor(request, more.get("result")),
            **more,
            "given": fields,
        }
        text = self._jinja.get_template(template).render(context)
        answer = Response(text, 200, HEADERS, "text/html")
        if context["said"]:
            answer.delete_cookie(SAID)
            answer.delete_cookie(UNDO)
        return answer

    def _static_path(self, name: str) -> str:
        return f"/static/{name}?{hashlib.sha256(self._static[name]).hexdigest()[:10]}"

    def _file(self, name: str) -> Response:
        """Returns a static file. Its address changes with its content, so a browser keeps it."""
        if name not in self._static:
            return Response("there is no such file\n", 404, HEADERS, "text/plain")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {**HEADERS, "Cache-Control": f"public, max-age={STATIC_AGE_S}, immutable"}
        return Response(self._static[name], 200, headers, kind)


def _compressed(answer: Response, request: Request) -> Response:
    """Compresses the body of an answer, if the browser can read it. Cookies are sent to pages of this server alone, so
    no other page can guess at a secret by the length of an answer."""
    if len(answer.body) < MIN_COMPRESSED_BYTES or "gzip" not in request.headers.get("accept-encoding", ""):
        return answer
    answer.body = gzip.compress(bytes(answer.body), 5, mtime=0)
    answer.headers["Content-Encoding"] = "gzip"
    answer.headers["Content-Length"] = str(len(answer.body))
    answer.headers["Vary"] = "Accept-Encoding"
    return answer


def _refuse_other_origin(request: Request) -> None:
    """Refuses a form that a page of another origin sent. Raises RequestProblem."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    if (origin is not None and urlsplit(origin).netloc != request.headers.get("host")) or site not in (
        "same-origin",
        "none",
    ):
        raise RequestProblem("forbidden", "a page of another origin sent this form")


def _own_path(text: str) -> str:
    """Returns a path of this server. Anything else leads to the first page.

    >>> _own_path("/crawls?state=running"), _own_path("//evil.example/"), _own_path("https://evil.example")
    ('/crawls?state=running', '/', '/')
    """
    plain = (
        text.startswith("/")
        and not text.startswith(("//", "/\\"))
        and text.isprintable()
        and "\\" not in text
    )
    return text if plain else "/"


def _page_after(operation: Operation, found: FoundPage, result: dict[str, Any]) -> str:
    """Returns the page to show after an operation: that of the crawl, host or list that it concerned."""
    if operation.name == "crawl_start":
        return f"/crawls/{quote(str(result['crawl']), safe='')}"
    parts = filled(found.path, found.fields).split("/")
    above = {"requeue": 1, "drop": 1, "undo": 1}.get(
        parts[-1], len(parts) - 3 if len(parts) > 3 and "{" in found.path else 0
    )
    if operation.name.startswith("worker"):
        return "/workers"
    return "/".join(parts[: len(parts) - above])


def _undo_path(request: Request, caller: Caller | None, found: FoundPage | None) -> str:
    """Returns the address of the operation that undoes the last one, or ''."""
    name = request.cookies.get(UNDO, "")
    if name not in UNDONE_BY.values() or found is None or caller is None:
        return ""
    undo = BY_NAME[name]
    return filled(page_path(undo), found.fields) if caller.may(undo.scope) else ""


def _with_cursor(request: Request, result: Any) -> str:
    """Returns the query of the next page of a list, or ''."""
    after = result.get("next") if isinstance(result, dict) else None
    return request.url.include_query_params(cursor=after).query if after else ""
