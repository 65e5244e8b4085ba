"""scrapyd's JSON API for site files: schedule, cancel, lists, states and logs. The project is the folder that
`serve --sites` names, its spiders are the site files, and a job is a crawl of one site file."""

from __future__ import annotations

import base64
import binascii
import platform
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gossamer.config.value_parsers import nearest
from gossamer.errors import InvalidField
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import ENDED, Record
from gossamer.operations import inputs
from gossamer.operations.context import Caller, OperationContext
from gossamer.operations.problems import RequestProblem
from gossamer.operations.row_streams import NDJSON, row_stream
from gossamer.operations.rows import in_thread, select, selected_rows
from gossamer.web import answers
from gossamer.web.access import CallerCheck
from gossamer.web.doors.door import Operations, RepeatedRequests, refuse_unknown
from gossamer.web.request_input import read_body

BATCH_LINES = 500
"""Lines of a log that are read at a time."""
FINISHED_KEPT = 100
"""The number of ended jobs that a list contains, the latest ones."""
VERSION = "site-files"
"""The only version of a project: site files are not uploaded, so there are no others."""
REFUSED = {
    "addversion": "it uploads code, and site files are never uploaded: put them into the folder of serve --sites",
    "delversion": "site files are removed on the machine of serve",
    "delproject": "site files are removed on the machine of serve",
}
_LOG = re.compile(r"/(logs|items)/([^/]+)/([^/]+)/([^/]+)\.(?:log|jl)")
_JSON = re.compile(r"/([a-z]+)\.json")
SETTINGS = {
    "DOWNLOAD_DELAY": ("delay", float),
    "DEPTH_LIMIT": ("depth", int),
    "CLOSESPIDER_PAGECOUNT": ("limit", int),
    "CLOSESPIDER_TIMEOUT": ("time_limit", float),
    "CONCURRENT_REQUESTS": ("concurrency", int),
    "CONCURRENT_REQUESTS_PER_DOMAIN": ("per_host", int),
}
"""Scrapy's settings that options of a crawl correspond to."""
_TRUE = ("1", "true", "yes")


class ScrapydDoor:
    """Answers `/schedule.json` and its like, and the logs and items of jobs."""

    def __init__(self, access: CallerCheck, run: Operations, repeated: RepeatedRequests) -> None:
        self._access, self._run, self._repeated = access, run, repeated
        self._calls: dict[str, tuple[str, Any]] = {
            "schedule": ("POST", self._schedule),
            "cancel": ("POST", self._cancel),
            "listprojects": ("GET", self._projects),
            "listversions": ("GET", self._versions),
            "listspiders": ("GET", self._spiders),
            "listjobs": ("GET", self._jobs),
            "status": ("GET", self._status),
            "daemonstatus": ("GET", self._daemon),
        }

    def has(self, path: str) -> bool:
        """Whether a path belongs to the door."""
        found = _JSON.fullmatch(path)
        return bool(_LOG.fullmatch(path)) or (found is not None and found[1] in {*self._calls, *REFUSED})

    async def answer(self, request: Request) -> Response:
        """Answers a request. Raises RequestProblem and GossamerError."""
        caller = self._access.caller_of(request, _token(request))
        if (log := _LOG.fullmatch(request.url.path)) is not None:
            return await self._rows(caller, log[1], log[2], log[3], log[4])
        found = _JSON.fullmatch(request.url.path)
        assert found is not None
        if found[1] in REFUSED:
            raise RequestProblem("not-found", f"{found[1]}.json is not offered: {REFUSED[found[1]]}")
        method, call = self._calls[found[1]]
        if request.method != method:
            raise RequestProblem("method-not-allowed", f"send {method}", headers={"Allow": method})
        text = request.url.query if method == "GET" else (await read_body(request)).decode("utf-8", "replace")
        fields: dict[str, list[str]] = {}
        for name, value in parse_qsl(text, keep_blank_values=True, max_num_fields=1000):
            fields.setdefault(name, []).append(value)
        value = await call(caller, fields)
        return answers.json_answer(answers.encode({"node_name": platform.node(), "status": "ok", **value}))

    def problem_answer(self, problem: RequestProblem, request_id: str) -> Response:
        """Returns the answer that reports a problem. As in scrapyd, its status is 200, except for a caller who must
        identify himself first, and for a server that cannot answer now."""
        message = " ".join(problem.detail.split())[:2000]
        value = {"node_name": platform.node(), "status": "error", "message": message, "code": request_id}
        headers = dict(problem.headers)
        if problem.kind.status == 401:
            headers["WWW-Authenticate"] = 'Basic realm="gossamer"'
        status = problem.kind.status
        status = status if status in (401, 403, 405, 413, 429) or status >= 500 else 200
        return answers.json_answer(answers.encode(value), status, headers)

    async def _schedule(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        """Starts a crawl of a site file. Fields that scrapyd does not know are arguments of the site file."""
        context = await self._context(caller)
        self._check_project(context, fields)
        spider = self._need_spider(context, fields)
        given = {name: values[-1] for name, values in fields.items()}
        own = ("project", "spider", "setting", "jobid", "priority", "_version")
        if given.get("_version", VERSION) != VERSION:
            raise InvalidField(f"_version: site files have no versions but {VERSION}", "/_version")
        options: dict[str, Any] = {"sites": [spider], "name": given.get("jobid")}
        for text in fields.get("setting", ()):
            options |= _setting(text)
        options["args"] = {name: value for name, value in given.items() if name not in own}
        if "priority" in given:
            options["priority"] = _converted("priority", given["priority"], lambda text: int(float(text)))
        options = {name: value for name, value in options.items() if value is not None}
        found, _ = await self._run("crawl_start", options, caller)
        return {"jobid": found.crawl}

    async def _cancel(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        """Ends a crawl and drops its queue. `prevstate` is null if there is no such job, or it has ended."""
        context = await self._context(caller)
        self._check_project(context, fields)
        refuse_unknown(
            {name: values[-1] for name, values in fields.items() if name != "signal"},
            ("project", "job"),
            {},
            "scrapyd",
        )
        signal = fields.get("signal", ["TERM"])[-1]
        if signal not in ("TERM", "INT"):
            raise InvalidField(
                f"signal: {signal[:20]}: a crawl is ended gracefully, with TERM or INT", "/signal"
            )
        job = _one(fields, "job")
        record = await self._job(context, job)
        if record is None or not is_running(record, context.settings.data):
            return {"prevstate": None}
        await self._run("crawl_cancel", {"crawl": job}, caller)
        return {"prevstate": "running"}

    async def _projects(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        context = await self._context(caller)
        return {"projects": [] if context.sites is None else [context.sites.name]}

    async def _versions(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        context = await self._context(caller)
        self._check_project(context, fields)
        return {"versions": [VERSION]}

    async def _spiders(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        context = await self._context(caller)
        self._check_project(context, fields)
        return {"spiders": context.site_names()}

    async def _jobs(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        context = await self._context(caller)
        if "project" in fields:
            self._check_project(context, fields)
        running, ended = await self._known(context)
        last = sorted(ended, key=lambda one: one.ended_at or 0.0)[-FINISHED_KEPT:]
        return {
            "pending": [],
            "running": [self._entry(context, one) for one in running],
            "finished": [self._entry(context, one) for one in last],
        }

    async def _status(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        context = await self._context(caller)
        job = _one(fields, "job")
        record = await self._job(context, job)
        if record is None:
            raise RequestProblem(
                "unknown-crawl", f"no job is named {job!r}{nearest(job, await context.names())}"
            )
        return {"currstate": "running" if is_running(record, context.settings.data) else "finished"}

    async def _daemon(self, caller: Caller, fields: dict[str, list[str]]) -> dict[str, Any]:
        running, ended = await self._known(await self._context(caller))
        return {"pending": 0, "running": len(running), "finished": len(ended)}

    async def _rows(self, caller: Caller, what: str, project: str, spider: str, job: str) -> Response:
        """Streams the items of a job as lines of JSON, or its requests as lines of text."""
        context = await self._context(caller)
        self._check_project(context, {"project": [project]})
        record = await self._job(context, job)
        if record is None or _spider_of(record, _spiders(context)) != spider:
            raise RequestProblem("unknown-crawl", f"no job of {spider!r} is named {job!r}")
        if what == "items":
            items = row_stream(context, inputs.ListItems(crawl=job), NDJSON)
            return StreamingResponse(items, 200, answers.HEADERS, NDJSON)
        return StreamingResponse(
            _log_lines(context, record), 200, answers.HEADERS, "text/plain; charset=utf-8"
        )

    async def _context(self, caller: Caller) -> OperationContext:
        return (await self._run("version", {}, caller))[1]

    def _check_project(self, context: OperationContext, fields: Mapping[str, list[str]]) -> None:
        """Raises InvalidField if a request names another project than the folder of site files."""
        project = _one(fields, "project")
        if context.sites is None:
            raise InvalidField("there is no project: serve was started without --sites DIR", "/project")
        if project != context.sites.name:
            raise InvalidField(
                f"project '{project[:80]}' not found: there is {context.sites.name!r}", "/project"
            )

    def _need_spider(self, context: OperationContext, fields: Mapping[str, list[str]]) -> str:
        spider = _one(fields, "spider")
        context.site_file(spider, "/spider")
        return spider

    async def _known(self, context: OperationContext) -> tuple[list[Record], list[Record]]:
        """Returns the running jobs and the ended ones."""
        found = [await context.crawls.get(name) for name in await context.names()]
        spiders = _spiders(context)
        jobs = [one for one in found if one is not None and _spider_of(one, spiders) is not None]
        working = [one for one in jobs if is_running(one, context.settings.data)]
        return working, [one for one in jobs if one not in working]

    async def _job(self, context: OperationContext, name: str) -> Record | None:
        record = await context.crawls.get(name) if context.caller.sees(name) else None
        return record if record is not None and _spider_of(record, _spiders(context)) is not None else None

    def _entry(self, context: OperationContext, record: Record) -> dict[str, Any]:
        assert context.sites is not None
        spider = _spider_of(record, _spiders(context))
        place = f"{context.sites.name}/{spider}/{record.name}"
        entry = {
            "id": record.name,
            "project": context.sites.name,
            "spider": spider,
            "start_time": _time(record.started_at),
            "log_url": f"/logs/{place}.log",
            "items_url": f"/items/{place}.jl",
        }
        if record.ended_at is not None and record.state in ENDED:
            entry["end_time"] = _time(record.ended_at)
        return entry


def _spiders(context: OperationContext) -> dict[str, str]:
    """Returns the names of the site files by their paths."""
    return {context.site_file(name, "/spider"): name for name in context.site_names()}


def _spider_of(record: Record, spiders: Mapping[str, str]) -> str | None:
    """Returns the name of the site file of a job, or None if the crawl is not of one site file of this server."""
    targets = record.spec.targets
    return spiders.get(targets[0]) if len(targets) == 1 else None


def _token(request: Request) -> str:
    """Returns the token of a request: the password of basic authentication, or a bearer token."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return text
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(text, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _one(fields: Mapping[str, list[str]], name: str) -> str:
    if name not in fields:
        raise InvalidField(f"'{name}' parameter is required", f"/{name}")
    return fields[name][-1]


def _setting(text: str) -> dict[str, Any]:
    """Translates one of Scrapy's settings, NAME=VALUE. Raises InvalidField."""
    name, _, value = text.partition("=")
    if name == "ROBOTSTXT_OBEY" and value.lower() in _TRUE:
        return {}
    if name not in SETTINGS:
        known = ", ".join(sorted(SETTINGS))
        raise InvalidField(f"setting: {name[:80]} is not offered: a crawl takes {known}", "/setting")
    option, kind = SETTINGS[name]
    number = _converted(f"setting {name}", value, kind)
    return {option: None if number == 0 and option not in ("delay",) else number}


def _converted(name: str, text: str, kind: Any) -> Any:
    try:
        return kind(text)
    except (ValueError, OverflowError):
        raise InvalidField(f"{name}: {text[:40]!r} is not a number", f"/{name}") from None


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


async def _log_lines(context: OperationContext, record: Record) -> AsyncIterator[bytes]:
    """Yields one line for each request of a crawl, and a last line for its end."""
    given = inputs.ListAttempts(crawl=record.name)
    selected = select(context.settings, record.name, given, may_lack_rows=not record.outputs)
    async for batch in in_thread(selected_rows(selected), BATCH_LINES):
        yield "".join(_log_line(row) for _, row in batch).encode()
    if record.state in ENDED and record.ended_at is not None:
        reason = f": {record.reason}" if record.reason else ""
        yield f"{_time(record.ended_at)} [gossamer] INFO: Spider closed ({record.state}{reason})\n".encode()


def _log_line(row: Mapping[str, Any]) -> str:
    level = "ERROR" if row.get("outcome") == "dead" else "DEBUG"
    why = f" {row['error']}" if row.get("error") else ""
    status = row.get("status") or "-"
    return f"{row.get('ts')} [gossamer] {level}: Crawled ({status}) <{row.get('url')}> {row.get('outcome')}{why}\n"
