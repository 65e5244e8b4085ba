"""Logs in to accounts. Pure functions detect from a page whether an account is logged in. A log-in is part of
the visit of a page. The steps of a log-in run one after another, with the same delays and robots.txt checks
as page requests."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Collection, Generator
from typing import Any, NamedTuple

import msgspec

from gossamer import url as urls
from gossamer.blocks import Block, needs_rendering
from gossamer.blocks.site_rules import MAX_SEARCHED_BYTES, seen_by
from gossamer.config.stdout_redirect import stdout_to_stderr
from gossamer.errors import ConfigError, GossamerError
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.content_type import HTML, XHTML, page_type
from gossamer.model.item import exception_message, is_ctrl_c
from gossamer.model.login import FORM, Account, Login, Sign, is_below, redact
from gossamer.model.page import REDIRECTS, Failure, Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request, split
from gossamer.model.visit import Attempt, Claim
from gossamer.model.wall_clock import CLOCK
from gossamer.parsing.page_cost import TooComplex
from gossamer.parsing.page_view import PageView
from gossamer.url import patterns
from gossamer.url.redirects import redirect_target
from gossamer.worker import records
from gossamer.worker.climbing import LendsIdentity, Rung
from gossamer.worker.decide import MAX_REDIRECTS
from gossamer.worker.robots_gate import RobotsGate

Parse = Callable[..., str | None]


def logged_out_sign(login: Login, page: Page, block: Block | None) -> str:
    """Returns a description of the sign that an account is no longer logged in, or '' if the page shows no
    such sign."""
    if block is not None and block.kind == "login":
        return block.line()
    target = _target(page)
    view = PageView(page)
    for sign in (*login.lost, *_own(login)):
        if told := _told(sign, view, target):
            return told
    if login.shows and not login.lost and 200 <= page.status < 300 and _is_html(page):
        return (
            ""
            if any(_told(sign, view, None) for sign in login.shows)
            else f"the page has no {_shown(login.shows)}"
        )
    return ""


def why_login_failed(login: Login, page: Page) -> str:
    """Returns the reason why a log-in has failed, derived from the last page of the log-in, or '' if the
    log-in succeeded."""
    view = PageView(page)
    if login.shows:
        return (
            ""
            if any(_told(sign, view, None) for sign in login.shows)
            else f"the page has no {_shown(login.shows)}"
        )
    if page.status >= 400:
        return f"HTTP {page.status}"
    for sign in login.lost:
        if told := _told(sign, view, None):
            return told
    if login.url is not None:
        form = _has(view, login.form or FORM)
        return "the form is there again" if form else ""
    return ""


def _own(login: Login) -> tuple[Sign, ...]:
    """Returns the default signs that an account is no longer logged in, or no signs if the site defines its
    own signs. The default signs are status 401 and a redirect to the page of the log-in form."""
    if login.lost or login.url is None:
        return () if login.lost else (401,)
    scheme, host, path = split(login.url)
    return 401, f"{scheme}://{host}{path.partition('?')[0]}"


def _told(sign: Sign, view: PageView, target: str | None) -> str:
    """Returns a description of `sign` if the page shows this sign of a log-out, otherwise ''. `target`: the
    page's redirect target."""
    page = view.page
    if isinstance(sign, int):
        return f"HTTP {sign}" if page.status == sign else ""
    if isinstance(sign, re.Pattern):
        found = patterns.found(
            patterns.compile_(sign),
            page.body[:MAX_SEARCHED_BYTES].decode("utf-8", "replace"),
            on_timeout=False,
        )
        return f"the text {sign.pattern!r}" if found and page.status not in REDIRECTS else ""
    if sign.startswith(("/", "http://", "https://")):
        return f"it redirects to {sign}" if target is not None and is_below(target, sign) else ""
    return (
        f"the page has {sign!r}"
        if _is_html(page) and page.status not in REDIRECTS and _has(view, sign)
        else ""
    )


def _has(view: PageView, query: str) -> bool:
    """Returns whether a selector matches an element of a page, or False if the page is too complex to
    search."""
    try:
        return bool(view.css(query))
    except TooComplex:
        return False


def _target(page: Page) -> str | None:
    return None if page.location is None else redirect_target(page.location, page.url)


def _is_html(page: Page) -> bool:
    return page_type(page.read_as, page.body) in (HTML, XHTML)


def _shown(signs: tuple[Sign, ...]) -> str:
    return " and no ".join(repr(one.pattern if isinstance(one, re.Pattern) else one) for one in signs)


MAX_REQUESTS = 50
"""Maximum number of requests of one log-in."""
BROWSER = "browser"


class PacedRequests:
    """Makes the requests of one claim, and keeps the host's delay between the starts of two requests."""

    def __init__(self, claim: Claim) -> None:
        self.apart = max(claim.delay, claim.floor)
        self.began = time.monotonic()
        self.lag = self._next = 0.0
        self.posted = False
        """Whether a log-in form was filled in and sent."""

    def note_post(self) -> None:
        """Records that a log-in form was filled in and sent."""
        self.posted = True

    async def collect(self, rung: Rung, request: Request) -> Page | Failure:
        """Waits until the next request may start, then makes the request. The `lag` of the result is measured
        from the creation of this `PacedRequests`, not from the start of this request."""
        await asyncio.sleep(max(0.0, self._next - time.monotonic()))
        began, self.posted = time.monotonic(), self.posted or request.body is not None
        result = await rung.collect(request, self.apart)
        acted = isinstance(result, Page) and result.requests > 1
        self._next = (time.monotonic() if acted else began + result.lag) + self.apart
        self.lag = result.lag + began - self.began
        return msgspec.structs.replace(result, lag=self.lag)


class LoginAttempt(NamedTuple):
    """A log-in attempt. `site`: the name of the site. `login`: the log-in definition of the site. `account`:
    the account and its secrets. `rung`: the rung that uses the account's identity. `domains`: the registered
    domains that may receive the secrets. `browser`: the rung that renders a page that is empty until its
    scripts have run."""

    site: str
    login: Login
    account: Account
    rung: Rung
    domains: Collection[str]
    browser: Rung | None = None

    @property
    def secrets(self) -> list[str]:
        """The secret values of the account, for example the password."""
        return self.login.secrets(self.account)

    def wrong(self, what: str) -> ConfigError:
        """Returns the error to raise for an invalid log-in definition."""
        return ConfigError(redact(f"site {self.site}: session: {what}", self.secrets))


class LoginResult(NamedTuple):
    """The result of a log-in. `refused`: the reason why the log-in failed, or '' on success. `headers`: the
    headers that are added to each later request. `proof`: the URL of a page that shows whether the account is
    still logged in, or ''."""

    refused: str
    headers: dict[str, str]
    proof: str


class FormFillingIdentity:
    """The identity of a browser that fills in a log-in form. The form is filled in only once, and only on the
    host of the log-in URL."""

    def __init__(self, identity: LendsIdentity, login: Login, render: Render) -> None:
        self._identity, self._render, self.done = identity, render, False
        self._at = split(login.url or "")[:2]

    def lend(self, request: Request) -> Lent:
        """Adds the browser actions that fill in the form to the browser profile. If the log-in URL is https,
        the actions are added only for https pages."""
        lent, (scheme, host) = self._identity.lend(request), split(request.url)[:2]
        if self.done or host != self._at[1] or scheme not in (self._at[0], "https"):
            return lent
        return Lent(lent.headers, msgspec.structs.replace(lent.guise or Guise(), render=self._render))

    def took(self, page: Page, guise: Guise | None) -> None:
        """Stores the cookies of the response. Also records that the form was filled in and sent, unless the
        browser was redirected before it reached the form."""
        self.done = self.done or page.status not in REDIRECTS or page.requests > 1
        self._identity.took(page, guise)

    def forget(self, domain: str) -> None:
        """Removes the cookies of a domain."""
        self._identity.forget(domain)


class LoginRunner:
    """Runs the steps of log-ins. `domain` maps a host to its registered domain. The methods append the
    attempts-log entries of each request to `tell`."""

    def __init__(
        self,
        crawl: str,
        worker: str,
        gate: RobotsGate,
        domain: Callable[[str], str],
    ) -> None:
        self._crawl, self._worker, self.gate, self._domain = crawl, worker, gate, domain

    async def enter(
        self, claim: Claim, who: LoginAttempt, walk: PacedRequests, tell: list[Attempt]
    ) -> LoginResult | Failure:
        """Logs in to an account. Returns a failure if the log-in failed and a later log-in may succeed.
        Raises ConfigError if the log-in definition is invalid."""
        page, said, steps, last, sign = None, None, 0, Request(""), ""
        flow: Any = _asks(who, who.login.steps or who.login.by_form, who.account.fields)
        if who.login.url is not None and who.rung.name == BROWSER:
            flow = _asked(who.login.url)
            walk.note_post()
            render = Render(steps=who.login.typed(who.account.fields, walk.apart))
            sign = render.steps[-2].what
            who = who._replace(
                rung=who.rung._replace(identity=FormFillingIdentity(who.rung.identity, who.login, render))
            )
        try:
            step = _asks(who, next, flow)
            while True:
                if (steps := steps + 1) > MAX_REQUESTS:
                    raise who.wrong(f"a log-in of more than {MAX_REQUESTS} steps")
                request = self._request(step, page, who)
                result, last = await self._got(claim, who, request, page, walk, tell)
                if isinstance(result, Failure):
                    return result
                if result.late and sign[:100] not in result.late:
                    return self._later(result, "timeout", result.late)
                page = result
                step = _asks(who, flow.send, PageView(page, None, request))
        except StopIteration as end:
            said = end.value
        except GossamerError:
            raise
        except Exception as error:  # noqa: BLE001 - what it yields may be anything
            raise who.wrong(f"log-in as {who.account.name}: {_detail(error)}") from None
        finally:
            # an earlier error is more informative than an error in `close`
            with contextlib.suppress(StopIteration, GossamerError):
                _asks(who, getattr(flow, "close", bool))
        if page is None:
            raise who.wrong("its steps yield no request")
        return await self._ended(claim, who, page, last, _headers(said, who), walk, tell)

    async def _ended(
        self,
        claim: Claim,
        who: LoginAttempt,
        page: Page,
        last: Request,
        headers: dict[str, str],
        walk: PacedRequests,
        tell: list[Attempt],
    ) -> LoginResult | Failure:
        """Evaluates the last page of a log-in. If this page is empty until its scripts have run, the page is
        requested again in the browser."""
        login, url = who.login, page.url if who.rung.name == BROWSER else last.url
        proof = login.check or (url if login.shows and last.method == "GET" and url != login.url else "")
        if who.browser is not None and needs_rendering(page.status, page.headers, page.body, page.url):
            found, _ = await self._got(
                claim, who._replace(rung=who.browser), Request(last.url), None, walk, tell
            )
            if isinstance(found, Failure):
                return found
            page, proof = found, login.check
        return LoginResult(
            why_login_failed(login, page), headers, proof if proof == redact(proof, who.secrets) else ""
        )

    def _request(self, step: Any, page: Page | None, who: LoginAttempt) -> Request:
        """Returns the request for a value that a log-in step has yielded."""
        if isinstance(step, str):
            url = urls.parse(step) if page is None else PageView(page).urljoin(step)
            step = Request(url or step)
        if not isinstance(step, Request) or not step.url.startswith(("http://", "https://")):
            raise who.wrong(f"a step must yield a request or a URL, not {type(step).__name__}")
        return step

    async def _got(
        self,
        claim: Claim,
        who: LoginAttempt,
        request: Request,
        page: Page | None,
        walk: PacedRequests,
        tell: list[Attempt],
    ) -> tuple[Page | Failure, Request]:
        """Makes the request of one step, and follows redirects as a browser does. Returns the last result and
        the last request."""
        while True:
            self._check(request, page, who)

            def note(result: Page | Failure, url: str) -> None:
                error = result.reason if isinstance(result, Failure) else None
                line = msgspec.structs.replace(
                    claim, request=Request(redact(url, who.secrets)), host=split(url)[1]
                )
                made = [*records.earlier_tries(result), (result, "login", error)]
                tell.extend(records.attempt(self._crawl, self._worker, line, *one) for one in made)

            refusal = await self.gate.refuse_url(claim, request.url, note)
            if refusal is not None and not refusal.error:
                raise who.wrong(
                    f"{request.url} is needed to log in, but must not be fetched: {refusal.skip}: "
                    f"{refusal.detail}"
                )
            if refusal is not None:
                return Failure(
                    refusal.error or "", f"log-in: {refusal.detail}", CLOCK.now(), 0.0, sent=False
                ), request
            result = msgspec.structs.replace(await walk.collect(who.rung, request), session=who.account.name)
            if isinstance(result, Page) or result.sent or result.proxy:
                note(result, request.url)
            if isinstance(result, Failure):
                detail = redact(f"log-in: {result.detail}", who.secrets)
                return msgspec.structs.replace(result, detail=detail, noted=True), request
            if (passing := self._passing(result)) is not None:
                return passing, request
            target = _target(result)
            if target is None:
                return result, request
            page, request = result, self._next(request, result, target, who)

    def _next(self, request: Request, result: Page, target: str, who: LoginAttempt) -> Request:
        """Returns the request for a redirect target."""
        if len(request.hops) >= MAX_REDIRECTS:
            raise who.wrong(f"more than {MAX_REDIRECTS} redirects after {request.hops[0]}")
        out = msgspec.structs.replace(request, url=target, hops=(*request.hops, request.url))
        drops = result.status == 303 or (result.status in (301, 302) and request.method == "POST")
        headers = dict(request.headers or {})
        if drops and request.method != "HEAD":
            out = msgspec.structs.replace(out, method="GET", body=None)
            headers = {
                name: value
                for name, value in headers.items()
                if name.lower() not in ("content-type", "origin")
            }
        if split(target)[:2] != split(request.url)[:2]:
            if out.body is not None:
                raise who.wrong(f"{request.url} redirects the form values to {split(target)[1]}")
            headers = {}
        return msgspec.structs.replace(out, headers=headers or None)

    def _check(self, request: Request, page: Page | None, who: LoginAttempt) -> None:
        """Raises ConfigError if a request would send form values to a host outside the site, or from an https
        page to an http URL."""
        shown = any(secret in f"{request.url} {request.headers}" for secret in who.secrets if len(secret) > 2)
        if request.body is None and not shown:
            return
        scheme, host, _ = split(request.url)
        if self._domain(host) not in who.domains:
            raise who.wrong(f"the form values would go to {host}, which is not one of the site's hosts")
        if page is not None and page.url.startswith("https:") and scheme == "http":
            raise who.wrong(f"the form values of {page.url} would go to http://{host} unencrypted")

    def _passing(self, page: Page) -> Failure | None:
        """Returns a temporary failure if a later try may succeed, namely after a server error, status 429 or
        a block page. Returns None for any other response."""
        block = seen_by(True, page.status, page.headers, page.body, page.url, None, page.settled)
        kind = block.kind if block is not None and not block.bare else ""
        if page.status < 500 and page.status != 429 and kind in ("", "login", "empty"):
            return None
        reason = (
            "rate-limited"
            if page.status == 429 or kind == "rate-limit"
            else "blocked"
            if kind
            else "http-5xx"
        )
        return self._later(
            page, reason, block.line() if kind and block is not None else f"HTTP {page.status}"
        )

    def _later(self, page: Page, reason: str, detail: str) -> Failure:
        return Failure(
            reason,
            f"log-in: {detail}",
            page.fetched_at,
            page.elapsed,
            page.wire,
            False,
            page.collector,
            page.status,
            lag=page.lag,
            noted=True,
            session=page.session,
            rung=page.rung,
            proxy=page.proxy,
        )


def _asked(url: str) -> Generator[Any, Any, None]:
    """Yields the request for the log-in page. This is the only request of the log-in, because the browser
    fills in and sends the form."""
    yield Request(url)


def _headers(said: Any, who: LoginAttempt) -> dict[str, str]:
    """Checks the return value of the steps, and returns the headers, for example a token, that are added to
    each later request of the account."""
    if said is None:
        return {}
    if not isinstance(said, dict) or not all(isinstance(part, str) for pair in said.items() for part in pair):
        raise who.wrong("its steps must return None, or headers as a dict of strings")
    return said


def _asks(who: LoginAttempt, call: Callable[..., Any], *args: Any) -> Any:
    """Calls the user's code. Raises ConfigError for exceptions other than StopIteration, GossamerError and
    Ctrl-C."""
    try:
        with stdout_to_stderr:  # print calls in the user's code must not write to stdout, which is for data
            return call(*args)
    except (StopIteration, GossamerError):
        raise
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise who.wrong(f"log-in as {who.account.name}: {_detail(error)}") from None


def _detail(error: BaseException) -> str:
    """Returns a one-line description of an exception in the user's code, with the line of code that raised
    the exception."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "gossamer" not in code.co_filename:
            place = (
                f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} in {code.co_name}: "
                f"{type(error).__name__}: "
            )
        trace = trace.tb_next
    return place + " ".join(exception_message(error).split())
