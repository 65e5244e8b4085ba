"""Compares how Debian's Chromium and the rungs `plain` and `impersonated` read odd response headers.

python benchmarks/header_oddities.py [--chromium /usr/bin/chromium]

Each case is one response of a server on loopback. The browser and both rungs request it and follow its redirects.
A result consists of the path of the last request, the type of the page, and its title. The table shows the cases
whose results differ, with the reason for each. The program fails if more than a tenth of the cases differ, or if a case
differs that is not in DIFFERENT.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "src")]

from gossamer.collectors.http.collector import HttpCollector  # noqa: E402
from gossamer.collectors.impersonated import ImpersonatedCollector  # noqa: E402
from gossamer.egress.resolver import Resolver  # noqa: E402
from gossamer.identity.browsers import BROWSERS, CURRENT  # noqa: E402
from gossamer.model.browser_profile import Guise  # noqa: E402
from gossamer.model.content_type import page_type  # noqa: E402
from gossamer.model.page import Failure  # noqa: E402
from gossamer.model.request import Request  # noqa: E402
from gossamer.parsing.html import parse  # noqa: E402
from gossamer.url.redirects import redirect_target  # noqa: E402

PAGE = b"<!doctype html><title>fine</title><p>A page with some text.</p>"
PACKED = gzip.compress(PAGE)
XHTML = (
    b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>fine</title>'
    b'<script src="data:,"/></head><body><p>text</p></body></html>'
)
RSS = b'<?xml version="1.0"?><rss version="2.0"><channel><title>fine</title></channel></rss>'
Case = tuple[bytes, bytes]
"""The head of a response without the last empty line, and the body. `@` in the head stands for Content-Length
with the size of the body."""


def typed(value: bytes | None, body: bytes = PAGE, *more: bytes) -> Case:
    """Returns a response with a Content-Type."""
    lines = [b"Content-Type: " + value] if value is not None else []
    return b"\r\n".join([b"HTTP/1.1 200 OK", *lines, *more, b"@"]), body


def html(*lines: bytes, body: bytes = PAGE, first: bytes = b"HTTP/1.1 200 OK") -> Case:
    """Returns an HTML page with further header lines."""
    return b"\r\n".join([first, b"Content-Type: text/html", *lines]), body


def moved(location: bytes) -> Case:
    """Returns a redirect."""
    return b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n@", b""


CASES: dict[str, Case] = {
    "type twice in one header": typed(b"text/html,text/html"),
    "two headers, the last is plain": typed(b"text/html", PAGE, b"Content-Type: text/plain"),
    "two headers, the last is HTML": typed(b"text/plain", PAGE, b"Content-Type: text/html"),
    "type without slash": typed(b"html"),
    "any type": typed(b"*/*"),
    "unknown type": typed(b"unknown/unknown"),
    "application/unknown": typed(b"application/unknown"),
    "only a charset": typed(b"charset=utf-8"),
    "empty type": typed(b""),
    "no type": typed(None),
    "no type, an image": typed(None, b"\x89PNG\r\n\x1a\n" + bytes(40)),
    "no type, a text": typed(None, b"hello"),
    "no type, a comment": typed(None, b"<!-- c -->" + PAGE),
    "no type, XML": typed(None, XHTML),
    "no type, PDF": typed(None, b"%PDF-1.7 " + bytes(40)),
    "type with a comment": typed(b"text/html (a page)"),
    "type without semicolon": typed(b"text/html charset=utf-8"),
    "parameter without value": typed(b"text/html; charset"),
    "type after a comma": typed(b"text/plain, text/html"),
    "octets": typed(b"application/octet-stream"),
    "upper case": typed(b"TEXT/HTML;CHARSET=UTF-8"),
    "quoted charset": typed(b'text/html; charset="utf-8"', "<title>fïne</title>".encode()),
    "charset in single quotes": typed(b"text/html; charset='utf-8'", "<title>fïne</title>".encode()),
    "charset of another type": typed(b"text/html;charset=koi8-r, text/html", b"<title>\xc6</title>"),
    "plain text that is HTML": typed(b"text/plain"),
    "plain text with a binary byte": typed(b"text/plain", b"a\0b"),
    "RSS": typed(b"application/rss+xml", RSS),
    "XHTML": typed(b"application/xhtml+xml", XHTML),
    "XHTML as XML": typed(b"text/xml", XHTML),
    "nosniff and no type": typed(None, PAGE, b"X-Content-Type-Options: nosniff"),
    "Location ends in 85": moved(b"/got/a\x85"),
    "Location ends in A0": moved(b"/got/a\xa0"),
    "Location with a Latin-1 letter": moved(b"/got/\xe9"),
    "Location with UTF-8": moved("/got/é?é".encode()),
    "Location with spaces": moved(b"  /got/a b \t"),
    "Location with backslashes": moved(b"\\got\\a"),
    "Location without path": moved(b"?a=1"),
    "Location with dots": moved(b"../got/./b/../a"),
    "Location with percent signs": moved(b"/got/%zz%e9"),
    "Location with quotes": moved(b'/got/"<a>"'),
    "Location with a fragment": moved(b"/got/a#b"),
    "empty Location": (b"HTTP/1.1 302 Found\r\nLocation:\r\nContent-Type: text/html\r\n@", PAGE),
    "no Location": (b"HTTP/1.1 302 Found\r\nContent-Type: text/html\r\n@", PAGE),
    "Refresh header": html(b"Refresh: 0; url=/got/refresh", b"@"),
    "Refresh header with quotes": html(b"Refresh: 0;URL='/got/refresh'", b"@"),
    "line without colon": html(b"garbage", b"@"),
    "empty Content-Length": html(b"Content-Length:"),
    "negative Content-Length": html(b"Content-Length: -1"),
    "Content-Length with plus": html(b"Content-Length: +63"),
    "Content-Length twice, equal": html(b"@", b"@"),
    "Content-Length twice, different": html(b"@", b"Content-Length: 3"),
    "NUL in a header": html(b"X-A: a\0b", b"@"),
    "blank line before the status": html(b"@", first=b"\r\nHTTP/1.1 200 OK"),
    "NUL before the status": html(b"@", first=b"\0HTTP/1.1 200 OK"),
    "lower case status line": html(b"@", first=b"http/1.1 200 OK"),
    "status line without status": html(b"@", first=b"HTTP/1.1"),
    "status line without version": html(b"@", first=b"HTTP 200 OK"),
    "status line with version 1.5": html(b"@", first=b"HTTP/1.5 200 OK"),
    "status line with tabs": html(b"@", first=b"HTTP/1.1\t200\tOK"),
    "status of four digits": html(b"@", first=b"HTTP/1.1 2000 OK"),
    "no HTTP": html(b"@", first=b"ICY 200 OK"),
    "line without name": html(b": a", b"@"),
    "300 header lines": html(*[b"X-%d: 1" % n for n in range(300)], b"@"),
    "lines end in LF": (b"HTTP/1.1 200 OK\nContent-Type: text/html\n@\n\n", PAGE),
    "folded line": html(b"X-A: a", b" b", b"@"),
    "space before the colon": html(b"X-A : a", b"@"),
    "gzip, gzip": html(b"Content-Encoding: gzip, gzip", b"@", body=gzip.compress(PACKED)),
    "gzip named twice": html(b"Content-Encoding: gzip, gzip", b"@", body=PACKED),
    "two Content-Encoding lines": html(
        b"Content-Encoding: gzip", b"Content-Encoding: gzip", b"@", body=PACKED
    ),
    "unknown coding": html(b"Content-Encoding: utf-8", b"@"),
    "gzip under the plain size": html(
        b"Content-Encoding: gzip", b"Content-Length: %d" % len(PAGE), body=PACKED
    ),
    "unknown Transfer-Encoding": html(b"Transfer-Encoding: odd"),
    "Transfer-Encoding identity": html(b"Transfer-Encoding: identity", b"@"),
    "chunked with Content-Length": html(
        b"Transfer-Encoding: chunked", b"Content-Length: 5", body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(PAGE), PAGE)
    ),
}
DIFFERENT: dict[str, str] = {
    "no HTTP": "HTTP/0.9 is not read, because any service would count as a page",
    "charset in single quotes": "the charset is what the server means; Chromium detects another one",
    "RSS": "page functions select in the XML; Chromium shows its text",
    "NUL in a header": "a page is worth more than none; libcurl and Chromium refuse it",
    "NUL before the status": "as above",
    "gzip named twice": "the body is whole; Chromium fails to decode it a second time",
    "two Content-Encoding lines": "as above",
}
"""Cases that may differ from Chromium, with the reason."""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers one request."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
        name = list(CASES)[int(path[6:].partition("?")[0])] if path.startswith("/case/") else ""
        head, body = CASES[name] if name else html(b"@") if path.startswith("/got/") else (NOT_FOUND, b"")
        head = head.replace(b"@", b"Content-Length: %d" % len(body))
        end = b"" if head.endswith(b"\n\n") else b"\r\n\r\n" if b"\nConnection" in head else CLOSE
        writer.write(head + end + body)
        await writer.drain()
    writer.close()


NOT_FOUND = b"HTTP/1.1 404 Not Found\r\n@"
CLOSE = b"\r\nConnection: close\r\n\r\n"
NONE = ("", "no page", "")
Result = tuple[str, str, str]


@contextlib.asynccontextmanager
async def server() -> AsyncIterator[str]:
    """Serves the cases. Yields the URL of the server."""
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"


def simple(kind: str) -> str:
    """Returns how a page of a media type is read: as HTML, XML or text."""
    return (
        "html"
        if kind == "text/html"
        else "xml"
        if "xml" in kind
        else "text"
        if kind == "text/plain"
        else kind
    )


async def of_rung(collector: Any, base: str, path: str, guise: Guise | None) -> Result:
    """Returns how a rung reads a case."""
    url = base + path
    for _ in range(5):
        page = await collector.collect(Request(url), {}, guise)
        if isinstance(page, Failure):
            return NONE
        if page.location is not None:
            url = redirect_target(page.location, url) or ""
            continue
        document = parse(page.body, page.read_as, url, refresh_header=page.header("refresh"))
        if document.refresh and (target := document.base.resolve(document.refresh)) and target != url:
            url = target
            continue
        kind = simple(page_type(page.read_as, page.body))
        if kind not in ("html", "xml", "text"):
            return NONE
        return url.removeprefix(base), kind, (document.title or "") if kind != "text" else ""
    return NONE


async def of_chromium(tab: Any, base: str, path: str) -> Result:
    """Returns how the browser reads a case. A download, an error page and a picture are no page."""
    from playwright.async_api import Error

    try:
        await tab.goto(base + path, timeout=10_000)
        await asyncio.sleep(0.3)
        kind = simple(await tab.evaluate("document.contentType"))
        title = await tab.evaluate("document.querySelector('title')?.textContent ?? ''")
    except Error:
        return NONE
    if kind not in ("html", "xml", "text") or not tab.url.startswith(base):
        return NONE
    return tab.url.removeprefix(base).partition("#")[0], kind, title


async def compare(program: str) -> int:
    """Prints the table. Returns the exit code."""
    from playwright.async_api import async_playwright

    resolver = Resolver(("127.0.0.0/8",))
    plain = HttpCollector(resolver, user_agent="header-oddities/1", total=8.0)
    impersonated = ImpersonatedCollector(resolver, total=8.0)
    chrome = BROWSERS[CURRENT["chrome"]]
    worn = Guise(chrome.name, chrome.target, chrome.http2, "1")
    wrong: list[str] = []
    differ = 0
    async with server() as base, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        print(f"Chromium {browser.version}, {len(CASES)} cases\n")
        print("| case | Chromium | plain | impersonated | reason |\n| --- | --- | --- | --- | --- |")
        for number, name in enumerate(CASES):
            path = f"/case/{number}"
            context = await browser.new_context()
            seen = await of_chromium(await context.new_page(), base, path)
            await context.close()
            ours = await of_rung(plain, base, path, None), await of_rung(impersonated, base, path, worn)
            if ours == (seen, seen):
                continue
            differ += 1
            wrong += [name] if name not in DIFFERENT else []
            cells = [" ".join(filter(None, one)) for one in (seen, *ours)]
            print(f"| {name} | {' | '.join(cells)} | {DIFFERENT.get(name, 'unknown')} |")
        await browser.close()
    await plain.close()
    await impersonated.close()
    await resolver.close()
    print(f"\n{len(CASES) - differ} of {len(CASES)} agree")
    return int(bool(wrong) or differ * 10 > len(CASES))


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the program of the browser")
    return asyncio.run(compare(parser.parse_args().chromium))


if __name__ == "__main__":
    sys.exit(main())
