"""Local servers that behave as the providers' documentation describes. `target` is the page that a
provider fetches."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.byte_servers import Asked, answer

KEY = "CANARY-key-8d1f/+="
BODY = "<title>Zoë</title><p>hello".encode()


@dataclass
class Asking:
    """A call as a provider understands it."""

    url: str
    key: str
    method: str
    given: dict[str, Any]
    headers: dict[str, str]
    body: bytes


@dataclass
class Target:
    """The page that a provider fetches."""

    status: int = 200
    headers: dict[str, str] = field(
        default_factory=lambda: {"Content-Type": "text/html; charset=utf-8", "X-Own": "1"}
    )
    body: bytes = BODY
    final: str | None = None


def understood(asked: Asked) -> Asking:
    """Parse a call whose parameters are in the query or in a JSON body, depending on the provider."""
    method, target, _ = asked.line.split(" ")
    given: dict[str, Any] = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
    key = given.get("api_key") or given.get("apikey") or given.get("key") or ""
    body = asked.body
    if "application/json" in asked.headers.get("content-type", "") and not given:
        given, body = json.loads(asked.body), b""
        scheme, _, word = asked.headers["authorization"].partition(" ")
        key = base64.b64decode(word).decode().removesuffix(":") if scheme == "Basic" else word
    return Asking(given.get("url", ""), key, method, given, asked.headers, body)


def lines(headers: dict[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def scraperapi(call: Asking, target: Target) -> bytes:
    own = {"sa-final-url": target.final or call.url, "sa-statuscode": str(target.status)}
    return answer(target.body, 404 if target.status == 404 else 200, *lines(target.headers | own))


def zenrows(call: Asking, target: Target) -> bytes:
    own = {
        "Concurrency-Limit": "10",
        "Concurrency-Remaining": "9",
        "X-Request-Id": "r1",
        "Zr-Final-Url": target.final or call.url,
    }
    own["X-Request-Cost"] = "5" if call.given.get("js_render") == "true" else "1"
    return answer(target.body, target.status, *lines(target.headers | own))


def brightdata(call: Asking, target: Target) -> bytes:
    return answer(target.body, 200, *lines(target.headers | {"x-brd-status-code": str(target.status)}))


def zyte(call: Asking, target: Target) -> bytes:
    reply: dict[str, Any] = {"url": target.final or call.url, "statusCode": target.status}
    if call.given.get("browserHtml"):
        reply["browserHtml"] = target.body.decode()
    else:
        reply["httpResponseBody"] = base64.b64encode(target.body).decode()
        reply["httpResponseHeaders"] = [
            {"name": name, "value": value} for name, value in target.headers.items()
        ]
    return answer(json.dumps(reply).encode(), 200, "Content-Type: application/json", "request-id: r1")


def scrapfly(call: Asking, target: Target) -> bytes:
    text = target.headers.get("Content-Type", "").startswith("text/")
    cost = 6 if call.given.get("render_js") == "true" else 1
    good = target.status < 400
    result = {
        "content": target.body.decode() if text else base64.b64encode(target.body).decode(),
        "format": "TEXT" if text else "BINARY",
        "status_code": target.status,
        "response_headers": target.headers,
        "url": target.final or call.url,
        "success": good,
        "error": None if good else {"code": "ERR::SCRAPE::BAD_UPSTREAM_RESPONSE", "message": "bad status"},
    }
    reject = (
        []
        if good
        else ["X-Scrapfly-Reject-Code: ERR::SCRAPE::BAD_UPSTREAM_RESPONSE", "X-Scrapfly-Reject-Retryable: no"]
    )
    reply = json.dumps({"result": result, "context": {"cost": {"total": cost}}}).encode()
    return answer(
        reply, 200 if good else 422, "Content-Type: application/json", f"X-Scrapfly-Api-Cost: {cost}", *reject
    )


def generic(call: Asking, target: Target) -> bytes:
    reply = {
        "http": {"code": target.status, "html": target.body.decode(), "at": target.final or call.url},
        "price": 3,
    }
    return answer(json.dumps(reply).encode(), 200, "Content-Type: application/json")


PAGES: dict[str, Callable[[Asking, Target], bytes]] = {
    "scraperapi": scraperapi,
    "zenrows": zenrows,
    "brightdata": brightdata,
    "zyte": zyte,
    "scrapfly": scrapfly,
    "generic": generic,
}


class Stub:
    """A provider that first answers calls with the byte strings in `errors`, one per call, and then with
    the target's page."""

    def __init__(
        self,
        provider: str,
        target: Target | Callable[[str], Target] | None = None,
        *errors: bytes,
        slow: float = 0.0,
    ) -> None:
        self.provider, self.target, self.errors, self.slow = provider, target or Target(), list(errors), slow
        self.calls: list[Asking] = []
        self.at_once = self.most = 0

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        call = understood(asked)
        self.calls.append(call)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(self.slow)
        finally:
            self.at_once -= 1
        target = self.target(call.url) if callable(self.target) else self.target
        writer.write(self.errors.pop(0) if self.errors else PAGES[self.provider](call, target))
        return False


def problem(status: int, reply: Any = None, *headers: str) -> bytes:
    """Return a response that the provider itself generates, as JSON or as text."""
    if isinstance(reply, str):
        return answer(reply.encode(), status, "Content-Type: text/plain", *headers)
    return answer(json.dumps(reply or {}).encode(), status, "Content-Type: application/json", *headers)
