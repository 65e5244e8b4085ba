"""Fetches URLs with gossamer's HTTP client and one task per host, as the floor of benchmarks/concurrency.py.

    python bare_hosts.py URLS OUTPUT DELAY

The program uses the same client and parser as gossamer, without a frontier and a log. Two requests to a host
start at least the delay apart.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import uvloop

from gossamer.collectors.http.collector import HttpCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing import html
from gossamer.parsing.links import hrefs
from gossamer.url import HrefResolver as Links


async def main(urls: list[str], out: str, delay: float) -> None:
    """Visits all URLs, with one task per host."""
    collector = HttpCollector(Resolver(["127.0.0.0/8"]), user_agent="bare", connections=4096)
    hosts: dict[str, list[str]] = {}
    for url in urls:
        hosts.setdefault(urlsplit(url).netloc, []).append(url)
    with open(out, "wb") as file:  # noqa: ASYNC230 - once, before the loop

        async def work(own: list[str]) -> None:
            for url in own:
                next_at = time.monotonic() + delay
                page = await collector.collect(Request(url), {})
                if isinstance(page, Page):
                    document = html.parse(page.body, page.content_type, page.url)
                    links = Links(document.base.url).links(hrefs(document)[0])
                    row = {"url": url, "title": document.title, "status": page.status, "links": len(links)}
                    file.write(msgspec.json.encode(row) + b"\n")
                await asyncio.sleep(max(0.0, next_at - time.monotonic()))

        await asyncio.gather(*(work(own) for own in hosts.values()))
    await collector.close()


uvloop.run(main(Path(sys.argv[1]).read_text().split(), sys.argv[2], float(sys.argv[3])))
