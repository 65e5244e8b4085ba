"""Loads one page in a browser context. Sets the request's cookies, loads the document, and returns a Page
with the changed cookies, or a Failure."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Error

from gossamer.collectors.browser.captures import Capture
from gossamer.collectors.browser.chromium import ContextInUse, Cookies
from gossamer.collectors.browser.tab import Rendering, Watch
from gossamer.collectors.http.collector import FailureCause
from gossamer.model.page import REDIRECTS, Failure, Headers, Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request, split

NAME = "browser"
EMPTY = b"<html><head></head><body></body></html>"
_PORT = re.compile(r":\d+$")
_TLS_CODE = re.compile(r"\b((?:SSL_ERROR|SEC_ERROR|MOZILLA_PKIX_ERROR)_\w+)")
_FINAL = (
    "ERR_CERT_AUTHORITY_INVALID",
    "ERR_CERT_COMMON_NAME_INVALID",
    "ERR_CERT_DATE_INVALID",
    "ERR_TOO_MANY_REDIRECTS",
)
_NO_CLIENT_CERTIFICATE = (
    "ERR_BAD_SSL_CLIENT_AUTH_CERT",
    "ERR_SSL_CLIENT_AUTH_CERT_NEEDED",
    "SSL_ERROR_RX_CERTIFICATE_REQUIRED_ALERT",
)


class Parts(NamedTuple):
    """The classes that watch, load and record a page in one kind of browser."""

    watch: type[Watch]
    rendering: type[Rendering]
    notes: type[Capture] | None


CHROMIUM = Parts(Watch, Rendering, Capture)


class DocumentRules(NamedTuple):
    """The rules for a document. `wire`: the maximum number of bytes of a body. `requests`: the maximum number
    of requests that the page may make to its own host, except those for the document itself. `folder`: the
    folder for screenshots. `show`: the folder for a picture before and after each step, or None."""

    wire: int
    requests: int
    folder: Path | None
    show: Path | None


class BrowserDocument:
    """Loads the document at a request's URL. `at`: the start of the visit, in seconds since the epoch.
    `began`: the start of the visit as a value of `time.perf_counter()`. `cookies`: all cookies that the context
    must have for the domain (`Guise.cookies`)."""

    def __init__(
        self,
        kept: ContextInUse,
        request: Request,
        at: float,
        began: float,
        rules: DocumentRules,
        cookies: Sequence[Mapping[str, Any]] | None = None,
        parts: Parts | None = None,
    ) -> None:
        self.rendering: Rendering | None = None
        self._parts = parts or CHROMIUM
        self._kept, self._request, self._at, self._began = kept, request, at, began
        self._wire, self._most_requests, self._folder, self.show = rules
        self._given = cookies
        self._authority = split(request.url)[1]
        self._host, self._domain = _PORT.sub("", self._authority), _PORT.sub("", kept.place.domain)

    async def get(self, headers: Mapping[str, str], render: Render, ends: float) -> Page | Failure:
        """Loads the document in the context's tab. Raises Playwright's Error if the browser has exited, and
        TimeoutError if the browser hangs."""
        tab = self._kept.tab
        assert tab is not None
        await tab.leave(self._request.url)
        tab.steps.notes = []
        watch = self._parts.watch(tab, self._request, headers, not self._kept.used, self._most_requests)
        notes: Capture | None = None
        try:
            await self._lend(headers)
            await watch.start(render)
            tunnel = self._kept.tunnel
            rendering = self._parts.rendering(tab, watch, self._wire, lambda: tunnel.got)
            self.rendering, rendering.show = rendering, self.show
            if self._parts.notes is not None:
                notes = self._parts.notes(tab, render, self._wire, self._folder)
            problem = ""
            try:
                await rendering.load(self._request.url, render, ends)
            except Error as error:
                problem = str(error)
            result = await self._outcome(rendering, watch, problem)
            if isinstance(result, Page) and notes is not None:
                await notes.end()
                result.captured, result.screenshot, result.console = (
                    notes.captured,
                    notes.screenshot,
                    tuple(notes.console),
                )
            if isinstance(result, Page):
                lines = [*tab.steps.notes, *rendering.told, result.late]
                if watch.own > watch.most:
                    lines.append(f"{watch.own} requests to its own host, of which {watch.most} were allowed")
                result.console = (*result.console, *(f"gossamer: {line}" for line in lines if line))
            if isinstance(result, Page):
                before = self._kept.cookies
                self._kept.note_cookies(await self._cookies())
                result.headers += [
                    ("set-cookie", line) for line in changed_cookies(before, self._kept.cookies, self._host)
                ]
                if self._given is not None:
                    result.cookies = tuple(self._elsewhere(before))
            return result
        finally:
            if notes is not None:
                notes.close()
            await watch.end()

    async def _lend(self, headers: Mapping[str, str]) -> None:
        """Adds the cookies of the request to the context. For a logged-in account, the domain's cookies are
        first replaced with the account's cookies."""
        if self._given is not None:
            await self._equal(self._given)
        sent = next((value for name, value in headers.items() if name.lower() == "cookie"), "")
        sent = sent.encode("latin-1", "replace").decode("utf-8", "replace")
        pairs = [
            (name, value) for name, _, value in (pair.partition("=") for pair in sent.split("; ")) if name
        ]
        have = {
            (one["name"], one["value"])
            for one in self._kept.cookies.values()
            if covers_host(self._host, one["domain"])
        }
        if have.issuperset(pairs):
            return
        context = self._kept.context
        known = {one["name"]: one for one in await context.cookies(self._request.url)}
        more = []
        for name, value in pairs:
            place = {"domain": self._host, "path": "/"}
            if name in known:
                place = {key: known[name][key] for key in place}
            if known.get(name, {}).get("value") != value:
                more.append({"name": name, "value": value, **place})
        with contextlib.suppress(Error):  # a cookie that the browser refuses would never be sent
            await context.add_cookies(more)
        self._kept.note_cookies(await self._cookies())

    async def _equal(self, given: Sequence[Mapping[str, Any]]) -> None:
        """Replaces the context's cookies for the domain with the cookies in `given`."""
        context, have = self._kept.context, self._kept.cookies
        wanted = {
            _key(one): one for one in given if covers_host(one["domain"].lstrip("."), f".{self._domain}")
        }
        gone = [
            key for key in have if key not in wanted and covers_host(key[1].lstrip("."), f".{self._domain}")
        ]
        more = [one for key, one in wanted.items() if have.get(key, {}).get("value") != one["value"]]
        for name, domain, path in gone:
            await context.clear_cookies(name=name, domain=domain, path=path)
        for one in more:
            with contextlib.suppress(Error):  # see above
                await context.add_cookies([one])
        if gone or more:
            self._kept.note_cookies(await self._cookies())

    def _elsewhere(self, before: Cookies) -> Iterator[tuple[str, str]]:
        """Yields one pair for each cookie that changed on another host of the same domain. The pair contains
        a URL of the cookie's host, and a Set-Cookie value."""
        after = self._kept.cookies
        hosts = {
            domain.lstrip(".") for _, domain, _ in (*before, *after) if not covers_host(self._host, domain)
        }
        for host in sorted(one for one in hosts if covers_host(one, f".{self._domain}")):
            yield from ((f"https://{host}/", line) for line in changed_cookies(before, after, host))

    async def _cookies(self) -> Cookies:
        return {_key(one): one for one in await self._kept.context.cookies()}

    async def _outcome(self, rendering: Rendering, watch: Watch, problem: str) -> Page | Failure:
        tunnel = self._kept.tunnel
        if tunnel.over:
            return self._failure(
                watch, FailureCause("too-large", "the page and its resources are too large together", True)
            )
        if watch.refused:
            return self._failure(
                watch, FailureCause("content-type", f"its content type is {watch.refused[:100]}", True)
            )
        if watch.main is None and watch.problem:
            return self._failure(watch, FailureCause("collector", watch.problem))
        if watch.main is None:
            return self._failure(watch, tunnel.refused.get(self._authority) or explain_error(problem))
        status, headers = watch.main
        if watch.target is not None and status < 300:
            return self._page(watch, 302, [("location", watch.target)], b"", "")
        if watch.raw is not None:
            if len(watch.raw) > self._wire:
                return self._failure(
                    watch, FailureCause("too-large", f"the body is larger than {self._wire} bytes", True)
                )
            return self._page(watch, status, headers, watch.raw, "")
        empty = ("net::" in problem or "NS_" in problem) and (
            status < 200 or status in (204, 205) or status >= 400
        )
        if (status in REDIRECTS and any(name == "location" for name, _ in headers)) or empty:
            return self._page(watch, status, headers, b"", "")
        if problem and not rendering.late:
            return self._failure(watch, explain_error(problem))
        body, version = await rendering.read(2 * self._wire)
        if isinstance(body, int):
            return self._failure(
                watch, FailureCause("too-large", f"the document is too large: {body} characters", True)
            )
        # for an error response without a body, Chromium shows an internal page, and its headless shell shows
        # an empty document
        if status >= 400 and body == EMPTY:
            body = b""
        if "#" in self._request.url and (now := rendering.route(self._request.url)) != self._request.url:
            return self._page(watch, 302, [("location", now)], b"", "")
        page = self._page(watch, status, headers, body, version)
        page.router = b"#/" in body and await rendering.handles_routes()
        page.url, page.late, page.settled = await rendering.url(page.url), rendering.late, not watch.reloads
        return page

    def _page(self, watch: Watch, status: int, headers: Headers, body: bytes, version: str) -> Page:
        spoken = {"h2": "2", "h3": "3", "http/1.0": "1.0"}.get(version, "1.1")
        return Page(
            self._request.url,
            status,
            headers,
            body,
            self._at,
            time.perf_counter() - self._began,
            self._kept.tunnel.got,
            NAME,
            spoken,
            self._kept.tunnel.addresses.get(self._authority),
            watch.asked,
            lag=self._lag(watch),
        )

    def _failure(self, watch: Watch, found: FailureCause) -> Failure:
        tunnel, blame = self._kept.tunnel, ""
        if tunnel.proxy is not None and watch.main is None and not found.final:
            blame = tunnel.blame.get(self._authority, "path" if self._authority not in tunnel.refused else "")
        return Failure(
            found.reason,
            found.detail,
            self._at,
            time.perf_counter() - self._began,
            self._kept.tunnel.got,
            found.final,
            NAME,
            watch.main[0] if watch.main else None,
            sent=watch.main is not None or not self._kept.tunnel.refused,
            lag=self._lag(watch),
            blame=blame,
        )

    def _lag(self, watch: Watch) -> float:
        return max(0.0, watch.asked_at - self._began) if watch.asked else 0.0


def explain_error(problem: str) -> FailureCause:
    """Returns the failure that corresponds to an error message of a browser or of Playwright.

    >>> explain_error("Page.goto: net::ERR_EMPTY_RESPONSE at http://e.com/")
    FailureCause(reason='reset', detail='ERR_EMPTY_RESPONSE', final=False)
    >>> explain_error("NS_ERROR_GENERATE_FAILURE(NS_ERROR_MODULE_SECURITY, SEC_ERROR_UNKNOWN_ISSUER)")
    FailureCause(reason='tls', detail='SEC_ERROR_UNKNOWN_ISSUER', final=True)
    """
    # Firefox puts the code of a TLS error in brackets after a general code
    found = _TLS_CODE.search(problem) or re.search(r"net::(ERR_\w+)|\b(NS_(?:ERROR|BINDING)_\w+)", problem)
    if found is None:
        return FailureCause("reset", next(iter(problem.splitlines()), "")[:200] or "no document was received")
    code = next(filter(None, found.groups()))
    if code in _NO_CLIENT_CERTIFICATE:
        return FailureCause("tls", f"the site asks for a client certificate: {code}", True)
    if "CERT" in code or "SSL" in code or code.startswith(("SEC", "MOZILLA")):
        return FailureCause("tls", code, code in _FINAL or code.startswith(("SEC", "MOZILLA")))
    return FailureCause(
        "connect" if "SOCKS" in code or "PROXY" in code else "timeout" if "TIMED_OUT" in code else "reset",
        code,
    )


def covers_host(host: str, domain: str) -> bool:
    """Returns whether a cookie for `domain` is sent to `host`. A leading dot in `domain` includes the
    subdomains."""
    return host == domain.lstrip(".") or (domain.startswith(".") and host.endswith(domain))


def _key(cookie: Mapping[str, Any]) -> tuple[str, str, str]:
    return cookie["name"], cookie["domain"], cookie["path"]


def changed_cookies(before: Cookies, after: Cookies, host: str) -> list[str]:
    """Returns the changed cookies of a host as Set-Cookie values."""
    out = []
    for key in [*after, *(key for key in before if key not in after)]:
        now, old = after.get(key), before.get(key)
        name, domain, path = key
        if not covers_host(host, domain) or (
            now is not None and old is not None and now["value"] == old["value"]
        ):
            continue
        words = [f"{name}={now['value'] if now else ''}", f"Path={path}"]
        if domain.startswith("."):
            words.append(f"Domain={domain[1:]}")
        if now is None:
            words.append("Max-Age=0")
        elif now.get("expires", -1) > 0:
            words.append(f"Expires={formatdate(now['expires'], usegmt=True)}")
        if (now or old or {}).get("secure"):
            words.append("Secure")
        if (now or old or {}).get("httpOnly"):
            words.append("HttpOnly")
        out.append("; ".join(words).encode("utf-8", "replace").decode("latin-1"))
    return out
