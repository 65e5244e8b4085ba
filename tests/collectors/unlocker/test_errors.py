"""Tests of each documented error of each provider, sent by a local server: the outcome of the request, and
its cost."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.unlocker.provider_servers import KEY, Stub, problem
from collectors.unlocker.unlocker_desk import URL, desk
from gossamer.errors import ConfigError, NoCredit
from support.byte_servers import bad


def zen(status: int, code: str, *headers: str) -> bytes:
    return problem(status, {"code": code, "title": "so", "detail": f"key {KEY}"}, *headers)


def brd(status: int, code: str, *headers: str) -> bytes:
    return problem(
        200,
        "",
        f"x-brd-status-code: {status}",
        f"x-brd-error-code: {code}",
        f"x-brd-error: {code} so",
        *headers,
    )


def fly(status: int, code: str, again: str = "no", *headers: str) -> bytes:
    words = [
        f"X-Scrapfly-Reject-Code: {code}",
        f"X-Scrapfly-Reject-Retryable: {again}",
        "X-Scrapfly-Reject-Description: so",
    ]
    return problem(status, {"result": {}, "message": f"key {KEY}"}, *words, *headers)


AGAIN, LATER, OVER = "again", "later", "over"
"""Outcomes of a request: retried on its schedule, returned to the queue without counting as a retry, or
finally failed with a reason."""
ERRORS: list[tuple[str, bytes, Any]] = [
    ("scraperapi", problem(400, "bad request"), "http-4xx"),
    ("scraperapi", problem(401, f"Unauthorized request, {KEY}"), ConfigError),
    ("scraperapi", problem(403, "You have used up all your API credits"), NoCredit),
    ("scraperapi", problem(403, "the request exceeds max_cost"), "blocked"),
    ("scraperapi", problem(403, "blocked"), AGAIN),
    ("scraperapi", problem(429, "too many"), LATER),
    ("scraperapi", problem(500, "failed"), AGAIN),
    ("scraperapi", problem(503, "failed"), AGAIN),
    ("zenrows", zen(400, "REQS001"), "blocked"),
    ("zenrows", zen(400, "REQS002"), "blocked"),
    ("zenrows", zen(400, "REQS004"), "http-4xx"),
    ("zenrows", zen(400, "RESP004"), "blocked"),
    ("zenrows", zen(400, "RESP008"), "blocked"),
    *[("zenrows", zen(401, f"AUTH00{n}"), ConfigError) for n in (1, 2, 3)],
    *[("zenrows", zen(402, code), NoCredit) for code in ("AUTH004", "AUTH005", "AUTH011", "AUTH012")],
    ("zenrows", zen(402, "AUTH010"), ConfigError),
    ("zenrows", zen(403, "AUTH009"), ConfigError),
    ("zenrows", zen(403, "BLK0001"), LATER),
    ("zenrows", zen(404, "RESP007"), "dns"),
    ("zenrows", zen(413, "RESP005"), "too-large"),
    ("zenrows", zen(422, "RESP001"), AGAIN),
    ("zenrows", zen(424, "RESP006"), "blocked"),
    ("zenrows", zen(429, "AUTH006"), LATER),
    ("zenrows", zen(429, "AUTH008", "Retry-After: 7"), LATER),
    ("zenrows", zen(502, "RESP003"), AGAIN),
    ("zenrows", zen(504, "CTX0002"), AGAIN),
    ("zenrows", zen(500, "NEW0001"), AGAIN),
    ("brightdata", problem(401, "bad token"), ConfigError),
    ("brightdata", problem(400, {"error": "no such zone"}), ConfigError),
    ("brightdata", problem(400, {"error": "invalid URL"}), "http-4xx"),
    ("brightdata", brd(407, "auth"), ConfigError),
    ("brightdata", brd(403, "policy_20000"), "blocked"),
    ("brightdata", brd(429, "sr_rate_limit"), LATER),
    ("brightdata", brd(502, "reject_block"), AGAIN),
    ("brightdata", brd(502, "domcontentloaded_event_timeout"), AGAIN),
    ("brightdata", brd(502, "document_load_failed"), AGAIN),
    ("brightdata", brd(502, "resolve_failed_nxdomain"), "dns"),
    ("brightdata", brd(502, "http_status"), "blocked"),
    ("brightdata", brd(502, "expect_element"), "blocked"),
    ("brightdata", brd(502, "net_err_cert_date_invalid"), "tls"),
    ("brightdata", problem(200, "", "x-brd-status-code: 502", "x-brd-err-code: peer_x"), AGAIN),
    (
        "brightdata",
        problem(
            200, "", "x-brd-status-code: 403", 'Proxy-Status: brd; error=http_request_denied; details="x"'
        ),
        "blocked",
    ),
    ("brightdata", problem(407, "", "Proxy-Status: brd;error=proxy_configuration_error"), ConfigError),
    ("zyte", problem(400, {"title": "Bad Request"}), "http-4xx"),
    ("zyte", problem(401, {"title": "Authentication Key Not Found"}), ConfigError),
    ("zyte", problem(402, {"title": "Payment Required"}), NoCredit),
    ("zyte", problem(422, {"title": "Unprocessable"}), "http-4xx"),
    ("zyte", problem(429, {"title": "Too Many"}), LATER),
    ("zyte", problem(503, {"title": "Overload"}), LATER),
    ("zyte", problem(500, {"title": "Internal"}), AGAIN),
    ("zyte", problem(520, {"title": "Website Ban"}), AGAIN),
    ("zyte", problem(521, {"title": "Permanent Download Error"}), "blocked"),
    ("zyte", problem(200, {"url": URL}), AGAIN),
    ("scrapfly", fly(401, "ERR::ACCOUNT::KEY"), ConfigError),
    ("scrapfly", fly(402, "ERR::ACCOUNT::PAY"), NoCredit),
    ("scrapfly", fly(429, "ERR::THROTTLE::MAX_CONCURRENT_REQUEST_EXCEEDED", "yes", "Retry-After: 9"), LATER),
    ("scrapfly", fly(422, "ERR::SCRAPE::COST_BUDGET_LIMIT"), "blocked"),
    ("scrapfly", fly(422, "ERR::ASP::SHIELD_ERROR", "yes"), AGAIN),
    ("scrapfly", fly(422, "ERR::ASP::SHIELD_ERROR", "no"), "blocked"),
    ("scrapfly", fly(422, "ERR::SCRAPE::DNS_NAME_NOT_RESOLVED"), "dns"),
    ("scrapfly", fly(422, "ERR::PROXY::TIMEOUT", "yes"), AGAIN),
    ("scrapfly", fly(422, "ERR::SESSION::CONCURRENT_ACCESS", "yes"), LATER),
    ("scrapfly", problem(500), AGAIN),
    ("generic", problem(401), ConfigError),
    ("generic", problem(402), NoCredit),
    ("generic", problem(403), NoCredit),
    ("generic", problem(418), LATER),
    ("generic", problem(429), LATER),
    ("generic", problem(500), AGAIN),
    ("generic", problem(400), "blocked"),
]


@pytest.mark.parametrize(
    ("provider", "said", "meant"), ERRORS, ids=lambda value: value if isinstance(value, str) else ""
)
async def test_each_error_means_what_is_documented(
    valkey_url: str, provider: str, said: bytes, meant: Any
) -> None:
    async with desk(Stub(provider, None, said), valkey_url) as one:
        if isinstance(meant, type):
            with pytest.raises(meant) as raised:
                await one.get()
            assert raised.value.exit_code == {ConfigError: 4, NoCredit: 9}[meant]
            assert KEY not in str(raised.value)
            assert (await one.purse.spent()).shut > 0, "nobody asks again at once"
        else:
            found = bad(await one.get())
            assert KEY not in repr(found)
            became = LATER if found.later is not None else OVER if found.final else AGAIN
            assert became == (meant if meant in (AGAIN, LATER) else OVER), found
            if became == OVER:
                assert found.reason == meant
            if became == LATER and b"Retry-After" in said:
                assert found.later in (7.0, 9.0)
        assert await one.spent() == (1 if b'"url"' in said else 0), "errors are not billed"
        assert len(one.stub.calls) == 1, "a call is made once"
