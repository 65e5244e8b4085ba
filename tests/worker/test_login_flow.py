"""The single steps of a log-in: the requests, the recognition of the result on a page, and the stored and
sealed session."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any

import pytest

from gossamer.blocks.site_rules import seen_by
from gossamer.config.redaction import Secret
from gossamer.errors import ConfigError
from gossamer.identity.account_identity import AccountIdentity
from gossamer.identity.browsers import browser_for
from gossamer.identity.encryption import Encryption
from gossamer.model.browser_profile import Guise
from gossamer.model.login import Login
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.verdict import Drop
from gossamer.model.visit import Attempt, Claim
from gossamer.worker.climbing import Rung
from gossamer.worker.login_flow import (
    LoginAttempt,
    LoginResult,
    LoginRunner,
    PacedRequests,
    logged_out_sign,
    why_login_failed,
)
from gossamer.worker.robots_gate import RobotsGate

URL = "https://club.example/login"
FIELDS = {"user": "ann", "password": "${env:PW}"}
FORM = "<form method=post action={}><input type=hidden name=t value=T><input name=user><input type=password name=password></form>"


def page(url: str, body: str = "", status: int = 200, location: str = "", kind: str = "text/html") -> Page:
    headers = [("content-type", kind), *([("location", location)] if location else [])]
    return Page(url, status, headers, body.encode(), 0.0, 0.0, len(body))


class Pages:
    """A collector that returns the given pages in order, and records its requests."""

    name = "made"

    def __init__(self, *pages: Page | Failure) -> None:
        self.pages, self.asked = list(pages), list[tuple[Request, dict[str, str]]]()

    async def collect(
        self, request: Request, headers: dict[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        self.asked.append((request, headers))
        return self.pages.pop(0)

    async def close(self) -> None:
        """Does nothing."""


class Open(RobotsGate):
    """A robots.txt gate that returns a given refusal."""

    def __init__(self, shut: Drop | None = None) -> None:
        self.shut = shut

    async def refuse_url(self, claim: Claim, url: str, note: Any = None) -> Drop | None:
        return self.shut


async def enter(
    login: Login,
    *pages: Page | Failure,
    shut: Drop | None = None,
    domains: tuple[str, ...] = ("club.example",),
) -> tuple[LoginResult | Failure, Pages, list[Attempt]]:
    (account,) = login.accounts_with_secrets({"PW": "s3cret+word"})
    collector, told = Pages(*pages), list[Attempt]()
    member = AccountIdentity("ann", "club/ann/1", None, lambda request: request.headers or {}, str)
    who = LoginAttempt("club", login, account, Rung("plain", collector, member), domains)
    claim = Claim(1, 0, "club.example", Request("https://club.example/p"))
    entering = LoginRunner("c", "w", Open(shut), lambda host: host.removeprefix("www."))
    return await entering.enter(claim, who, PacedRequests(claim), told), collector, told


async def test_a_form_is_sent_with_all_that_is_in_it_and_redirects_are_followed() -> None:
    done, pages, told = await enter(
        Login(URL, FIELDS, shows="a.out"),
        page(URL, FORM.format("/in")),
        page("https://club.example/in", status=302, location="/home"),
        page("https://club.example/home", "<a class=out>"),
    )
    assert done == LoginResult("", {}, "https://club.example/home")
    assert [(one.method, one.url, one.body) for one, _ in pages.asked] == [
        ("GET", URL, None),
        ("POST", "https://club.example/in", "t=T&user=ann&password=s3cret%2Bword"),
        ("GET", "https://club.example/home", None),
    ]
    assert pages.asked[2][1] == {"Referer": URL}, "no Origin, no Content-Type behind a redirect"
    assert [(one.url, one.outcome, one.session) for one in told] == [
        (one.url, "login", "main") for one, _ in pages.asked
    ]


BAD: list[tuple[list[Page | Failure], str]] = [
    (
        [page(URL, FORM.format("https://evil.example/in"))],
        "would go to evil.example, which is not one of the site's hosts",
    ),
    ([page(URL, FORM.format("http://club.example/in"))], "would go to http://club.example unencrypted"),
    (
        [
            page(URL, FORM.format("/in")),
            page("https://club.example/in", status=307, location="https://www.club.example/"),
        ],
        "the form values to www",
    ),
    ([page(URL, "<form><input name=user></form><form></form>")], "there is no form that asks for a password"),
    ([page(URL, status=302, location=URL)] * 12, "more than 10 redirects"),
]


@pytest.mark.parametrize(("pages", "said"), BAD)
async def test_what_is_filled_in_stays_with_the_site(pages: list[Page | Failure], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        await enter(Login(URL, FIELDS), *pages)
    assert "s3cret" not in str(caught.value)


def by_get(account: Any) -> Generator[Any, Any, Any]:
    yield f"https://club.example/in?q={account['password']}"


async def test_a_secret_in_a_url_is_in_no_attempt_and_goes_nowhere_else() -> None:
    done, _, told = await enter(Login(by_get, FIELDS), page("https://club.example/in", "hello"))
    assert done == LoginResult("", {}, "")
    assert [one.url for one in told] == ["https://club.example/in?q=***"]
    with pytest.raises(ConfigError, match="not one of the site's hosts"):
        await enter(Login(by_get, FIELDS), page("https://club.example/in"), domains=("other.example",))


PASSING = "Just a moment...<script src='/cdn-cgi/challenge-platform/x'></script>"


@pytest.mark.parametrize(
    ("came", "reason"),
    [
        (page(URL, status=503), "http-5xx"),
        (page(URL, status=429), "rate-limited"),
        (page(URL, f"<title>{PASSING}</title>", 403), "blocked"),
        (Failure("timeout", "slow", 0.0, 0.0), "timeout"),
    ],
)
async def test_what_may_pass_is_a_failure_for_now(came: Page | Failure, reason: str) -> None:
    done, _, _ = await enter(Login(URL, FIELDS), came)
    assert isinstance(done, Failure)
    assert (done.reason, done.final) == (reason, False)


async def test_robots_txt_shuts_a_log_in_out() -> None:
    with pytest.raises(ConfigError, match="must not be fetched: robots: line 2"):
        await enter(Login(URL, FIELDS), shut=Drop(skip="robots", detail="line 2"))
    done, _, told = await enter(Login(URL, FIELDS), shut=Drop(error="robots-unreachable"))
    assert isinstance(done, Failure)
    assert (done.reason, done.sent, told) == ("robots-unreachable", False, [])


def blocked(one: Page) -> Any:
    return seen_by(True, one.status, one.headers, one.body, one.url)


P = "https://club.example/p"
SIGNS: list[tuple[Callable[[], Login], Page, bool]] = [
    (lambda: Login(URL, FIELDS), page(P, "hello", status=401), True),
    (lambda: Login(URL, FIELDS), page(P, status=302, location="/login?next=/p"), True),
    (lambda: Login(URL, FIELDS), page(P, status=302, location="/loginx"), False),
    (lambda: Login(URL, FIELDS), page(P, "hello"), False),
    (lambda: Login(URL, FIELDS, shows="a.out"), page(P, "<p>hello"), True),
    (lambda: Login(URL, FIELDS, shows=["a.out", re.compile("Hello, ann")]), page(P, "<p>Hello, ann"), False),
    (lambda: Login(URL, FIELDS, shows="a.out"), page(P, "{}", kind="application/json"), False),
    (lambda: Login(URL, FIELDS, shows="a.out"), page(P, "gone", status=404), False),
    (lambda: Login(URL, FIELDS, lost=["form#in", 419]), page(P, "<form id=in>"), True),
    (lambda: Login(URL, FIELDS, lost=["form#in", 419]), page(P, "x", status=419), True),
    (
        lambda: Login(URL, FIELDS, lost="https://auth.example/"),
        page(P, status=302, location="https://auth.example/x"),
        True,
    ),
    (lambda: Login(URL, FIELDS, lost=re.compile("expired")), page(P, "Your session has expired"), True),
]


@pytest.mark.parametrize(("login", "came", "out"), SIGNS)
def test_what_tells_that_one_is_out(login: Callable[[], Login], came: Page, out: bool) -> None:

    assert bool(logged_out_sign(login(), came, blocked(came))) is out


def test_what_tells_that_one_is_in() -> None:
    assert why_login_failed(Login(URL, FIELDS), page(URL, FORM.format("/in"))) == "the form is there again"
    assert why_login_failed(Login(URL, FIELDS), page(P, "hello")) == ""
    assert why_login_failed(Login(URL, FIELDS), page(P, "no", 403)) == "HTTP 403"
    assert why_login_failed(Login(URL, FIELDS, shows="a.out"), page(P, "hello")) == "the page has no 'a.out'"


def test_what_is_sealed_opens_with_its_key_alone() -> None:
    member = AccountIdentity(
        "ann", "club/ann/1", browser_for(["chrome"], "x"), lambda _: {}, lambda host: host
    )
    member.headers = {"X-Token": "CANARY"}
    member.took(Page(P, 200, [("set-cookie", "sid=CANARY; Max-Age=99")], b"", 0.0, 0.0, 0))
    seal, other = Encryption(Secret("key"), 7), Encryption(Secret("key"), 8)
    kept = seal.close(member.state(), "club/ann")
    assert b"CANARY" not in kept
    again = AccountIdentity("ann", "club/ann/1", member.browser, lambda _: {}, lambda host: host)
    again.load(Encryption(Secret("key"), 7).open(kept, "club/ann"))
    assert again.lend(Request(P)) == member.lend(Request(P))
    assert member.lend(Request(P)).headers["Cookie"] == "sid=CANARY"
    for wrong, name in ((other, "club/ann"), (seal, "club/bob"), (Encryption(None, 7), "club/ann")):
        with pytest.raises(ConfigError, match="encrypted"):
            wrong.open(kept, name)
    assert b"CANARY" in Encryption(None, 7).close(member.state(), "club/ann")
    assert seal.told(FIELDS) != seal.told({**FIELDS, "user": "bob"})
