"""The verdict on a response, as a table, and the two small functions beside it."""

from __future__ import annotations

import pytest

from gossamer.blocks import Block
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.verdict import ERRORS, SKIPS, Done, Drop, Redirected, Retry, Verdict
from gossamer.worker.decide import MAX_REDIRECTS, decide, retry_after, retry_delay

URL = "https://a.example/x"
TO = "https://b.example/"
BOUNCED = Request(URL, hops=("https://a.example/0", "https://a.example/1"))
FAR = Request(URL, hops=tuple(f"https://a.example/{k}" for k in range(MAX_REDIRECTS)))
NEARLY = Request(URL, hops=FAR.hops[1:])


def page(status: int, **headers: str) -> Page:
    return Page(
        URL, status, [(name.replace("_", "-"), value) for name, value in headers.items()], b"", 0.0, 0.1, 0
    )


def failed(reason: str, final: bool = False) -> Failure:
    return Failure(reason, "why", 0.0, 0.1, final=final)


TABLE: list[tuple[Request, Page | Failure, str | None, bool, Verdict]] = [
    *((Request(URL), page(status), None, False, Done()) for status in (200, 201, 204, 206, 226, 304)),
    *(
        (Request(URL), page(status), None, False, Done("http-4xx"))
        for status in (400, 401, 403, 404, 410, 418, 451, 499)
    ),
    # a redirect status without Location is an ordinary page
    *((Request(URL), page(status), None, False, Done()) for status in (300, 305, 301, 302, 100)),
    (Request(URL), page(305, location="/"), TO, False, Done()),
    *(
        (Request(URL), page(status, location="/"), TO, False, Redirected(TO))
        for status in (301, 302, 303, 307, 308)
    ),
    (Request(URL), page(302, location="/"), URL, True, Redirected(URL, again=True)),
    (BOUNCED, page(302, location="/"), TO, False, Redirected(TO)),
    (NEARLY, page(302, location="/"), TO, False, Redirected(TO)),
    (FAR, page(302, location="/"), TO, False, Drop(error="redirect-loop", detail="more than 10 redirects")),
    # a redirect to the same URL does not count as a hop
    (FAR, page(302, location="/"), URL, True, Redirected(URL, again=True)),
    (
        BOUNCED,
        page(301, location="/"),
        BOUNCED.hops[0],
        False,
        Drop(error="redirect-loop", detail=f"it leads back to {BOUNCED.hops[0]}"),
    ),
    (
        Request(URL),
        page(301, location="/"),
        URL,
        False,
        Drop(error="redirect-loop", detail=f"it leads back to {URL}"),
    ),
    (
        Request(URL),
        page(302, location="file:"),
        None,
        False,
        Drop(skip="filter", detail="redirected to a URL that is not http(s)"),
    ),
    (Request(URL), page(429), None, False, Retry("rate-limited", "HTTP 429", 0.0)),
    (Request(URL), page(429, retry_after="7"), None, False, Retry("rate-limited", "HTTP 429", 7.0)),
    (Request(URL), page(408), None, False, Retry("timeout", "HTTP 408")),
    *(
        (Request(URL), page(status), None, False, Retry("http-5xx", f"HTTP {status}"))
        for status in (500, 502, 503, 504, 520, 599)
    ),
    (Request(URL), page(503, retry_after="120"), None, False, Retry("http-5xx", "HTTP 503", 120.0)),
    *(
        (Request(URL), failed(reason), None, False, Retry(reason, "why"))
        for reason in ("dns", "connect", "tls", "timeout", "reset")
    ),
    (Request(URL), failed("dns", final=True), None, False, Drop(error="dns", detail="why")),
    (Request(URL), failed("too-large", final=True), None, False, Drop(error="too-large", detail="why")),
    *(
        (Request(URL), failed(reason), None, False, Drop(skip=reason, detail="why"))
        for reason in ("private", "content-type", "filter")
    ),
]


@pytest.mark.parametrize(("request_", "result", "target", "same", "verdict"), TABLE)
def test_verdict(
    request_: Request, result: Page | Failure, target: str | None, same: bool, verdict: Verdict
) -> None:
    found = decide(request_, result, target, same)
    assert found == verdict
    match found:
        case Retry(reason) | Drop(error=str(reason)):
            assert reason in ERRORS
        case Drop(skip=reason):
            assert reason in SKIPS


BLOCKS: list[tuple[int, Block, Verdict]] = [
    (403, Block("akamai", "denied", ("a", "b")), Retry("blocked", "akamai denied (a; b)")),
    (200, Block("datadome", "captcha", ("a",)), Retry("blocked", "datadome captcha (a)")),
    (503, Block("cloudflare", "challenge", ("a",)), Retry("blocked", "cloudflare challenge (a)", 7.0)),
    (200, Block("generic", "login", ("a",)), Retry("blocked", "generic login (a)")),
    (200, Block("generic", "decoy", ("a",)), Retry("blocked", "generic decoy (a)")),
    (200, Block("generic", "rate-limit", ("a",)), Retry("rate-limited", "generic rate-limit (a)")),
    (403, Block("generic", "denied", ("status 403",)), Done("http-4xx")),
    (401, Block("generic", "login", ("status 401",)), Done("http-4xx")),
    (429, Block("generic", "rate-limit", ("status 429",)), Retry("rate-limited", "HTTP 429")),
    (200, Block("generic", "empty", ("a",)), Done()),
]


@pytest.mark.parametrize(("status", "block", "verdict"), BLOCKS)
def test_verdict_of_a_block(status: int, block: Block, verdict: Verdict) -> None:
    headers = {"retry_after": "7"} if isinstance(verdict, Retry) and verdict.after else {}
    assert decide(Request(URL), page(status, **headers), None, False, block) == verdict


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("120", 120),
        (" 5 ", 5),
        ("0", 0),
        ("-5", 0),
        ("soon", 0),
        ("1.5", 0),
        ("9" * 400, 999_999_999),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 60),
        ("Thu, 01 Jan 1970 00:00:30 GMT", 0),
        ("Thu, 99 Jan 1970 00:00:30 GMT", 0),
        ("Thursday, 01-Jan-70 00:02:00 GMT", 60),
        ("²", 0),
        ("Thu, 01 Jan 99999999 00:00:00 GMT", 0),
    ],
)
def test_retry_after(value: str | None, seconds: float) -> None:
    assert retry_after(value, now=60.0) == seconds


def test_wait_is_up_to_a_tenth_longer_and_ends() -> None:
    for attempt, least in enumerate((1.0, 10.0)):
        waits = {retry_delay(attempt, (1.0, 10.0)) for _ in range(50)}
        assert all(one is not None and least <= one <= 1.1 * least for one in waits)
        assert len(waits) > 1
    assert retry_delay(2, (1.0, 10.0)) is None
    assert retry_delay(0, ()) is None
