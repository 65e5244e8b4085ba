"""The answers of odd URLs, one function per act. A function either sends its answer at once, or returns a
coroutine that the connection runs and cancels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from web import html, wire
from web.plan import Link

if TYPE_CHECKING:
    from web.server import Trip

Act = Callable[["Trip"], Coroutine[Any, Any, None] | None]
LONG = 600.0  # seconds until the server closes a hanging request
BLOCK = b"<p>" + b"and so on, " * 1488 + b"</p>\n"


def page(trip: Trip) -> None:
    trip.send(200, html.odd_page(trip.plan, trip.host, trip.odd))


def copy(trip: Trip) -> None:
    links = [Link(trip.plan.url(trip.host), "/")]
    trip.send(200, html.small(trip.odd.title, links, text="<p>The same words in several places."))


def status(trip: Trip) -> None:
    trip.send(trip.odd.status or 0, b"" if trip.odd.status == 204 else b"<h1>no page here</h1>")


def redirect(trip: Trip) -> None:
    trip.send(trip.odd.status or 302, b"<p>moved</p>", (("Location", trip.odd.arg),))


def bounce(trip: Trip) -> None:
    if "bounced=1" in trip.headers.get("cookie", ""):
        return page(trip)
    return trip.send(302, b"", (("Location", trip.odd.path), ("Set-Cookie", "bounced=1; Path=/r/")))


def flaky(trip: Trip) -> None:
    what, times = trip.odd.arg.split()
    if trip.tries > int(times):
        return page(trip)
    if what == "reset":
        return trip.conn.reset()
    after = (("Retry-After", str(trip.plan.retry_after)),) if what in ("429", "503") else ()
    return trip.send(int(what), b"<p>not now</p>", after)


async def slow(trip: Trip) -> None:
    await asyncio.sleep(trip.plan.slow)
    page(trip)


async def slow_body(trip: Trip) -> None:
    body = html.odd_page(trip.plan, trip.host, trip.odd)
    trip.write(wire.head(200, (("Content-Type", wire.HTML),), len(body)) + body[:50])
    await asyncio.sleep(trip.plan.slow)
    trip.write(body[50:])
    trip.done(200)


def typed(trip: Trip) -> None:
    trip.send(200, b"%PDF-1.4 <a href='/in-no-page.html'>x</a>\n" * 30, (("Content-Type", trip.odd.arg),))


def encoding(trip: Trip) -> None:
    where, declared, codec = trip.odd.arg.split()
    shown = trip.odd.title if codec != "utf-8" or trip.odd.title.isascii() else _original(trip.odd.title)
    said = {"meta": declared, "both": "iso-8859-1"}.get(where, "")
    meta = f'<meta charset="{said}">' if said else ""
    text = f"<!DOCTYPE html><html><head>{meta}<title>{shown or 'Größe'}</title></head><body><p>{shown}</p></body></html>"
    kind = f"text/html; charset={declared}" if where in ("header", "both") else "text/html"
    trip.send(200, text.encode(codec), (("Content-Type", kind),))


def _original(shown: str) -> str:
    """Returns the text before a browser decoded its UTF-8 as windows-1252."""
    try:
        return shown.encode("cp1252").decode()
    except UnicodeError:
        return shown


def close_kept(trip: Trip) -> None:
    if trip.conn.requests > 1 and trip.tries == 1:
        trip.done(0, close=True)
    else:
        page(trip)


def x_robots(trip: Trip) -> None:
    headers = (("Content-Type", wire.HTML), ("X-Robots-Tag", "nofollow"))
    trip.send(200, html.odd_page(trip.plan, trip.host, trip.odd), headers)


def lie(trip: Trip) -> None:
    """Sends a body that contradicts its headers, and closes the connection."""
    body = html.odd_page(trip.plan, trip.host, trip.odd)
    kind = f"HTTP/1.1 200 OK\r\nContent-Type: {wire.HTML}\r\n".encode()
    chunked = kind + b"Transfer-Encoding: chunked\r\n\r\n"
    packed, n = wire.zipped(body), b"Content-Length: %d\r\n"
    forms = {
        "truncated": lambda: kind + n % (len(body) + 1000) + b"\r\n" + body,
        "short-length": lambda: kind + n % (len(body) // 2) + b"\r\n" + body,
        "twice-length": lambda: kind + n % len(body) + n % 5 + b"\r\n" + body,
        "bad-chunk": lambda: chunked + wire.chunk(body) + b"zz;\r\nnot a chunk\r\n",
        "chunk-cut": lambda: chunked + wire.chunk(body),
        "not-gzip": lambda: kind + b"Content-Encoding: gzip\r\n" + n % len(body) + b"\r\n" + body,
        "not-brotli": lambda: kind + b"Content-Encoding: br\r\n" + n % len(body) + b"\r\n" + body,
        "gzip-cut": lambda: (
            kind
            + b"Content-Encoding: gzip\r\n"
            + n % (len(packed) // 2)
            + b"\r\n"
            + packed[: len(packed) // 2]
        ),
        "bad-header": lambda: (
            kind + b"this line has no colon\r\nX-Nul: a\0b\r\n" + n % len(body) + b"\r\n" + body
        ),
        "bad-status": lambda: b"HTTQ/9 fine\r\n\r\n" + body,
        "header-bomb": lambda: (
            kind + b"X-Filler: 0123456789abcdef\r\n" * 370_000 + n % len(body) + b"\r\n" + body
        ),
        "until-close": lambda: kind + b"Connection: close\r\n\r\n" + body,
    }
    trip.write(forms[trip.odd.act]())
    trip.done(200, close=True)


def chunked(trip: Trip) -> None:
    body = html.odd_page(trip.plan, trip.host, trip.odd)
    pieces = b"".join(wire.chunk(body[k : k + 7]) for k in range(0, len(body), 7))
    trip.write(
        wire.head(200, (("Content-Type", wire.HTML), ("Transfer-Encoding", "chunked")))
        + pieces
        + b"0\r\n\r\n"
    )
    trip.done(200)


async def hang(trip: Trip) -> None:
    head = wire.head(200, (("Content-Type", wire.HTML),), 5000)
    trip.write({"hang-head": head[:20], "hang-body": head + b"<p>one moment"}.get(trip.odd.act, b""))
    await asyncio.sleep(LONG)
    trip.done(0, close=True)


async def drip(trip: Trip) -> None:
    """Sends one byte every fifth of a second, as a body or as an endless header."""
    head = wire.head(200, (("Content-Type", wire.HTML),), 100_000)
    trip.write(head[:-2] if trip.odd.act == "drip-head" else head)
    for _ in range(int(LONG * 5)):
        await asyncio.sleep(0.2)
        trip.write(b"x")
    trip.done(200, close=True)


async def endless(trip: Trip) -> None:
    """Sends up to 10 GB, as much as the client reads."""
    act, headers = trip.odd.act, (("Content-Type", wire.HTML),)
    if act in ("endless-chunks", "tiny-chunks"):
        trip.write(wire.head(200, (*headers, ("Transfer-Encoding", "chunked"))))
    else:
        trip.write(
            wire.head(200, (*headers, ("Connection", "close")), 10**10 if act == "huge-length" else None)
        )
    block = {"endless-chunks": wire.chunk(BLOCK), "tiny-chunks": wire.chunk(b"x") * 4000}.get(act, BLOCK)
    for _ in range(10**10 // len(BLOCK)):
        trip.write(block)
        await trip.conn.free.wait()
    trip.done(200, close=True)


def bomb(trip: Trip) -> None:
    coding, body = wire.bomb(trip.odd.arg)
    trip.send(200, body, (("Content-Type", wire.HTML), ("Content-Encoding", coding)))


def deep(trip: Trip) -> None:
    trip.send(200, b"<title>deep</title>" + b"<div>" * 400_000 + b"bottom")


def many_links(trip: Trip) -> None:
    """Sends 20,000 links to other sites. No crawler has to visit them, but each has to survive them."""
    rows = "".join(f'<a href="http://elsewhere.example/many-{n}.html">{n}</a>\n' for n in range(20_000))
    trip.send(200, f"<title>links</title>{rows}".encode())


_LIES = (
    "truncated",
    "short-length",
    "twice-length",
    "bad-chunk",
    "chunk-cut",
    "not-gzip",
    "not-brotli",
    "gzip-cut",
    "bad-header",
    "bad-status",
    "header-bomb",
    "until-close",
)
ACTS: dict[str, Act] = {
    "page": page,
    "copy": copy,
    "status": status,
    "redirect": redirect,
    "bounce": bounce,
    "flaky": flaky,
    "slow": slow,
    "slow-body": slow_body,
    "type": typed,
    "encoding": encoding,
    "close-kept": close_kept,
    "x-robots": x_robots,
    "chunked": chunked,
    "bomb": bomb,
    "deep": deep,
    "many-links": many_links,
    **dict.fromkeys(_LIES, lie),
    **dict.fromkeys(("hang", "hang-head", "hang-body"), hang),
    **dict.fromkeys(("drip", "drip-head"), drip),
    **dict.fromkeys(("endless", "endless-chunks", "tiny-chunks", "huge-length"), endless),
}
