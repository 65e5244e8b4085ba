"""Fetches a list of URLs with gossamer's HTTP client and parser, as the floor of benchmarks/cost.py.

The program has no frontier, no robots.txt and no log. The program fetches 64 URLs at once, or the number in
the third argument. For each page, the program decompresses and parses the body, finds the title and the
distinct absolute links, and writes one JSON line. At the end, the program prints the CPU seconds.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from gossamer.collectors.http.collector import HttpCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing import html
from gossamer.parsing.links import hrefs
from gossamer.url import HrefResolver as Links


async def main(urls: list[str], out: str, at_once: int) -> None:
    """Visits all URLs, at most `at_once` at the same time."""
    collector = HttpCollector(Resolver(["127.0.0.0/8"]), user_agent="bare")
    todo = iter(urls)
    with open(out, "wb") as file:  # noqa: ASYNC230 - once, before the loop

        async def work() -> None:
            for url in todo:
                page = await collector.collect(Request(url), {})
                if not isinstance(page, Page):
                    continue
                document = html.parse(page.body, page.content_type, page.url)
                links = Links(document.base.url).links(hrefs(document)[0])
                row = {"url": url, "title": document.title, "status": page.status, "links": len(links)}
                file.write(msgspec.json.encode(row) + b"\n")

        await asyncio.gather(*(work() for _ in range(at_once)))
    await collector.close()


began = time.process_time()
uvloop.run(main(Path(sys.argv[1]).read_text().split(), sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else 64))
print(time.process_time() - began)
