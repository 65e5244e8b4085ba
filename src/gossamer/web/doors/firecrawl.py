"""Firecrawl's v2 API: scrape, map, crawl, batch and errors. Clients that speak it work with the address of `serve`.
The status of a crawl has no documents while the crawl runs, so a poll stays small; the documents follow at the end."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gossamer import url as urls
from gossamer.app.outcome import STOPPED_CODE
from gossamer.config.value_texts import format_time
from gossamer.errors import InvalidField
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import ENDED
from gossamer.operations.context import Caller, OperationContext
from gossamer.operations.problems import RequestProblem
from gossamer.operations.results import CrawlOutcome, CrawlStatus, LetterPage, RowPage, ScrapedPage
from gossamer.web import answers
from gossamer.web.access import CallerCheck
from gossamer.web.doors import firecrawl_options as options_of
from gossamer.web.doors.door import Operations, RepeatedRequests, converted, refuse_unknown
from gossamer.web.request_input import read_body, read_object

ROOT = "/v2/"
DOCUMENTS_PER_PAGE = 200
MAX_ERRORS = 1000
MAX_ANSWER_BYTES = 8 << 20
"""An answer with more documents than this is cut, and the rest follow on the next page."""
STATES = {
    "finished": "completed",
    "limited": "completed",
    "stopped": "cancelled",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The states of crawls that have ended. All others are `scraping`."""
CODES = {"dns": "SCRAPE_DNS_RESOLUTION_ERROR", "tls": "SCRAPE_SSL_ERROR", "timeout": "SCRAPE_TIMEOUT"}
"""The codes that the clients turn into errors of their own."""
MARK = "fc"


class FirecrawlDoor:
    """Answers the addresses below `/v2/`."""

    def __init__(self, access: CallerCheck, run: Operations, repeated: RepeatedRequests) -> None:
        self._access, self._run, self._repeated = access, run, repeated

    def has(self, path: str) -> bool:
        """Whether a path belongs to the door."""
        return path.startswith(ROOT)

    async def answer(self, request: Request) -> Response:
        """Answers a request. Raises RequestProblem and GossamerError."""
        caller = self._access.caller(request)
        path = request.url.path.removeprefix(ROOT).strip("/")
        for one, why in options_of.REFUSED_PATHS.items():
            if path == one or path.startswith(f"{one}/") or path.endswith(f"/{one}"):
                raise RequestProblem("not-found", f"/v2/{one} is not offered: {why}")
        body = await read_body(request)
        given = read_object(request, body) if request.method == "POST" else dict(request.query_params)
        match request.method, path.split("/"):
            case "POST", ["scrape"]:
                return await self._scrape(caller, given)
            case "POST", ["map"]:
                return await self._map(caller, given)
            case "POST", ["crawl"]:
                return await self._start(request, caller, "crawl", options_of.crawl_fields(given))
            case "POST", ["batch", "scrape"]:
                return await self._batch(request, caller, given)
            case "GET", ["crawl", "active"]:
                return await self._active(caller)
            case ("GET", ["crawl", crawl, "errors"]) | ("GET", ["batch", "scrape", crawl, "errors"]):
                return await self._errors(request, caller, crawl, given)
            case ("GET", ["crawl", crawl]) | ("GET", ["batch", "scrape", crawl]):
                return await self._status(request, caller, crawl, given)
            case ("DELETE", ["crawl", crawl]) | ("DELETE", ["batch", "scrape", crawl]):
                return await self._cancel(caller, crawl)
        raise RequestProblem(
            "not-found", f"{request.method} /v2/{path[:200]} is not offered: see docs/doors.md"
        )

    def problem_answer(self, problem: RequestProblem, request_id: str) -> Response:
        """Returns the answer that reports a problem."""
        value = {
            "success": False,
            "error": " ".join(problem.detail.split())[:2000],
            "code": problem.code or problem.kind.slug,
            "requestId": request_id,
        }
        return answers.json_answer(answers.encode(value), problem.kind.status, problem.headers)

    async def _scrape(self, caller: Caller, given: dict[str, Any]) -> Response:
        url = _text(given.pop("url", None), "url")
        formats, options = options_of.scrape_options(given)
        fields = {
            "url": url,
            "markdown": formats.markdown,
            "html": formats.raw_html,
            "links": formats.links,
            "screenshot": formats.screenshot,
        }
        found: ScrapedPage = await self._in_time(options.timeout, "scrape", fields, caller)
        if found.page is None or found.page.get("status") is None:
            raise _failed(found)
        document = _document(found.page)
        if formats.markdown:
            document["markdown"] = found.markdown or ""
        if formats.raw_html:
            document["rawHtml"] = found.html or ""
        if formats.links:
            document["links"] = list(dict.fromkeys(one["url"] for one in found.links or ()))
        if found.screenshot is not None:
            picture = base64.b64encode(found.screenshot).decode()
            document["screenshot"] = f"data:image/png;base64,{picture}"
        return _success(data=document)

    async def _map(self, caller: Caller, given: dict[str, Any]) -> Response:
        refuse_unknown(
            given, options_of.names_of(options_of.FirecrawlMap), options_of.REFUSED_MAP, "Firecrawl"
        )
        options = converted(given, options_of.FirecrawlMap)
        fields = {
            "url": options.url,
            "scope": "domain" if options.include_subdomains else "host",
            "search": options.search or None,
            "sitemaps": options.sitemap != "skip",
            "pages": 0 if options.sitemap == "only" else 1,
            "limit": options.limit,
        }
        found = await self._in_time(options.timeout, "site_map", fields, caller)
        links = [{"url": one.url} for one in found.links]
        if options.ignore_query_parameters:
            links = [one for one in links if "?" not in one["url"]]
        problems = [f"{url}: {why}" for url, why in found.problems.items()]
        if not found.complete:
            problems.append("there are more URLs: start a crawl to find them all")
        return _success(links=links, **({"warning": "; ".join(problems)[:2000]} if problems else {}))

    async def _in_time(
        self, milliseconds: int | None, name: str, fields: Mapping[str, Any], caller: Caller
    ) -> Any:
        """Runs an operation within the caller's time limit. Raises RequestProblem."""
        try:
            async with asyncio.timeout(None if milliseconds is None else milliseconds / 1000):
                return (await self._run(name, fields, caller))[0]
        except TimeoutError:
            raise RequestProblem(
                "slow-request", f"not done within the timeout of {milliseconds} ms", code="SCRAPE_TIMEOUT"
            ) from None

    async def _batch(self, request: Request, caller: Caller, given: dict[str, Any]) -> Response:
        own = options_of.names_of(options_of.FirecrawlBatch)
        of_pages = {name: value for name, value in given.items() if name not in own}
        webhook = {"webhook": options_of.REFUSED_CRAWL["webhook"]}
        refuse_unknown(
            {name: value for name, value in given.items() if name == "webhook"}, own, webhook, "Firecrawl"
        )
        of_pages.pop("webhook", None)
        options = converted({name: given[name] for name in own if name in given}, options_of.FirecrawlBatch)
        fields = options_of.page_fields(of_pages)
        good = [one for one in options.urls if (urls.parse(one) or "").startswith(urls.WEB)]
        bad = [one for one in options.urls if one not in set(good)]
        if bad and (not options.ignore_invalid or not good):
            raise InvalidField(f"urls: {bad[0][:200]!r} is not an http(s) URL", "/urls")
        if options.append_to is not None:
            await self._run("crawl_add", {"crawl": options.append_to, "urls": good}, caller)
            return _started(request, "batch/scrape", options.append_to, bad)
        fields |= {"targets": good, "scope": "page", "concurrency": options.max_concurrency}
        return await self._start(request, caller, "batch/scrape", fields, bad)

    async def _start(
        self,
        request: Request,
        caller: Caller,
        what: str,
        fields: dict[str, Any],
        invalid: list[str] | None = None,
    ) -> Response:
        """Starts a crawl. The same request starts one crawl while that crawl runs, because the clients repeat a request
        whose connection broke off. With the header x-idempotency-key, it starts one crawl for ever."""
        fields = {name: value for name, value in fields.items() if value is not None}
        given_key = request.headers.get("x-idempotency-key", "")
        mark = hashlib.sha256(msgspec.json.encode([caller.token, what, given_key, fields], order="sorted"))
        start = f"{caller.prefix}{MARK}-{mark.hexdigest()[:16]}"

        async def begin() -> str:
            name, number, context = start, 1, await self._context(caller)
            while (
                (record := await context.crawls.get(name)) is not None
                and record.state in ENDED
                and not given_key
            ):
                number += 1
                name = f"{start}-{number}"
            if record is None or not (record.state in ENDED or is_running(record, context.settings.data)):
                await self._run("crawl_start", {**fields, "name": name}, caller)
            return name

        return _started(request, what, await self._repeated.alone(start, begin), invalid)

    async def _context(self, caller: Caller) -> OperationContext:
        return (await self._run("version", {}, caller))[1]

    async def _status(self, request: Request, caller: Caller, crawl: str, given: dict[str, str]) -> Response:
        refuse_unknown(given, ("limit", "cursor"), {"skip": "follow next"}, "Firecrawl")
        found: CrawlStatus = (await self._run("crawl_show", {"crawl": crawl}, caller))[0]
        outcome: CrawlOutcome = (await self._run("crawl_outcome", {"crawl": crawl}, caller))[0]
        state = STATES.get(outcome.state, "scraping")
        if state != "completed" and outcome.exit_code not in (None, 0, STOPPED_CODE):
            state = "failed"
        value: dict[str, Any] = {
            "status": state,
            "completed": found.pages,
            "total": found.pages + found.failed + found.dead + (0 if state == "completed" else found.pending),
            "creditsUsed": 0,
            "expiresAt": None,
            "next": None,
            "data": [],
        }
        if note := _note(found):
            value["warning"] = note
        if state == "failed":
            value["error"] = outcome.error or outcome.reason or "the crawl failed"
        if state != "scraping" or "cursor" in given:
            documents, after = await self._documents(caller, crawl, given)
            value["data"] = documents
            if after is not None:
                query = urlencode({**given, "cursor": after})
                value["next"] = f"{_base(request)}{request.url.path}?{query}"
        return _success(**value)

    async def _documents(
        self, caller: Caller, crawl: str, given: dict[str, str]
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Returns a page of documents, and the cursor of the next page. Fewer documents than asked for are returned if
        they are large."""
        fields: dict[str, Any] = {"crawl": crawl, "limit": _number(given.get("limit"), DOCUMENTS_PER_PAGE)}
        if "cursor" in given:
            fields["cursor"] = given["cursor"]
        while True:
            rows: RowPage = (await self._run("page_list", fields, caller))[0]
            size = sum(len(row.get("text") or "") for row in rows.items)
            if size <= MAX_ANSWER_BYTES or fields["limit"] == 1:
                break
            fields["limit"] = max(1, fields["limit"] * MAX_ANSWER_BYTES // (2 * size))
        return [_document(row) for row in rows.items if row.get("status") is not None], rows.next

    async def _errors(self, request: Request, caller: Caller, crawl: str, given: dict[str, str]) -> Response:
        """Lists the pages that a crawl gave up, and the first of those that robots.txt disallows."""
        refuse_unknown(given, ("limit", "cursor"), {}, "Firecrawl")
        limit = _number(given.get("limit"), MAX_ERRORS)
        fields: dict[str, Any] = {"crawl": crawl, "limit": limit}
        if "cursor" in given:
            fields["cursor"] = given["cursor"]
        letters: LetterPage = (await self._run("dead_list", fields, caller))[0]
        errors = [
            {
                "id": f"{one.bucket}-{one.id}",
                "timestamp": format_time(one.at),
                "url": one.url,
                "code": CODES.get(one.reason, one.reason),
                "error": one.detail or one.reason,
            }
            for one in letters.items
        ]
        shut = {"crawl": crawl, "reason": "robots", "limit": MAX_ERRORS}
        disallowed: RowPage = (await self._run("skipped_list", shut, caller))[0]
        found: CrawlStatus = (await self._run("crawl_show", {"crawl": crawl}, caller))[0]
        value: dict[str, Any] = {
            "errors": errors,
            "robotsBlocked": [row["url"] for row in disallowed.items],
            "robotsBlockedCount": found.skipped.get("robots", 0),
        }
        if letters.next is not None:
            query = urlencode({**given, "cursor": letters.next})
            value["next"] = f"{_base(request)}{request.url.path}?{query}"
        return _success(**value)

    async def _active(self, caller: Caller) -> Response:
        context = await self._context(caller)
        found = []
        for name in await context.names():
            record = await context.crawls.get(name)
            if record is not None and record.state not in ENDED:
                target = record.spec.targets[0] if record.spec.targets else ""
                found.append({"id": name, "teamId": caller.token or "local", "url": target, "options": None})
        return _success(crawls=found)

    async def _cancel(self, caller: Caller, crawl: str) -> Response:
        context = await self._context(caller)
        if (await context.need(crawl)).state in ENDED:
            raise RequestProblem("in-use", f"crawl {crawl} has already ended")
        await self._run("crawl_cancel", {"crawl": crawl}, caller)
        return _success(status="cancelled")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidField(f"{name}: give a URL", f"/{name}")
    return value


def _number(text: str | None, usual: int) -> int:
    if text is None:
        return usual
    if not text.isdecimal() or not 1 <= int(text[:9]) <= 1000:
        raise InvalidField("limit: give a number from 1 to 1000", "/limit")
    return int(text)


def _success(**fields: Any) -> Response:
    return answers.json_answer(answers.encode({"success": True, **fields}))


def _started(request: Request, what: str, crawl: str, invalid: list[str] | None = None) -> Response:
    more = {"invalidURLs": invalid} if invalid else {}
    return _success(id=crawl, url=f"{_base(request)}{ROOT}{what}/{crawl}", **more)


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")


def _note(found: CrawlStatus) -> str | None:
    """Returns what a client should know about a crawl whose state Firecrawl has no word for."""
    if found.state == "stopped":
        return f"the crawl was stopped: {found.pending} pages wait, and gossamer can resume it"
    if found.state in ("paused", "limited"):
        return (
            f"the crawl is {found.state}: {found.reason}" if found.reason else f"the crawl is {found.state}"
        )
    return None


def _document(row: Mapping[str, Any]) -> dict[str, Any]:
    """Translates a page record to a document."""
    metadata = {
        "title": row.get("title"),
        "language": row.get("language"),
        "sourceURL": row.get("requested_url"),
        "url": row.get("url"),
        "statusCode": row.get("status"),
        "contentType": row.get("content_type"),
        "error": row.get("error"),
    }
    found: dict[str, Any] = {
        "metadata": {name: value for name, value in metadata.items() if value is not None}
    }
    if "text" in row:
        found["markdown"] = row["text"]
    if "out_links" in row:
        found["links"] = row["out_links"]
    return found


def _failed(found: ScrapedPage) -> RequestProblem:
    """Returns the problem of a page that was not received."""
    if found.robots is not None:
        return RequestProblem("forbidden", f"robots.txt disallows {found.url}")
    reason = next(iter(found.errors), "") or next(iter(found.skipped), "")
    if reason == "timeout":
        return RequestProblem("slow-request", f"{found.url} did not answer in time", code=CODES["timeout"])
    code = CODES.get(reason, "SCRAPE_ALL_ENGINES_FAILED")
    return RequestProblem("failed", f"{found.url} was not fetched: {reason or 'no answer'}", code=code)
