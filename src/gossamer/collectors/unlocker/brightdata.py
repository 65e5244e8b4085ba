"""Bright Data Web Unlocker, direct API (docs.brightdata.com: proxy-rest-api, web-unlocker/error-codes).

The status of the API's response is 200 if the unlocker was reached. The target's status is in
`x-brd-status-code`. Every error response of the unlocker contains the header `x-brd-error` or its successor
`Proxy-Status` (RFC 9209). A response without these two headers comes from the target.
"""

from __future__ import annotations

import re

from gossamer.collectors.unlocker.interface import (
    BUSY,
    KEY,
    RETRY,
    TARGET,
    ApiAnswer,
    ApiCall,
    Call,
    FetchedPage,
    Provider,
    Refusal,
    provider_message,
    retry_after,
    to_json,
)

CODES = {
    "sr_rate_limit": (BUSY, ""),
    "reject_block": (RETRY, ""),
    "domcontentloaded_event_timeout": (RETRY, ""),
    "document_load_failed": (RETRY, ""),
    "http_status": (TARGET, "blocked"),
    "expect_element": (TARGET, "blocked"),
    "net_err_cert_date_invalid": (TARGET, "tls"),
    "resolve_failed": (TARGET, "dns"),
    # RFC 9209 section 2.3
    "dns_error": (TARGET, "dns"),
    "dns_timeout": (RETRY, ""),
    "destination_ip_prohibited": (TARGET, "blocked"),
    "destination_not_found": (TARGET, "dns"),
    "http_request_denied": (TARGET, "blocked"),
    "http_request_error": (TARGET, "blocked"),
    "tls_certificate_error": (TARGET, "tls"),
    "proxy_configuration_error": (KEY, ""),
}
"""The meanings of Bright Data's error codes. All `resolve_failed_*` codes have the same meaning."""
STATUSES = {400: TARGET, 401: KEY, 403: TARGET, 407: KEY, 429: BUSY}
_ERROR = re.compile(r"""(?:^|;)\s*error\s*=\s*"?([\w-]+)""")


def request(needs: ApiCall, endpoint: str, key: str) -> Call:
    """Returns the API call `POST /request`, with a JSON body. Bright Data itself decides whether to render
    the page. Bright Data does not support headers, bodies, selectors or sessions."""
    if needs.headers:
        raise ValueError("brightdata forwards no headers")
    if needs.body is not None:
        raise ValueError("brightdata forwards no body")
    wanted = {"zone": needs.extra["zone"], "url": needs.url, "format": "raw", "method": needs.method}
    if needs.country:
        wanted["country"] = needs.country
    if "data_format" in needs.extra:
        wanted["data_format"] = needs.extra["data_format"]
    return Call(
        endpoint,
        "POST",
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        to_json(wanted),
    )


def answer(found: ApiAnswer, needs: ApiCall) -> FetchedPage | Refusal:
    """Returns the page, which is the body of the response, or a refusal. Only pages are billed."""
    if found.status in (400, 401):  # the request did not reach the unlocker
        zone = found.status == 401 or b"zone" in found.body[:2000].lower()
        return Refusal(
            KEY if zone else TARGET, provider_message(found, "error", "message"), reason="http-4xx"
        )
    own = found.header("x-brd-status-code") or ""
    status = int(own) if own.isdecimal() and 100 <= int(own) <= 599 else found.status
    codes = [found.header("x-brd-error-code"), found.header("x-brd-err-code"), _standard(found)]
    code = next((one.strip() for one in codes if one), "")
    error = found.header("x-brd-error") or found.header("x-brd-err-msg")
    if not code and error is None and found.status == 200:
        headers = [row for row in found.headers if not row[0].startswith("x-brd-")]
        return FetchedPage(status, headers, found.body, None, needs.cost)
    kind, reason = CODES.get("resolve_failed" if code.startswith("resolve_failed") else code, ("", "blocked"))
    kind = kind or STATUSES.get(status, RETRY)
    words = " ".join(
        f"{code} {error or provider_message(found, 'error', 'message')} (HTTP {status})".split()
    )[:200]
    return Refusal(kind, words, after=retry_after(found.header("retry-after")), reason=reason)


def cost(needs: ApiCall) -> int:
    """Returns 1 credit per page."""
    return 1


def _standard(found: ApiAnswer) -> str:
    """Returns the error that a Proxy-Status header reports, or ''."""
    value = _ERROR.search(found.header("proxy-status") or "")
    return value[1] if value else ""


PROVIDER = Provider(
    "brightdata",
    "https://api.brightdata.com/request",
    160.0,
    request,
    answer,
    cost,
    ("zone", "data_format"),
    ("zone",),
    ("render", "wait_for", "session"),
)
